"""Privacy profiles: the δ that goes with every ε, as straight lines between dots.

A profile here is an upper bound on δ(ε) = Σ max(P - e^ε·Q, 0) for ε ≥ 0 and all neighbours, which may change places: so
it holds either way round, and says what δ is for ε < 0 too. The true δ is convex in e^ε, so lines that connect dots
above it stay above it (Doroshenko et al. 2022), whatever the dots; and so does the lower convex hull of the dots,
because any convex function below them all is below their hull.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neologue.privacy.losses import Losses

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PrivacyProfile:
    """The dots of a profile, from ε = 0 up; convex in e^ε. Beyond the last dot δ stays what it is there."""

    epsilons: Floats
    deltas: Floats

    @classmethod
    def through(cls, epsilons: Floats, deltas: Floats) -> "PrivacyProfile":
        """The lower convex hull of dots with increasing ε, the first at 0, each with an upper bound on δ."""
        # δ never grows with ε, so what holds for one ε holds for every larger one.
        bounds = np.minimum.accumulate(np.minimum(deltas, 1.0)).tolist()
        at = epsilons.tolist()
        kept = [0]
        for index in range(1, len(at)):
            while len(kept) > 1:
                first, middle = kept[-2:]
                share = _share(at[middle], at[first], at[index])
                if bounds[middle] < bounds[first] + share * (bounds[index] - bounds[first]):
                    break
                kept.pop()
            kept.append(index)
        return cls(epsilons[kept], np.array(bounds)[kept])

    @classmethod
    def of_local(cls, epsilon: float) -> "PrivacyProfile":
        """What ε-differential privacy alone says: nothing is worse than a lie told with probability 1/(e^ε+1)."""
        return cls(np.array([0.0, epsilon]), np.array([float(np.tanh(epsilon / 2)), 0.0]))

    def at(self, epsilons: Floats) -> Floats:
        """δ at each ε ≥ 0."""
        after = np.clip(np.searchsorted(self.epsilons, epsilons), 1, len(self.epsilons) - 1)
        left, right = self.epsilons[after - 1], self.epsilons[after]
        share = _share(np.minimum(epsilons, right), left, right)
        return np.asarray(self.deltas[after - 1] * (1 - share) + self.deltas[after] * share)

    def cut(self, tail: float) -> "PrivacyProfile":
        """The same up to where δ is at most `tail`, which then counts as an infinite loss."""
        dots = 1 + max(1, int(np.searchsorted(-self.deltas, -tail)))
        return PrivacyProfile(self.epsilons[:dots], self.deltas[:dots])

    @cached_property
    def variance(self) -> float:
        """The mean square of the loss, of the law that has its losses at the dots."""
        positive = _masses(self.epsilons, self.deltas)
        return float(((1 + np.exp(-self.epsilons[1:])) * positive * self.epsilons[1:] ** 2).sum())

    @property
    def reach(self) -> float:
        """The largest loss, but for a chance that counts as infinite."""
        return float(self.epsilons[-1])

    def losses(self, step: float) -> Losses:
        """A law of losses on the grid of a step whose δ is nowhere smaller."""
        grid = np.float64(step) * np.arange(max(1, int(np.ceil(self.reach / step))) + 1, dtype=np.float64)
        heights = self.at(grid)
        positive = _masses(grid, heights)
        # Neighbours change places: P has at -ε the mass that Q has at ε, which is e^-ε times that of P.
        negative = positive * np.exp(-grid[1:])
        beyond = float(heights[-1])
        zero = max(0.0, 1.0 - float(positive.sum() + negative.sum()) - beyond)
        return Losses(step, -len(positive), np.concatenate([negative[::-1], [zero], positive]), beyond)


def _masses(epsilons: Floats, deltas: Floats) -> Floats:
    """What P has at each dot but the first: e^ε times the change of the slope there."""
    gaps, falls = np.diff(epsilons), -np.diff(deltas)
    masses = falls / -np.expm1(-gaps)
    masses[:-1] -= falls[1:] / np.expm1(gaps[1:])
    return np.maximum(masses, 0.0)


def _share(epsilon: Floats, left: Floats, right: Floats) -> Floats:
    """How far e^ε is on the way from e^left to e^right; written so that none of them has to be a number in range."""
    return np.asarray(np.exp(epsilon - right) * np.expm1(left - epsilon) / np.expm1(left - right))
