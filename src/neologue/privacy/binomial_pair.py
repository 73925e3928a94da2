"""One report hidden among fair coins: what the theorems on shuffling come down to.

C ~ Bin(m, r) coins fall on a or b with equal chance. The report adds one to a with probability u and to b with
probability w, or the other way round if its word is the other one; otherwise it adds nothing. Who sees the two
sums learns of the word at most δ(ε) = Σ max(P - e^ε·P', 0).

Given t = a + b, the likelihood ratio grows with a, so the sum over a is a tail of binomials: δ costs one pass over
the plausible t. What is left out at both ends of t is added to δ. Where there are very many t, some neighbours are
taken together and stand for each other on the safe side: with the fewest coins among them (one coin more is
independent noise, which hides more) and the least chance that the report added nothing.
"""

import numpy as np
from numpy.typing import NDArray

from neologue import binom

Floats = NDArray[np.float64]

COARSENESS = 1e-4
"""Sums that differ by less than this share are taken together."""
UNHIDDEN = 1e-12
"""A chance to add nothing that may be no more than rounding; it counts as none, which hides less."""


def pair_delta(
    epsilon: float, coins: int, chance: float, up: float, down: float, tail: float, coarseness: float = COARSENESS
) -> float:
    """An upper bound on δ(ε) for m = `coins`, r = `chance`, u = `up` > w = `down`; at most `tail` is left out."""
    growth = float(np.exp(epsilon))
    if up <= growth * down:
        return 0.0
    low, high = plausible_range(coins, chance, tail)
    left_out = float(binom.cdf(low - 1, coins, chance) + binom.sf(high, coins, chance))
    width = 1 + int(coarseness * coins * chance)
    fewest = np.arange(low, high + 1, width)
    weights = block_chances(fewest, high + 1, coins, chance)
    # Of sums t = C + 1: P(C = t) / P(C = t - 1) says how likely it is that the report added nothing.
    most_sum = np.minimum(fewest + width, high + 1).astype(np.float64)
    idle, hidden = np.zeros(len(fewest)), 1.0 - up - down
    if hidden > UNHIDDEN:
        idle = hidden * (coins - most_sum + 1) / most_sum * (chance / (1 - chance))
    sums = fewest + 1.0
    needed = sums * ((growth - 1) * idle + 2 * (growth * up - down)) / (2 * (1 + growth) * (up - down))
    least = np.ceil(needed)
    at_least, one_less = binom.sf(least - 1, fewest, 0.5), binom.sf(least - 2, fewest, 0.5)
    excess = (up - growth * down) * one_less + (down - growth * up) * at_least
    excess -= idle * (growth - 1) * (at_least + one_less) / 2
    return float((weights * np.maximum(excess, 0)).sum()) + left_out


def block_chances(edges: NDArray[np.int64], end: int, trials: int, chance: float) -> Floats:
    """The chances that a binomial falls between one edge and the next, the last at `end`; exact in both tails."""
    bounds = np.append(edges, end)
    below, above = binom.cdf(bounds - 1, trials, chance), binom.sf(bounds - 1, trials, chance)
    return np.asarray(np.where(bounds[1:] <= trials * chance, np.diff(below), -np.diff(above)))


def plausible_range(trials: int, chance: float, tail: float) -> tuple[int, int]:
    """A range that a binomial leaves with a chance of about `tail` at most (Bernstein's inequality)."""
    mean, doubt = trials * chance, float(np.log(2 / tail))
    reach = doubt / 3 + float(np.sqrt(doubt**2 / 9 + 2 * doubt * mean * (1 - chance)))
    return max(0, int(mean - reach)), min(trials, int(mean + reach) + 1)
