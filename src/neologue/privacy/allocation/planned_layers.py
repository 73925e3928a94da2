"""Planned layers: how slots are divided, and how many reports each layer counts, whoever comes.

A slot is drawn for each user independently of all others, so the users of a layer are a sum of independent indicators.
The planned number is one that they hardly ever exceed; what is missing to it is made up by reports of devices that hold
nothing.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from neologue import binom
from neologue.errors import ParameterError
from neologue.privacy.bound import ROUNDING
from neologue.privacy.levels import check_delta
from neologue.randomizers.unary import Unary

OVERFLOW_SHARE = 1e-3
"""The share of δ with which one layer may have more users than planned reports; it is charged for each."""
MOST_PLANNED = 100
"""With more layers than this, a tenth of δ would not do for all of them."""
FEWEST_TOP_UPS = 4
"""For how many workers of a service, at least, a layer has room to fill up their last batch with made-up reports."""
REPORTS_PER_TOP_UP = 5_000
"""A large layer has room for one more worker for every so many users."""

FILLED = (
    "layers end when they have counted enough reports: who is in one depends on who else is, and how many there are is "
    "published"
)


@dataclass(frozen=True)
class PlannedLayer:
    """A layer as it was planned: the share of slots that it invites, and the reports that it counts."""

    share: float
    reports: int
    words: int | None = None
    """How many words one of these reports speaks of at most, if fewer than others of the campaign."""

    def asked_by(self, unary: Unary) -> Unary:
        """The randomizer of its reports, given that of the campaign."""
        self.check(unary.bound)
        return replace(unary, bound=self.words or unary.bound)

    def check(self, words: int) -> None:
        """Refuse more words than anywhere else in the campaign, and fewer than one."""
        if self.words is not None and not (isinstance(self.words, int) and 1 <= self.words <= words):
            raise ParameterError(
                f"the words of a user in a planned layer must be a whole number from 1 to the campaign's {words:,}, "
                f"not {self.words!r}"
            )


@dataclass(frozen=True)
class Allocation:
    """All planned layers of a campaign, or the reason why it can't be claimed that nobody knows where a user was.

    Those that were never opened are among them, and that of the measurement.
    """

    layers: tuple[PlannedLayer, ...]
    overflow: float
    """The chance that some layer gets more users than it has planned reports."""
    reason: str | None = None

    @classmethod
    def none(cls, reason: str) -> "Allocation":
        """It may be known in which layer a user was."""
        return cls((), 0.0, reason)

    @classmethod
    def plan(cls, asked: Iterable[float], delta: float, words: Iterable[int] = ()) -> "Allocation":
        """Layers that ask so many users each, on average, and for so many words, if not all ask for as many."""
        asked, words = tuple(asked), tuple(words)
        if not asked:
            return cls.none("no layer was planned")
        if len(asked) > MOST_PLANNED:
            return cls.none(f"it is computed for at most {MOST_PLANNED} layers, and there are {len(asked)}")
        everybody = sum(asked)
        layers = tuple(
            PlannedLayer(users / everybody, planned_reports(users, delta), most)
            for users, most in zip(asked, words or [None] * len(asked), strict=True)
        )
        return cls(layers, len(layers) * OVERFLOW_SHARE * delta)

    @property
    def different(self) -> list[tuple[PlannedLayer, int]]:
        """Each different layer, and how many there are of it: in one order, so that figures are the same again."""
        layers = Counter(self.layers)
        return sorted(layers.items(), key=lambda each: (each[0].share, each[0].reports, repr(each[0])))

    @property
    def unasked(self) -> float:
        """The share of slots that no layer invites; 0 if it is nothing but rounding."""
        left = 1 - sum(layer.share for layer in self.layers)
        return left if left > ROUNDING else 0.0

    def with_reports(self, reports: Iterable[int]) -> "Allocation":
        """The same with other numbers of reports that hide a user."""
        layers = (replace(layer, reports=each) for layer, each in zip(self.layers, reports, strict=True))
        return replace(self, layers=tuple(layers))


def check_allocation(allocation: Allocation, words: int) -> None:
    """Refuse layers that no campaign with so many words of a user can have planned."""
    for layer in allocation.layers:
        layer.check(words)
    shares = [layer.share for layer in allocation.layers]
    if not (all(0 < share <= 1 for share in shares) and sum(shares) <= 1 + ROUNDING):
        raise ParameterError(f"the shares of slots must be above 0 and add up to at most 1, not {shares}")
    if not 0 <= allocation.overflow < 1:
        raise ParameterError(f"the chance of an overflow must be from 0 to below 1, not {allocation.overflow}")


UNCLAIMED = Allocation.none(FILLED)


def planned_reports(asked: float, delta: float) -> int:
    """How many reports a layer counts whose users are so many on average, however many they really are.

    As many, or more, come with a chance of at most a thousandth of δ, by Chernoff's bound.
    """
    return binom.most_indicators(asked, ROUNDING - math.log(OVERFLOW_SHARE * check_delta(delta))) + 1


def planned_in_batches(planned: int, asked: int, batch: int | None) -> int:
    """How many reports a layer counts that plans so many, if a service writes them in batches of at least `batch`.

    When its time is over, each worker may have fewer left than a batch. Made-up reports fill them up, so that all are
    counted and no smaller sum is written. The layer has room for these beside whoever comes.
    """
    if batch is None:
        return planned
    return planned + (batch - 1) * max(FEWEST_TOP_UPS, asked // REPORTS_PER_TOP_UP)
