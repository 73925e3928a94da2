"""Compiled loops over users: what NumPy can't do without holding everyone in memory.

Each function releases the GIL and is compiled once, then kept on disk. Randomness comes from generators
passed in, so that the result depends on their seeds alone.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar, cast

import numpy as np
from numba import njit
from numpy.random import Generator
from numpy.typing import NDArray

Loop = TypeVar("Loop", bound=Callable[..., object])
Ints = NDArray[np.int64]
Ids = NDArray[np.int32]


MOST_TIMES = 1 << 24


def compiled(loop: Loop) -> Loop:
    """Compile a loop when it is first called, and keep the result on disk where there is a place for it."""
    try:
        return cast(Loop, njit(cache=True, nogil=True)(loop))
    except RuntimeError:  # neither beside this file nor in the user's own cache may anything be written
        return cast(Loop, njit(nogil=True)(loop))


class AliasTable(NamedTuple):
    """Walker's alias method: draw a place, keep it with its chance, else take its alias."""

    chance: NDArray[np.float64]
    alias: Ids


@compiled
def alias_table(shares: NDArray[np.float64]) -> AliasTable:
    """The table for shares that sum to 1 (Vose 1991)."""
    size = len(shares)
    chance = shares * size
    alias = np.arange(size).astype(np.int32)
    small = np.empty(size, np.int32)
    large = np.empty(size, np.int32)
    smalls = larges = 0
    for place in range(size):
        if chance[place] < 1.0:
            small[smalls] = place
            smalls += 1
        else:
            large[larges] = place
            larges += 1
    while smalls > 0 and larges > 0:
        smalls -= 1
        poor, rich = small[smalls], large[larges - 1]
        alias[poor] = rich
        chance[rich] -= 1.0 - chance[poor]
        if chance[rich] < 1.0:
            larges -= 1
            small[smalls] = rich
            smalls += 1
    for place in small[:smalls]:
        chance[place] = 1.0
    for place in large[:larges]:
        chance[place] = 1.0
    return AliasTable(chance, alias)


@compiled
def draw_users(
    words_source: Generator,
    counts_source: Generator,
    users: int,
    log_median: float,
    sigma: float,
    concentration: float,
    table: AliasTable,
    counted: bool,
) -> tuple[Ints, Ids, Ids]:
    """The holdings of users whose words follow a gamma process: starts, word ids, counts (1 unless counted)."""
    size = len(table.chance)
    typed = np.empty(users, np.float64)
    draws = np.empty(users, np.int64)
    for user in range(users):
        typed[user] = np.exp(log_median + sigma * words_source.standard_normal())
        draws[user] = words_source.poisson(concentration * np.log1p(typed[user] / concentration))
    starts = np.zeros(users + 1, np.int64)
    ids = np.empty(draws.sum(), np.int32)
    counts = np.empty(len(ids), np.int32)
    owner = np.full(size, -1, np.int32)
    slot = np.empty(size, np.int64)
    end = 0
    for user in range(users):
        parameter = typed[user] / (typed[user] + concentration)
        for _ in range(draws[user]):
            position = words_source.random() * size
            word = int(position)
            if position - word >= table.chance[word]:
                word = table.alias[word]
            times = min(counts_source.logseries(parameter), MOST_TIMES) if counted else 1
            if owner[word] == user:
                counts[slot[word]] += times
            else:
                owner[word] = user
                slot[word] = end
                ids[end] = word
                counts[end] = times
                end += 1
        starts[user + 1] = end
    return starts, ids[:end], counts[:end]


@compiled
def sample_users(
    source: Generator,
    starts: Ints,
    words: Ids,
    counts: Ids,
    group_of_word: Ids,
    groups: int,
    bound: int,
    greedy: bool,
) -> tuple[Ints, Ids]:
    """All users' samples, at most `bound` distinct groups of words, the most typed or any: starts, groups.

    A word of group -1 does not count. The law is that of `neologue.device.sampling.sample`.
    """
    users = len(starts) - 1
    sample_starts = np.zeros(users + 1, np.int64)
    samples = np.empty(min(len(words), users * bound), np.int32)
    owner = np.full(groups, -1, np.int32)
    slot = np.empty(groups, np.int64)
    widest = 0
    for user in range(users):
        widest = max(widest, starts[user + 1] - starts[user])
    held = np.empty(widest, np.int32)
    times = np.empty(widest, np.int64)
    end = 0
    for user in range(users):
        distinct = 0
        for place in range(starts[user], starts[user + 1]):
            group = group_of_word[words[place]]
            if group < 0:
                continue
            if owner[group] == user:
                times[slot[group]] += counts[place]
            else:
                owner[group] = user
                slot[group] = distinct
                held[distinct] = group
                times[distinct] = counts[place]
                distinct += 1
        taken = min(distinct, bound)
        if distinct > bound:
            # A partial shuffle puts a uniform sample in front; greedy shuffles all, so that ties fall at
            # random.
            for place in range(distinct - 1 if greedy else bound):
                other = place + source.integers(0, distinct - place)
                held[place], held[other] = held[other], held[place]
                times[place], times[other] = times[other], times[place]
            if greedy:
                order = np.argsort(-times[:distinct])
                held[:distinct] = held[:distinct][order]
        samples[end : end + taken] = held[:taken]
        end += taken
        sample_starts[user + 1] = end
    return sample_starts, samples[:end]


@compiled
def add_counts(ids: Ids, counts: NDArray[np.uint32]) -> None:
    """Count each id once more."""
    for place in ids:
        counts[place] += np.uint32(1)
