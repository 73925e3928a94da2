"""Fast random words for compiled loops: 64 generators of the kind xoshiro256++ side by side (Blackman and Vigna 2021).

All lanes take the same step at once and none waits for another, so the compiler turns the loop over them into vector
instructions. The four words of a lane's state lie 64 places apart in one array, which whoever draws passes around.
"""

import numpy as np
from numpy.typing import NDArray

from neologue.compiled import compiled
from neologue.populations.streams import Stream

Random64 = NDArray[np.uint64]
Halves = NDArray[np.uint32]

LANES = 64
STATE = 4 * LANES


def seed_generators(stream: Stream, seed: int, *indices: int) -> Random64:
    """The state of all lanes for one use at one place; their seeds are hashes, so that no two run in step."""
    return np.random.SeedSequence((stream, seed, *indices)).generate_state(STATE, np.uint64).astype(np.uint64)


@compiled
def next_random(state: Random64, lane: int) -> np.uint64:
    """The next word of one lane."""
    first, second = state[lane], state[LANES + lane]
    third, fourth = state[2 * LANES + lane], state[3 * LANES + lane]
    total = first + fourth
    word: np.uint64 = ((total << np.uint64(23)) | (total >> np.uint64(41))) + first
    shifted = second << np.uint64(17)
    third ^= first
    fourth ^= second
    state[LANES + lane] = second ^ third
    state[lane] = first ^ fourth
    state[2 * LANES + lane] = third ^ shifted
    state[3 * LANES + lane] = (fourth << np.uint64(45)) | (fourth >> np.uint64(19))
    return word


@compiled
def fill(state: Random64, words: Random64) -> None:
    """Fill an array, whose length is a multiple of the number of lanes."""
    for start in range(0, len(words), LANES):
        block = words[start : start + LANES]
        for lane in range(LANES):
            block[lane] = next_random(state, lane)


@compiled
def unit(word: np.uint64) -> float:
    """A uniform number from 0 to below 1, with 53 bits of a word."""
    return np.float64(word >> np.uint64(11)) * 2.0**-53


@compiled
def biased_below(bound: int) -> np.uint32:
    """Where Lemire's method must draw again: if the lower half of a product is less than 2^32 mod bound."""
    return np.uint32((np.uint64(1) << np.uint64(32)) % np.uint64(bound))


@compiled
def next_below(state: Random64, bound: int) -> np.uint32:
    """A uniform integer below a bound of at most 2^32, from the first lane (Lemire 2019)."""
    least = biased_below(bound)
    while True:
        product = (next_random(state, 0) >> np.uint64(32)) * np.uint64(bound)
        if np.uint32(product) >= least:
            return np.uint32(product >> np.uint64(32))
