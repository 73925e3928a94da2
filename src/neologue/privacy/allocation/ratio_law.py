"""The law of a likelihood ratio P/Q under Q, kept on few values in such a way that it never understates δ.

What a law says of privacy are means of convex functions of the ratio. A value between two dots is therefore split
between them so that the mean stays: convex functions gain by that, and hardly anything if the dots are dense. What is
dropped at the ends goes to a ratio of 0 under Q and to an infinite one under P, which is a splitting too. All chances
are positive and added term by term, so that even the smallest keeps its digits. `docs/privacy/allocation.md` has the
proofs.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neologue.privacy.repetition import repeated
from neologue.privacy.sums import Sums

Floats = NDArray[np.float64]

DOTS = 800
"""The values of a law, in equal steps of their logarithms: about 30 in a standard deviation."""
DROPPED = 1e-20
"""The chance of the smallest and of the largest ratios that are dropped; what they can add to δ is added."""
NARROW = 1e-12
"""Values whose logarithms differ by less are one."""


@dataclass(frozen=True, eq=False)
class RatioLaw:
    """The chances, under Q, of ratios in ascending order."""

    values: Floats
    chances: Floats
    zero: float = 0.0
    """The chance of a ratio of 0."""
    infinite: float = 0.0
    """What the mean lacks: what P has where Q has nothing."""

    @classmethod
    def constant(cls, value: float) -> "RatioLaw":
        """A ratio that shows nothing."""
        return cls(np.array([value]), np.array([1.0]))

    @classmethod
    def of_candidate(cls, sums: Sums) -> "RatioLaw":
        """How much likelier the votes of a candidate are if the user in question holds it, for any other holders."""
        losses, chances, beyond = sums.held_candidate
        # The law of losses is that under P; it is symmetric in what it has beyond the grid.
        ratios = np.exp(losses)
        return gathered(ratios, chances / ratios, beyond, beyond)

    def scaled(self, share: float) -> "RatioLaw":
        """So many times the ratio."""
        return replace(self, values=self.values * share, infinite=self.infinite * share)

    def times(self, other: "RatioLaw") -> "RatioLaw":
        """The product with another ratio that is independent of this one; the means of both are at most 1.

        On equal steps of logarithms products of values are values of the same steps, and chances add up term by term.
        """
        step = max(self.step, other.step)
        one, two = self._in_steps(step), other._in_steps(step)
        chances = np.convolve(one.chances, two.chances)
        values = one.values[0] * two.values[0] * np.exp(step * np.arange(len(chances)))
        return gathered(values, chances, self.zero + other.zero, self.infinite + other.infinite)

    def plus(self, other: "RatioLaw") -> "RatioLaw":
        """The sum with another that is independent of this one."""
        (values, chances), (more_values, more_chances) = self.with_zero, other.with_zero
        return gathered(
            np.add.outer(values, more_values).ravel()[1:],
            np.multiply.outer(chances, more_chances).ravel()[1:],
            self.zero * other.zero,
            self.infinite + other.infinite,
        )

    def power(self, exponent: int) -> "RatioLaw":
        """The product of so many independent ratios of this law; of none, 1."""
        return repeated(self, exponent, RatioLaw.times) if exponent else RatioLaw.constant(1.0)

    def multiple(self, number: int) -> "RatioLaw":
        """The sum of so many independent ratios of this law."""
        return repeated(self, number, RatioLaw.plus)

    def thinned(self, dots: int) -> "RatioLaw":
        """The same on fewer values."""
        return gathered(self.values, self.chances, self.zero, self.infinite, dots)

    @property
    def step(self) -> float:
        """By how much the logarithms of two neighbouring values differ; 0 of a single one."""
        return math.log(self.values[-1] / self.values[0]) / max(1, len(self.values) - 1)

    def _in_steps(self, step: float) -> "RatioLaw":
        """The same in steps that are as large as its own, or larger."""
        if len(self.values) == 1 or self.step == step:
            return self
        first, last = np.log(self.values[[0, -1]])
        dots = np.exp(first + step * np.arange(math.ceil((last - first) / step) + 1))
        return replace(
            self, values=dots, chances=split(self.values, self.chances, dots, np.log(self.values / dots[0]) / step)
        )

    @cached_property
    def with_zero(self) -> tuple[Floats, Floats]:
        """All values, 0 first, and their chances."""
        return np.insert(self.values, 0, 0.0), np.insert(self.chances, 0, self.zero)

    def excess_over(self, other: "RatioLaw", factor: float) -> float:
        """The mean of max(0, this - factor·other), the other one being independent of this."""
        mass, mean = (_from_each_on(part) for part in (self.chances, self.chances * self.values))
        values, chances = other.with_zero
        inside = values < self.values[-1] / factor
        cuts, chances = factor * values[inside], chances[inside]
        first = np.searchsorted(self.values, cuts, side="right")
        return float(chances @ np.maximum(mean[first] - cuts * mass[first], 0.0)) + self.infinite


def gathered(values: Floats, chances: Floats, zero: float, infinite: float, dots: int = DOTS) -> RatioLaw:
    """The law of many values on few."""
    lowest, highest = math.log(values.min()), math.log(values.max())
    if highest - lowest < NARROW:
        return RatioLaw(np.array([values.max()]), np.array([float(chances.sum())]), zero, infinite)
    grid = np.linspace(lowest, highest, dots)
    places = (np.log(values.ravel()) - lowest) * ((dots - 1) / (highest - lowest))
    kept = np.exp(grid)
    masses = split(values.ravel(), chances.ravel(), kept, places)
    below, above = np.cumsum(masses), _from_each_on(masses * kept)[:-1]
    likely = (below > DROPPED) & (above > DROPPED)
    dropped = masses[~likely]
    return RatioLaw(
        kept[likely], masses[likely], zero + float(dropped.sum()), infinite + float(dropped @ kept[~likely])
    )


def split(values: Floats, chances: Floats, dots: Floats, places: Floats) -> Floats:
    """What each dot gets if every value is split between its neighbours, so that the mean stays.

    `places` says where among the dots a value is, in dots from the first.
    """
    left = np.clip(places.astype(np.int64), 0, len(dots) - 2)
    up = np.clip((values - dots[left]) / np.diff(dots)[left], 0.0, 1.0) * chances
    return np.asarray(np.bincount(left, chances - up, len(dots)) + np.bincount(left + 1, up, len(dots)))


def _from_each_on(parts: Floats) -> Floats:
    """The sums of all from each on, and of none."""
    return np.append(np.cumsum(parts[::-1])[::-1], 0.0)
