"""Recorded users in shards, so that no machine needs all of them.

A shard is a range of ranks in the random order of users. One task per file splits its users into shards without knowing
the other files; one task per shard merges its parts. So every step needs only a part of the data, and the users have
the same order as on a single machine.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from neologue.populations.holdings import Holdings, merge_pairs
from neologue.populations.records import Records
from neologue.populations.user_keys import Keys, fingerprint, ranks


@dataclass(frozen=True, eq=False)
class FilePart:
    """The users of one file who belong to one shard, by their keys, with words of the common lexicon."""

    keys: Keys
    holdings: Holdings


@dataclass(frozen=True, eq=False)
class Shard:
    """The users of a range of ranks, in their order."""

    holdings: Holdings
    fingerprint: int


@dataclass(frozen=True, eq=False)
class Window:
    """The users from the `first` on, as a source to count over."""

    first: int
    holdings: Holdings

    def draw(self, start: int, stop: int, *, counted: bool = True) -> Holdings:
        """The holdings of these users."""
        return self.holdings.rows(start - self.first, stop - self.first)


def common_words(lexicons: Iterable[Sequence[str]]) -> list[str]:
    """The common lexicon of all files, from their sorted lexicons."""
    return [word for word, _ in groupby(merge(*lexicons))]


def split_by_shard(records: Records, words: Sequence[str], seed: int, shards: int) -> list[FilePart]:
    """Split the users of a file by shard; `words` is the common lexicon of all files."""
    index_of = {word: number for number, word in enumerate(words)}
    indices = np.array([index_of[word] for word in records.words], np.int64)
    held = records.holdings
    common = Holdings(held.starts, indices[held.words].astype(np.int32), held.counts)
    shard_of_user = shard_of(ranks(records.keys, seed), shards)
    order = np.argsort(shard_of_user, kind="stable")
    bounds = np.searchsorted(shard_of_user[order], np.arange(shards + 1))
    members = [order[bounds[shard] : bounds[shard + 1]] for shard in range(shards)]
    return [FilePart(records.keys[users], common.take(users)) for users in members]


def shard_of(ranks: NDArray[np.uint64], shards: int) -> NDArray[np.int64]:
    """The shard of each rank; shards are ranges of nearly equal length."""
    return ((ranks >> np.uint64(32)) * np.uint64(shards) >> np.uint64(32)).astype(np.int64)


def gather(parts: Sequence[FilePart], words: int, seed: int) -> Shard:
    """Merge the parts of a shard: users with one key are one user, and their counts are summed."""
    keys = np.concatenate([part.keys for part in parts])
    held = Holdings.concatenate([part.holdings for part in parts])
    rank = ranks(keys, seed)
    order = np.lexsort((keys[:, 1], keys[:, 0], rank))
    ordered = keys[order]
    new = np.ones(len(ordered), bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    user_index = np.empty(len(keys), np.int64)
    user_index[order] = np.cumsum(new) - 1
    owners = np.repeat(user_index, np.diff(held.starts))
    pairs, counts = merge_pairs(owners * words + held.words, held.counts)
    holdings = Holdings.from_pairs(pairs, counts, int(new.sum()), words)
    return Shard(holdings, fingerprint(rank[order][new], holdings))
