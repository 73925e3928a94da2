"""A bound on the central ε, or the reason why there is none.

Every figure is computed in floating point and rounded against us. Where densities P and Q are known up to a relative
error η, P - e^ε·Q is at most (1+η)·(P' - e^(ε-2η)·Q') for the computed P' and Q', so that an ε larger by 2η and a δ
larger by a factor of 1+η cover it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy.optimize import brentq

from neologue.errors import ParameterError

ROUNDING = 1e-9
"""Above the relative error of every probability that SciPy computes for us; the tests measure it."""
SMALLEST_DELTA = 1e-300
DIGITS = 6
GROUP_STEP = 1.1


@dataclass(frozen=True)
class Bound:
    """An upper bound on ε and the theorem behind it; without ε, the reason."""

    theorem: str
    epsilon: float | None
    reason: str | None = None

    @classmethod
    def none(cls, theorem: str, reason: str) -> "Bound":
        """A theorem that does not apply."""
        return cls(theorem, None, reason)


def check_delta(delta: float) -> float:
    """The δ itself, if it is a probability that can be promised."""
    if not (math.isfinite(delta) and 0 < delta < 1):
        raise ParameterError(f"delta must lie between 0 and 1, not {delta}: 1e-10 is the paper's")
    return delta


def smallest_epsilon(delta_of: Callable[[float], float], delta: float, most: float, least: float = 0.0) -> float:
    """An ε from `least` to `most` at which δ(ε) is at most δ, and hardly larger than the smallest such one.

    `most` is an ε that holds anyway, and the answer where δ(ε) does not say better.
    """
    covered = math.log(delta / (1 + ROUNDING))

    def excess(epsilon: float) -> float:
        return math.log(max(delta_of(epsilon), SMALLEST_DELTA)) - covered

    if excess(least) <= 0:
        return least
    if excess(most) > 0:
        return most
    found = float(brentq(excess, least, most, xtol=1e-9, rtol=1e-6))
    step = 1e-6
    while found < most and excess(found) > 0:
        found, step = found * (1 + step), 2 * step
    return min(most, rounded_up(found + 2 * ROUNDING))


def group_epsilon(delta_of: Callable[[float], float], words: int, delta: float, most: float) -> float:
    """The ε of so many words replaced one after the other, each at a cost of δ(ε) that is given.

    Each step multiplies chances by e^ε and adds δ, and later steps multiply what earlier ones added.
    """

    def group_delta(epsilon: float) -> float:
        each = epsilon / words
        steps = math.log(-math.expm1(-epsilon) / -math.expm1(-each)) + epsilon - each if each > 0 else math.log(words)
        return math.exp(min(700.0, math.log(max(delta_of(each), SMALLEST_DELTA)) + steps))

    enough = words * smallest_epsilon(delta_of, delta, most / words)
    # Far out, what was left out of sums is all that is seen, times e^ε; so the first ε that will do is sought from below.
    while enough < most and group_delta(enough) * (1 + ROUNDING) > delta:
        enough *= GROUP_STEP
    return most if enough >= most else smallest_epsilon(group_delta, delta, enough)


def rounded_up(epsilon: float) -> float:
    """The ε with six significant digits, never smaller."""
    if not epsilon > 0:
        return 0.0
    places = DIGITS - 1 - math.floor(math.log10(epsilon))
    up = math.ceil(epsilon * 10.0**places) / 10.0**places
    return round(up if up >= epsilon else up + 10.0**-places, places)
