"""Shamir's shares: of a secret in the field, any `threshold` give it back and fewer say nothing about it.

The share of point x ≥ 1 is f(x), where f is a polynomial of degree threshold - 1 with f(0) the secret and all other
coefficients uniform.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import lcm, prod

from neologue.entropy import Entropy
from neologue.masking.field import PRIME, draw


def shares(secret: int, points: Sequence[int], threshold: int, entropy: Entropy) -> list[int]:
    """The share of every point, in order."""
    coefficients = [secret, *(draw(entropy) for _ in range(threshold - 1))]
    return [_value(coefficients, point) for point in points]


def _value(coefficients: Sequence[int], point: int) -> int:
    value = 0
    for coefficient in reversed(coefficients):
        value = (value * point + coefficient) % PRIME
    return value


def reconstruct(held: Mapping[int, int], threshold: int) -> int:
    """The secret behind at least `threshold` shares by point; from fewer, or from wrong ones, something else."""
    # The smallest points, so that secrets with about the same holders share their weights.
    points = tuple(sorted(held)[:threshold])
    return sum(held[point] * weight for point, weight in zip(points, _weights(points), strict=True)) % PRIME


@lru_cache(maxsize=64)
def _weights(points: tuple[int, ...]) -> tuple[int, ...]:
    """What each share is multiplied by, for the value at 0: Π x_j/(x_j - x_i) over all j ≠ i."""
    below = [point * prod(other - point for other in points if other != point) for point in points]
    # One common denominator, for to invert each would take longer than all the rest.
    common = lcm(*below)
    scale = prod(points) * pow(common, -1, PRIME)
    return tuple(scale * (common // denominator) % PRIME for denominator in below)
