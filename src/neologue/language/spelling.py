"""A model of spelling, learnt from the known words and from prefixes of new words as they are found.

It gives the chance of a symbol after the two before it, each order smoothed by the next lower one (a Dirichlet prior of
`PRIOR` words). It only decides which candidates to ask about first. It reveals nothing about users beyond the layers
whose prefixes it has learnt from, and the users of a layer are never among those that it has learnt from.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neologue.language.alphabet import Alphabet
from neologue.language.candidates import Candidates, Strings, extensions, last_characters, strings
from neologue.language.lists import Lists, allocate_ways, longest_list

PRIOR = 100.0
LEARNT = 0.1
"""The weight of the prefixes of new words, relative to that of all known words."""
LONGEST = 64
"""Longer entries of a word list are not words, and one of them would take as much memory as all others."""
TABULATED = 128
"""Up to this size of the alphabet all chances are kept in one table, of at most 16 MB."""
SAMPLED = 4
"""How many times as many extensions as are wanted are looked at to tell which can't be among them."""
START = 0
"""The code before the first character: that of ⊥, which no character can follow."""


@dataclass(frozen=True, eq=False)
class Spelling:
    """The chance of every symbol of an alphabet after any two symbols, in codes of the alphabet."""

    alphabet: Alphabet
    triples: NDArray[np.int64]
    """The triples of symbols that occur, sorted, as numbers in the base of the alphabet's size."""
    counts: NDArray[np.float64]
    """How often each occurs."""

    @classmethod
    def of(cls, alphabet: Alphabet, words: Iterable[str]) -> "Spelling":
        """The spelling of those words that the alphabet expresses."""
        usable = [word for word in words if len(word) <= LONGEST and alphabet.expresses(word)]
        if not usable:
            return cls(alphabet, np.empty(0, np.int64), np.empty(0))
        triples = _triples(alphabet, strings(usable), ended=True)
        return cls(alphabet, *_sum_by_number(triples[triples >= 0], None))

    def learning(self, prefixes: Strings, shares: NDArray[np.float64]) -> "Spelling":
        """The spelling learnt from prefixes of new words too, in proportion to their shares of users.

        New words have capitals, digits and signs that few known words have.
        """
        triples = _triples(self.alphabet, prefixes, ended=False)
        weights = np.broadcast_to(shares[:, None], triples.shape)
        weights = weights * (max(LEARNT * self.counts.sum(), len(prefixes)) / weights.sum())
        return Spelling(
            self.alphabet,
            *_sum_by_number(
                np.concatenate([self.triples, triples.ravel()]), np.concatenate([self.counts, weights.ravel()])
            ),
        )

    @cached_property
    def _after_one(self) -> NDArray[np.float64]:
        """`[b, c]`: the chance of c after b, whatever came before."""
        size = self.alphabet.size
        pairs = np.bincount(self.triples % size**2, self.counts, size**2).reshape(size, size)
        single = (pairs.sum(axis=0) + 1) / (pairs.sum() + size)
        return np.asarray((pairs + PRIOR * single) / (pairs.sum(axis=1, keepdims=True) + PRIOR))

    def beginning(self) -> NDArray[np.float64]:
        """The chance of each character at the start of a word."""
        return np.asarray(self._chances(np.array([START]))[0, 1:])

    def after(self, candidates: Candidates) -> NDArray[np.float64]:
        """The chance of each candidate's extension after its prefix."""
        if candidates.lists is None:
            contexts, indices = np.unique(self._contexts(candidates.frontier), return_inverse=True)
            return np.asarray(self._every(contexts, candidates.extension)[indices].ravel())
        table, rows = self._lookup(self._contexts(candidates.frontier))
        # Only the chance of an extension's first symbol depends on more than the last character.
        lasts, members = last_characters(candidates.frontier)
        codes = [candidates.codes(numbers) for numbers in candidates.lists.rows]
        later = np.concatenate([self._later(last, row) for last, row in zip(self._codes_of(lasts), codes, strict=True)])
        first = np.concatenate([row[:, 0] for row in codes])
        listed = candidates.lists.positions(members)
        return np.asarray(table[np.repeat(rows, candidates.ways), first[listed]] * later[listed])

    def likeliest(
        self,
        frontier: Strings,
        shares: NDArray[np.float64],
        extension: int,
        ways: int,
        numbers: NDArray[np.float64] | None = None,
    ) -> Lists:
        """Lists of the most likely extensions, `ways` per prefix on average, for prefixes with these shares of users.

        The search goes symbol by symbol and keeps no more beginnings than the longest list has entries. `numbers` is
        how many prefixes each prefix stands for; one by default.
        """
        numbers = np.ones(len(frontier)) if numbers is None else numbers
        contexts, indices = np.unique(self._contexts(frontier), return_inverse=True)
        lasts, lists = last_characters(frontier)
        together = np.zeros((len(lasts), len(contexts)))
        np.add.at(together, (lists, indices), shares * numbers)
        together /= together.sum(axis=1, keepdims=True)
        chances = self._chances(contexts)
        # Not a matrix product, whose last bits depend on the machine: lists must be the same everywhere.
        first = [(weights[:, None] * chances).sum(axis=0) for weights in together]
        characters = self.alphabet.size - 1
        longest = longest_list(characters, ways, extensions(characters, extension))
        found = [self._search(*start, extension, longest) for start in zip(self._codes_of(lasts), first, strict=True)]
        asked = allocate_ways([chance for _, chance in found], lists, shares, numbers, numbers.sum() * ways)
        return Lists.cut([row for row, _ in found], asked, lists)

    def _search(
        self, last: int, first: NDArray[np.float64], extension: int, longest: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The numbers of the most likely extensions after a character, and their chances, in descending order.

        The first symbol has the given chances. Each beginning is represented by its number so far and the context of
        its next symbol.
        """
        size = self.alphabet.size
        codes = np.arange(1, size)
        numbers, contexts, reached = np.zeros(1, np.int64), np.array([last]), np.ones(1)
        table, rows = first[None, :], np.zeros(1, np.int64)
        ended: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
        for left in range(extension - 1, -1, -1):
            ended.append((numbers, reached * table[rows, 0]))
            some = _promising(reached, table[:, 1:], rows, longest)
            numbers = (numbers[some, None] + 1 + (codes - 1) * extensions(size - 1, left)).ravel()
            contexts = (contexts[some, None] % size * size + codes).ravel()
            going_on = (reached[some, None] * table[rows[some], 1:]).ravel()
            if not left:
                break
            best = _largest_indices(going_on, longest)
            numbers, contexts, reached = numbers[best], contexts[best], going_on[best]
            table, rows = self._lookup(contexts)
        every = np.concatenate([*(end[0] for end in ended), numbers])
        likely = np.concatenate([*(end[1] for end in ended), going_on])
        best = _largest_indices(likely, longest)
        best = best[np.lexsort((every[best], -likely[best]))]
        return every[best], likely[best]

    def _later(self, last: int, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The chance of all symbols but the first of some extensions after a character, one row of codes each."""
        size = self.alphabet.size
        before = np.full(len(codes), last)
        chances = np.ones(len(codes))
        for position in range(1, codes.shape[1]):
            rows = np.flatnonzero(codes[:, position - 1] > 0)
            table, where = self._lookup(before[rows] * size + codes[rows, position - 1])
            chances[rows] *= table[where, codes[rows, position]]
            before = codes[:, position - 1]
        return chances

    def _every(self, contexts: NDArray[np.int64], extension: int) -> NDArray[np.float64]:
        """The chance of every extension after each context, in canonical order: ⊥ first, then by character."""
        chances = self._chances(contexts)
        if extension == 1:
            return chances
        size = self.alphabet.size
        following = (contexts[:, None] % size * size + np.arange(1, size)).ravel()
        different, indices = np.unique(following, return_inverse=True)
        longer = self._every(different, extension - 1)[indices].reshape(len(contexts), size - 1, -1)
        return np.hstack([chances[:, :1], (chances[:, 1:, None] * longer).reshape(len(contexts), -1)])

    def _contexts(self, frontier: Strings) -> NDArray[np.int64]:
        """The last two symbols of each prefix, as one number."""
        codes = self.alphabet.codes(frontier.view(np.uint32).reshape(len(frontier), -1)).astype(np.int64)
        before = codes[:, -2] if codes.shape[1] > 1 else START
        return np.asarray(before * self.alphabet.size + codes[:, -1])

    def _codes_of(self, characters: NDArray[np.uint32]) -> list[int]:
        codes: list[int] = self.alphabet.codes(characters).tolist()
        return codes

    def steps(self, words: Strings) -> NDArray[np.float64]:
        """The chance of each symbol of some words after those before it: one row a word, 1 after its ⊥."""
        codes = self.alphabet.codes(words.view(np.uint32).reshape(len(words), -1))
        framed = np.pad(codes, ((0, 0), (2, 1)), constant_values=START)
        chances = np.ones((len(words), codes.shape[1] + 1))
        for position in range(chances.shape[1]):
            # A word has a symbol here, a character or ⊥, if it had a character at the position before.
            rows = np.flatnonzero(framed[:, position + 1] > 0) if position else np.arange(len(words))
            before, last = framed[rows, position].astype(np.int64), framed[rows, position + 1]
            table, where = self._lookup(before * self.alphabet.size + last)
            chances[rows, position] = table[where, framed[rows, position + 2]]
        return chances

    @cached_property
    def _table(self) -> NDArray[np.float64]:
        return self._chances(np.arange(self.alphabet.size**2))

    def _lookup(self, contexts: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """A table with the chances of every symbol after some contexts, and the row of each."""
        if self.alphabet.size <= TABULATED:
            return self._table, contexts
        different, rows = np.unique(contexts, return_inverse=True)
        return self._chances(different), rows

    def _chances(self, contexts: NDArray[np.int64]) -> NDArray[np.float64]:
        """The chance of every symbol after each of some contexts."""
        size = self.alphabet.size
        weighed = PRIOR * self._after_one[contexts % size]
        firsts, ends = np.searchsorted(self.triples, [contexts * size, (contexts + 1) * size])
        seen = ends - firsts
        rows = np.repeat(np.arange(len(contexts)), seen)
        indices = np.arange(len(rows)) + np.repeat(firsts - np.cumsum(seen) + seen, seen)
        weighed[rows, self.triples[indices] % size] += self.counts[indices]
        return np.asarray(weighed / weighed.sum(axis=1, keepdims=True))


def _triples(alphabet: Alphabet, words: Strings, *, ended: bool) -> NDArray[np.int64]:
    """All triples of symbols in some words, as numbers, one row per word, padded with -1.

    Two START codes precede each word and, if it has `ended`, one ⊥ follows it.
    """
    codes = alphabet.codes(words.view(np.uint32).reshape(len(words), -1)).astype(np.int64)
    # A triple is within a word if its middle symbol is a character, or if it is the first of all.
    framed = np.pad(codes, ((0, 0), (2, int(ended))), constant_values=START)
    inside = framed[:, 1:-1] > 0
    inside[:, 0] = True
    numbers = (framed[:, :-2] * alphabet.size + framed[:, 1:-1]) * alphabet.size + framed[:, 2:]
    return np.where(inside, numbers, -1)


def _sum_by_number(
    numbers: NDArray[np.int64], weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The distinct numbers, sorted, and the sum of the weights of each; weights are 1 by default."""
    different, indices = np.unique(numbers, return_inverse=True)
    return different, np.bincount(indices, weights, len(different)).astype(np.float64)


def _largest_indices(values: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """The indices of the `count` largest values, in order; of equal values the first."""
    if len(values) <= count:
        return np.arange(len(values))
    edge = np.partition(values, len(values) - count)[len(values) - count]
    above = np.flatnonzero(values > edge)
    return np.sort(np.concatenate([above, np.flatnonzero(values == edge)[: count - len(above)]]))


def _promising(
    reached: NDArray[np.float64], table: NDArray[np.float64], rows: NDArray[np.int64], count: int
) -> NDArray[np.intp]:
    """The beginnings that can go on to one of the `count` likeliest extensions, in order.

    A beginning is reached with some chance and goes on with those in its row of the table. If `count` extensions of
    some beginnings have a chance of at least x, whatever goes on with smaller ones alone is not among the likeliest.
    """
    sampled = SAMPLED * -(-count // table.shape[1])
    if len(reached) <= sampled:
        return np.arange(len(reached))
    likely = np.argpartition(reached, len(reached) - sampled)[-sampled:]
    extended = (reached[likely, None] * table[rows[likely]]).ravel()
    enough = np.partition(extended, len(extended) - count)[len(extended) - count]
    return np.flatnonzero(reached * table.max(axis=1)[rows] >= enough)
