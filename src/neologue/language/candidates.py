"""The prefixes that a layer votes on, in the order that device and server derive from the frontier.

Each prefix of the frontier is extended by exactly m symbols, or by fewer when they end in ⊥: a prefix-free
set, so that a word belongs to at most one candidate. With n characters there are T(m) = 1 + n·T(m-1)
extensions, T(0) = 1, in lexicographic order with ⊥ first: extension 0 ends the word here, and 1 +
(c-1)·T(m-1) + e is character c followed by extension e. Candidate r·T(m) + e is the r-th prefix with
extension e.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neologue.language.alphabet import Alphabet

Strings = NDArray[np.str_]


def extensions(characters: int, symbols: int) -> int:
    """T(m): the number of extensions by m symbols, or by fewer that end in ⊥."""
    count = 1
    for _ in range(symbols):
        count = 1 + characters * count
    return count


def strings(words: Sequence[str]) -> Strings:
    """Words as a NumPy array, as wide as the longest."""
    return np.array(words, dtype=f"U{max(map(len, words), default=1)}")


@dataclass(frozen=True, eq=False)
class Candidates:
    """Z_i: the frontier P_{i-1}, sorted strings of equal length, extended by m symbols."""

    alphabet: Alphabet
    frontier: Strings
    extension: int

    @property
    def length(self) -> int:
        """The number of characters of the frontier's prefixes."""
        return int(self.frontier.dtype.itemsize // 4)

    @cached_property
    def _below(self) -> list[int]:
        """T(m), T(m-1), …, T(0)."""
        return [extensions(self.alphabet.size - 1, m) for m in range(self.extension, -1, -1)]

    @property
    def ways(self) -> int:
        """T(m): how many extensions of each prefix are voted on."""
        return self._below[0]

    @property
    def size(self) -> int:
        """|Z_i|."""
        return len(self.frontier) * self.ways

    def index(self, words: Strings) -> NDArray[np.int64]:
        """The candidate that each normalised word belongs to, or -1."""
        if not (len(words) and len(self.frontier)):
            return np.full(len(words), -1, np.int64)
        heads = words.astype(self.frontier.dtype)
        ranks = np.searchsorted(self.frontier, heads)
        found = self.frontier[np.minimum(ranks, len(self.frontier) - 1)] == heads
        width = self.length + self.extension
        points = words.astype(f"U{width}").view(np.uint32).reshape(len(words), width)
        codes = self.alphabet.codes(points[:, self.length :])
        found &= (codes >= 0).all(axis=1)

        tails = np.zeros(len(words), np.int64)
        open_ended = np.ones(len(words), np.bool_)
        for position, below in enumerate(self._below[1:]):
            code = codes[:, position]
            open_ended &= code > 0
            tails += np.where(open_ended, 1 + (code - 1) * below, 0)
        return np.where(found, ranks * self.ways + tails, -1)

    def prefixes(self, index: NDArray[np.int64]) -> tuple[Strings, NDArray[np.bool_]]:
        """The prefixes of some candidates, and whether each ends in ⊥."""
        ranks, tails = np.divmod(index, self.ways)
        width = self.length + self.extension
        points = np.zeros((len(index), width), np.uint32)
        points[:, : self.length] = self.frontier[ranks].view(np.uint32).reshape(len(index), self.length)
        ended = np.zeros(len(index), np.bool_)
        for position, below in enumerate(self._below[1:]):
            ended |= tails == 0
            codes, tails = np.divmod(np.maximum(tails - 1, 0), below)
            points[:, self.length + position] = np.where(ended, 0, self.alphabet.points[np.where(ended, 0, codes)])
            tails = np.where(ended, 0, tails)
        return points.view(f"U{width}").ravel(), ended

    @cached_property
    def ended(self) -> NDArray[np.bool_]:
        """Whether each candidate ends in ⊥."""
        tails = np.arange(self.ways)
        ended = np.zeros(len(tails), np.bool_)
        for below in self._below[1:]:
            ended |= tails == 0
            tails = np.where(ended, 0, np.maximum(tails - 1, 0) % below)
        return np.tile(ended, len(self.frontier))


def root(alphabet: Alphabet) -> Strings:
    """P_0: the prefixes of one character, without ⊥."""
    return strings(sorted(alphabet.characters))
