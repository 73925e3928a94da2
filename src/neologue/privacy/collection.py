"""What was collected: the facts that the central privacy of a run follows from, and nothing else."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from neologue.privacy.allocation.planned_layers import UNCLAIMED, Allocation
from neologue.randomizers.randomizer import Randomizer
from neologue.randomizers.registry import randomizer

SMALLER_SUMS = "whoever sees sums of fewer reports than a layer has sees which layer they are of"


@dataclass(frozen=True, order=True)
class Batch:
    """The users of one layer: how many reports came, and on how many candidates."""

    reports: int
    candidates: int


@dataclass(frozen=True)
class Collection:
    """The sums of a run: one mechanism, one ε, and a batch for every sum. Each user is in one batch."""

    mechanism: str
    epsilon: float
    words_per_user: int
    batches: tuple[Batch, ...]
    allocation: Allocation = UNCLAIMED
    """Whether it is hidden from whoever sees these sums in which batch a user was."""

    def randomizer(self, batch: Batch) -> Randomizer[Any]:
        """The randomizer that the devices of a batch used."""
        return randomizer(self.mechanism, batch.candidates, self.epsilon, self.words_per_user)

    def in_sums_of(self, reports: int | None, colluders: float = 0.0) -> "Collection":
        """The same as seen by someone who sees sums of so many reports, a share of which hides nothing.

        Reports of colluders, or that they made up, are known to them and hide nobody; the share is that in every sum.
        """
        seen = tuple(
            Batch(
                _honest(batch.reports if reports is None else min(batch.reports, reports), colluders),
                batch.candidates,
            )
            for batch in self.batches
        )
        allocation = Allocation.none(SMALLER_SUMS)
        if reports is None:
            allocation = self.allocation.with_reports(
                _honest(layer.reports, colluders) for layer in self.allocation.layers
            )
        return replace(self, batches=seen, allocation=allocation)


def _honest(reports: int, colluders: float) -> int:
    """Of so many reports, the honest ones, rounded down exactly; the one in question is always among them."""
    return max(1, math.floor(reports * (1 - Fraction(str(colluders)))))
