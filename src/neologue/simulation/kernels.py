"""Loops that are compiled: what NumPy can't do without holding everyone in memory.

Each releases the GIL and is compiled once, then kept on disk.
"""

from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

Loop = TypeVar("Loop", bound=Callable[..., object])
Ints = NDArray[np.int64]
Ids = NDArray[np.int32]


def compiled(loop: Loop) -> Loop:
    """Compile a loop when it is first called, and keep the result on disk where there is a place for it."""
    try:
        return cast(Loop, njit(cache=True, nogil=True)(loop))
    except RuntimeError:  # neither beside this file nor in the user's own cache may anything be written
        return cast(Loop, njit(nogil=True)(loop))


@compiled
def add_counts(ids: Ids, counts: NDArray[np.uint32]) -> None:
    """Count each id once more."""
    for place in ids:
        counts[place] += np.uint32(1)
