"""What a campaign should be given: the local ε for a population, and the shape and size of its layers."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from neologue.errors import ParameterError
from neologue.language.candidates import extensions

REFERENCE_USERS = 15_000_000
REFERENCE_EPSILON = 7.0
LARGEST_CHOSEN_EPSILON = 10.0
SMALLEST_CHOSEN_EPSILON = 1.0
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


def longest_extension(prefixes: int, characters: int, candidates: int, symbols_left: int) -> int:
    """How many symbols a layer can extend its prefixes by without exceeding the candidates allowed; at least 1."""
    extension = 1
    while extension < symbols_left and prefixes * extensions(characters, extension + 1) <= candidates:
        extension += 1
    return extension


def layer_weights(known_lengths: Collection[int], lengths: Iterable[int]) -> list[float]:
    """How many users layers should have, relative to each other, whose prefixes have these lengths.

    A layer decides the words that reach it, and what share of them does, the known words of the language tell. Users in
    proportion to it would find the most words, but the run's central ε is that of its smallest layer, for which equal
    layers are best. The square root, with a floor, lies between.
    """
    histogram = Counter(known_lengths)
    total = max(1, histogram.total())
    reaching = [sum(count for known, count in histogram.items() if known >= length) for length in lengths]
    return [max(SMALLEST_WEIGHT, math.sqrt(words / total)) for words in reaching]


def next_cohort(users_left: int, weights: Sequence[float]) -> int:
    """The users of the next layer, when the layers still to come have these weights, the next one first."""
    return int(users_left * weights[0] / sum(weights))
