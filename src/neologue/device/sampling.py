"""Which prefixes go into a report when a device holds more than B.

Both samplers order the prefixes by a random permutation drawn without looking at them, greedy then by the
times typed, and take the first B. So replacing one word of a user, which moves at most two prefixes in that
order, replaces at most one prefix of the sample: the randomizer's item-level statement carries over.
"""

import numpy as np
from numpy.typing import NDArray

from neologue.entropy import Entropy


def sample(
    prefixes: NDArray[np.int64], times: NDArray[np.int64], bound: int, sampler: str, entropy: Entropy
) -> NDArray[np.int64]:
    """At most `bound` of the distinct prefixes: the most typed, ties at random (greedy), or any (random)."""
    order = entropy.permutation(len(prefixes))
    if sampler == "greedy":
        order = order[np.argsort(-times[order], kind="stable")]
    return prefixes[order[:bound]]
