"""Estimates and intervals of released words and prefixes that do not follow from their votes."""

from collections.abc import Iterator, Sequence

import numpy as np

from neologue.discovery.estimates import VoteLaw, estimate_holders
from neologue.discovery.result import ReleasedPrefix, ReleasedWord

ROUNDED = 0.051
"""Estimates are written with one decimal."""


def wrong_estimates(
    law: VoteLaw, least: int, released: Sequence[tuple[str, ReleasedWord | ReleasedPrefix]]
) -> Iterator[str]:
    """Names of what has an estimate or interval that no threshold explains, from the fewest votes needed to its own.

    Which threshold it had to pass is not in a release. The higher it was, the lower both ends of the interval are.
    """
    if not released:
        return
    votes = np.array([each.votes for _, each in released])
    highest, lowest = (estimate_holders(law, votes, passed) for passed in (np.full_like(votes, least), votes))
    plain = law.plain_estimate(votes)
    stated = np.array([[each.estimate, each.low, each.high] for _, each in released]).T
    estimate, low, high = stated
    right = (np.abs(np.clip(plain, low, high) - estimate) <= ROUNDED) & (low <= high)
    for end, most, fewest in ((low, highest.low, lowest.low), (high, highest.high, lowest.high)):
        right &= (fewest - ROUNDED <= end) & (end <= most + ROUNDED)
    for index in np.flatnonzero(~right).tolist():
        yield f"{released[index][0]} has an estimate or an interval that does not follow from its votes"
