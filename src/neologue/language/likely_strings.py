"""All strings below some roots that cost at most a limit, numbered without enumerating them.

A root is a prefix. The strings that begin with it are cut where they become too dear: a string belongs to the set if
its cost is within the limit, and then so do all its prefixes down to the root. What a root's next symbol costs depends
on the root: what the spelling asks for it on top of the root's own cost, but never more than the root's even cost, at
which it asks for any symbol. Symbols that are closed at a root were asked about before, and no string goes on with
them.

A word belongs to itself if it is in the set, and otherwise to its longest prefix that is: the escape of that prefix,
which stands for all words that go on in a way that is not asked about. Strings are numbered root by root, each prefix
before the word that it is, if that is asked about, and that before all longer strings, by their next symbol.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neologue.errors import ParameterError
from neologue.language.candidates import Strings
from neologue.language.spelling_costs import DEAREST, SpellingCosts

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

MOST_SIZES = 1 << 23
"""The most contexts times units of cost, for each of which a device keeps a number."""
MOST_STEPS = 1 << 27
"""The most listed symbols times units of cost, which are what a device adds up."""
MOST_OPENINGS = 1 << 23
"""The most roots times symbols, over all rounds."""
NEVER = DEAREST << 4
"""What a closed symbol costs: more than any limit."""


def largest_limit(spelling: SpellingCosts) -> int:
    """The largest limit on costs for which a device computes the tables of a spelling."""
    sizes, steps = MOST_SIZES // len(spelling.contexts), MOST_STEPS // len(spelling.costs)
    return min(NEVER, sizes, steps) - 1


@dataclass(frozen=True, eq=False)
class Roots:
    """Prefixes, sorted, and what their next symbols cost."""

    spelling: SpellingCosts
    prefixes: Strings
    costs: Integers
    """What the spelling's cost of a next symbol is added to."""
    even_costs: Integers
    """The most that any next symbol costs that is not closed."""
    closed: Flags
    """`[r, x]`: whether symbol x was asked about below root r before."""

    @classmethod
    def beginning(cls, spelling: SpellingCosts) -> "Roots":
        """The beginning of all words, which is no word itself."""
        closed = np.zeros((1, spelling.alphabet.size), np.bool_)
        closed[0, 0] = True
        free = np.zeros(1, np.int64)
        return cls(spelling, np.array([""], "U1"), free, free + NEVER, closed)

    @cached_property
    def lengths(self) -> Integers:
        """The characters of each root."""
        return np.char.str_len(self.prefixes).astype(np.int64)

    @cached_property
    def states(self) -> Integers:
        """The context behind each root."""
        return states_behind(self.spelling, self.prefixes)

    @cached_property
    def next_costs(self) -> NDArray[np.int32]:
        """`[r, x]`: the cost of root r and symbol x."""
        modelled = self.costs[:, None] + self.spelling.cost[self.states]
        costs = np.minimum(modelled, self.even_costs[:, None])
        return np.where(self.closed, NEVER, costs).astype(np.int32)

    def of(self, words: Strings) -> Integers:
        """The longest root that each word begins with, or -1."""
        found = np.full(len(words), -1, np.int64)
        lengths = np.char.str_len(words)
        for length in sorted(set(self.lengths.tolist()), reverse=True):
            rows = np.flatnonzero((found < 0) & (lengths >= length))
            members = np.flatnonzero(self.lengths == length)
            heads = words[rows].astype(f"U{max(length, 1)}") if length else np.full(len(rows), "", "U1")
            ranks = np.minimum(np.searchsorted(self.prefixes[members], heads), len(members) - 1)
            found[rows] = np.where(self.prefixes[members[ranks]] == heads, members[ranks], -1)
        return found

    def ask(self, prefixes: Strings, limit: int) -> Flags:
        """Whether each of some prefixes is asked about within a limit: it is a root, or a likely string below one."""
        root, _, left = self._reach(prefixes, limit)
        return np.asarray((root >= 0) & ((np.char.str_len(prefixes) == self._length_of(root)) | (left >= 0)))

    def asked_after(self, prefixes: Strings, limit: int) -> Flags:
        """`[p, x]`: whether a symbol after each of some prefixes was asked about, now, within this limit, or before."""
        root, state, left = self._reach(prefixes, limit)
        asked = self.spelling.cost[state] <= left[:, None]
        kept = np.flatnonzero(np.char.str_len(prefixes) == self._length_of(root))
        asked[kept] = self.closed[root[kept]] | (self.next_costs[root[kept]] <= limit)
        return asked

    def costs_of(self, prefixes: Strings, limit: int) -> Integers:
        """What some prefixes cost that are asked about within a limit."""
        root, _, left = self._reach(prefixes, limit)
        itself = np.char.str_len(prefixes) == self._length_of(root)
        return np.where(itself, np.clip(self.costs[root], 0, limit), limit - left)

    def _reach(self, prefixes: Strings, limit: int) -> tuple[Integers, Integers, Integers]:
        """The root of each prefix or -1, the context behind the prefix, and how much of the limit is left there."""
        root = self.of(prefixes)
        state, left = states_behind(self.spelling, prefixes), np.full(len(prefixes), limit)
        codes, lengths = _codes(self.spelling, prefixes), np.char.str_len(prefixes)
        rows = np.flatnonzero((root >= 0) & (lengths > self._length_of(root)))
        position = self.lengths[root[rows]]
        code, position = codes[rows, position], position + 1
        here = self.spelling.after[self.states[root[rows]], code]
        left[rows] -= self.next_costs[root[rows], code]
        while len(rows):
            on = np.flatnonzero(lengths[rows] > position)
            rows, here, position = rows[on], here[on], position[on]
            code, position = codes[rows, position], position + 1
            left[rows] -= self.spelling.cost[here, code]
            here = self.spelling.after[here, code]
        return root, state, left

    def _length_of(self, root: Integers) -> Integers:
        """The characters of each of some roots, of which -1 is none."""
        return np.append(self.lengths, 0)[root]


