"""The compiled loop of the typing model: draws the words of users that follow a gamma process."""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from neologue.compiled import compiled
from neologue.populations.alias_table import fill_ids
from neologue.populations.count_kernel import Ids, Ints
from neologue.populations.holdings import MOST_TIMES
from neologue.populations.random64 import Random64, fill, unit

MOST_AT_ONCE = 1 << 24
"""The largest number of times that one draw is typed."""
BUFFER = 1 << 12
"""How many random numbers are drawn ahead; the buffer fits into the nearest cache."""


@compiled
def draw_users(
    volumes: Generator,
    words: Random64,
    times: Random64,
    users: int,
    log_median: float,
    sigma: float,
    concentration: float,
    table: Random64,
    counted: bool,
) -> tuple[Ints, Ids, Ids]:
    """The holdings of some users: starts, word ids, and counts (numbers of draws unless `counted`).

    Words, counts and the volume of a user each have their own source of randomness, so that the words are the same
    whether or not they are counted.
    """
    typed = np.empty(users, np.float64)
    draws = np.empty(users, np.int64)
    for user in range(users):
        typed[user] = np.exp(log_median + sigma * volumes.standard_normal())
        draws[user] = volumes.poisson(concentration * np.log1p(typed[user] / concentration))
    starts = np.zeros(users + 1, np.int64)
    ids = np.empty(draws.sum(), np.int32)
    counts = np.ones(len(ids), np.int32)
    # The last position of each word, counted from 1: the current user's if it is beyond `first`.
    latest = np.zeros(len(table), np.int32)
    random = np.empty(BUFFER, np.uint64)
    drawn, next_drawn = np.empty(BUFFER, np.int32), BUFFER
    uniform, next_uniform = np.empty(BUFFER, np.float64), BUFFER
    end = 0
    for user in range(users):
        parameter = typed[user] / (typed[user] + concentration)
        log_rest = np.log1p(-parameter)
        first = end
        for _ in range(draws[user]):
            if next_drawn == BUFFER:
                fill_ids(words, table, random, drawn)
                next_drawn = 0
            word = drawn[next_drawn]
            next_drawn += 1
            more = 1
            if counted:
                if next_uniform == BUFFER:
                    fill_uniform(times, random, uniform)
                    next_uniform = 0
                more = logarithmic(parameter, log_rest, uniform[next_uniform], uniform[next_uniform + 1])
                next_uniform += 2
            if latest[word] > first:
                together = int(counts[latest[word] - 1]) + more
                counts[latest[word] - 1] = min(together, MOST_TIMES)
            else:
                ids[end] = word
                counts[end] = more
                end += 1
                latest[word] = end
        starts[user + 1] = end
    return starts, ids[:end], counts[:end]


@compiled
def fill_uniform(state: Random64, random: Random64, uniform: NDArray[np.float64]) -> None:
    """Fill an array with uniform numbers above 0 and up to 1."""
    fill(state, random)
    for draw in range(len(random)):
        uniform[draw] = 1.0 - unit(random[draw])


@compiled
def logarithmic(parameter: float, log_rest: float, first: float, second: float) -> int:
    """A logarithmic random number from two uniform numbers above 0 (Kemp 1981, algorithm LK).

    A geometric number with parameter 1 - (1 - p)^U has this law; most are 1 or 2, which need no second logarithm.
    """
    if first >= parameter:
        return 1
    ratio = 1.0 - np.exp(log_rest * second)
    if first > ratio:
        return 1
    if first > ratio * ratio:
        return 2
    return 1 + int(min(np.log(first) / np.log(ratio), MOST_AT_ONCE - 1.0))
