"""The local ε that suits a population of a given size."""

import math

from neologue.errors import ParameterError

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
        raise ParameterError(f"a population needs at least 1 user, not {users}", parameter="users")
    wanted = REFERENCE_EPSILON + math.log(REFERENCE_USERS / users)
    return min(LARGEST_CHOSEN_EPSILON, max(SMALLEST_CHOSEN_EPSILON, math.floor(10 * wanted) / 10))
