"""Keys of recorded users, and the random order that a seed gives them.

A key is the MD5 digest of a user's name, as two numbers. It replaces the name where files are joined and users are
ordered, so that the order of some users can be computed without the others. MD5 is what DuckDB offers; nothing here is
secret, and nobody gains from two names with one key.
"""

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from neologue.compiled import compiled
from neologue.populations.count_kernel import Ids, Ints
from neologue.populations.holdings import Holdings
from neologue.populations.streams import Stream, generator

Keys = NDArray[np.uint64]
"""One row per user: the high half and the low half of the key."""
Ranks = NDArray[np.uint64]


def key_sql(name: str) -> str:
    """The SQL expressions of the two halves of a key, named high and low."""
    return f"md5_number_upper({name}) AS high, md5_number_lower({name}) AS low"


def keys_of(names: Iterable[str]) -> Keys:
    """The keys of some names."""
    digests = b"".join(hashlib.md5(name.encode(), usedforsecurity=False).digest() for name in names)
    return np.frombuffer(digests, "<u8").astype(np.uint64).reshape(-1, 2)


@compiled
def mix(number: np.uint64) -> np.uint64:
    """Scramble a number: the finalizer of SplitMix64, a bijection (Steele et al. 2014)."""
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


def ranks(keys: Keys, seed: int) -> Ranks:
    """The ranks of users for a seed: users are ordered by rank, and by key where two ranks are equal.

    Ranks are uniform, so that a range of them is a random subset of the users.
    """
    return mix_all(keys[:, 0] ^ generator(Stream.ORDER, seed).integers(2**64, dtype=np.uint64))


@compiled
def mix_all(numbers: Ranks) -> Ranks:
    """Scramble each number."""
    found = np.empty_like(numbers)
    for index in range(len(numbers)):
        found[index] = mix(numbers[index])
    return found


def fingerprint(ranks: Ranks, holdings: Holdings) -> int:
    """A hash of users' holdings and ranks; the hashes of two parts of the users add up modulo 2⁶⁴."""
    return int(fingerprint_of_rows(ranks, holdings.starts, holdings.words, holdings.counts))


@compiled
def fingerprint_of_rows(ranks: Ranks, starts: Ints, words: Ids, counts: Ids) -> np.uint64:
    """The sum over users of a hash of their rank, words and counts."""
    total = np.uint64(0)
    for user in range(len(ranks)):
        number = mix(ranks[user])
        for index in range(starts[user], starts[user + 1]):
            number = mix(number ^ ((np.uint64(words[index]) << np.uint64(32)) | np.uint64(counts[index])))
        total += number
    return total
