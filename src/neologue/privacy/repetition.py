"""Something combined with itself many times, in few steps."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def repeated(one: T, times: int, combine: Callable[[T, T], T]) -> T:
    """So many of the same combined, by doubling: `combine` must be associative, but for rounding."""
    assert times > 0
    result, power = None, one
    while True:
        if times & 1:
            result = power if result is None else combine(result, power)
        times >>= 1
        if not times:
            assert result is not None
            return result
        power = combine(power, power)
