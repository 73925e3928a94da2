"""How words of a language go on, learnt from the known words alone.

The chance of a symbol after the two before it, each order smoothed by the next lower one (a Dirichlet prior
of `PRIOR` words). It says nothing about users: it only tells which candidates deserve attention first.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from neologue.language.alphabet import Alphabet
from neologue.language.candidates import Candidates, Strings, last_characters, strings

PRIOR = 10.0
LONGEST = 64
"""Longer entries of a word list are no words, and one of them would cost as much memory as all others."""
START = 0
"""Before the first character there is nothing; the code of ⊥ stands there, which no character can follow."""


@dataclass(frozen=True)
class Spelling:
    """The chance of every symbol of an alphabet after any two symbols, in codes of the alphabet."""

    alphabet: Alphabet
    after_one: NDArray[np.float64]
    """`after_one[b, c]`: the chance of c after b, whatever came before."""
    after_two: Mapping[tuple[int, int], tuple[NDArray[np.int64], NDArray[np.int64]]]
    """For each pair that some word has, the codes that follow it and how often."""

    @classmethod
    def of(cls, alphabet: Alphabet, words: Iterable[str]) -> "Spelling":
        """The spelling of those words that the alphabet expresses."""
        size = alphabet.size
        triples, counts = _triples(
            alphabet, [word for word in words if len(word) <= LONGEST and alphabet.expresses(word)]
        )
        pairs = np.zeros((size, size))
        np.add.at(pairs, (triples[:, 1], triples[:, 2]), counts)
        single = (pairs.sum(axis=0) + 1) / (pairs.sum() + size)
        after_one = (pairs + PRIOR * single) / (pairs.sum(axis=1, keepdims=True) + PRIOR)
        contexts, firsts = np.unique(triples[:, :2], axis=0, return_index=True)
        lasts = [*firsts[1:], len(triples)]
        after_two = {
            (int(a), int(b)): (triples[first:last, 2], counts[first:last])
            for (a, b), first, last in zip(contexts, firsts, lasts[: len(firsts)], strict=True)
        }
        return cls(alphabet, after_one, after_two)

    def beginning(self) -> NDArray[np.float64]:
        """The chance of each character at the start of a word."""
        return self._chances(START, START)[1:]

    def after(self, candidates: Candidates) -> NDArray[np.float64]:
        """The chance of each extension voted on after each prefix of the frontier: one row a prefix."""
        rows, places = self._rows(candidates.frontier, candidates.extension)
        if candidates.listed is None:
            return rows[places]
        # All prefixes with the same two last symbols have the same list.
        lists = np.empty(len(rows), np.intp)
        lists[places] = last_characters(candidates.frontier)[1]
        return np.take_along_axis(rows, candidates.listed[lists], axis=1)[places]

    def likeliest(self, frontier: Strings, shares: NDArray[np.float64], extension: int, ways: int) -> NDArray[np.int64]:
        """So many extensions for each different last character, by which prefixes with these shares go on likeliest."""
        rows, places = self._rows(frontier, extension)
        characters, lasts = last_characters(frontier)
        lists = np.empty(len(rows), np.intp)
        lists[places] = lasts
        # Summed one by one, and not as a product of matrices, which may differ from one machine to the next.
        together = np.zeros((len(characters), rows.shape[1]))
        for row, place, share in zip(rows, lists, np.bincount(places, shares), strict=True):
            together[place] += share * row
        return np.sort(np.argsort(-together, axis=1, kind="stable")[:, :ways], axis=1)

    def _rows(self, frontier: Strings, extension: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """The chance of every extension after each pair of last symbols, one row a pair, and the row of each prefix."""
        points = frontier.view(np.uint32).reshape(len(frontier), -1)
        codes = np.pad(self.alphabet.codes(points), ((0, 0), (1, 0)), constant_values=START)
        contexts, places = np.unique(
            codes[:, -2].astype(np.int64) * self.alphabet.size + codes[:, -1], return_inverse=True
        )

        @cache
        def extensions(before: int, last: int, symbols: int) -> NDArray[np.float64]:
            """The chance of every extension, in canonical order: ⊥ first, then by character."""
            chances = self._chances(before, last)
            if symbols == 1:
                return chances
            longer = [chances[code] * extensions(last, code, symbols - 1) for code in range(1, len(chances))]
            return np.concatenate([chances[:1], *longer])

        rows = np.array([extensions(*divmod(int(context), self.alphabet.size), extension) for context in contexts])
        return rows, places

    def steps(self, words: Strings) -> NDArray[np.float64]:
        """The chance of each symbol of some words after those before it: one row a word, 1 after its ⊥."""
        codes = self.alphabet.codes(words.view(np.uint32).reshape(len(words), -1))
        framed = np.pad(codes, ((0, 0), (2, 1)), constant_values=START)
        chances = np.ones((len(words), codes.shape[1] + 1))
        for place in range(chances.shape[1]):
            # A word goes on, and then ⊥ is one more symbol, as long as it had a character in the place before.
            rows = np.flatnonzero(framed[:, place + 1] > 0) if place else np.arange(len(words))
            before, last = framed[rows, place].astype(np.int64), framed[rows, place + 1]
            contexts, where = np.unique(before * self.alphabet.size + last, return_inverse=True)
            table = np.array([self._chances(*divmod(int(context), self.alphabet.size)) for context in contexts])
            chances[rows, place] = table[where, framed[rows, place + 2]]
        return chances

    def _chances(self, before: int, last: int) -> NDArray[np.float64]:
        weighed = PRIOR * self.after_one[last]
        codes, seen = self.after_two.get((before, last), (np.empty(0, np.int64), np.empty(0, np.int64)))
        weighed[codes] += seen
        return np.asarray(weighed / (seen.sum() + PRIOR))


def _triples(alphabet: Alphabet, words: list[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All different triples of symbols in the words, in order, and how often each occurs."""
    if not words:
        return np.empty((0, 3), np.int64), np.empty(0, np.int64)
    array = strings(words)
    codes = alphabet.codes(array.view(np.uint32).reshape(len(array), -1))
    # Two starts before the word and one ⊥ behind it; a triple is within a word if its middle symbol is a
    # character, or if it is the first of all.
    framed = np.pad(codes, ((0, 0), (2, 1)), constant_values=START)
    windows = np.lib.stride_tricks.sliding_window_view(framed, 3, axis=1)
    inside = windows[:, :, 1] > 0
    inside[:, 0] = True
    kept = windows[inside].astype(np.int64)
    # Sorting one number is much faster than sorting rows of three.
    size = alphabet.size
    numbers, counts = np.unique((kept[:, 0] * size + kept[:, 1]) * size + kept[:, 2], return_counts=True)
    return np.column_stack([numbers // size**2, numbers // size % size, numbers % size]), counts
