"""What a layer asks about: the likely strings that are new in it, and words that earlier layers asked about.

Each layer of a pass adds a round: the roots from which strings go on that no layer has asked about yet, and the limit
on their costs. Words of earlier rounds are asked about again if they cost at most what the round says, so that their
votes add up. Nothing is asked about in two ways: a round is closed to whatever an earlier one has asked about.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neologue.errors import ParameterError
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import Strings
from neologue.language.likely_strings import (
    MOST_OPENINGS,
    NEVER,
    Flags,
    Integers,
    LikelyStrings,
    Roots,
    largest_limit,
)
from neologue.language.spelling_costs import SpellingCosts

UNASKED = 0
"""The limit of a round of which no word is asked about again: every word costs more."""
MOST_ROUNDS = 32


@dataclass(frozen=True, eq=False)
class RootRound:
    """The roots that a layer added, and how far their strings were asked about."""

    prefixes: Strings
    """Sorted."""
    costs: Integers
    even_costs: Integers
    limit: int
    """What a string may cost in the layer that added the round."""
    again: int = UNASKED
    """What a word of an earlier round may cost to be asked about again now."""


@dataclass(frozen=True, eq=False)
class LikelyCandidates:
    """Z_i: the strings of the last round, then the words of the earlier rounds that are asked about again."""

    spelling: SpellingCosts
    rounds: tuple[RootRound, ...]
    escapes: bool
    """Whether prefixes are asked about, and not words alone, because another layer follows."""

    def __post_init__(self) -> None:
        if not self.rounds or self.rounds[0].prefixes.tolist() != [""]:
            raise ParameterError("the first round of candidates must begin with the beginning of all words")
        most = MOST_OPENINGS // self.alphabet.size
        if len(self.rounds) > MOST_ROUNDS or sum(len(each.prefixes) for each in self.rounds) > most:
            raise ParameterError(f"there must be at most {MOST_ROUNDS} rounds, with {most:,} roots in all")
        dearest = largest_limit(self.spelling)
        for number, each in enumerate(self.rounds):
            prefixes = each.prefixes.tolist()
            if prefixes != sorted(set(prefixes)) or not all(map(self.alphabet.expresses, prefixes)):
                raise ParameterError("the roots of a round must be prefixes of the alphabet, each once and in order")
            if not (len(prefixes) == len(each.costs) == len(each.even_costs)):
                raise ParameterError("a round must have two costs for each of its roots")
            if not (_are_within(each.costs, 0, NEVER) and _are_within(each.even_costs, 1, NEVER)):
                raise ParameterError(f"a root must cost from 0 to {NEVER:,}, and evenly from 1 to that")
            if not 0 <= each.limit <= dearest:
                raise ParameterError(f"a round's limit on costs must be from 0 to {dearest}, as far as tables go")
            if not UNASKED <= each.again <= each.limit or (number == len(self.rounds) - 1 and each.again != UNASKED):
                raise ParameterError("only words that an earlier round asked about can be asked about again")
            if number and not self.round_roots(number - 1).ask(each.prefixes, self.rounds[number - 1].limit).all():
                raise ParameterError("every root must be a prefix that the round before asked about")

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the candidates."""
        return self.spelling.alphabet

    @cached_property
    def _known_roots(self) -> dict[int, Roots]:
        return {}

    def round_roots(self, number: int) -> Roots:
        """The roots of a round, closed to all that earlier rounds have asked about."""
        if number not in self._known_roots:
            each = self.rounds[number]
            if number == 0:
                closed = Roots.beginning(self.spelling).closed
            else:
                closed = self.round_roots(number - 1).asked_after(each.prefixes, self.rounds[number - 1].limit)
            self._known_roots[number] = Roots(self.spelling, each.prefixes, each.costs, each.even_costs, closed)
        return self._known_roots[number]

    @cached_property
    def fresh(self) -> LikelyStrings:
        """The strings that no layer has asked about before."""
        return LikelyStrings(self.round_roots(len(self.rounds) - 1), self.rounds[-1].limit, self.escapes)

    @cached_property
    def again(self) -> tuple[LikelyStrings, ...]:
        """The words of each earlier round that are asked about again."""
        return tuple(
            LikelyStrings(self.round_roots(number), each.again, escapes=False)
            for number, each in enumerate(self.rounds[:-1])
        )

    @cached_property
    def starts(self) -> Integers:
        """The first candidate of the fresh strings and of each earlier round, and the end of the last."""
        sizes = [self.fresh.size, *(part.size for part in self.again)]
        return np.append(0, np.cumsum(sizes))

    @property
    def size(self) -> int:
        """|Z_i|."""
        return int(self.starts[-1])

    def index(self, words: Strings) -> Integers:
        """The candidate that each normalised word belongs to, or -1."""
        index = self.fresh.index(words)
        for part, start in zip(self.again, self.starts[1:], strict=False):
            among = part.index(words)
            index = np.where(among >= 0, start + among, index)
        return index

    def prefixes(self, index: Integers) -> tuple[Strings, Flags]:
        """The strings of some candidates, and whether each is a word; otherwise it is an escape."""
        parts = np.searchsorted(self.starts, index, side="right") - 1
        texts = np.full(len(index), "", "U1")
        ended = np.ones(len(index), np.bool_)
        for number in np.unique(parts).tolist():
            rows = np.flatnonzero(parts == number)
            part = self.again[number - 1] if number else self.fresh
            found, ends = part.strings(index[rows] - self.starts[number])
            texts = texts.astype(f"U{max(texts.dtype.itemsize, found.dtype.itemsize) // 4}")
            texts[rows], ended[rows] = found, ends
        return texts, ended


def _are_within(numbers: Integers, least: int, most: int) -> bool:
    return bool(numbers.min(initial=most) >= least and numbers.max(initial=least) <= most)
