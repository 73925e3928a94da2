"""A separate stream of seeded randomness for each use, so that no two uses share their draws."""

import secrets
from enum import IntEnum

import numpy as np

SECRET_BITS = 128
"""As much as NumPy's `SeedSequence` keeps of a seed."""


class SecretSeed(int):
    """A seed from the system's entropy: whoever knows it can compute the noise of a run, so no release holds it."""

    @classmethod
    def draw(cls) -> "SecretSeed":
        """A new seed."""
        return cls(secrets.randbits(SECRET_BITS))

    def __repr__(self) -> str:
        return "SecretSeed(…)"


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
    SLOTS = 11
    MADE_UP = 12


def generator(stream: Stream, seed: int, *indices: int) -> np.random.Generator:
    """The generator for one use, with indices such as that of a chunk of users."""
    return np.random.default_rng((stream, seed, *indices))
