"""Which user holds which word: the common form of simulated and recorded users."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_TIMES = 2**31 - 1
"""The largest count of a user's word; larger counts are reduced to it."""


@dataclass(frozen=True, eq=False)
class Holdings:
    """The distinct words of some users, as compressed rows.

    User u holds `words[starts[u]:starts[u + 1]]` (ids into a lexicon, each at most once) and typed them
    `counts[...]` times.
    """

    starts: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.int32]

    @classmethod
    def from_pairs(cls, pairs: NDArray[np.int64], counts: NDArray[np.int32], users: int, words: int) -> "Holdings":
        """The rows of distinct sorted pairs, each user · words + word."""
        return cls(np.searchsorted(pairs, np.arange(users + 1) * words), (pairs % words).astype(np.int32), counts)

    @classmethod
    def concatenate(cls, parts: Sequence["Holdings"]) -> "Holdings":
        """The users of all parts, one part after the other."""
        ends = np.cumsum([0, *(len(part.words) for part in parts)])
        starts = [part.starts[:-1] + end for part, end in zip(parts, ends[:-1], strict=True)]
        nothing = np.empty(0, np.int32)
        return cls(
            np.concatenate([*starts, ends[-1:]]),
            np.concatenate([nothing, *(part.words for part in parts)]),
            np.concatenate([nothing, *(part.counts for part in parts)]),
        )

    @property
    def users(self) -> int:
        """The number of users, those who hold nothing included."""
        return len(self.starts) - 1

    def rows(self, start: int, stop: int) -> "Holdings":
        """The users from `start` to before `stop`."""
        first, last = self.starts[start], self.starts[stop]
        return Holdings(self.starts[start : stop + 1] - first, self.words[first:last], self.counts[first:last])

    def take(self, users: NDArray[np.int64]) -> "Holdings":
        """These users, in this order."""
        firsts = self.starts[users]
        sizes = self.starts[users + 1] - firsts
        starts = np.concatenate([[0], np.cumsum(sizes)])
        indices = np.arange(starts[-1]) + np.repeat(firsts - starts[:-1], sizes)
        return Holdings(starts, self.words[indices], self.counts[indices])


def merge_pairs(pairs: NDArray[np.int64], times: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Sort pairs of user and word in place, and sum the counts of equal pairs."""
    times = times[np.argsort(pairs)]
    pairs.sort()
    repeated = np.zeros(len(pairs), dtype=bool)
    repeated[1:] = pairs[1:] == pairs[:-1]
    if not repeated.any():
        return pairs, times
    first = np.flatnonzero(~repeated)
    counts = np.add.reduceat(times, first, dtype=np.int64)
    return pairs[first], np.minimum(counts, MOST_TIMES).astype(np.int32)
