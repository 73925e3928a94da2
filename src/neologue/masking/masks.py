"""Masks: the keystream of a key, one word for each entry of a vector.

AES-256 in counter mode, from counter 0, gives a stream of bytes. It is read as little-endian words of 8, 16 or 32 bits,
the smallest that hold the b bits of an entry. Sums wrap around at the word, so they are right modulo 2^b, and the low
b bits of a uniform word are uniform.
"""

from typing import Final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from neologue.masking.vote_packing import Entries

_CHUNK: Final = 1 << 17
"""Bytes processed at a time, few enough to stay in the cache between the cipher and the sum."""
_ZEROS: Final = bytes(_CHUNK)


def add_mask(entries: Entries, key: bytes) -> None:
    """Add the mask of a key, in place."""
    _apply(np.add, entries, key)


def subtract_mask(entries: Entries, key: bytes) -> None:
    """Take the mask of a key off again, in place."""
    _apply(np.subtract, entries, key)


def _apply(operation: np.ufunc, entries: Entries, key: bytes) -> None:
    stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    drawn = bytearray(_CHUNK + 15)  # the cipher wants 15 spare bytes, though a stream never uses them
    step = _CHUNK // entries.itemsize
    for start in range(0, len(entries), step):
        part = entries[start : start + step]
        stream.update_into(memoryview(_ZEROS)[: part.nbytes], drawn)
        operation(part, np.frombuffer(drawn, entries.dtype, len(part)), out=part)
