"""From a seed to the base subsets of a Subset Selection report, the same in every language.

The keystream of AES-128-CTR under the seed, from counter 0, is read as 32-bit little-endian words. A word w
becomes ⌊w·s/2^32⌋ and is passed over if w·s mod 2^32 < 2^32 mod s, so that values are uniform below s. Each
subset in turn takes the next values that it does not hold yet, until it holds d.
"""

from collections.abc import Iterator
from itertools import chain, count

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from neologue.entropy import bounded_integers

SEED_BYTES = 16
SPARE_WORDS = 64


def base_subsets(seed: bytes, domain: int, rows: int, size: int) -> NDArray[np.int64]:
    """`rows` uniform subsets of `size` values below `domain`, one a row, in the order of the keystream."""
    wanted = rows * size
    first = next(_values(seed, domain, wanted + SPARE_WORDS))[:wanted]
    if len(first) == wanted:
        subsets = first.reshape(rows, size)
        ordered = np.sort(subsets, axis=1)
        if not (ordered[:, 1:] == ordered[:, :-1]).any():
            return subsets
    return _without_repeats(seed, domain, rows, size)


def _without_repeats(seed: bytes, domain: int, rows: int, size: int) -> NDArray[np.int64]:
    """The definition, value by value: what to do when some subset meets a value twice."""
    stream = chain.from_iterable(block.tolist() for block in _values(seed, domain, rows * size + SPARE_WORDS))
    subsets = np.empty((rows, size), np.int64)
    for row in range(rows):
        taken: dict[int, None] = {}
        while len(taken) < size:
            taken[next(stream)] = None
        subsets[row] = list(taken)
    return subsets


def _values(seed: bytes, domain: int, words: int) -> Iterator[NDArray[np.int64]]:
    """The keystream as values below the domain, a block of so many words at a time."""
    keystream = Cipher(algorithms.AES128(seed), modes.CTR(bytes(16))).encryptor()
    for _ in count():
        yield bounded_integers(np.frombuffer(keystream.update(bytes(4 * words)), "<u4"), domain)
