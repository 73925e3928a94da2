"""How votes come through a randomizer, and what a sum of them says about the number of holders.

A candidate that h of the contributions hold gets Bin(h, p) + Bin(n - h, q) votes, where n is the number of
contributions: one per report for unary, B per report for Subset Selection.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Channel:
    """The two probabilities of a vote, exactly as the sampler uses them."""

    p: Fraction
    """That a contribution votes for the candidate it holds."""
    q: Fraction
    """That a contribution votes for a candidate it does not hold."""
    contributions: int
    """The number of contributions in one report."""

    @property
    def vote_ratio(self) -> Fraction:
        """How much likelier a contribution votes for a candidate that it holds than for one that it does not."""
        return self.p / self.q

    @property
    def silence_ratio(self) -> Fraction:
        """How much likelier a contribution is silent on a candidate that it does not hold than on the one it holds."""
        return (1 - self.q) / (1 - self.p)

    @cached_property
    def gain(self) -> float:
        """The votes that one holder adds on average."""
        return float(self.p - self.q)

    def trials(self, reports: int) -> int:
        """The number of contributions in so many reports."""
        return reports * self.contributions

    def mean(self, holders: ArrayLike, reports: int) -> Floats:
        """The expected votes of a candidate."""
        return self.trials(reports) * float(self.q) + np.asarray(holders, np.float64) * self.gain

    def variance(self, holders: ArrayLike, reports: int) -> Floats:
        """The variance of the votes of a candidate."""
        p, q = float(self.p), float(self.q)
        held = np.asarray(holders, np.float64)
        return held * p * (1 - p) + (self.trials(reports) - held) * q * (1 - q)

    def estimate(self, votes: ArrayLike, reports: int) -> Floats:
        """The unbiased number of holders among the reports."""
        return (np.asarray(votes, np.float64) - self.trials(reports) * float(self.q)) / self.gain
