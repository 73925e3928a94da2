"""Walker's alias method: draws an index with a given probability from one random number and one look-up."""

import numpy as np
from numpy.typing import NDArray

from neologue.compiled import compiled
from neologue.populations.count_kernel import Ids
from neologue.populations.random64 import Random64, fill, unit

FINE = 1 << 32
"""Probabilities are stored in steps of 2⁻³²."""


@compiled
def build_alias_table(shares: NDArray[np.float64]) -> Random64:
    """Build the table for shares that sum to 1 (Vose 1991): a probability and an alias in one 64-bit entry.

    An entry gives its own index with its probability and its alias otherwise. Both come from one look-up, so that a
    draw waits for the memory once.
    """
    size = len(shares)
    chance = shares * size
    alias = np.arange(size).astype(np.uint64)
    small = np.empty(size, np.int64)
    large = np.empty(size, np.int64)
    smalls = larges = 0
    for index in range(size):
        if chance[index] < 1.0:
            small[smalls] = index
            smalls += 1
        else:
            large[larges] = index
            larges += 1
    while smalls > 0 and larges > 0:
        smalls -= 1
        poor, rich = small[smalls], large[larges - 1]
        alias[poor] = rich
        chance[rich] -= 1.0 - chance[poor]
        if chance[rich] < 1.0:
            larges -= 1
            small[smalls] = rich
            smalls += 1
    table = np.empty(size, np.uint64)
    for index in range(size):
        # Entries that are left over are their own alias, so that their probability makes no difference.
        steps = np.uint64(min(chance[index] * FINE, FINE - 1.0))
        table[index] = (steps << np.uint64(32)) | alias[index]
    return table


@compiled
def fill_ids(state: Random64, table: Random64, random: Random64, ids: Ids) -> None:
    """Fill `ids` with indices drawn from a table; `random` is a buffer of the same length."""
    fill(state, random)
    size = np.float64(len(table))
    for draw in range(len(random)):
        position = unit(random[draw]) * size
        index = np.int64(position)
        entry = table[index]
        own = np.int64((position - index) * FINE) < np.int64(entry >> np.uint64(32))
        ids[draw] = np.int32(index) if own else np.int32(entry & np.uint64(FINE - 1))
