"""What a layer asks about: the likely strings that are new in it, and words that earlier layers asked about.

Each layer of a pass adds a round: the roots from which strings go on that no layer has asked about yet, and the limits
on the costs of words and of prefixes. Words of earlier rounds are asked about again if they cost at most what the round
says, so that their votes add up. Nothing is asked about in two ways: a round leaves out whatever an earlier one has
asked about.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neologue.errors import ParameterError
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import Strings
from neologue.language.likely_roots import (
    MOST_OPENINGS,
    NEVER,
    NO_PREFIXES,
    Flags,
    Integers,
    Roots,
    SmallIntegers,
    largest_limit,
)
from neologue.language.likely_strings import LikelyStrings
from neologue.language.spelling_costs import SpellingCosts

NOT_AGAIN = 0
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
    """What a word may cost in the layer that added the round."""
    prefix_limit: int
    """What a prefix may cost in it."""
    again: int = NOT_AGAIN
    """What a word of an earlier round may cost to be asked about again now."""


@dataclass(frozen=True, eq=False)
class LikelyCandidates:
    """Z_i: the strings of the last round, then the words of the earlier rounds that are asked about again."""

    spelling: SpellingCosts
    rounds: tuple[RootRound, ...]

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
            if not 0 <= each.prefix_limit <= each.limit <= dearest:
                raise ParameterError(
                    f"a round's limit on costs must be from 0 to {dearest}, as far as tables go, and at least that of "
                    "its prefixes"
                )
            if not NOT_AGAIN <= each.again <= each.limit or (
                number == len(self.rounds) - 1 and each.again != NOT_AGAIN
            ):
                raise ParameterError("only words that an earlier round asked about can be asked about again")
            if number and not self._asks(number - 1, each.prefixes):
                raise ParameterError("every root must be a prefix that the round before asked about")

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the candidates."""
        return self.spelling.alphabet

    def _asks(self, number: int, prefixes: Strings) -> bool:
        """Whether a round asked about all of some prefixes."""
        return bool(self.round_roots(number).ask(prefixes, self.rounds[number].prefix_limit).all())

    @cached_property
    def _known_roots(self) -> dict[int, Roots]:
        return {}

    def round_roots(self, number: int) -> Roots:
        """The roots of a round, closed to all that earlier rounds have asked about."""
        if number not in self._known_roots:
            each = self.rounds[number]
            beginning = Roots.beginning(self.spelling)
            asked = self.asked_after(number - 1, each.prefixes) if number else beginning.asked
            self._known_roots[number] = Roots(self.spelling, each.prefixes, each.costs, each.even_costs, asked)
        return self._known_roots[number]

    def asked_after(self, number: int, prefixes: Strings) -> SmallIntegers:
        """What rounds up to this one asked about behind some of its prefixes, as `Roots.asked` has it."""
        each = self.rounds[number]
        return self.round_roots(number).asked_after(prefixes, each.limit, each.prefix_limit)

    @cached_property
    def fresh(self) -> LikelyStrings:
        """The strings that no layer has asked about before."""
        newest = self.rounds[-1]
        return LikelyStrings(self.round_roots(len(self.rounds) - 1), newest.limit, newest.prefix_limit)

    @cached_property
    def again(self) -> tuple[LikelyStrings, ...]:
        """The words of each earlier round that are asked about again."""
        return tuple(
            LikelyStrings(self.round_roots(number), each.again, NO_PREFIXES)
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