@dataclass(frozen=True, eq=False)
class LikelyStrings:
    """The strings below some roots that cost at most `limit`: words, and also all prefixes if `escapes` says so."""

    roots: Roots
    limit: int
    escapes: bool

    def __post_init__(self) -> None:
        most = largest_limit(self.roots.spelling)
        if not 0 <= self.limit <= most:
            raise ParameterError(
                f"a limit on costs must be from 0 to {most}, as far as a device's tables go for "
                f"{len(self.roots.spelling.contexts):,} contexts, not {self.limit}"
            )

    @cached_property
    def _sizes(self) -> Integers:
        """`[b, s]`: the number of strings behind a prefix in context s that may cost b more."""
        dearest = self.limit - int(self.roots.next_costs[:, 1:].min(initial=self.limit))
        return self.roots.spelling.sizes(dearest, prefixes=self.escapes)

    @cached_property
    def _first_sizes(self) -> Integers:
        """`[r, x]`: the number of strings that begin with root r and symbol x."""
        left = self.limit - self.roots.next_costs
        after = self.roots.spelling.after[self.roots.states]
        rows = np.minimum(np.maximum(left, 0), len(self._sizes) - 1)  # where a word ends, more than that may be left
        sizes = np.where(left >= 0, self._sizes[rows, after], 0)
        sizes[:, 0] = left[:, 0] >= 0
        return sizes

    @cached_property
    def _first_before(self) -> Integers:
        """`[r, x]`: the number of strings that begin with root r and an earlier symbol than x."""
        return np.cumsum(self._first_sizes, axis=1) - self._first_sizes

    @cached_property
    def _starts(self) -> Integers:
        """The first string of each root, and the end of the last one's."""
        return np.append(0, np.cumsum(self._first_sizes.sum(axis=1) + int(self.escapes)))

    @property
    def size(self) -> int:
        """How many strings there are."""
        return int(self._starts[-1])

    def index(self, words: Strings) -> Integers:
        """The string that each normalised word belongs to, or -1."""
        index = np.full(len(words), -1, np.int64)
        root = self.roots.of(words)
        rows = np.flatnonzero(root >= 0)
        codes = _codes(self.roots.spelling, words)
        root = root[rows]
        position = self.roots.lengths[root]
        code = codes[rows, position]
        open_ = np.flatnonzero(~self.roots.closed[root, code] & (codes[rows].min(axis=1) >= 0))
        rows, root, position, code = rows[open_], root[open_], position[open_], code[open_]
        if self.escapes:
            index[rows] = self._starts[root]
        within = np.flatnonzero(self.roots.next_costs[root, code] <= self.limit)
        rows, root, position, code = rows[within], root[within], position[within], code[within]
        here = self._starts[root] + int(self.escapes) + self._first_before[root, code]
        state = self.roots.spelling.after[self.roots.states[root], code].astype(np.int64)
        left = self.limit - self.roots.next_costs[root, code].astype(np.int64)
        while len(rows):
            ended = code == 0
            index[rows[ended]] = here[ended]
            on = np.flatnonzero(~ended)
            rows, here, state, left, position = rows[on], here[on], state[on], left[on], position[on] + 1
            if self.escapes:
                index[rows] = here
            code = codes[rows, position]
            cost = self.roots.spelling.cost[state, code]
            within = np.flatnonzero(cost <= left)
            rows, here, state, left, position, code = (
                values[within] for values in (rows, here, state, left, position, code)
            )
            if not len(rows):
                break
            here = here + int(self.escapes) + self._before(state, left, code)
            left = left - self.roots.spelling.cost[state, code]
            state = self.roots.spelling.after[state, code].astype(np.int64)
        return index

    def strings(self, index: Integers) -> tuple[Strings, Flags]:
        """Some of the strings, and whether each is a word."""
        root = np.searchsorted(self._starts, index, side="right") - 1
        rank = index - self._starts[root]
        width = int(self.roots.lengths.max(initial=0)) + self.limit + 1
        points = np.append(np.uint32(0), self.roots.spelling.alphabet.points)
        spelled: list[NDArray[np.uint32]] = []
        ended = np.zeros(len(index), np.bool_)
        rows = np.flatnonzero(rank >= int(self.escapes)) if self.escapes else np.arange(len(index))
        rank = rank[rows] - int(self.escapes)
        ends = self._first_before + self._first_sizes
        code = (ends[root[rows]] <= rank[:, None]).sum(axis=1)
        rank = rank - self._first_before[root[rows], code]
        state = self.roots.spelling.after[self.roots.states[root[rows]], code].astype(np.int64)
        left = self.limit - self.roots.next_costs[root[rows], code].astype(np.int64)
        while len(rows) and len(spelled) < width:
            column = np.zeros(len(index), np.uint32)
            column[rows] = points[code]
            spelled.append(column)
            ended[rows] |= code == 0
            on = np.flatnonzero((code > 0) & (rank >= int(self.escapes)))
            rows, rank, state, left = rows[on], rank[on] - int(self.escapes), state[on], left[on]
            if not len(rows):
                break
            pairs, inverse = np.unique(state * (self.limit + 1) + left, return_inverse=True)
            sizes = self._next_sizes(*np.divmod(pairs, self.limit + 1))
            ends = np.cumsum(sizes, axis=1)
            code = (ends[inverse] <= rank[:, None]).sum(axis=1)
            rank = rank - (ends - sizes)[inverse, code]
            left = left - self.roots.spelling.cost[state, code]
            state = self.roots.spelling.after[state, code].astype(np.int64)
        return _joined(self.roots.prefixes[root], spelled), ended

    def _before(self, state: Integers, left: Integers, code: Integers) -> Integers:
        """How many strings go on from a context with an earlier symbol."""
        symbols = self.roots.spelling.alphabet.size
        cases, inverse = np.unique((state * (self.limit + 1) + left) * symbols + code, return_inverse=True)
        pairs, codes = np.divmod(cases, symbols)
        sizes = self._next_sizes(*np.divmod(pairs, self.limit + 1))
        return np.asarray((sizes * (np.arange(symbols) < codes[:, None])).sum(axis=1)[inverse])

    def _next_sizes(self, state: Integers, left: Integers) -> Integers:
        """`[·, x]`: how many strings go on with symbol x, from contexts that may still cost so much."""
        rest = left[:, None] - self.roots.spelling.cost[state]
        sizes = np.where(rest >= 0, self._sizes[np.maximum(rest, 0), self.roots.spelling.after[state]], 0)
        sizes[:, 0] = rest[:, 0] >= 0
        return sizes


def states_behind(spelling: SpellingCosts, prefixes: Strings) -> Integers:
    """The context behind each of some prefixes."""
    codes, lengths = _codes(spelling, prefixes), np.char.str_len(prefixes)
    states = np.full(len(prefixes), spelling.start, np.int64)
    for position in range(codes.shape[1]):
        further = np.flatnonzero(lengths > position)
        states[further] = spelling.after[states[further], codes[further, position]]
    return states


def _codes(spelling: SpellingCosts, words: Strings) -> Integers:
    """The symbols of words as codes, one row each, with at least one ⊥ at the end."""
    points = words.view(np.uint32).reshape(len(words), words.dtype.itemsize // 4)
    return np.pad(spelling.alphabet.codes(points), ((0, 0), (0, 1)))


def _joined(heads: Strings, columns: list[NDArray[np.uint32]]) -> Strings:
    """Prefixes, each with the characters behind it."""
    if not columns:
        return heads
    tails = np.ascontiguousarray(np.column_stack(columns)).view(f"U{len(columns)}").ravel()
    return np.char.add(heads, tails)
