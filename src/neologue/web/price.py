"""What a campaign costs before it is started, as far as it can be foreseen, and what its population can still spend."""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from neologue.errors import InputError
from neologue.ledger.composition import composed_epsilon
from neologue.ledger.ledger import Ledger, Spent
from neologue.privacy.cost import central_epsilon
from neologue.privacy.statement import PrivacyFacts, privacy_statement
from neologue.release.foreseen import foreseen_charge, foreseen_facts
from neologue.service.campaigns.definition import Definition

if TYPE_CHECKING:
    from neologue.planning.plan import Plan

CACHED_PRICES: Final = 32
"""How many prices are kept in memory."""
DEFAULT_LANGUAGE: Final = "en"
"""The language that plans assume if a campaign names none."""


@dataclass(frozen=True)
class BudgetView:
    """A population's budget, and what is spent of it."""

    spent: Spent
    after: float | None
    """The ε that will be spent with the campaign too; None if it is charged already."""


def foreseen_statement(definition: Definition) -> dict[str, Any]:
    """The privacy statement that the release will have if the campaign collects all that it may."""
    return _foreseen_statement(msgspec.json.encode(definition))


def foreseen_facts_of(definition: Definition) -> PrivacyFacts:
    """The facts of the campaign if it collects all that it may."""
    return foreseen_facts(definition.campaign, definition.measuring, definition.aggregator.exposure)


def foreseen_user_epsilon(definition: Definition) -> float:
    """The central ε that the release may cost a whole user, if the campaign collects all that it may."""
    facts = foreseen_facts_of(definition)
    return central_epsilon(facts.collection.in_sums_of(None, facts.colluders), facts.delta, "user")


def user_epsilon_of(body: dict[str, Any]) -> float | None:
    """The same for a definition as a client sends it; None if it is none that a service would accept."""
    definition = _definition_of(body)
    try:
        return None if definition is None else foreseen_user_epsilon(definition)
    except InputError:
        return None


def statement_of(body: dict[str, Any]) -> dict[str, Any] | None:
    """The foreseen statement for a definition as a client sends it; None if no service would accept it."""
    definition = _definition_of(body)
    return None if definition is None else foreseen_statement(definition)


def _definition_of(body: dict[str, Any]) -> Definition | None:
    try:
        return msgspec.json.decode(msgspec.json.encode(body), type=Definition)
    except (msgspec.ValidationError, InputError):
        return None


def plan_campaign(definition: Definition) -> "Plan":
    """What the campaign is expected to find among users who write its language."""
    return _plan_campaign(msgspec.json.encode(definition))


def budget_view(ledger: Ledger | None, definition: Definition) -> BudgetView | None:
    """The budget of the population that pays for the campaign, if there is one."""
    if ledger is None or definition.population is None:
        return None
    spent = ledger.spent(definition.population)
    entries = ledger.entries(definition.population)
    if any(entry.campaign == definition.name for entry in entries):
        return BudgetView(spent, None)
    charged = [entry.collection for entry in entries if entry.charged]
    planned = foreseen_charge(definition.campaign, definition.measuring)
    return BudgetView(spent, composed_epsilon([*charged, planned], spent.budget.delta, spent.budget.unit))


@lru_cache(CACHED_PRICES)
def _foreseen_statement(text: bytes) -> dict[str, Any]:
    definition = msgspec.json.decode(text, type=Definition)
    return privacy_statement(foreseen_facts_of(definition))


@lru_cache(CACHED_PRICES)
def _plan_campaign(text: bytes) -> "Plan":
    # A service has no use for the simulator: it is loaded only when somebody plans.
    from neologue.planning.plan import EpsilonLimits
    from neologue.planning.plan_for import plan_for

    definition = msgspec.json.decode(text, type=Definition)
    campaign = definition.campaign
    return plan_for(
        lambda users, epsilon: campaign,
        definition.language or DEFAULT_LANGUAGE,
        campaign.users,
        EpsilonLimits(local_epsilon=campaign.epsilon),
        definition.aggregator.exposure,
        tradeoff=(),
    )
