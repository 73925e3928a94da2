"""Laws of privacy losses on a grid, and what becomes of them when the same users take part again.

The losses of runs with randomness of their own add up, so their laws are convolved. We do it term by term and not by a
Fourier transform: all terms are positive, so that even the smallest chance keeps all its digits, where a transform
leaves 1e-12 or so everywhere.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neologue.privacy.repetition import repeated

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Losses:
    """The chances of the losses step·lowest, step·(lowest+1), …, and of one that has no bound."""

    step: float
    lowest: int
    chances: Floats
    infinite: float

    @property
    def size(self) -> int:
        """How many losses there are."""
        return len(self.chances)

    def delta(self, epsilon: float) -> float:
        """δ(ε) of the law: Σ max(0, 1 - e^(ε-loss)) over the losses."""
        first = max(0, int(np.floor(epsilon / self.step)) - self.lowest)
        losses = self.step * (self.lowest + np.arange(first, len(self.chances)))
        return self.infinite + float(np.maximum(-np.expm1(epsilon - losses), 0.0) @ self.chances[first:])

    def and_then(self, other: "Losses", tail: float) -> "Losses":
        """Both, one after the other; at most `tail` of the largest losses counts as infinite."""
        chances = np.convolve(self.chances, other.chances)
        below, above = np.cumsum(chances), np.cumsum(chances[::-1])
        first = int(np.searchsorted(below, tail))
        last = len(chances) - int(np.searchsorted(above, tail))
        if first >= last:
            first, last = 0, len(chances)
        kept = chances[first:last].copy()
        # Rounded up on both sides: the smallest losses become a little larger, the largest ones infinite.
        kept[0] += below[first - 1] if first else 0.0
        beyond = above[len(chances) - last - 1] if last < len(chances) else 0.0
        return Losses(
            self.step, self.lowest + other.lowest + first, kept, self.infinite + other.infinite + float(beyond)
        )

    def times(self, number: int, tail: float) -> "Losses":
        """So many of the same, one after the other."""
        return repeated(self, number, lambda one, other: one.and_then(other, tail))
