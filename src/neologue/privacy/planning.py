"""What a campaign should be given: the local ε for a population, and the shape and size of its layers."""

import math
from collections import Counter
from dataclasses import dataclass

from neologue.errors import ParameterError
from neologue.language.candidates import extensions

REFERENCE_USERS = 15_000_000
REFERENCE_EPSILON = 7.0
LARGEST_CHOSEN_EPSILON = 10.0
SMALLEST_CHOSEN_EPSILON = 1.0
NEGLIGIBLE_SHARE = 0.001
"""Where fewer words than this are as long, one layer is planned for all that may come."""
FEWEST_WAYS = 60
"""One in so many extensions of two symbols, the likeliest ones, are 95 % of what follows a prefix in English."""
ENOUGH_WAYS = 4
"""One in so many are practically all of it."""
SMALL_LAYER = 1 << 20
"""With so few candidates there is no need to leave any out."""
MANY_WAYS = 1 << 16
"""Among more extensions than these a layer does not look for the likeliest."""
SMALLEST_WEIGHT = 0.6
"""A layer has at least this share of the users of the largest, whatever it decides."""


def local_epsilon(users: int) -> float:
    """The ε for a population: 7 at 15 million users, more for fewer, never above the paper's 10.

    A word stands out from the noise of N reports when its share of users exceeds a multiple of √(q/N), where
    q is about e^-ε. Keeping that share the same while N changes means changing ε by the logarithm.
    """
    if users < 1:
        raise ParameterError(f"a population needs at least 1 user, not {users}")
    wanted = REFERENCE_EPSILON + math.log(REFERENCE_USERS / users)
    return min(LARGEST_CHOSEN_EPSILON, max(SMALLEST_CHOSEN_EPSILON, math.floor(10 * wanted) / 10))


def longest_extension(prefixes: int, characters: int, candidates: int, symbols_left: int, *, lists: bool = True) -> int:
    """How many symbols a layer can extend its prefixes by without exceeding the candidates allowed; at least 1.

    A layer that `lists` extensions need not vote on all. Where there are many, a small part of them are all that a
    language uses.
    """
    extension = 1
    while extension < symbols_left:
        ways = extensions(characters, extension + 1)
        if prefixes * (-(-ways // FEWEST_WAYS) if lists and ways <= MANY_WAYS else ways) > candidates:
            break
        extension += 1
    return extension


def ways_asked(prefixes: int, characters: int, candidates: int, extension: int) -> int:
    """How many of the extensions of each prefix a layer votes on: as many as fit and are worth it, or simply all."""
    every = extensions(characters, extension)
    if extension == 1 or every > MANY_WAYS or prefixes * every <= min(SMALL_LAYER, candidates):
        return every
    return min(-(-every // ENOUGH_WAYS), candidates // max(prefixes, 1))


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
        """How many symbols a layer extends so many prefixes of this length by."""
        return longest_extension(prefixes, self.characters, self.candidates, self.depth + 1 - length)

    def ways(self, prefixes: int, extension: int) -> int:
        """How many extensions of each prefix are voted on."""
        return ways_asked(prefixes, self.characters, self.candidates, extension)

    def coming(self, prefixes: int, length: int) -> list[int]:
        """The lengths at which layers will begin, this one first, if prefixes die out as known words do.

        How many there are after single characters nobody knows before the first votes: as many as fit, it is assumed.
        """
        lengths = [length]
        most = prefixes if length > 1 else self.candidates // (self.characters + 1)
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

    def cohort(self, users_left: int, prefixes: int, length: int) -> int:
        """The users of the next layer, so that the layers still to come get their due."""
        weights = [self.weight(start) for start in self.coming(prefixes, length)]
        return int(users_left * weights[0] / sum(weights))
