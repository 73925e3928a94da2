"""The prefixes that a layer votes on, in the order that device and server derive from the frontier.

Each prefix of the frontier is extended by exactly m symbols, or by fewer when they end in ⊥: a prefix-free
set, so that a word belongs to at most one candidate. With n characters there are T(m) = 1 + n·T(m-1)
extensions, T(0) = 1, in lexicographic order with ⊥ first: extension 0 ends the word here, and 1 +
(c-1)·T(m-1) + e is character c followed by extension e. Candidate r·T(m) + e is the r-th prefix with
extension e.

Most long extensions occur in no word of any language. A layer can therefore list the extensions that it votes on, one
list for each distinct last character of its prefixes, and use the first t of its list for each prefix. Candidates are
then numbered prefix by prefix, in the order of the list; a word with an unlisted extension has no candidate.

A layer can ask again about words that an earlier layer left in doubt. They are shorter than its prefixes, so a word
still belongs to at most one candidate, and they come after all others, in order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neologue.language.alphabet import Alphabet
from neologue.language.lists import Lists

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
    lists: Lists | None = None
    """The extensions that are voted on; None means all."""
    doubtful: Strings = field(default_factory=lambda: strings([]))
    """Words that are asked about again, sorted, all shorter than the prefixes."""

    @property
    def length(self) -> int:
        """The number of characters of the frontier's prefixes."""
        return int(self.frontier.dtype.itemsize // 4)

    @cached_property
    def _below(self) -> list[int]:
        """T(m), T(m-1), …, T(0)."""
        return [extensions(self.alphabet.size - 1, m) for m in range(self.extension, -1, -1)]

    @property
    def ways(self) -> NDArray[np.int64]:
        """How many extensions of each prefix are voted on."""
        return np.full(len(self.frontier), self._below[0]) if self.lists is None else self.lists.ways

    @cached_property
    def _members(self) -> NDArray[np.intp]:
        """The list of each prefix, as an index into the distinct last characters."""
        return last_characters(self.frontier)[1]

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """The first candidate of each prefix, and the end of the last one's."""
        return np.append(0, np.cumsum(self.ways))

    @cached_property
    def _sorted_numbers(self) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """The numbers of all lists, made distinct between lists and sorted, and the position of each in the lists."""
        assert self.lists is not None
        rows = np.repeat(np.arange(len(self.lists.rows)), [len(row) for row in self.lists.rows])
        numbers = self.lists.numbers + self._below[0] * rows
        order = np.argsort(numbers)
        return numbers[order], order

    @property
    def size(self) -> int:
        """|Z_i|."""
        return self.extending + len(self.doubtful)

    @property
    def extending(self) -> int:
        """The number of candidates that extend a prefix: all but the doubtful words."""
        return int(self._starts[-1])

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
        ranks = np.where(found, ranks, 0)
        if self.lists is not None:
            numbers, order = self._sorted_numbers
            members = self._members[ranks]
            wanted = tails + self._below[0] * members
            sorted_indices = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
            tails = order[sorted_indices] - self.lists.starts[members]
            found &= (numbers[sorted_indices] == wanted) & (tails < self.lists.ways[ranks])
        index = np.where(found, self._starts[ranks] + tails, -1)
        if not len(self.doubtful):
            return index
        indices = np.minimum(np.searchsorted(self.doubtful, words), len(self.doubtful) - 1)
        return np.where(self.doubtful[indices] == words, self.extending + indices, index)

    def prefixes(self, index: NDArray[np.int64]) -> tuple[Strings, NDArray[np.bool_]]:
        """The prefixes of some candidates, and whether each ends in ⊥."""
        again = np.flatnonzero(index >= self.extending)
        extending = np.where(index >= self.extending, 0, index)
        ranks = np.searchsorted(self._starts, extending, side="right") - 1
        tails = extending - self._starts[ranks]
        if self.lists is not None:
            tails = self.lists.numbers[self.lists.starts[self._members[ranks]] + tails]
        width = self.length + self.extension
        points = np.zeros((len(index), width), np.uint32)
        points[:, : self.length] = self.frontier[ranks].view(np.uint32).reshape(len(index), self.length)
        ended = np.zeros(len(index), np.bool_)
        for position, below in enumerate(self._below[1:]):
            ended |= tails == 0
            codes, tails = np.divmod(np.maximum(tails - 1, 0), below)
            points[:, self.length + position] = np.where(ended, 0, self.alphabet.points[np.where(ended, 0, codes)])
            tails = np.where(ended, 0, tails)
        prefixes = points.view(f"U{width}").ravel()
        prefixes[again], ended[again] = self.doubtful[index[again] - self.extending], True
        return prefixes, ended

    def codes(self, tails: NDArray[np.int64]) -> NDArray[np.int64]:
        """The symbol codes of some extensions, one row each, padded with 0, the code of ⊥."""
        codes = np.zeros((len(tails), self.extension), np.int64)
        for position, below in enumerate(self._below[1:]):
            code, rest = np.divmod(tails - 1, below)
            codes[:, position] = np.where(tails > 0, code + 1, 0)
            tails = np.where(tails > 0, rest, 0)
        return codes

    def among(self, indices: NDArray[np.integer]) -> "Candidates":
        """The candidates that extend some of the prefixes, given by their indices in order."""
        lists = self.lists
        if lists is not None:
            used, members = np.unique(self._members[indices], return_inverse=True)
            lists = Lists.cut([lists.rows[row] for row in used], lists.ways[indices], members)
        return Candidates(self.alphabet, self.frontier[indices], self.extension, lists)

    @property
    def endings(self) -> NDArray[np.int64]:
        """How many of the extensions of each prefix end in ⊥."""
        if self.lists is None:
            return np.full(len(self.frontier), self._ends(np.arange(self._below[0])).sum())
        ends, starts = np.append(0, np.cumsum(self._ends(self.lists.numbers))), self.lists.starts[self._members]
        return np.asarray(ends[starts + self.ways] - ends[starts])

    @cached_property
    def ended(self) -> NDArray[np.bool_]:
        """Whether each candidate ends in ⊥."""
        if self.lists is None:
            extending = np.tile(self._ends(np.arange(self._below[0])), len(self.frontier))
        else:
            extending = self._ends(self.lists.numbers)[self.lists.positions(self._members)]
        return np.append(extending, np.ones(len(self.doubtful), np.bool_))

    def _ends(self, tails: NDArray[np.int64]) -> NDArray[np.bool_]:
        ended = np.zeros(len(tails), np.bool_)
        for below in self._below[1:]:
            ended |= tails == 0
            tails = np.where(ended, 0, np.maximum(tails - 1, 0) % below)
        return ended


def last_characters(frontier: Strings) -> tuple[NDArray[np.uint32], NDArray[np.intp]]:
    """The distinct last characters of some prefixes, in order, and the index of each prefix's."""
    points = frontier.view(np.uint32).reshape(len(frontier), -1)
    return np.unique(points[:, -1], return_inverse=True)


def root(alphabet: Alphabet) -> Strings:
    """P_0: the prefixes of one character, without ⊥."""
    return strings(sorted(alphabet.characters))
