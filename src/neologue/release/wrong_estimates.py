"""Estimates and intervals of released words that do not follow from their votes."""

from collections.abc import Iterator

import numpy as np

from neologue.discovery.estimates import VoteLaw, estimate_holders
from neologue.discovery.result import ReleasedWord

ROUNDED = 0.051
"""Estimates are written with one decimal."""


def wrong_estimates(law: VoteLaw, least: int, words: list[tuple[int, ReleasedWord]]) -> Iterator[str]:
    """Words whose estimate or interval no threshold explains, from the fewest votes needed to the word's own.

    Which threshold a word had to pass is not in a release. The higher it was, the lower both ends of the interval are.
    """
    if not words:
        return
    votes = np.array([word.votes for _, word in words])
    highest, lowest = (estimate_holders(law, votes, passed) for passed in (np.full_like(votes, least), votes))
    plain = law.plain_estimate(votes)
    stated = np.array([[word.estimate, word.low, word.high] for _, word in words]).T
    estimate, low, high = stated
    right = (np.abs(np.clip(plain, low, high) - estimate) <= ROUNDED) & (low <= high)
    for end, most, fewest in ((low, highest.low, lowest.low), (high, highest.high, lowest.high)):
        right &= (fewest - ROUNDED <= end) & (end <= most + ROUNDED)
    for index in np.flatnonzero(~right):
        yield f"word {words[index][0]} has an estimate or an interval that does not follow from its votes"
