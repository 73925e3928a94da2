"""All strings below some roots that cost at most a limit, numbered without enumerating them.

A root is a prefix. The words that begin with it are asked about if they cost at most a limit, and the prefixes if they
cost at most another, smaller one; then so are all shorter prefixes down to the root. What a root's next
symbol costs depends on the root: what the spelling asks for it on top of the root's own cost, but never more than the
root's even cost, at which it asks for any symbol. What was asked about before is left out: all that goes on from a root
with a symbol, if that prefix was asked about, and otherwise the words that did not cost too much then.

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
from neologue.language.likely_roots import (
    BLOCK,
    NEVER,
    NO_PREFIXES,
    UNASKED,
    Flags,
    Integers,
    Roots,
    SmallIntegers,
    blocks,
    codes_of,
    largest_limit,
)
from neologue.language.spelling_costs import MOST_STRINGS

WORDS = 1 << 16
"""So many words are looked at together."""


@dataclass(frozen=True, eq=False)
class LikelyStrings:
    """The words below some roots that cost at most `limit`, and the prefixes that cost at most `prefix_limit`.

    Roots are among the prefixes, unless there are `NO_PREFIXES`.
    """

    roots: Roots
    limit: int
    prefix_limit: int

    def __post_init__(self) -> None:
        most = largest_limit(self.roots.spelling)
        if not 0 <= self.prefix_limit <= self.limit <= most:
            raise ParameterError(
                f"a limit on costs must be from 0 to {most}, as far as a device's tables go for "
                f"{len(self.roots.spelling.contexts):,} contexts, and not be smaller than that of prefixes, not "
                f"{self.limit} and {self.prefix_limit}"
            )

    @property
    def _rooted(self) -> int:
        """How many strings each root is itself."""
        return int(self.prefix_limit != NO_PREFIXES)

    @cached_property
    def _gap(self) -> int:
        """What must be left of the limit on words for a prefix to be asked about."""
        return self.limit - self.prefix_limit if self._rooted else NEVER

    @cached_property
    def _most_left(self) -> int:
        """The most that is left of the limit behind a root and a character."""
        return self.limit - int(self.roots.next_costs[:, 1:].min(initial=self.limit))

    @cached_property
    def _words(self) -> NDArray[np.integer]:
        """`[b, s]`: the number of words behind a prefix in context s that may cost b more."""
        return self.roots.spelling.sizes(self._most_left, prefixes=False)

    @cached_property
    def _prefixes(self) -> NDArray[np.integer]:
        """`[b, s]`: the same of prefixes."""
        return self.roots.spelling.sizes(max(self._most_left - self._gap, 0), prefixes=True)

    def _behind(self, states: NDArray[np.integer], left: Integers, before: Integers) -> Integers:
        """How many strings are behind prefixes in some contexts, if so much is left, now and of what was before."""
        words = _sizes_at(self._words, left, states)
        earlier = np.minimum(before, left)
        # Beyond all bounds nothing is told apart, so nothing can be taken off.
        known = (earlier >= 0) & (words < MOST_STRINGS)
        if known.any():
            words -= np.where(known, _sizes_at(self._words, earlier, states), 0)
        if self._rooted:
            words += _sizes_at(self._prefixes, left - self._gap, states)
        return words

    def _first_sizes(self, roots: Integers | slice) -> Integers:
        """`[r, x]`: the number of strings that begin with each of some roots and symbol x."""
        left = self.limit - self.roots.next_costs[roots].astype(np.int64)
        after, asked = self.roots.spelling.after[self.roots.states[roots]], self.roots.asked[roots].astype(np.int64)
        rows = np.minimum(left, self._most_left)  # where a word ends, more than that may be left
        sizes = self._behind(after, rows, asked)
        sizes[:, 0] = (left[:, 0] >= 0) & (asked[:, 0] < 0)
        return sizes

    def _first_ends(self, roots: Integers) -> tuple[Integers, Integers, Integers]:
        """`_first_sizes` of the different ones of some roots, these added up along x, and the row of each root."""
        different, rows = np.unique(roots, return_inverse=True)
        sizes = self._first_sizes(different)
        return sizes, np.cumsum(sizes, axis=1), rows

    @cached_property
    def _starts(self) -> Integers:
        """The first string of each root, and the end of the last one's."""
        sizes = [self._first_sizes(some).sum(axis=1) for some in blocks(len(self.roots.prefixes), BLOCK)]
        return np.append(0, np.cumsum(np.concatenate([np.empty(0, np.int64), *sizes]) + self._rooted))

    @property
    def size(self) -> int:
        """How many strings there are."""
        return int(self._starts[-1])

    def index(self, words: Strings) -> Integers:
        """The string that each normalised word belongs to, or -1."""
        parts = [self._index(words[some]) for some in blocks(len(words), WORDS)]
        return np.concatenate([np.empty(0, np.int64), *parts])

    def _index(self, words: Strings) -> Integers:
        """The same of words that are not too many."""
        index = np.full(len(words), -1, np.int64)
        root = self.roots.of(words)
        rows = np.flatnonzero(root >= 0)
        codes = codes_of(self.roots.spelling, words)
        root = root[rows]
        position = self.roots.lengths[root]
        code = codes[rows, position]
        open_ = np.flatnonzero(~self.roots.closed[root, code] & (codes[rows].min(axis=1) >= 0))
        rows, root, position, code = rows[open_], root[open_], position[open_], code[open_]
        if self._rooted:
            index[rows] = self._starts[root]
        first = (rows, root, code)
        state = self.roots.spelling.after[self.roots.states[root], code].astype(np.int64)
        left = self.limit - self.roots.next_costs[root, code].astype(np.int64)
        before = self.roots.asked[root, code].astype(np.int64)
        # How many symbols behind the first one lead to a word's string; none do if it is the root or nothing.
        further = np.full(len(words), -1)
        path: list[NDArray[np.int64]] = []
        while len(rows):
            ended = code == 0
            further[rows[ended & (left >= 0)]] = len(path)
            # A word that was asked about before belongs to nothing here, whatever its prefixes are.
            nothing = rows[ended & (before >= 0)]
            index[nothing] = further[nothing] = -1
            on = np.flatnonzero(~ended & (np.maximum(left, before) >= 0))
            rows, state, left, before, position = (values[on] for values in (rows, state, left, before, position))
            asked = left >= self._gap
            further[rows[asked]] = len(path)
            position = position + 1
            code = codes[rows, position]
            path.append(np.stack((rows, state, left, before, asked, code)))
            cost = self.roots.spelling.cost[state, code]
            left, before = left - cost, before - cost
            state = self.roots.spelling.after[state, code].astype(np.int64)
        rows, root, code = (values[further[first[0]] >= 0] for values in first)
        index[rows] = self._starts[root] + self._rooted + self._earlier_first(root, code)
        # Only now all numbers are added up, and only those on the way to a string.
        path = [step[:, further[step[0]] > done] for done, step in enumerate(path)]
        rows, state, left, before, asked, code = np.concatenate([np.empty((6, 0), np.int64), *path], axis=1)
        np.add.at(index, rows, asked + self._earlier(state, left, before, code))
        return index

    def strings(self, index: Integers) -> tuple[Strings, Flags]:
        """Some of the strings, and whether each is a word."""
        root = np.searchsorted(self._starts, index, side="right") - 1
        rank = index - self._starts[root] - self._rooted
        points = np.append(np.uint32(0), self.roots.spelling.alphabet.points)
        spelled: list[NDArray[np.uint32]] = []
        ended = np.zeros(len(index), np.bool_)
        rows = np.flatnonzero(rank >= 0)
        root_of, rank = root[rows], rank[rows]
        sizes, ends, case = self._first_ends(root_of)
        code = (ends[case] <= rank[:, None]).sum(axis=1)
        rank = rank - (ends - sizes)[case, code]
        state = self.roots.spelling.after[self.roots.states[root_of], code].astype(np.int64)
        left = self.limit - self.roots.next_costs[root_of, code].astype(np.int64)
        before = self.roots.asked[root_of, code].astype(np.int64)
        while len(rows):
            column = np.zeros(len(index), np.uint32)
            column[rows] = points[code]
            spelled.append(column)
            ended[rows] = code == 0
            rank = rank - (left >= self._gap)
            on = np.flatnonzero((code > 0) & (rank >= 0))
            rows, rank, state, left, before = (values[on] for values in (rows, rank, state, left, before))
            sizes, inverse = self._next_sizes(state, left, before)
            ends = np.cumsum(sizes, axis=1)
            code = (ends[inverse] <= rank[:, None]).sum(axis=1)
            rank = rank - (ends - sizes)[inverse, code]
            cost = self.roots.spelling.cost[state, code]
            left, before = left - cost, before - cost
            state = self.roots.spelling.after[state, code].astype(np.int64)
        return _joined(self.roots.prefixes[root], spelled), ended

    def _earlier_first(self, root: Integers, code: Integers) -> Integers:
        """How many strings go on from a root with an earlier symbol."""
        left = np.minimum(self.limit - self.roots.next_costs[root], self._most_left)
        return self._earlier_of(self.roots.states[root], left, self.roots.asked[root], code)

    def _earlier(self, state: Integers, left: Integers, before: Integers, code: Integers) -> Integers:
        """How many strings go on from a context with an earlier symbol."""
        left, before = np.maximum(left, UNASKED), np.maximum(before, UNASKED)
        if len(state) > BLOCK:
            # Of many words most have a beginning in common with others.
            symbols, width = self.roots.spelling.alphabet.size, NEVER + 2
            cases = ((state * width + left + 1) * width + before + 1) * symbols + code
            _, firsts, inverse = np.unique(cases, return_index=True, return_inverse=True)
            state, left, before, code = (values[firsts] for values in (state, left, before, code))
            return np.concatenate(
                [self._earlier(state[some], left[some], before[some], code[some]) for some in blocks(len(state), BLOCK)]
            )[inverse]
        costs = self.roots.spelling.cost[state]
        left_of, before_of = (values.astype(np.int16)[:, None] - costs for values in (left, before))
        return self._earlier_of(state, left_of, before_of, code)

    def _earlier_of(self, state: Integers, left: SmallIntegers, before: SmallIntegers, code: Integers) -> Integers:
        """The same, if so much is left behind each next symbol, now and of what was before."""
        symbols = left.shape[1]
        some = np.flatnonzero((left >= 0) & (np.arange(symbols) < code[:, None]))
        row = some // symbols
        symbol = some - row * symbols
        after = self.roots.spelling.after.take(state.take(row) * symbols + symbol)
        sizes = self._behind(after, left.take(some).astype(np.int64), before.take(some).astype(np.int64))
        words = np.flatnonzero(symbol == 0)
        sizes[words] = before.take(some[words]) < 0
        sums = np.append(0, np.cumsum(sizes))
        ends = np.searchsorted(some, symbols * np.arange(len(state) + 1))
        return np.asarray(sums[ends[1:]] - sums[ends[:-1]])

    def _next_sizes(self, state: Integers, left: Integers, before: Integers) -> tuple[Integers, Integers]:
        """`[i, x]`: how many strings go on with symbol x, for the different cases i; and the case of each."""
        left, before = np.maximum(left, UNASKED), np.clip(before, UNASKED, np.maximum(left, UNASKED))
        width = self.limit + 2
        cases, inverse = np.unique((state * width + left + 1) * width + before + 1, return_inverse=True)
        rest, before = np.divmod(cases, width)
        state, left = np.divmod(rest, width)
        costs = self.roots.spelling.cost[state]
        left, before = left[:, None] - 1 - costs, before[:, None] - 1 - costs
        sizes = self._behind(self.roots.spelling.after[state], left, before)
        sizes[:, 0] = (left[:, 0] >= 0) & (before[:, 0] < 0)
        return sizes, inverse


def _sizes_at(table: NDArray[np.integer], left: Integers, states: NDArray[np.integer]) -> Integers:
    """How many strings a table has for some contexts, if so much is left; none if less than nothing is."""
    return np.where(left >= 0, table[np.maximum(left, 0), states], 0).astype(np.int64)


def _joined(heads: Strings, columns: list[NDArray[np.uint32]]) -> Strings:
    """Prefixes, each with the characters behind it."""
    if not columns:
        return heads
    tails = np.ascontiguousarray(np.column_stack(columns)).view(f"U{len(columns)}").ravel()
    return np.char.add(heads, tails)
