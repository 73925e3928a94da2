"""Exact binomial draws: Bin(n, k/2^64) with no rounding anywhere, in work of the order of its spread.

A table of floating-point or 64-bit probabilities has zeros in its tail, and an output that one input can
give and another can't has an unbounded likelihood ratio. So the draw compares random bits with integer
bounds that enclose the true distribution function, and takes more bits, with tighter bounds, whenever the
bits at hand do not decide.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from neologue.entropy import ONE, WORD_BITS, Entropy

FIRST_BITS = 128
GUARD_BITS = 40
NEGLIGIBLE = 1 << GUARD_BITS // 2
"""A weight of less than a millionth of a unit ends an arm; its rounding up is still far from showing."""

Ratio = tuple[int, int]


@dataclass(frozen=True)
class Enclosure:
    """Integer bounds around 2^bits · P(X ≤ j), for j = first - 1, first, first + 1, …"""

    first: int
    lower: list[int]
    upper: list[int]

    @property
    def bounds(self) -> tuple[list[int], list[int]]:
        """Those below, and those above."""
        return self.lower, self.upper

    def surely_below(self, value: int) -> int:
        """A bound below 2^bits · P(X ≤ value)."""
        index = value - self.first + 1
        return 0 if index < 0 else self.lower[min(index, len(self.lower) - 1)]

    def decide(self, drawn: int) -> int | None:
        """The outcome, if every extension of these random bits leads to it."""
        index = bisect_right(self.upper, drawn)
        if index in (0, len(self.upper)) or drawn >= self.lower[index]:
            return None
        return self.first - 1 + index


@dataclass(frozen=True)
class _Arm:
    """Weights on one side of the mode, rounded down and up, and a bound on the sum of all beyond them."""

    lower: list[int]
    upper: list[int]
    beyond: int


def draw_binomial(trials: int, numerator: int, entropy: Entropy) -> int:
    """One draw from Bin(trials, numerator / 2^64), exactly."""
    if numerator == 0 or trials == 0:
        return 0
    if numerator == ONE:
        return trials
    return _decide(trials, numerator, entropy.integer(FIRST_BITS), FIRST_BITS, entropy)


def draw_binomials(trials: int, numerator: int, count: int, entropy: Entropy) -> NDArray[np.int64]:
    """`count` independent draws from Bin(trials, numerator / 2^64), exactly, as fast as words can be looked up."""
    if numerator in (0, ONE) or trials == 0:
        return np.full(count, trials if numerator else 0, np.int64)
    enclosure = enclose(trials, numerator, WORD_BITS)
    lower, upper = (np.array([min(each, ONE - 1) for each in bounds], np.uint64) for bounds in enclosure.bounds)
    drawn = entropy.words(count)
    index = np.searchsorted(upper, drawn, side="right")
    inside = np.minimum(index, len(upper) - 1)
    # Where bounds were cut to a word, the largest word could be on either side of them.
    undecided = (index == 0) | (index == len(upper)) | (drawn >= lower[inside]) | (drawn == np.uint64(ONE - 1))
    outcomes = enclosure.first - 1 + index
    for place in np.flatnonzero(undecided).tolist():
        outcomes[place] = _decide(trials, numerator, int(drawn[place]), WORD_BITS, entropy)
    return outcomes


def _decide(trials: int, numerator: int, drawn: int, bits: int, entropy: Entropy) -> int:
    """The outcome that random bits lead to, and as many more as it takes."""
    while (outcome := enclose(trials, numerator, bits).decide(drawn)) is None:
        drawn = drawn << bits | entropy.integer(bits)
        bits *= 2
    return outcome


def most_of_sum(first: tuple[int, int], second: tuple[int, int], rarity: int) -> int:
    """What the sum of two independent binomial draws exceeds with a chance of at most 2^-rarity, surely.

    Each law is given by its trials and the numerator of its chance. It is the least such number, but for the rounding
    of bounds of 128 bits.
    """
    one, (one_law, other_law) = 1 << FIRST_BITS, (enclose(*law, FIRST_BITS) for law in (first, second))

    def exceeded(most: int) -> int:
        """A bound above the chance that the sum is larger, in units of 2^-256."""
        below, total = 0, 0
        for number, (low, high) in enumerate(zip(other_law.lower, other_law.upper, strict=True), other_law.first - 1):
            total += (high - below) * (one - one_law.surely_below(most - number))
            below = low
        return total + (one - below) * one

    allowed = 1 << 2 * FIRST_BITS - rarity
    return bisect_left(range(first[0] + second[0]), True, key=lambda most: exceeded(most) <= allowed)


@lru_cache(maxsize=64)
def enclose(trials: int, numerator: int, bits: int) -> Enclosure:
    """Bounds of the distribution function of Bin(trials, numerator / 2^64) in units of 2^-bits."""
    success, failure = numerator, ONE - numerator
    mode = min(trials, (trials + 1) * numerator // ONE)
    peak = 1 << (bits + GUARD_BITS)
    rising = (((trials - j) * success, (j + 1) * failure) for j in range(mode, trials))
    falling = ((j * failure, (trials - j + 1) * success) for j in range(mode, 0, -1))
    right, left = _arm(peak, rising), _arm(peak, falling)

    lower = [0, *reversed(left.lower), peak, *right.lower]
    upper = [left.beyond, *reversed(left.upper), peak, *right.upper]
    total_low, total_high = sum(lower), sum(upper) + right.beyond
    scaled = [
        ((low << bits) // (low + total_high - high), -((-high << bits) // (high + total_low - low)))
        for low, high in zip(accumulate(lower), accumulate(upper), strict=True)
    ]
    return Enclosure(mode - len(left.lower), [low for low, _ in scaled], [high for _, high in scaled])


def _arm(peak: int, ratios: Iterable[Ratio]) -> _Arm:
    """Walk away from the mode by the ratios of neighbouring probabilities, which only fall on the way."""
    lower: list[int] = []
    upper: list[int] = []
    low = high = peak
    for numerator, denominator in ratios:
        if high <= NEGLIGIBLE:
            # All further ratios are below this one, so a geometric series bounds what is left.
            return _Arm(lower, upper, -(-high * numerator // (denominator - numerator)))
        low = low * numerator // denominator
        high = -(-high * numerator // denominator)
        lower.append(low)
        upper.append(high)
    return _Arm(lower, upper, 0)
