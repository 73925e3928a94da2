"""What a campaign costs before it is started, by what is foreseen, and what its population has spent and has left."""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from neologue.ledger.composition import composed_epsilon
from neologue.ledger.ledger import Ledger, Spent
from neologue.privacy.statement import Exposure, LayerShown, privacy_statement
from neologue.release.facts import facts_of
from neologue.service.campaigns.coordinator import charge
from neologue.service.campaigns.definition import Definition

if TYPE_CHECKING:
    from neologue.planning.plan import Plan

KEPT: Final = 32
"""How many prices are kept in memory."""
LANGUAGE: Final = "en"
"""Whose words are planned with, if a campaign names no language."""


@dataclass(frozen=True)
class BudgetView:
    """A population's budget, and what is spent of it."""

    spent: Spent
    after: float | None
    """The ε that will be spent with the campaign too; None if it is charged already."""


def stated(definition: Definition) -> dict[str, Any]:
    """The privacy statement of a campaign that collects all it may."""
    return _stated(msgspec.json.encode(definition))


def planned(definition: Definition) -> "Plan":
    """What `neologue plan` foresees, for users who write the campaign's language."""
    return _planned(msgspec.json.encode(definition))


def account(ledger: Ledger | None, definition: Definition) -> BudgetView | None:
    """How the population stands that the campaign is paid by, if any is."""
    if ledger is None or definition.population is None:
        return None
    spent = ledger.spent(definition.population)
    entries = ledger.entries(definition.population)
    if any(entry.campaign == definition.name for entry in entries):
        return BudgetView(spent, None)
    charged = [entry.collection for entry in entries if entry.charged]
    budget = spent.budget
    return BudgetView(spent, composed_epsilon([*charged, charge(definition)], budget.delta, budget.unit))


@lru_cache(KEPT)
def _stated(text: bytes) -> dict[str, Any]:
    definition = msgspec.json.decode(text, type=Definition)
    batches = charge(definition).batches
    shown = tuple(LayerShown(batch, 0, 0) for batch in batches)
    exposure = Exposure(disk=definition.batch, masked=definition.groups)
    return privacy_statement(facts_of(definition.campaign.parameters, shown, exposure=exposure))


@lru_cache(KEPT)
def _planned(text: bytes) -> "Plan":
    # Simulating is no work of a service: it is loaded if somebody plans.
    from neologue.planning.forecast import forecast
    from neologue.planning.plan import EpsilonLimits, Plan
    from neologue.populations.lexicon import Lexicon
    from neologue.populations.population import Population

    definition = msgspec.json.decode(text, type=Definition)
    campaign = definition.campaign
    population = Population.embedded(
        definition.language or LANGUAGE, campaign.users, known=campaign.known, days=campaign.parameters.days
    )
    expected = forecast(campaign, Lexicon.of(population, campaign))
    return Plan(campaign, EpsilonLimits(local_epsilon=campaign.epsilon), expected, ())
