"""What each of millions of likely strings costs, in their order, by one walk through all of them."""

import numpy as np
from numpy.typing import NDArray

from neologue.compiled import compiled
from neologue.language.likely_strings import LikelyStrings

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
