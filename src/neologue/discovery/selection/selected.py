"""What a rule selects, and what every rule needs for it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neologue.entropy import SeededEntropy
from neologue.protocol.layer import Layer

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Selection:
    """The candidates kept, in order, and for each the fewest votes that would have done."""

    index: Integers
    thresholds: Integers
    missing: Callable[[Integers], Integers]
    """For candidates that were not kept, the fewest votes that surely would have done, if no other had changed."""


def select_largest(index: Integers, votes: Integers, count: int, layer: Layer) -> Selection:
    """The `count` with the most votes; ties at the edge fall by lots that the layer's digest fixes.

    With more votes than the best that was left out a candidate would surely have been kept, so that is its threshold;
    if nothing was left out, none was needed.
    """
    if len(index) <= count:
        return Selection(index, np.zeros(len(index), np.int64), lambda others: np.zeros(len(others), np.int64))
    edge = np.partition(votes, len(votes) - count)[len(votes) - count]
    tied = np.flatnonzero(votes == edge)
    sure = np.flatnonzero(votes > edge)
    lots = SeededEntropy(int.from_bytes(layer.digest, "big"))
    lucky = tied[lots.subset(len(tied), count - len(sure))]
    kept = np.sort(np.concatenate([sure, lucky]))
    left_out = np.delete(votes, kept).max()
    thresholds = np.minimum(votes[kept], left_out + 1)
    return Selection(index[kept], thresholds, lambda others: np.full(len(others), edge + 1, np.int64))
