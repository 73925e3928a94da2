"""What users hold whose words follow a gamma process: the compiled loop of the typing model."""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from neologue.compiled import compiled
from neologue.populations.alias_table import fill_ids
from neologue.populations.count_kernel import Ids, Ints
from neologue.populations.holdings import MOST_TIMES
from neologue.populations.random64 import Random64, fill, unit

MOST_AT_ONCE = 1 << 24
"""The most times that one draw is typed."""
AT_ONCE = 1 << 12
"""How many random words are drawn ahead; a buffer of them stays in the nearest cache."""


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
    """The holdings of some users: starts, word ids, counts (of draws, unless counted).

    What is typed, how often and by how voluble a user come from a source of randomness each, so that the words are the
    same whether or not they are counted.
    """
    typed = np.empty(users, np.float64)
    draws = np.empty(users, np.int64)
    for user in range(users):
        typed[user] = np.exp(log_median + sigma * volumes.standard_normal())
        draws[user] = volumes.poisson(concentration * np.log1p(typed[user] / concentration))
    starts = np.zeros(users + 1, np.int64)
    ids = np.empty(draws.sum(), np.int32)
    counts = np.ones(len(ids), np.int32)
    # Where a word was put last, counted from 1: at a place of the same user, or before.
    latest = np.zeros(len(table), np.int32)
    random = np.empty(AT_ONCE, np.uint64)
    drawn, of_drawn = np.empty(AT_ONCE, np.int32), AT_ONCE
    luck, of_luck = np.empty(AT_ONCE, np.float64), AT_ONCE
    end = 0
    for user in range(users):
        parameter = typed[user] / (typed[user] + concentration)
        log_rest = np.log1p(-parameter)
        first = end
        for _ in range(draws[user]):
            if of_drawn == AT_ONCE:
                fill_ids(words, table, random, drawn)
                of_drawn = 0
            word = drawn[of_drawn]
            of_drawn += 1
            more = 1
            if counted:
                if of_luck == AT_ONCE:
                    fill_uniform(times, random, luck)
                    of_luck = 0
                more = logarithmic(parameter, log_rest, luck[of_luck], luck[of_luck + 1])
                of_luck += 2
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
def fill_uniform(state: Random64, random: Random64, luck: NDArray[np.float64]) -> None:
    """Fill an array with uniform numbers above 0 and up to 1."""
    fill(state, random)
    for draw in range(len(random)):
        luck[draw] = 1.0 - unit(random[draw])


@compiled
def logarithmic(parameter: float, log_rest: float, first: float, second: float) -> int:
    """A number of the logarithmic law from two uniform ones above 0 (Kemp 1981, algorithm LK).

    A geometric number whose parameter is 1 - (1 - p)^U has this law; most are 1 or 2, which needs no second logarithm.
    """
    if first >= parameter:
        return 1
    ratio = 1.0 - np.exp(log_rest * second)
    if first > ratio:
        return 1
    if first > ratio * ratio:
        return 2
    return 1 + int(min(np.log(first) / np.log(ratio), MOST_AT_ONCE - 1.0))
