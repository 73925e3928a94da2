"""The levels at which privacy is stated: δ, the chance that ε does not cover, and α, the certainty of k-anonymity."""

import math

from neologue.errors import ParameterError

LEAST_ALPHA = 0.5
"""With a smaller α, what fewer than k hold is more likely published than not: a k that promises nothing."""


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
