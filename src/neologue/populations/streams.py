"""A separate stream of seeded randomness for each use, so that no two uses share their draws."""

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """The uses of randomness; part of every seed."""

    WORDS = 1
    TIMES = 2
    ORDER = 3
    SAMPLES = 4
    VOTES = 5
    REPORTS = 6
    EXACT = 7
    BASELINES = 8
    VOLUMES = 9
    RATES = 10


def generator(stream: Stream, seed: int, *indices: int) -> np.random.Generator:
    """The generator for one use, with indices such as that of a chunk of users."""
    return np.random.default_rng((stream, seed, *indices))
