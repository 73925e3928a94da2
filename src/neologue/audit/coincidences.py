"""Draws that agree more often than independent draws would: randomness that was used twice.

Each check knows the law of what it counts, or a bound of it, for devices that draw everything afresh, and says how
likely they are to give as many coincidences as were seen.
"""

import math
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Counts = NDArray[np.int64]

PRINT_BITS = 64
"""The length of the digests by which repeats are found."""
TAIL = 1e-15


@dataclass(frozen=True)
class Coincidence:
    """How often draws agreed."""

    what: str
    seen: int
    of: int
    expected: float
    chance: float
    """That fresh draws agree as often, at most."""


def fingerprint(content: bytes) -> int:
    """A number that other content has only by chance."""
    return int.from_bytes(blake2b(content, digest_size=PRINT_BITS // 8).digest(), "little", signed=True)


def matches(what: str, seen: int, of: int, share: float) -> Coincidence:
    """Independent events, each with the same probability."""
    return Coincidence(what, seen, of, of * share, float(stats.binom.sf(seen - 1, of, share)) if of else 1.0)


def ties(what: str, counts: Counts, trials: int, share: float) -> Coincidence:
    """How often two reports in a row have the same count, where a count is Bin(trials, share).

    They do if the second repeats the first; and if draws within a report are shared, counts have fewer values to take.
    """
    pairs = counts[: len(counts) // 2 * 2].reshape(-1, 2)
    values = np.arange(stats.binom.ppf(TAIL, trials, share), stats.binom.isf(TAIL, trials, share) + 1)
    alike = float((stats.binom.pmf(values, trials, share) ** 2).sum()) + TAIL
    return matches(what, int((pairs[:, 0] == pairs[:, 1]).sum()), len(pairs), min(1.0, alike))


def repeats(what: str, prints: Counts, alike: float) -> Coincidence:
    """How many of all reports repeat an earlier one, where two are alike with at most this probability."""
    pairs = len(prints) * (len(prints) - 1) // 2
    seen = len(prints) - len(np.unique(prints))
    expected = pairs * (alike + 2.0**-PRINT_BITS)
    # Markov's inequality: the number of repeats is at most the number of pairs that are alike.
    return Coincidence(what, seen, len(prints), expected, min(1.0, expected / seen) if seen else 1.0)


def overlaps(what: str, shared: Counts, first: Counts, second: Counts, positions: Counts) -> Coincidence:
    """How many places two reports in a row share, if each takes its number of places in any way alike.

    The law of one pair is hypergeometric; Chernoff's bound for Poisson counts holds for sums of such (Hoeffding 1963).
    """
    seen, expected = int(shared.sum()), float((first * second / np.maximum(1, positions)).sum())
    above = seen > expected
    chance = math.exp(seen - expected - seen * math.log(seen / expected)) if above and expected else float(not above)
    return Coincidence(what, seen, int(np.minimum(first, second).sum()), expected, chance)
