"""The levels at which privacy is stated: δ, which ε does not cover, α of k-anonymity, the chance of unique words."""

import math

from neologue.errors import ParameterError

LEAST_ALPHA = 0.5
"""With a smaller α, what fewer than k hold is more likely published than not: a k that promises nothing."""
SMALLEST_UNIQUE_CHANCE = 1e-15
"""Below it, the chances that rounding and neglect add would count."""
MOST_IN_A_PROMISE = 1_000_000
"""The largest k, and the most hostile devices of a layer."""


def check_delta(delta: float) -> float:
    """The δ itself, if it is a probability that can be promised."""
    if not (math.isfinite(delta) and 0 < delta < 1):
        raise ParameterError(f"delta must lie between 0 and 1, not {delta}: 1e-10 is the paper's", parameter="delta")
    return delta


def check_alpha(alpha: float) -> float:
    """The α itself, if it is a certainty that can be promised."""
    if not (math.isfinite(alpha) and 0 < alpha < 1):
        raise ParameterError(f"alpha must lie between 0 and 1, not {alpha}: 0.95 is the paper's", parameter="alpha")
    return alpha


def check_unique_chance(chance: float) -> float:
    """The chance itself, if a unique word can be promised to be shown no more often; 0 promises nothing."""
    if not (chance == 0 or SMALLEST_UNIQUE_CHANCE <= chance < 1):
        raise ParameterError(
            f"unique chance must be 0, for no promise, or from {SMALLEST_UNIQUE_CHANCE:g} to below 1, not {chance}: "
            "1e-06 is the default",
            parameter="unique_chance",
        )
    return chance
