"""What a campaign should be given: the local ε for a population, and the shape and size of its layers."""

import math
from collections.abc import Sequence

from neologue.errors import ParameterError
from neologue.language.candidates import extensions

REFERENCE_USERS = 15_000_000
REFERENCE_EPSILON = 7.0
LARGEST_CHOSEN_EPSILON = 10.0
SMALLEST_CHOSEN_EPSILON = 1.0


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


def next_cohort(users_left: int, weights: Sequence[float]) -> int:
    """The users of the next layer, when the layers still to come have these weights, the next one first."""
    return int(users_left * weights[0] / sum(weights))
