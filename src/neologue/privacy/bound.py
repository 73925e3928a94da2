"""A bound on the central ε, or the reason why there is none.

Every figure is computed in floating point and rounded against us. Where densities P and Q are known up to a relative
error η, P - e^ε·Q is at most (1+η)·(P' - e^(ε-2η)·Q') for the computed P' and Q', so that an ε larger by 2η and a δ
larger by a factor of 1+η cover it. Where k such laws are multiplied, so are these: 2kη and (1+η)^k.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

ROUNDING = 1e-9
"""Above the relative error of every probability that SciPy computes for us; the tests measure it."""
NOTHING = -1000.0
"""Stands for the logarithm of zero: below that of any other number."""
DIGITS = 6
GROUP_STEP = 1.2
GROUP_START = 1e-3
"""Of the ε that holds for a group anyway, the share at which the search begins at the latest."""


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


def smallest_epsilon(
    delta_of: Callable[[float], float],
    delta: float,
    most: float,
    least: float = 0.0,
    laws: int = 1,
    near: Sequence[float] = (),
) -> float:
    """An ε from `least` to `most` at which δ(ε) is at most δ, and hardly larger than the smallest such one.

    `most` is an ε that holds anyway, and the answer where δ(ε) does not say better. `laws` is how many laws, each with
    its rounding, were multiplied for δ(ε). Some ε that are `near`, in ascending order, shorten the search.
    """
    from scipy.optimize import brentq  # slow to import, and no part of what a worker does all day

    shift = 2 * laws * ROUNDING
    covered = math.log(delta) - laws * ROUNDING

    @cache
    def excess(epsilon: float) -> float:
        return _log(delta_of(epsilon)) - covered

    low, high = max(0.0, least - shift), most
    if excess(low) <= 0:
        return min(most, max(least, shift))
    for guess in near:
        if low < guess < high and excess(guess) > 0:
            low = guess
        elif low < guess < high:
            high = guess
    if excess(high) > 0:
        return most
    found = float(brentq(excess, low, high, xtol=1e-9, rtol=1e-6))
    step = 1e-6
    while found < most and excess(found) > 0:
        found, step = max(found, ROUNDING) * (1 + step), 2 * step
    return min(most, round_up(found + shift))


def group_epsilon(
    delta_of: Callable[[float], float],
    words: int,
    delta: float,
    most: float,
    least: float = 0.0,
    laws: int = 1,
    single: float | None = None,
) -> float:
    """The ε of so many words replaced one after the other, each at a cost of δ(ε) that is given.

    Each step multiplies chances by e^ε and adds δ, and later steps multiply what earlier ones added.
    `single` is about the ε of one word: the search begins there.
    """

    def delta_of_group(epsilon: float) -> float:
        return math.exp(min(700.0, log_group_delta(delta_of(epsilon / words), words, epsilon)))

    doubt = words * laws * ROUNDING
    if single is None:
        single = smallest_epsilon(delta_of, delta, most / words, least / words, laws)
    enough = max(least, words * single, most * GROUP_START)
    # Far out, what was left out of sums is all that is seen, times e^ε: the first ε that will do is sought from below.
    while enough < most and delta_of_group(enough) * math.exp(doubt) > delta:
        enough *= GROUP_STEP
    return smallest_epsilon(
        delta_of_group, delta, min(most, enough + 2 * doubt), least, words * laws, [enough / GROUP_STEP]
    )


def log_group_delta(each: float, words: int, epsilon: float) -> float:
    """The logarithm of δ(ε) of so many words replaced one after the other: Σ e^(i·ε/words)·δ(ε/words) over the steps i.

    `each` is δ(ε/words), that of one step.
    """
    step = epsilon / words
    steps = math.log(-math.expm1(-epsilon) / -math.expm1(-step)) + epsilon - step if step > 0 else math.log(words)
    return _log(each) + steps


def _log(chance: float) -> float:
    """The logarithm, of zero too."""
    return math.log(chance) if chance > 0 else NOTHING


def surely_below(epsilon: float) -> float:
    """Below the ε that `smallest_epsilon` has searched for, rounded and made larger; five digits are all it knows."""
    below = epsilon * (1 - 1e-5) - 20 * ROUNDING
    if not below > 0:
        return 0.0
    places = DIGITS - 2 - math.floor(math.log10(below))
    return round(math.floor(below * 10.0**places) / 10.0**places, places)


def round_up(epsilon: float) -> float:
    """The ε with six significant digits, never smaller."""
    if not epsilon > 0:
        return 0.0
    places = DIGITS - 1 - math.floor(math.log10(epsilon))
    up = math.ceil(epsilon * 10.0**places) / 10.0**places
    return round(up if up >= epsilon else up + 10.0**-places, places)
