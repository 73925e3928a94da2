"""What a campaign costs before it is started, as far as it can be foreseen, and what its population can still spend."""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from neologue.campaign.privacy_level import LEVELS
from neologue.errors import InputError
from neologue.ledger.composition import composed_epsilon
from neologue.ledger.ledger import Ledger
from neologue.ledger.rare_words import RareWords
from neologue.ledger.snapshot import Spent
from neologue.privacy.statement import privacy_statement
from neologue.release.codec import SOURCES
from neologue.release.foreseen import foreseen_charge
from neologue.release.levelled_campaign import at_level
from neologue.service.campaigns.consent import foreseen_facts_of, foreseen_user_epsilon
from neologue.service.campaigns.definition import Definition

if TYPE_CHECKING:
    from neologue.planning.plan import Plan

LEVELLED: Final = ("epsilon", "later_words", "delta", "promised_epsilon", "promised_unit")
"""The parameters that a level of privacy decides."""
CACHED_PRICES: Final = 32
"""How many prices are kept in memory."""
DEFAULT_LANGUAGE: Final = "en"
"""The language that plans assume if a campaign names none."""


@dataclass(frozen=True)
class BudgetView:
    """A population's budget, and what is spent of it."""

    spent: Spent
    rare_words: RareWords | None
    after: float | None
    """The ε that will be spent with the campaign too; None if it is charged already."""


def foreseen_statement(definition: Definition) -> dict[str, Any]:
    """The privacy statement that the release will have if the campaign collects all that it may."""
    return _foreseen_statement(msgspec.json.encode(definition))


def user_epsilon_of(body: dict[str, Any]) -> float | None:
    """The central ε of a whole user, of a definition as a client sends it; None if no service would accept it."""
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


def at_privacy(body: dict[str, Any], level: str) -> dict[str, Any]:
    """A definition as a client sends it, with what keeps a level of privacy."""
    definition = _definition_of(body)
    if definition is None:  # what is wrong with it the service says
        return body
    kept = hold_to(definition, level)
    seconds = {} if kept.layer_seconds is None else {"layer_seconds": kept.layer_seconds}
    return {**body, **seconds, "parameters": kept.parameters}


def hold_to(definition: Definition, level: str) -> Definition:
    """The definition with the parameters that keep a level of privacy, and with drawn slots where they are possible.

    Layers that end by count claim no allocation, so that the same promise would take a smaller local ε.
    """
    wanted = _with_drawn_slots(definition) if LEVELS[level].user_epsilon is not None else definition
    return msgspec.structs.replace(wanted, parameters=_parameters_at(msgspec.json.encode(wanted), level))


def _with_drawn_slots(definition: Definition) -> Definition:
    """The definition with drawn slots, if nobody said how layers end and the proof can be kept."""
    if "allocation" in definition.parameters:
        return definition
    parameters = {**definition.parameters, "allocation": "drawn"}
    drawn = msgspec.structs.replace(definition, parameters=parameters, layer_seconds=definition.seconds)
    try:
        return drawn if drawn.drawn else definition
    except InputError:
        return definition


@lru_cache(CACHED_PRICES)
def _parameters_at(text: bytes, level: str) -> dict[str, Any]:
    definition = msgspec.json.decode(text, type=Definition)
    asked = at_level(
        definition.campaign,
        LEVELS[level],
        definition.measuring,
        definition.aggregator.exposure,
        definition.parameters.get("epsilon"),
    )
    return {**definition.parameters, **{name: getattr(asked.parameters, name) for name in LEVELLED}}


def plan_campaign(definition: Definition) -> "Plan":
    """What the campaign is expected to find among users who write its language."""
    return _plan_campaign(msgspec.json.encode(definition))


def budget_view(ledger: Ledger, definition: Definition) -> BudgetView | None:
    """The budget of the population that pays for the campaign, if there is one."""
    if definition.population is None:
        return None
    snapshot = ledger.snapshot(definition.population)
    if snapshot.charge(definition.name):
        return BudgetView(snapshot.spent, snapshot.rare_words, None)
    planned = foreseen_charge(definition.campaign, definition.measuring)
    budget = snapshot.budget
    after = composed_epsilon([*snapshot.charged(), planned], budget.delta, budget.unit)
    return BudgetView(snapshot.spent, snapshot.rare_words, after)


@lru_cache(CACHED_PRICES)
def _foreseen_statement(text: bytes) -> dict[str, Any]:
    definition = msgspec.json.decode(text, type=Definition)
    return privacy_statement(foreseen_facts_of(definition), SOURCES[definition.fidelity])


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
