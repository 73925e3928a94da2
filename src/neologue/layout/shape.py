"""What a campaign should be given: the local ε for a population, and the shape and size of its layers."""

import math
from collections import Counter
from dataclasses import dataclass

from neologue.language.candidates import extensions
from neologue.language.lists import MOST_LISTED, can_be_listed

NEGLIGIBLE_SHARE = 0.001
"""Where fewer words than this are as long, one layer is planned for all that may come."""
LIKELY_SYMBOLS = 17.0
"""After a prefix of a new word so many symbols are likely; words that end on the way need fewer ways."""
FAR = 3
"""Where every extension by so many symbols fits, none has to be left out to get on."""
TELLING_LENGTH = 5
"""Shorter prefixes tell too little about how a new word goes on to guess more than two symbols."""
FIRST_PREFIXES = 60_000
"""How many prefixes the first layer is expected to keep, which nobody knows before any vote."""
SMALLEST_WEIGHT = 0.6
"""A layer has at least this share of the users of the largest, whatever it decides."""


def longest_extension(prefixes: int, characters: int, candidates: int, symbols_left: int) -> int:
    """How many symbols prefixes can be extended by, in every way, without exceeding the candidates; at least 1."""
    extension = 1
    while extension < symbols_left and prefixes * extensions(characters, extension + 1) <= candidates:
        extension += 1
    return extension


def ways_asked(prefixes: int, characters: int, candidates: int, extension: int) -> int:
    """How many of the extensions of each prefix a layer votes on: every one, or the likeliest as far as they fit."""
    every = extensions(characters, extension)
    if extension == 1 or prefixes * every <= candidates:
        return every
    return min(candidates // max(prefixes, 1), MOST_LISTED // characters, every)


@dataclass(frozen=True)
class Shape:
    """What the planner knows about a campaign's layers before any vote."""

    characters: int
    candidates: int
    """The most candidates of a layer."""
    depth: int
    known_lengths: Counter[int]
    """How many known words have so many characters: new words are about as long."""

    def reaching(self, length: int) -> float:
        """The share of words with at least so many characters."""
        total = self.known_lengths.total()
        longer = sum(words for known, words in self.known_lengths.items() if known >= length)
        return longer / total if total else 1.0

    def extension(self, prefixes: int, length: int) -> int:
        """How many symbols a layer extends so many prefixes of this length by: as many as fit, and at least 1.

        It need not vote on every extension. Where there are many, a small part of them are all that a language uses;
        only a few prefixes are extended in every way, however a word is spelled.
        """
        extension = longest_extension(prefixes, self.characters, self.candidates, self.depth + 1 - length)
        if extension >= FAR:
            return extension
        while length + extension <= self.depth and self._fits(prefixes, length, extension + 1):
            extension += 1
        return extension

    def ways(self, prefixes: int, extension: int) -> int:
        """How many extensions of each prefix are voted on."""
        return ways_asked(prefixes, self.characters, self.candidates, extension)

    def _fits(self, prefixes: int, length: int, extension: int) -> bool:
        """Whether a layer has room for every extension by so many symbols, or for those that are likely."""
        every = extensions(self.characters, extension)
        if prefixes * every <= self.candidates:
            return True
        if not can_be_listed(self.characters, extension) or (extension > 2 and length < TELLING_LENGTH):
            return False
        likely = min(self._likely(length, extension), every)
        return prefixes * likely <= self.candidates and self.characters * likely <= MOST_LISTED

    def _likely(self, length: int, extension: int) -> float:
        """About how many extensions of a prefix of this length new words have.

        There are `LIKELY_SYMBOLS` for every symbol that a word has, on average, of those by which it is extended.
        """
        reaching = self.reaching(length)
        further = [self.reaching(length + more) / reaching if reaching else 1.0 for more in range(extension)]
        return LIKELY_SYMBOLS ** sum(further)

    def coming(self, prefixes: int, length: int) -> list[int]:
        """The lengths at which layers will begin, this one first, if prefixes die out as known words do."""
        lengths = [length]
        most = prefixes if length > 1 else min(FIRST_PREFIXES, self.candidates // (self.characters + 1))
        while (end := lengths[-1] + self.extension(prefixes, lengths[-1])) <= self.depth and self.reaching(
            lengths[-1]
        ) >= NEGLIGIBLE_SHARE:
            prefixes = max(1, round(most * self.reaching(end) / max(self.reaching(length), 1e-9)))
            lengths.append(end)
        return lengths

    def weight(self, length: int) -> float:
        """How many users a layer should have, relative to others, whose prefixes have this length.

        A layer decides the words that reach it. Users in proportion to them would find the most words, but the run's
        central ε is that of its smallest layer, for which equal layers are best. The square root, with a floor, lies
        between.
        """
        return max(SMALLEST_WEIGHT, math.sqrt(self.reaching(length)))

    def layer_size(self, users_left: int, prefixes: int, length: int) -> int:
        """The users of the next layer, so that the layers still to come get their due."""
        weights = [self.weight(start) for start in self.coming(prefixes, length)]
        return int(users_left * weights[0] / sum(weights))
