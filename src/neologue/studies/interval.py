"""Means over several seeds with their confidence intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from scipy.stats import t

CONFIDENCE = 0.95
METHOD = "Student's t over seeds, each with users and reports of its own; none from a single seed"


@dataclass(frozen=True)
class Interval:
    """A mean over seeds with its 95 % interval."""

    mean: float
    low: float | None
    """None with a single seed, which says nothing about the next."""
    high: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> "Interval":
        """The t interval of the mean of the distribution that these values are drawn from."""
        mean = fmean(values)
        if len(values) < 2:
            return cls(mean, None, None)
        half = float(t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * stdev(values) / math.sqrt(len(values))
        return cls(mean, mean - half, mean + half)

    def within(self, least: float, most: float) -> "Interval":
        """The same interval, cut to the possible range."""
        if self.low is None or self.high is None:
            return self
        return Interval(self.mean, max(least, self.low), min(most, self.high))
