"""The binomial law as `scipy.stats` has it, which is imported when it is first needed, and Chernoff's bound.

That import takes longer than any other of a worker, which counts reports without it.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = float | Sequence[float] | Floats | NDArray[np.int64]


def pmf(k: Numbers, n: Numbers, p: Numbers) -> Floats:
    """P(X = k) for n trials of chance p."""
    from scipy.stats import binom

    return np.asarray(binom.pmf(k, n, p))


def cdf(k: Numbers, n: Numbers, p: Numbers) -> Floats:
    """P(X ≤ k)."""
    from scipy.stats import binom

    return np.asarray(binom.cdf(k, n, p))


def sf(k: Numbers, n: Numbers, p: Numbers) -> Floats:
    """P(X > k), to the bit as `scipy.stats` has it: both ask Boost for the same beta function, this one at once."""
    from scipy.special import betainc

    passed, trials = np.floor(np.asarray(k, np.float64)), np.asarray(n, np.float64)
    possible = (passed >= 0) & (passed < trials)
    tail = betainc(np.where(possible, passed + 1, 1), np.where(possible, trials - passed, 1), p)
    return np.where(possible, tail, np.where(passed < 0, 1.0, 0.0))


def ppf(chance: Numbers, n: Numbers, p: Numbers) -> Floats:
    """The smallest k with P(X ≤ k) ≥ chance."""
    from scipy.stats import binom

    return np.asarray(binom.ppf(chance, n, p))


def isf(chance: Numbers, n: Numbers, p: Numbers) -> Floats:
    """The smallest k with P(X > k) ≤ chance."""
    from scipy.stats import binom

    return np.asarray(binom.isf(chance, n, p))


def most_indicators(mean: float, nats: float) -> int:
    """What a sum of independent indicators of that mean, or a smaller one, exceeds with a chance of at most e^-nats."""
    if mean <= math.exp(-nats):
        return 0

    def is_rare(number: int) -> bool:
        """Whether Chernoff's bound on the chance of so many, more than the mean, is small enough."""
        return number * math.log(number / mean) - number + mean >= nats

    least = math.floor(mean) + 1
    # So far above the mean it always is.
    farthest = least + math.ceil(3 * nats + 2 * math.sqrt(2 * nats * mean))
    return least - 1 + bisect_left(range(least, farthest), True, key=is_rare)
