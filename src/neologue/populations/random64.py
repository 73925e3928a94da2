"""Fast 64-bit random numbers for compiled loops: 64 xoshiro256++ generators side by side (Blackman and Vigna 2021).

The generators are independent, so the compiler turns the loop over them into vector instructions, one generator per
lane. Their state is one array: the four numbers of a generator's state are 64 entries apart.
"""

import numpy as np
from numpy.typing import NDArray

from neologue.compiled import compiled
from neologue.populations.streams import Stream

Random64 = NDArray[np.uint64]
Halves = NDArray[np.uint32]

GENERATORS = 64
STATE = 4 * GENERATORS


def seed_generators(stream: Stream, seed: int, *indices: int) -> Random64:
    """The state of all generators for one use, such as a chunk of users; seeds are hashed, so that none coincide."""
    return np.random.SeedSequence((stream, seed, *indices)).generate_state(STATE, np.uint64).astype(np.uint64)


@compiled
def next_random(state: Random64, generator: int) -> np.uint64:
    """The next number of one generator."""
    first, second = state[generator], state[GENERATORS + generator]
    third, fourth = state[2 * GENERATORS + generator], state[3 * GENERATORS + generator]
    total = first + fourth
    word: np.uint64 = ((total << np.uint64(23)) | (total >> np.uint64(41))) + first
    shifted = second << np.uint64(17)
    third ^= first
    fourth ^= second
    state[GENERATORS + generator] = second ^ third
    state[generator] = first ^ fourth
    state[2 * GENERATORS + generator] = third ^ shifted
    state[3 * GENERATORS + generator] = (fourth << np.uint64(45)) | (fourth >> np.uint64(19))
    return word


@compiled
def fill(state: Random64, words: Random64) -> None:
    """Fill an array, whose length is a multiple of the number of generators."""
    for start in range(0, len(words), GENERATORS):
        block = words[start : start + GENERATORS]
        for generator in range(GENERATORS):
            block[generator] = next_random(state, generator)


@compiled
def unit(word: np.uint64) -> float:
    """A uniform number from 0 to below 1, from 53 of the 64 bits."""
    return np.float64(word >> np.uint64(11)) * 2.0**-53


@compiled
def biased_below(bound: int) -> np.uint32:
    """The bound of Lemire's rejection: draw again if the lower half of the product is less than 2^32 mod bound."""
    return np.uint32((np.uint64(1) << np.uint64(32)) % np.uint64(bound))


@compiled
def next_below(state: Random64, bound: int) -> np.uint32:
    """A uniform integer below a bound of at most 2^32, from the first generator (Lemire 2019)."""
    least = biased_below(bound)
    while True:
        product = (next_random(state, 0) >> np.uint64(32)) * np.uint64(bound)
        if np.uint32(product) >= least:
            return np.uint32(product >> np.uint64(32))
