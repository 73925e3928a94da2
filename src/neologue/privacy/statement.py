"""The privacy statement of a run: a function of its facts, for whoever publishes it and whoever checks it.

`docs/privacy/statement.md` describes every field.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from neologue.masking.rules import GroupRules
from neologue.privacy.allocation.planned_layers import UNCLAIMED, Allocation
from neologue.privacy.anonymity.anonymity_statement import anonymity_statement
from neologue.privacy.anonymity.thresholds import AnonymityPromise
from neologue.privacy.bound import Bound
from neologue.privacy.collection import Batch, Collection
from neologue.privacy.cost import cost
from neologue.randomizers.registry import RANDOMIZERS

UNIT = "item: one distinct word of one user, with all its typings"
SERVER = "server"
"""The observer who runs the service."""
NEIGHBOURS = "swap: one word of one user replaced by another; at user level, all words of one user"


class Source(Enum):
    """Where the votes of a run come from."""

    DEVICES = "devices"
    """People's own devices reported."""
    RECORDS = "records"
    """The operator has people's words, and drew the votes from them with secret randomness."""
    REHEARSAL = "rehearsal"
    """Real clients reported, which the operator runs with simulated or recorded words."""
    SIMULATION = "simulation"
    """The votes were drawn with a seed that is known."""


APPLIES_TO = {
    Source.DEVICES: "the people whose devices make the reports",
    Source.RECORDS: (
        "the people whose words were recorded, and only against readers of the release: a simulator on the machine of "
        "the operator, who has the words, drew the votes"
    ),
    Source.REHEARSAL: (
        "the people whose words were recorded, if any were, and only against readers of the release: the operator runs "
        "the devices of a rehearsal, with simulated or recorded words; a person's own device among them has the local "
        "figures alone"
    ),
    Source.SIMULATION: (
        "nobody: a simulation with a known seed makes no privacy claim for real people; the figures are those that the "
        "same run on devices with secret randomness would have"
    ),
}
IN_NOBODY = "none: the local figures hold against whoever sees a report, the server included"
LOCAL_TRUST = {
    Source.DEVICES: IN_NOBODY,
    Source.SIMULATION: IN_NOBODY,
    Source.RECORDS: "no device made a report: the local figures describe the randomizer, and protect from nobody",
    Source.REHEARSAL: "the operator has the words that its devices report, so the local figures protect nobody from it",
}
ON_DEVICES = "every honest device ran the stated randomizer with secure randomness, once, in one layer"
ON_RECORDS = (
    "a simulator drew the votes from the law of the stated randomizer, each user once, in one layer, with randomness "
    "that no reader knows: from the system's entropy, which the fidelities fast and exact expand by generators that "
    "are not made for cryptography"
)
ASSUMPTIONS = (
    "nobody but the stated observer's own view is combined: no other sums of the same reports were published",
    "which users were asked, and when, does not depend on their words",
)
SLOTS = (
    "in which layer a user was was drawn independently of everything else, and no reader learns it, nor how many users "
    "each layer had: layers counted planned numbers of reports, to which those of devices that hold nothing were added"
)
NAMED_IN_RECORDS = (
    "which words people typed is protected, and not that they are in the records, nor on which days they typed: one "
    "user more changes how many are asked, and a later last day changes which days count"
)
KNOWS_SLOTS = "this observer may know in which layer a user was"
MEASURED = "the users who counted the released words are asked nothing else: the count is a layer of its own"


UNCHECKED = (
    "votes were summed under masks and could not be checked: a hostile device can move every entry of its cohort's sum "
    "by anything up to the modulus, and nobody can tell which device it was"
)
LIMITED = (
    "votes were summed under masks and could not be checked one by one: a cohort is refused if its sum is none of "
    "honest devices, which honest ones have with a chance of at most 2^-40 in the whole campaign, beside δ; a hostile "
    "device can bring every entry of its cohort's sum to anything that honest ones could have, and may learn from its "
    "end whether a sum was above a limit, for which the figures of the server hold"
)
CORRUPT = (
    "not more devices of a cohort work with the server than stated: if they are the stated share of all devices, and "
    "cohorts form by chance, no cohort has more of them but for the stated risk; a server that chooses who meets can "
    "put more of them together"
)
VOUCHED = (
    "the issuers that vouch for devices make none up and don't work with the server; where the operator is the issuer, "
    "the figures for the server hold if it follows the protocol, and not if it lies"
)


@dataclass(frozen=True)
class Exposure:
    """The smallest sum that each observer sees, in reports; None is a whole layer."""

    disk: int | None = None
    server: int | None = 1
    masked: GroupRules | None = None
    """How votes were masked, if they were: then the server sees sums of groups, and none that is smaller."""

    def observers(self) -> tuple[tuple[str, str, int | None], ...]:
        """Who sees what, and in sums of how many reports."""
        disk, server, works_on = self.disk, self.server, f"sums of {_reports(self.server)}"
        if self.masked:
            disk, server = self.masked.smallest, self.masked.honest
            works_on = (
                f"sums under masks of {_reports(self.masked.smallest)}, up to {self.masked.corrupt:,} of which may be "
                "of devices that work with it"
            )
        return (
            ("reader of the release", "words, estimates, prefixes and the facts of layers: sums of whole layers", None),
            ("leaked disk", f"what was stored: sums of {_reports(disk)}", disk),
            (SERVER, f"what it works on: {works_on}", server),
        )


