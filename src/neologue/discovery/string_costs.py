"""What each of millions of likely strings costs, in their order, by one walk through all of them."""

import numpy as np
from numpy.typing import NDArray

from neologue.compiled import compiled
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
        spelling.cost, spelling.after, roots.states, own, roots.next_costs, strings.limit, strings.escapes, costs, ended
    )
    assert visited == strings.size
    return costs, ended


def string_numbers(strings: LikelyStrings) -> tuple[Integers, Integers]:
    """How many words and how many other strings there are of each cost up to the limit, without a walk."""
    roots, limit = strings.roots, strings.limit
    code = np.broadcast_to(np.arange(roots.spelling.alphabet.size), roots.next_costs.shape)
    within = roots.next_costs <= limit
    goes_on = within & (code > 0)
    states = len(roots.spelling.contexts)
    after = np.asarray(roots.spelling.after[roots.states], np.int64)
    pairs, counts = np.unique(roots.next_costs[goes_on] * states + after[goes_on], return_counts=True)
    spent, state = np.divmod(pairs, states)
    words = np.bincount(roots.next_costs[within & (code == 0)], minlength=limit + 1)
    others = np.zeros(limit + 1, np.int64)
    if len(pairs):
        left = limit - int(spent.min())
        endings = roots.spelling.sizes(left, prefixes=False)
        words += _by_cost(endings, spent, state, counts, limit)
        if strings.escapes:
            everything = _by_cost(roots.spelling.sizes(left, prefixes=True), spent, state, counts, limit)
            own = np.minimum(np.maximum(roots.costs, 0), limit)
            others = everything - words + np.bincount(roots.next_costs[within & (code == 0)], minlength=limit + 1)
            others += np.bincount(own, minlength=limit + 1)
    return words, others


def _by_cost(sizes: Integers, spent: Integers, state: Integers, counts: Integers, limit: int) -> Integers:
    """How many strings of each cost go on from so many contexts each, where so much is spent."""
    within = np.zeros(limit + 1, np.int64)
    for cost in np.unique(spent).tolist():
        some = spent == cost
        within[cost:] += sizes[: limit + 1 - cost, state[some]] @ counts[some]
    return np.diff(within, prepend=0)


@compiled
def _walk(
    cost: NDArray[np.int16],
    after: NDArray[np.int32],
    states: NDArray[np.int64],
    own: Costs,
    next_costs: NDArray[np.int32],
    limit: int,
    escapes: bool,
    costs: Costs,
    ended: Flags,
) -> int:
    """Write the costs of all strings below all roots, and return how many there are."""
    symbols = cost.shape[1]
    waiting = np.empty(DEEPEST_STACK, np.int32)
    spent = np.empty(DEEPEST_STACK, np.int32)
    place = 0
    for root in range(len(states)):
        if escapes:
            costs[place], ended[place] = own[root], False
            place += 1
        if next_costs[root, 0] <= limit:
            costs[place], ended[place] = next_costs[root, 0], True
            place += 1
        top = 0
        for symbol in range(symbols - 1, 0, -1):
            if next_costs[root, symbol] <= limit:
                waiting[top], spent[top] = after[states[root], symbol], next_costs[root, symbol]
                top += 1
        while top > 0:
            top -= 1
            state, here = waiting[top], spent[top]
            if escapes:
                costs[place], ended[place] = here, False
                place += 1
            if here + cost[state, 0] <= limit:
                costs[place], ended[place] = here + cost[state, 0], True
                place += 1
            for symbol in range(symbols - 1, 0, -1):
                further = here + cost[state, symbol]
                if further <= limit:
                    waiting[top], spent[top] = after[state, symbol], further
                    top += 1
    return place
