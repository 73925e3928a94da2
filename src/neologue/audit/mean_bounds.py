"""Limits of a mean that hold for every number of observations, with a risk that is stated.

A share of yes and no has the limits of Clopper and Pearson (1934), which are exact. A mean of other bounded numbers has
those of Maurer and Pontil (2009, theorem 4), which use the variance that was seen and assume nothing about the law.
Either asks for independent observations, and for nothing else.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]


def least_share(count: int, of: int, risk: float) -> float:
    """What a probability is at least, if it came true so often; wrong with at most this risk."""
    return float(stats.beta.ppf(risk, count, of - count + 1)) if count else 0.0


def margin(deviation: float, most: float, of: int, risk: float) -> float:
    """How far the mean of numbers from 0 to `most`, with such a standard deviation, may lie from the true one."""
    odds = math.log(2 / risk)
    return deviation * math.sqrt(2 * odds / of) + most * 7 * odds / (3 * (of - 1))


def least_mean(values: Floats, most: float, risk: float) -> float:
    """What the mean of numbers from 0 to `most` is at least; wrong with at most this risk."""
    return float(values.mean()) - margin(float(values.std(ddof=1)), most, len(values), risk)


def largest_mean(values: Floats, most: float, risk: float) -> float:
    """What the mean of numbers from 0 to `most` is at most; wrong with at most this risk."""
    return float(values.mean()) + margin(float(values.std(ddof=1)), most, len(values), risk)
