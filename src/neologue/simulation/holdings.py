"""Which user holds which word: the rows that simulation and own data share."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Holdings:
    """The distinct words of some users, as compressed rows.

    User u holds `words[starts[u]:starts[u + 1]]` (ids into a lexicon, each at most once) and typed them
    `counts[...]` times.
    """

    starts: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.int32]

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
        places = np.arange(starts[-1]) + np.repeat(firsts - starts[:-1], sizes)
        return Holdings(starts, self.words[places], self.counts[places])
