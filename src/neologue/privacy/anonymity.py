"""k-anonymity of what is released, up to a stated chance.

A run is k-anonymous with certainty α if a candidate that fewer than k contributions of its batch hold is kept with a
chance of at most 1-α, whatever everybody else holds. With h contributions a candidate has f(h) = Bin(h, p) +
Bin(n-h, q) votes, so a threshold θ on the votes gives it exactly: P(f(k-1) ≥ θ) ≤ 1-α.

Keeping the η candidates with the most votes has a threshold too, but a random one. `docs/privacy/anonymity.md` has the
paper's lemma on it, why that can't be used as printed, and the proof of the one used here.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neologue import binom
from neologue.privacy.binomial_pair import plausible_range
from neologue.privacy.bound import ROUNDING
from neologue.randomizers.channel import Channel
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary
from neologue.table import Table

Floats = NDArray[np.float64]

NEGLIGIBLE = 1e-18


def kept_chance(channel: Channel, contributions: int, holders: int, votes: NDArray[np.int64]) -> Floats:
    """P(f(h) ≥ v) for each v, rounded up."""
    p, q = float(channel.p), float(channel.q)
    low, high = plausible_range(holders, p, NEGLIGIBLE)
    held = np.arange(low, high + 1)
    weights = binom.pmf(held, holders, p)
    tails = binom.sf(votes[:, None] - 1 - held, contributions - holders, q)
    return np.asarray(np.minimum(1.0, (tails @ weights + NEGLIGIBLE) * (1 + ROUNDING)))


def release_threshold(channel: Channel, reports: int, k: int, alpha: float) -> int:
    """The fewest votes θ that fewer than k holders reach with a chance of at most 1-α; 0 for a k of 0."""
    if k == 0:
        return 0
    contributions = channel.trials(reports)
    holders = min(k - 1, contributions)
    low = int(channel.mean(holders, reports))
    high = low + 2
    while not _rare(channel, contributions, holders, high, alpha):
        high += high - low
    return low + bisect_left(
        range(low, high), True, key=lambda votes: _rare(channel, contributions, holders, votes, alpha)
    )


def top_k(selection: SubsetSelection, reports: int, kept: int, alpha: float) -> int:
    """The largest k that is certain when the `kept` candidates with the most votes are; 0 if none is.

    For any x, a candidate with fewer than x votes is kept only if fewer than `kept` others have x or more. Those are at
    least as many as if nobody held anything, and the votes are negatively associated, so that Chernoff's bound holds.
    """
    channel = selection.channel
    contributions = channel.trials(reports)
    low, high = plausible_range(contributions, float(channel.q), NEGLIGIBLE)
    votes = np.arange(max(low, 1), high + 1)
    nobody: Floats = np.asarray(binom.sf(votes - 1, contributions, float(channel.q)))
    expected: Floats = (selection.candidates - 1) * (1 - ROUNDING) * nobody
    crowded = expected > kept
    if not crowded.any():
        return 0
    votes, expected = votes[crowded], expected[crowded]
    quiet = np.exp(-((expected - kept + 1) ** 2) / (2 * expected))

    def too_many(holders: int) -> bool:
        return bool((kept_chance(channel, contributions, holders, votes) + quiet).min() > 1 - alpha)

    return _first(too_many, contributions)


def printed_k(selection: SubsetSelection, reports: int, kept: int, alpha: float) -> int | None:
    """The largest k by the paper's lemma as printed, whose threshold comes from subsets of size d-2; None if none."""
    if selection.subset_size < 3:
        return None
    contributions = selection.channel.trials(reports)
    chance = Fraction(selection.subset_size - 2, selection.candidates)
    low, high = plausible_range(contributions, float(chance), NEGLIGIBLE)
    votes = np.arange(max(low, 1), high + 1)
    nobody: Floats = np.asarray(binom.sf(votes - 1, contributions, float(chance)))
    reached: Floats = np.asarray(binom.sf(kept - 1, selection.candidates, nobody))
    threshold = reached - np.append(reached[1:], 0.0)

    def too_many(holders: int) -> bool:
        return float(threshold @ kept_chance(selection.channel, contributions, holders, votes)) > 1 - alpha

    found = _first(too_many, contributions) - 1
    return found if found > 0 else None


@dataclass(frozen=True)
class MostVotedLaw:
    """What keeping the candidates with the most votes proves about the holders of each.

    Both functions are given the randomizer, the reports of a layer, the most candidates kept, and α.
    """

    k: Callable[[Any, int, int, float], int]
    """The largest k that is certain; 0 if none is."""
    printed_k: Callable[[Any, int, int, float], int | None]
    """The same by the paper's lemma as printed."""


MOST_VOTED_LAWS: Table[MostVotedLaw | None] = Table(
    "k-anonymity of the most voted candidates, or the statement that none is proved, for the randomizer",
    "neologue.privacy.anonymity",
    {Unary.name: None, SubsetSelection.name: MostVotedLaw(top_k, printed_k)},
)
"""None where no law is proved: then only a threshold on the votes gives k-anonymity."""


def _first(too_many: Callable[[int], bool], contributions: int) -> int:
    """The fewest holders that are too many, sought from below, where it costs little."""
    high = 1
    while high < contributions and not too_many(high):
        high *= 2
    return bisect_left(range(min(high, contributions) + 1), True, key=too_many)


def _rare(channel: Channel, contributions: int, holders: int, votes: int, alpha: float) -> bool:
    return bool(kept_chance(channel, contributions, holders, np.array([votes]))[0] <= 1 - alpha)
