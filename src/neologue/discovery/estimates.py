"""How many users hold a word, given its votes and given that they sufficed for its release.

Of M users, H hold the word; its votes in a layer are a sum of independent Bernoulli draws whose number of holders is
hypergeometric, or binomial where each user has a slot of their own. Its mean μ and variance σ² are exact, and its law
is taken as the binomial with the same two moments, n = μ²/(μ-σ²) trials of probability 1-σ²/μ, which is exact when
nobody or everybody holds the word. A released word had at least θ votes, so the law of its votes v is that binomial cut
off below θ, and the interval is the set of H for which v is in neither 2.5 % tail of the cut law (Weinstein, Fithian
and Benjamini 2013). The estimate is the plain unbiased one, kept inside the interval. Selection pushes it up near the
threshold, but words that few hold rarely come that far: they have to pass in every layer before, each with users of its
own.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neologue.randomizers.channel import Channel, Floats

CONFIDENCE = 0.95
BISECTIONS = 60
NEGLIGIBLE = 1e-6


@dataclass(frozen=True)
class Estimates:
    """Estimated holders in the population, with an interval, one entry a word."""

    estimate: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class VoteLaw:
    """The law of a word's votes in a layer whose users are drawn from a population."""

    channel: Channel
    reports: int
    users: int
    asked: int | None = None
    """How many of the users are in the layer on average, if each is by a slot of their own; None if the reports are of
    exactly as many users."""

    def moments(self, holders: ArrayLike) -> tuple[Floats, Floats]:
        """Mean and variance of the votes when so many users of the population hold the word."""
        share = np.asarray(holders, np.float64) / self.users
        if self.asked is None:
            holders_asked = share * self.reports
            drawn = holders_asked * (1 - share) * max(self.users - self.reports, 0) / max(self.users - 1, 1)
        else:
            holders_asked = share * self.asked
            drawn = holders_asked * max(self.users - self.asked, 0) / self.users
        mean = self.channel.mean(holders_asked, self.reports)
        return mean, self.channel.variance(holders_asked, self.reports) + self.channel.gain**2 * drawn

    def plain_estimate(self, votes: NDArray[np.int64]) -> Floats:
        """The unbiased estimate of how many users hold a word with so many votes."""
        asked = self.reports if self.asked is None else self.asked
        return np.asarray(self.channel.estimate(votes, self.reports) * self.users / max(asked, 1))

    def at_least(self, votes: ArrayLike, holders: ArrayLike) -> Floats:
        """P(votes ≥ v) when so many users hold the word."""
        return self._reach(votes, *self.moments(holders))

    @staticmethod
    def _reach(votes: ArrayLike, mean: Floats, variance: Floats) -> Floats:
        """P(votes ≥ v) for votes of these moments."""
        from scipy.special import betainc  # slow to import

        level = np.asarray(votes, np.float64)
        chance = 1 - variance / mean
        trials = mean / chance
        tail = betainc(np.maximum(level, 1), np.maximum(trials - level + 1, 1e-9), chance)
        return np.where(level <= 0, 1.0, np.where(level > trials, 0.0, tail))

    def released_at_least(self, votes: ArrayLike, threshold: ArrayLike, holders: ArrayLike) -> Floats:
        """P(votes ≥ v | votes ≥ θ), 0 where even θ is out of reach."""
        moments = self.moments(holders)
        passed = self._reach(threshold, *moments)
        return np.divide(self._reach(votes, *moments), passed, out=np.zeros_like(passed), where=passed > 0)


def estimate_holders(law: VoteLaw, votes: NDArray[np.int64], thresholds: NDArray[np.int64]) -> Estimates:
    """Estimates for released words from their votes and the fewest that would have done."""
    cases, inverse = np.unique(np.column_stack([votes, thresholds]), axis=0, return_inverse=True)
    seen, least = cases.T
    tail = (1 - CONFIDENCE) / 2

    reached = np.stack([seen, seen + 1])
    wanted = np.array([[tail], [1 - tail]])

    def chance(holders: Floats) -> Floats:
        return law.released_at_least(reached, least, holders)

    low, high = _holders_where(chance, wanted, law.users, reached.shape)
    plain = law.plain_estimate(seen)
    return Estimates(np.clip(plain, low, high)[inverse.ravel()], low[inverse.ravel()], high[inverse.ravel()])


def _holders_where(chance: Callable[[Floats], Floats], wanted: Floats, users: int, shape: tuple[int, ...]) -> Floats:
    """The numbers of holders at which chances that grow with them reach `wanted`."""
    low, high = np.zeros(shape), np.full(shape, float(users))
    for _ in range(BISECTIONS):
        halfway = (low + high) / 2
        reached = chance(halfway) >= wanted
        low, high = np.where(reached, low, halfway), np.where(reached, halfway, high)
    # A chance that is reached even without holders leaves a sliver of the last halving.
    return np.where(high < NEGLIGIBLE, 0.0, (low + high) / 2)
