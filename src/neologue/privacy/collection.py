"""What was collected: the facts that the central privacy of a run follows from, and nothing else."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from neologue.randomizers.randomizer import Randomizer
from neologue.randomizers.registry import randomizer


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
        return Collection(self.mechanism, self.epsilon, self.words_per_user, seen)


def _honest(reports: int, colluders: float) -> int:
    """Of so many reports, the honest ones, rounded down exactly; the one in question is always among them."""
    return max(1, math.floor(reports * (1 - Fraction(str(colluders)))))
