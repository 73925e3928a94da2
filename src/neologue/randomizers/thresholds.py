"""Probabilities as integers over 2^64, rounded so that the real ε never exceeds the stated one."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

from neologue.entropy import ONE
from neologue.errors import ParameterError

SMALLEST_EPSILON = 0.001
LARGEST_EPSILON = 20.0


def check_epsilon(epsilon: float) -> float:
    """The ε itself, if a randomizer can promise it."""
    if not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise ParameterError(
            f"epsilon must be a number from {SMALLEST_EPSILON:g} to {LARGEST_EPSILON:g}, not {epsilon}: "
            "1 is strong, 10 is the paper's",
            parameter="epsilon",
        )
    return epsilon


def exp_below(epsilon: float) -> Fraction:
    """A rational just below e^ε: decimal's exp is correctly rounded, so one step down is a lower bound."""
    with localcontext() as context:
        context.prec = 60
        return Fraction(Decimal(epsilon).exp().next_minus())


def log_above(ratio: Fraction) -> float:
    """The smallest float that is surely at or above ln(ratio)."""
    with localcontext() as context:
        context.prec = 60
        quotient = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).next_plus()
        bound = quotient.ln().next_plus()
        nearest = float(bound)
        return nearest if Decimal(nearest) >= bound else math.nextafter(nearest, math.inf)


def numerator_up(probability: Fraction) -> int:
    """The smallest k with k / 2^64 at or above the probability."""
    return math.ceil(probability * ONE)


def numerator_down(probability: Fraction) -> int:
    """The largest k with k / 2^64 at or below the probability."""
    return math.floor(probability * ONE)
