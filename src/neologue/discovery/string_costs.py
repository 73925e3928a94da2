"""What each of millions of likely strings costs, in their order, by one walk through all of them."""

import numpy as np
from numpy.typing import NDArray

from neologue.compiled import compiled
from neologue.language.likely_roots import NO_PREFIXES, UNASKED
from neologue.language.likely_strings import LikelyStrings

Integers = NDArray[np.int64]
Costs = NDArray[np.int16]
Flags = NDArray[np.bool_]

DEEPEST_STACK = 1 << 16
"""More prefixes never wait to be looked at: one for each unit of cost and each symbol."""


def string_costs(strings: LikelyStrings) -> tuple[Costs, Flags]:
    """The cost of each string, and whether it is a word."""
    costs, ended = np.empty(strings.size, np.int16), np.empty(strings.size, np.bool_)
    roots, spelling = strings.roots, strings.roots.spelling
    own = np.minimum(np.maximum(roots.costs, 0), strings.limit).astype(np.int16)
    visited = _walk(
        spelling.cost,
        spelling.after,
        spelling.cost[:, 1:].min(axis=1),
        roots.states,
        own,
        roots.next_costs,
        roots.asked,
        strings.limit,
        strings.prefix_limit,
        costs,
        ended,
    )
    assert visited == strings.size
    return costs, ended


def string_numbers(strings: LikelyStrings) -> tuple[Integers, Integers]:
    """How many words and how many prefixes there are of each cost up to the limit, without a walk."""
    roots, limit = strings.roots, strings.limit
    symbols = roots.spelling.alphabet.size
    code = np.broadcast_to(np.arange(symbols), roots.next_costs.shape)
    goes_on = (roots.next_costs <= limit) & (code > 0)
    words = np.bincount(roots.next_costs[(roots.next_costs <= limit) & (code == 0) & (roots.asked < 0)])
    words = np.pad(words, (0, limit + 1 - len(words)))
    prefixes = np.zeros(limit + 1, np.int64)
    if strings.prefix_limit != NO_PREFIXES:
        own = np.minimum(np.maximum(roots.costs, 0), strings.prefix_limit)
        prefixes += np.bincount(own, minlength=limit + 1)
    after = np.asarray(roots.spelling.after[roots.states], np.int64)
    if goes_on.any():
        # One number for each opening: numbers are sorted much faster than rows.
        least, states = int(roots.asked.min()), len(roots.spelling.contexts)
        most = int(roots.asked.max()) - least + 1
        openings = roots.next_costs[goes_on].astype(np.int64) * most + roots.asked[goes_on] - least
        different, counts = np.unique(openings * states + after[goes_on], return_counts=True)
        openings, state = np.divmod(different, states)
        spent, asked = np.divmod(openings, most)
        asked += least
        left = limit - int(spent.min())
        words += _by_cost(roots.spelling.sizes(left, prefixes=False), spent, asked, state, counts, limit)
        if strings.prefix_limit != NO_PREFIXES:
            table = roots.spelling.sizes(max(left, 0), prefixes=True)
            unasked = np.full(len(asked), UNASKED)
            within = _by_cost(table, spent, unasked, state, counts, strings.prefix_limit)
            prefixes[: len(within)] += within
    return words, prefixes


def _by_cost(
    sizes: NDArray[np.integer], spent: Integers, asked: Integers, state: Integers, counts: Integers, limit: int
) -> Integers:
    """How many strings of each cost go on from so many contexts each, where so much is spent and was asked before."""
    within = np.zeros(limit + 1, np.int64)
    for cost in np.unique(spent[spent <= limit]).tolist():
        some = np.flatnonzero((spent == cost) & (asked < limit - cost))
        more = np.arange(limit + 1 - cost)
        earlier = asked[some]
        before = np.where(earlier >= 0, sizes[np.maximum(earlier, 0), state[some]], 0).astype(np.int64)
        numbers = sizes[: len(more), state[some]] - before
        within[cost:] += np.where(more[:, None] > earlier, numbers, 0) @ counts[some]
    return np.diff(within, prepend=0)


@compiled
def _walk(
    cost: NDArray[np.int16],
    after: NDArray[np.int32],
    cheapest: NDArray[np.int16],
    states: NDArray[np.int64],
    own: Costs,
    next_costs: NDArray[np.int16],
    asked: NDArray[np.int16],
    limit: int,
    prefix_limit: int,
    costs: Costs,
    ended: Flags,
) -> int:
    """Write the costs of all strings below all roots, and return how many there are."""
    symbols = cost.shape[1]
    waiting = np.empty(DEEPEST_STACK, np.int32)
    spent = np.empty(DEEPEST_STACK, np.int32)
    floors = np.empty(DEEPEST_STACK, np.int32)
    place = 0
    for root in range(len(states)):
        if prefix_limit > 0:
            costs[place], ended[place] = own[root], False
            place += 1
        if next_costs[root, 0] <= limit and asked[root, 0] < 0:
            costs[place], ended[place] = next_costs[root, 0], True
            place += 1
        top = 0
        for symbol in range(symbols - 1, 0, -1):
            first = next_costs[root, symbol]
            # Words that cost at most the floor were asked about before.
            floor = first + asked[root, symbol]
            if first <= prefix_limit or (first <= limit and floor < limit):
                waiting[top], spent[top], floors[top] = after[states[root], symbol], first, floor
                top += 1
        while top > 0:
            top -= 1
            state, here, floor = waiting[top], spent[top], floors[top]
            if here <= prefix_limit:
                costs[place], ended[place] = here, False
                place += 1
            whole = here + cost[state, 0]
            if floor < whole <= limit:
                costs[place], ended[place] = whole, True
                place += 1
            left = (limit if floor < limit else prefix_limit) - here
            if cheapest[state] > left:
                continue  # as behind most prefixes
            for symbol in range(symbols - 1, 0, -1):
                if cost[state, symbol] <= left:
                    further = here + cost[state, symbol]
                    waiting[top], spent[top], floors[top] = after[state, symbol], further, floor
                    top += 1
    return place
