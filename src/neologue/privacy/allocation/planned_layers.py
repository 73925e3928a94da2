"""Planned layers: how slots are divided, and how many reports each layer counts, whoever comes.

A slot is drawn for each user independently of all others, so the users of a layer are binomial. The planned number is
one that they hardly ever exceed; what is missing to it is made up by reports of devices that hold nothing.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from neologue import binom
from neologue.errors import ParameterError
from neologue.privacy.bound import ROUNDING
from neologue.privacy.levels import check_delta

OVERFLOW_SHARE = 0.1
"""The share of δ that planned numbers may be exceeded with."""


@dataclass(frozen=True, order=True)
class PlannedLayer:
    """A layer as it was planned: the share of slots that it invites, and the reports that it counts."""

    share: float
    reports: int


@dataclass(frozen=True)
class Allocation:
    """All planned layers of a campaign, those of the measurement and those that were never opened too."""

    layers: tuple[PlannedLayer, ...]
    overflow: float
    """The chance that some layer gets more users than it has planned reports."""

    @property
    def unasked(self) -> float:
        """The share of slots that no layer invites; 0 if it is nothing but rounding."""
        left = 1 - sum(layer.share for layer in self.layers)
        return left if left > ROUNDING else 0.0

    @classmethod
    def plan(cls, users: int, shares: Iterable[float], delta: float) -> "Allocation":
        """The smallest planned numbers that so many users, with a slot each, exceed with a chance of a tenth of δ."""
        shares = tuple(shares)
        check_shares(shares)
        overflow = OVERFLOW_SHARE * check_delta(delta)
        layers = tuple(PlannedLayer(share, planned_reports(users, share, overflow / len(shares))) for share in shares)
        return cls(layers, overflow)


def check_shares(shares: tuple[float, ...]) -> None:
    """Refuse shares that slots can't be divided into."""
    if not shares or not all(0 < share <= 1 for share in shares) or sum(shares) > 1 + ROUNDING:
        raise ParameterError(f"the shares of slots must be above 0 and add up to at most 1, not {shares}")


def planned_reports(users: int, share: float, chance: float) -> int:
    """A number that, of so many users, those with a slot in the share reach with at most this chance.

    By Chernoff's bound, so that it holds for fewer users too; all of them are always enough.
    """
    return min(users, binom.most_indicators(users * share, ROUNDING - math.log(chance)) + 1)
