"""What the devices of a layer may hold: how many of its reports each candidate, and no report more than B of them."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def nothing(size: int, reports: int, bound: int) -> Integers:
    return np.zeros(size, np.int64)


def long_tail(size: int, reports: int, bound: int) -> Integers:
    """As many words as reports have room for, the most common one of them with half of the devices or fewer."""
    shares = 1 / (2 + np.arange(size))
    return np.asarray(reports * min(1.0, bound / shares.sum()) * shares, np.int64)


def half(size: int, reports: int, bound: int) -> Integers:
    """Half of the candidates, as much as there is to hold."""
    return np.where(np.arange(size) % 2, min(reports, 2 * reports * bound // size), 0)


def everything(size: int, reports: int, bound: int) -> Integers:
    return np.full(size, min(reports, reports * bound // size))


def everybody_the_same(size: int, reports: int, bound: int) -> Integers:
    return np.where(np.arange(size) < bound, reports, 0)


HOLDINGS = [nothing, long_tail, half, everything, everybody_the_same]
Holding = Callable[[int, int, int], Integers]
