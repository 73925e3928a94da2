"""Prefixes behind which likely strings are asked about: what goes on from each costs, and what was asked before."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neologue.language.candidates import Strings
from neologue.language.spelling_costs import DEAREST, SpellingCosts

Integers = NDArray[np.int64]
SmallIntegers = NDArray[np.int16]
"""What tables of all roots and symbols hold, which a phone has to keep."""
Flags = NDArray[np.bool_]

MOST_SIZES = 1 << 23
"""The most contexts times units of cost, for each of which a device keeps a number."""
MOST_STEPS = 1 << 27
"""The most listed symbols times units of cost, which are what a device adds up."""
MOST_OPENINGS = 1 << 23
"""The most roots times symbols, over all rounds."""
NEVER = DEAREST << 4
"""What a closed symbol costs: more than any limit."""
NO_PREFIXES = 0
"""The limit of prefixes where none is asked about, not even a root: every prefix costs more."""
BLOCK = 1 << 10
"""So many roots or contexts are looked at together."""
UNASKED = -1
"""What strings could cost that were asked about, where none was."""


def largest_limit(spelling: SpellingCosts) -> int:
    """The largest limit on costs for which a device computes the tables of a spelling."""
    sizes, steps = MOST_SIZES // len(spelling.contexts), MOST_STEPS // len(spelling.costs)
    return min(NEVER, sizes, steps) - 1


@dataclass(frozen=True, eq=False)
class Roots:
    """Prefixes, sorted, what their next symbols cost, and what was asked about before."""

    spelling: SpellingCosts
    prefixes: Strings
    costs: Integers
    """What the spelling's cost of a next symbol is added to."""
    even_costs: Integers
    """The most that any next symbol costs that is not closed."""
    asked: SmallIntegers
    """`[r, x]`: what a word could cost behind root r and symbol x if it was asked about before.

    `NEVER` where x is closed: everything was, because that prefix was, too."""

    @classmethod
    def beginning(cls, spelling: SpellingCosts) -> "Roots":
        """The beginning of all words, which is no word itself."""
        asked = np.full((1, spelling.alphabet.size), UNASKED, np.int16)
        asked[0, 0] = NEVER
        free = np.zeros(1, np.int64)
        return cls(spelling, np.array([""], "U1"), free, free + NEVER, asked)

    @cached_property
    def lengths(self) -> Integers:
        """The characters of each root."""
        return np.char.str_len(self.prefixes).astype(np.int64)

    @cached_property
    def states(self) -> Integers:
        """The context behind each root."""
        return states_behind(self.spelling, self.prefixes)

    @cached_property
    def closed(self) -> Flags:
        """`[r, x]`: whether no string goes on from root r with symbol x any more."""
        return np.asarray(self.asked == NEVER)

    @cached_property
    def next_costs(self) -> SmallIntegers:
        """`[r, x]`: the cost of root r and symbol x."""
        modelled = self.costs.astype(np.int16)[:, None] + self.spelling.cost[self.states]
        costs = np.minimum(modelled, self.even_costs.astype(np.int16)[:, None])
        return np.where(self.closed, np.int16(NEVER), costs)

    def of(self, words: Strings) -> Integers:
        """The longest root that each word begins with, or -1."""
        found = np.full(len(words), -1, np.int64)
        lengths = np.char.str_len(words)
        for length, members, prefixes in self._by_length:
            rows = np.flatnonzero((found < 0) & (lengths >= length))
            heads = words[rows].astype(prefixes.dtype) if length else np.full(len(rows), "", "U1")
            ranks = np.minimum(np.searchsorted(prefixes, heads), len(members) - 1)
            found[rows] = np.where(prefixes[ranks] == heads, members[ranks], -1)
        return found

    @cached_property
    def _by_length(self) -> list[tuple[int, Integers, Strings]]:
        """The lengths of roots, the longest first, and the roots of each."""
        lengths = sorted(set(self.lengths.tolist()), reverse=True)
        members = [np.flatnonzero(self.lengths == length) for length in lengths]
        return [
            (length, some, self.prefixes[some].astype(f"U{max(length, 1)}"))
            for length, some in zip(lengths, members, strict=True)
        ]

    def ask(self, prefixes: Strings, limit: int) -> Flags:
        """Whether each of some prefixes is asked about within a limit: it is a root, or a likely one below one."""
        if limit == NO_PREFIXES:
            return np.zeros(len(prefixes), np.bool_)
        root, _, left, _ = self._reach(prefixes, limit)
        return np.asarray((root >= 0) & ((np.char.str_len(prefixes) == self._length_of(root)) | (left >= 0)))

    def asked_after(self, prefixes: Strings, limit: int, prefix_limit: int) -> SmallIntegers:
        """`asked` at each of some prefixes, after these limits on words and on prefixes, and before."""
        asked = np.empty((len(prefixes), self.spelling.alphabet.size), np.int16)
        for some in blocks(len(prefixes), BLOCK):
            asked[some] = self._asked_after(prefixes[some], limit, prefix_limit)
        return asked

    def _asked_after(self, prefixes: Strings, limit: int, prefix_limit: int) -> Integers:
        root, state, left, before = self._reach(prefixes, limit)
        now = left[:, None] - self.spelling.cost[state]
        before = before[:, None] - self.spelling.cost[state]
        kept = np.flatnonzero(np.char.str_len(prefixes) == self._length_of(root))
        now[kept] = limit - self.next_costs[root[kept]]
        before[kept] = self.asked[root[kept]]
        asked = np.maximum(np.maximum(now, before), UNASKED)
        within = now >= limit - prefix_limit
        within[:, 0] = False
        return np.where(within | (before == NEVER), NEVER, asked)

    def costs_of(self, prefixes: Strings, limit: int) -> Integers:
        """What some prefixes cost that are asked about within a limit."""
        root, _, left, _ = self._reach(prefixes, limit)
        itself = np.char.str_len(prefixes) == self._length_of(root)
        return np.where(itself, np.clip(self.costs[root], 0, limit), limit - left)

    def _reach(self, prefixes: Strings, limit: int) -> tuple[Integers, Integers, Integers, Integers]:
        """The root of each prefix or -1, the context behind the prefix, and what strings may cost more there.

        That is first what is left of the limit, then of what was asked about before.
        """
        root = self.of(prefixes)
        state, left = states_behind(self.spelling, prefixes), np.full(len(prefixes), limit)
        before = np.full(len(prefixes), UNASKED)
        codes, lengths = codes_of(self.spelling, prefixes), np.char.str_len(prefixes)
        rows = np.flatnonzero((root >= 0) & (lengths > self._length_of(root)))
        position = self.lengths[root[rows]]
        code, position = codes[rows, position], position + 1
        here = self.spelling.after[self.states[root[rows]], code]
        left[rows] -= self.next_costs[root[rows], code]
        before[rows] = self.asked[root[rows], code]
        while len(rows):
            on = np.flatnonzero(lengths[rows] > position)
            rows, here, position = rows[on], here[on], position[on]
            code, position = codes[rows, position], position + 1
            left[rows] -= self.spelling.cost[here, code]
            before[rows] -= self.spelling.cost[here, code]
            here = self.spelling.after[here, code]
        return root, state, left, before

    def _length_of(self, root: Integers) -> Integers:
        """The characters of each of some roots, of which -1 is none."""
        return np.append(self.lengths, 0)[root]


def blocks(number: int, size: int) -> Iterator[slice]:
    """Some of so many at a time: what is computed of all of them, with every symbol, may be much."""
    return (slice(start, start + size) for start in range(0, number, size))


def states_behind(spelling: SpellingCosts, prefixes: Strings) -> Integers:
    """The context behind each of some prefixes."""
    codes, lengths = codes_of(spelling, prefixes), np.char.str_len(prefixes)
    states = np.full(len(prefixes), spelling.start, np.int64)
    for position in range(codes.shape[1]):
        further = np.flatnonzero(lengths > position)
        states[further] = spelling.after[states[further], codes[further, position]]
    return states


def codes_of(spelling: SpellingCosts, words: Strings) -> Integers:
    """The symbols of words as codes, one row each, with at least one ⊥ at the end."""
    points = words.view(np.uint32).reshape(len(words), words.dtype.itemsize // 4)
    return np.pad(spelling.alphabet.codes(points), ((0, 0), (0, 1)))
