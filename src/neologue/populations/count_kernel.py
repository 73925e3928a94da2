"""Loops that are compiled: what NumPy can't do without holding everyone in memory.

Each releases the GIL and is compiled once, then kept on disk.
"""

import numpy as np
from numpy.typing import NDArray

from neologue.compiled import compiled

Ints = NDArray[np.int64]
Ids = NDArray[np.int32]


@compiled
def count_ids(ids: Ids, counts: NDArray[np.uint32]) -> None:
    """Count each id once more."""
    for index in ids:
        counts[index] += np.uint32(1)
