"""The charge of one campaign to a population: its state, and the facts that its cost follows from."""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum

from neologue.errors import ParameterError
from neologue.ledger.composition import happened
from neologue.privacy.allocation.planned_layers import UNCLAIMED, Allocation, PlannedLayer, check_allocation
from neologue.privacy.anonymity.anonymity_chances import AnonymityChances
from neologue.privacy.collection import Batch, Collection
from neologue.randomizers.registry import RANDOMIZERS
from neologue.randomizers.thresholds import check_epsilon


class ChargeState(StrEnum):
    """The state of a charge.

    planned ──► collecting ──► settled        a planned one is settled at once where nobody is invited
    └──► abandoned ──► settled                what was thought abandoned, and happened
    """

    PLANNED = "planned"
    """Charged with what it may collect; nobody was asked yet."""
    COLLECTING = "collecting"
    """Charged with what it has collected and may still collect. Devices are invited: it can't be abandoned."""
    SETTLED = "settled"
    """Charged with what it collected."""
    ABANDONED = "abandoned"
    """Not charged: nobody was asked."""


@dataclass(frozen=True)
class LedgerCharge:
    """What one campaign is charged to a population."""

    campaign: str
    population: str
    state: ChargeState
    planned: Collection
    """What was planned at first."""
    collection: Collection
    """What is charged: what happened if it is settled, and otherwise what may still happen too."""
    planned_day: int
    """Days since 1970-01-01."""
    ended_day: int | None = None
    reference: str | None = None
    """What whoever planned it knows it by, and nobody else."""
    anonymity: AnonymityChances | None = None
    """None if nobody said."""
    told: bool = False
    """Whether anything that its votes decided may have been told: to devices of a later layer, or in a release."""

    @property
    def charged(self) -> bool:
        """Whether it counts as spent."""
        return self.state != ChargeState.ABANDONED


def encode_collection(collection: Collection) -> str:
    """A collection as JSON."""
    facts = {
        "mechanism": collection.mechanism,
        "epsilon": collection.epsilon,
        "words_per_user": collection.words_per_user,
        "cohorts": [{"reports": batch.reports, "candidates": batch.candidates} for batch in collection.batches],
    }
    if collection.allocation.layers:
        facts |= {
            "planned": [_encode_planned(layer) for layer in collection.allocation.layers],
            "overflow": collection.allocation.overflow,
        }
    return json.dumps(facts)


def _encode_planned(layer: PlannedLayer) -> dict[str, float]:
    """A planned layer without what is as everywhere in its campaign."""
    return {name: value for name, value in asdict(layer).items() if value is not None}


def decode_collection(text: str) -> Collection:
    """The collection of `encode_collection`; raises what `json` or a look-up does, or a ParameterError."""
    facts = json.loads(text)
    batches = tuple(Batch(batch["reports"], batch["candidates"]) for batch in facts["cohorts"])
    allocation = UNCLAIMED
    if "planned" in facts:
        planned = tuple(PlannedLayer(**layer) for layer in facts["planned"])
        allocation = Allocation(planned, facts["overflow"])
    collection = Collection(facts["mechanism"], facts["epsilon"], facts["words_per_user"], batches, allocation)
    check_collection(collection)
    return collection


def check_collection(collection: Collection) -> None:
    """Refuse facts that no collection can have."""
    if collection.mechanism not in RANDOMIZERS:
        raise ParameterError(f"no randomizer is called {collection.mechanism!r}; there are {', '.join(RANDOMIZERS)}")
    check_epsilon(collection.epsilon)
    for what, least, numbers in (
        ("words per user", 1, [collection.words_per_user]),
        ("reports of a batch", 0, [batch.reports for batch in collection.batches]),
        ("candidates of a batch", 1, [batch.candidates for batch in collection.batches]),
        ("reports of a planned layer", 1, [layer.reports for layer in collection.allocation.layers]),
    ):
        for number in numbers:
            if not isinstance(number, int) or number < least:
                raise ParameterError(f"the {what} must be a whole number from {least} up, not {number!r}")
    check_allocation(collection.allocation, collection.words_per_user)


def check_plan(campaign: str, collection: Collection) -> None:
    """Refuse a plan that can't be charged."""
    check_name("campaign", campaign)
    check_collection(collection)
    if not happened(collection):
        raise ParameterError(f"the campaign {campaign!r} plans no reports: give batches of 1 report at least")


def check_name(what: str, name: str) -> None:
    """Refuse a name that can't be read or printed."""
    if not name.strip() or not name.isprintable():
        raise ParameterError(f"a {what} needs a name of printable characters, not {name!r}")
