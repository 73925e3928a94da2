"""A compiled loop that counts ids without NumPy's intermediate arrays; it releases the GIL."""

import numpy as np
from numpy.typing import NDArray

from neologue.compiled import compiled

Ints = NDArray[np.int64]
Ids = NDArray[np.int32]


@compiled
def count_ids(ids: Ids | NDArray[np.uint32], counts: NDArray[np.uint32]) -> None:
    """Add one to the count of each id."""
    for index in ids:
        counts[index] += np.uint32(1)
