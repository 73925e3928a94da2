"""The law of how far one likelihood ratio exceeds a multiple of another: a number of either sign.

δ(ε) is the mean of its positive part. As in `ratio_law`, values are split between neighbouring dots so that the mean
stays, which convex functions only gain by. The dots are dense near 0, where the positive part bends. What is dropped
counts against us: the smallest values become a little larger, and the largest ones are added to δ.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neologue.privacy.allocation.ratio_law import DROPPED, RatioLaw, split
from neologue.privacy.repetition import repeated

Floats = NDArray[np.float64]

DOTS = 256
SMALLEST_SPREAD = 1e-150
"""In place of the standard deviation of a constant."""


@dataclass(frozen=True, eq=False)
class ExcessLaw:
    """The chances of values in ascending order."""

    values: Floats
    chances: Floats
    infinite: float
    """What values that are not listed can add to the mean of the positive part."""

    @classmethod
    def constant(cls, value: float) -> "ExcessLaw":
        """What is known."""
        return cls(np.array([value]), np.array([1.0]), 0.0)

    @classmethod
    def between(cls, ratio: RatioLaw, factor: float) -> "ExcessLaw":
        """One ratio less so many times an independent one of the same law."""
        values, chances = ratio.with_zero
        return _gathered(
            np.subtract.outer(values, factor * values), np.multiply.outer(chances, chances), ratio.infinite
        )

    def times(self, ratio: RatioLaw) -> "ExcessLaw":
        """The product with an independent ratio."""
        values, chances = ratio.with_zero
        return _gathered(
            np.multiply.outer(self.values, values),
            np.multiply.outer(self.chances, chances),
            # A ratio that is not listed can only add where the excess is positive, which is at most 1 in the mean.
            self.infinite + ratio.infinite,
        )

    def scaled(self, share: float) -> "ExcessLaw":
        """So many times the excess."""
        return ExcessLaw(self.values * share, self.chances, self.infinite * share)

    def plus(self, other: "ExcessLaw") -> "ExcessLaw":
        """The sum with an independent one."""
        return _gathered(
            np.add.outer(self.values, other.values),
            np.multiply.outer(self.chances, other.chances),
            self.infinite + other.infinite,
        )

    def multiple(self, number: int) -> "ExcessLaw":
        """The sum of so many independent ones of this law."""
        return repeated(self, number, ExcessLaw.plus)

    @property
    def positive_part(self) -> float:
        """The mean of max(0, excess)."""
        return float(self.chances @ np.maximum(self.values, 0.0)) + self.infinite


def _gathered(values: Floats, chances: Floats, infinite: float) -> ExcessLaw:
    """The law of many values on few: the dots are sinh of equal steps, in standard deviations."""
    values, chances = values.ravel(), chances.ravel()
    # No product of vectors: for long ones it starts threads, which wait longer than they work.
    mean = float((values * chances).sum())
    spread = max(math.sqrt(float((np.square(values - mean) * chances).sum())), SMALLEST_SPREAD)
    lowest, highest = math.asinh(values.min() / spread), math.asinh(values.max() / spread)
    dots = np.sinh(np.linspace(lowest, highest, DOTS)) * spread
    masses = split(values, chances, dots, (np.arcsinh(values / spread) - lowest) * ((DOTS - 1) / (highest - lowest)))
    first = min(int(np.searchsorted(np.cumsum(masses), DROPPED)), DOTS - 1)
    # max(0, s + x) ≤ max(0, s) + x for x ≥ 0: the largest values become 0 or what is next above it.
    zero = max(first, min(int(np.searchsorted(dots, 0.0)), DOTS - 1))
    gains = np.cumsum((masses * np.maximum(dots, 0.0))[::-1])
    end = max(zero + 1, DOTS - int(np.searchsorted(gains, DROPPED)))
    kept = masses[first:end].copy()
    kept[0] += masses[:first].sum()
    kept[zero - first] += masses[end:].sum()
    return ExcessLaw(dots[first:end], kept, infinite + float(masses[end:] @ dots[end:]))