@dataclass(frozen=True)
class LayerShown:
    """A layer of which something was published, as far as its privacy depends on it."""

    batch: Batch
    kept: int
    """The prefixes and words that were kept."""
    fewest_votes: int
    earlier: tuple[Batch, ...] = ()
    """The layers of its pass before, if words that they asked about are judged again by the votes of all of them."""
    following: int = 0
    """How many layers of its pass may judge them once more."""


@dataclass(frozen=True)
class PrivacyFacts:
    """Everything that a privacy statement follows from."""

    mechanism: str
    epsilon: float
    words_per_user: int
    delta: float
    colluders: float
    layers: tuple[LayerShown, ...]
    frontier: int | None
    """The most candidates kept in a layer if those with the most votes are, whatever their number; else None."""
    anonymity: AnonymityPromise
    """What the release thresholds are to enforce."""
    exposure: Exposure
    """The smallest sums that observers saw."""
    withheld: tuple[Batch, ...] = ()
    """The batches whose reports came, but of whose layers nothing was published."""
    measured: tuple[Batch, ...] = ()
    """The batches that counted words which were released before: they publish sums, and no word that is new."""
    allocation: Allocation = UNCLAIMED
    """All planned layers, if readers do not learn in which one a user was."""

    @property
    def collection(self) -> Collection:
        """The sums of which something was published: those of layers, and of the measurement."""
        batches = (*(layer.batch for layer in self.layers), *self.measured)
        return Collection(self.mechanism, self.epsilon, self.words_per_user, batches, self.allocation)

    @property
    def received(self) -> Collection:
        """The sums of all layers: what disks and servers see, who know in which layer a user was."""
        batches = (*self.collection.batches, *self.withheld)
        return replace(self.collection, batches=batches, allocation=Allocation.none(KNOWS_SLOTS))

    @property
    def charged(self) -> Collection:
        """What a ledger is charged for: all sums, of which the reports of colluders hide nothing."""
        # Why nothing is claimed, if so, is no matter of a ledger.
        allocation = UNCLAIMED if self.allocation.reason else self.allocation
        return replace(self.received, allocation=allocation).in_sums_of(None, self.colluders)


def privacy_statement(facts: PrivacyFacts, source: Source = Source.DEVICES) -> dict[str, object]:
    """What can be promised of a run with these facts."""
    released, received = (
        cost(seen.in_sums_of(None, facts.colluders), facts.delta) for seen in (facts.collection, facts.received)
    )
    reader, *others = facts.exposure.observers()
    records = source is Source.RECORDS
    operator_has_words = source in (Source.RECORDS, Source.REHEARSAL)
    return {
        "applies_to": APPLIES_TO[source],
        "unit": UNIT,
        "neighbours": NEIGHBOURS,
        "mechanism": facts.mechanism,
        "local_epsilon": facts.epsilon,
        "enforced_local_epsilon": received.item_local,
        "user_local_epsilon": facts.epsilon * facts.words_per_user,
        "words_per_user": facts.words_per_user,
        "reports_per_user": 1,
        "delta": facts.delta,
        "item_central": _central(released.item, released.item_best) | {"lower_bound": released.item_floor},
        "user_central": _central(released.user, released.user_best),
        **anonymity_statement(
            replace(facts.anonymity, groups=facts.exposure.masked),
            facts.layers,
            facts.collection.randomizer,
            facts.frontier,
        ),
        "trust": {
            "local": LOCAL_TRUST[source],
            "central": "that the observer sees the stated sums and nothing smaller",
            "colluders": facts.colluders,
            "assumptions": [
                ON_RECORDS if records else ON_DEVICES,
                *ASSUMPTIONS,
                *([NAMED_IN_RECORDS] if records else []),
                *([MEASURED] if facts.measured else []),
                *([] if facts.allocation.reason else [SLOTS]),
                *RANDOMIZERS[facts.mechanism].assumptions,
                *_of_masks(facts.exposure.masked),
            ],
            "observers": [
                _observer(facts, facts.collection, *reader),
                *(_observer(facts, facts.received, *other) for other in others if not operator_has_words),
            ],
        },
    }


def _of_masks(rules: GroupRules | None) -> tuple[str, ...]:
    """What the figures rest on where votes were masked."""
    return () if rules is None else (LIMITED if rules.limited else UNCHECKED, CORRUPT, VOUCHED)


def _central(bounds: Mapping[str, Bound], best: Bound) -> dict[str, object]:
    """One figure a theorem, null where it does not apply, and why."""
    return {
        **{name: bound.epsilon for name, bound in bounds.items()},
        "best": best.epsilon,
        "theorems": {name: bound.theorem for name, bound in bounds.items()} | {"best": best.theorem},
        "reasons": {name: bound.reason for name, bound in bounds.items() if bound.reason},
    }


def _observer(
    facts: PrivacyFacts, collection: Collection, who: str, sees: str, smallest: int | None
) -> dict[str, object]:
    """What one observer of a collection learns at most, from the smallest sum that they see."""
    view = collection.in_sums_of(smallest, facts.colluders)
    reports = min((batch.reports for batch in view.batches), default=0)
    seen = cost(view, facts.delta)
    return {
        "who": who,
        "sees": sees,
        "smallest_sum": reports,
        "item_epsilon": seen.item_best.epsilon,
        "user_epsilon": seen.user_best.epsilon,
    }


def _reports(smallest: int | None) -> str:
    if smallest is None:
        return "whole layers"
    return "single reports" if smallest == 1 else f"{smallest:,} reports and more"
