"""Where randomness comes from: 64 uniform bits at a time, secure on devices, seeded in simulation.

Every draw that decides what leaves a device is an integer comparison on these bits, so its probability is
exactly the fraction that the privacy statement names. Floating point never decides.
"""

import os
from abc import ABC, abstractmethod
from threading import Lock
from typing import NoReturn
from weakref import WeakSet

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from numpy.typing import NDArray

WORD_BITS = 64
ONE = 1 << WORD_BITS
"""A probability is a numerator over this."""

HALF_WORD = 1 << 32


class Entropy(ABC):
    """A stream of independent uniform 64-bit words, and the exact draws made from it."""

    @abstractmethod
    def words(self, count: int) -> NDArray[np.uint64]:
        """The next `count` words of the stream."""

    def octets(self, count: int) -> bytes:
        """The next `count` bytes, from whole words of the stream."""
        return self.words(-(-count // 8)).astype("<u8").tobytes()[:count]

    def integer(self, bits: int) -> int:
        """A uniform integer of `bits` bits, a multiple of 64."""
        return int.from_bytes(self.octets(bits // 8), "little")

    def chances(self, numerator: int, count: int) -> NDArray[np.bool_]:
        """`count` independent events, each with probability exactly numerator / 2^64."""
        drawn = self.words(count)
        if numerator >= ONE:
            return np.ones(count, np.bool_)
        return drawn < np.uint64(numerator)

    def below(self, bound: int, count: int) -> NDArray[np.int64]:
        """`count` independent uniform integers in [0, bound), bound ≤ 2^32 (Lemire 2019, with rejection)."""
        if not 1 <= bound <= HALF_WORD:
            raise ValueError(f"a bound must be in 1..2^32, not {bound}")
        parts: list[NDArray[np.int64]] = []
        missing = count
        while missing > 0:
            halves = self.words(-(-missing // 2)).astype("<u8").view("<u4")
            accepted = bounded_integers(halves, bound)[:missing]
            parts.append(accepted)
            missing -= len(accepted)
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def subset(self, size: int, count: int) -> NDArray[np.int64]:
        """A uniform `count`-subset of {0, …, size-1}, sorted, in work proportional to the smaller side."""
        if not 0 <= count <= size:
            raise ValueError(f"no subset of {count} elements in a set of {size}")
        if 2 * count > size:
            return np.setdiff1d(np.arange(size), self.subset(size, size - count), assume_unique=True)
        chosen = np.empty(0, np.int64)
        while len(chosen) < count:
            # Drawing one by one and passing over repeats gives every subset the same chance; so does a
            # batch, as long as only its missing number of draws is taken each time.
            drawn = np.sort(np.concatenate((chosen, self.below(size, count - len(chosen)))))
            chosen = drawn[np.append(True, drawn[1:] != drawn[:-1])]
        return chosen

    def permutation(self, count: int) -> NDArray[np.int64]:
        """A uniform permutation of {0, …, count-1}: the order of distinct random keys."""
        while True:
            keys = self.words(count)
            order = np.argsort(keys)
            ordered = keys[order]
            if (ordered[1:] != ordered[:-1]).all():
                return order


def bounded_integers(halves: NDArray[np.uint32], bound: int) -> NDArray[np.int64]:
    """Uniform integers below `bound` from uniform 32-bit words, in order; words that would bias are left out."""
    products = halves.astype(np.uint64) * np.uint64(bound)
    accepted = (products & np.uint64(HALF_WORD - 1)) >= np.uint64(HALF_WORD % bound)
    return (products[accepted] >> np.uint64(32)).astype(np.int64)


class SecureEntropy(Entropy):
    """OS entropy expanded by ChaCha20 under a key that is replaced at every refill.

    Nothing is given out twice: threads take turns, a forked child starts from entropy of its own, and an instance can't
    be copied or stored.
    """

    REFILL = 8192

    def __init__(self) -> None:
        self.reseed()
        _IN_USE.add(self)

    def reseed(self) -> None:
        """Start from fresh entropy of the system."""
        self._turn = Lock()
        self._key = os.urandom(32)
        self._buffer = b""

    def _refill(self, count: int) -> bytes:
        keystream = Cipher(algorithms.ChaCha20(self._key, bytes(16)), mode=None).encryptor()
        produced = keystream.update(bytes(32 + max(self.REFILL, count)))
        self._key = produced[:32]
        return produced[32:]

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next `count` words; each byte of the keystream is given out once."""
        wanted = 8 * count
        with self._turn:
            if wanted > len(self._buffer):
                self._buffer += self._refill(wanted - len(self._buffer))
            taken, self._buffer = self._buffer[:wanted], self._buffer[wanted:]
        return np.frombuffer(taken, "<u8").astype(np.uint64)

    def __reduce__(self) -> NoReturn:
        raise TypeError("secure entropy can't be copied or stored: it would repeat randomness")


_IN_USE: WeakSet[SecureEntropy] = WeakSet()


def _reseed_all() -> None:
    for source in list(_IN_USE):
        source.reseed()


os.register_at_fork(after_in_child=_reseed_all)


class SeededEntropy(Entropy):
    """The same stream for the same seed, for simulation and tests only."""

    def __init__(self, *seed: int) -> None:
        self._generator = np.random.PCG64DXSM(np.random.SeedSequence(seed))

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next `count` words of the generator."""
        return np.asarray(self._generator.random_raw(count), np.uint64)
