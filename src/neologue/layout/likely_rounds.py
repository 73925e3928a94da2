"""How the candidates of a campaign are shared out over its layers, where it asks about what is likely.

A layer has room for so many candidates. Words of earlier rounds are asked about again, the likeliest first, as far as a
part of that room goes; the rest is for what no layer has asked about. Which words are asked about again never depends
on their own votes, so that their votes of several layers are those of one larger layer.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from neologue.language.candidates import Strings, strings
from neologue.language.likely_candidates import LikelyCandidates, RootRound
from neologue.language.likely_roots import NEVER, NO_PREFIXES, Roots, largest_limit, states_behind
from neologue.language.likely_strings import LikelyStrings
from neologue.language.spelling_costs import STEPS_PER_NAT, SpellingCosts
from neologue.randomizers.channel import Floats

AGAIN_SHARE = 0.7
"""The part of the room that words of earlier rounds may take."""
EVEN_SHARE = 0.2
"""The part of those who go on from a root that is shared out evenly over its next symbols."""
WORDS_OF_A_USER = 20.0
"""How many new words a user is expected to hold, which is what a cost of 0 stands for."""
PREFIX_GAP = 16
"""How much less a prefix may cost than a word: many words lie behind a prefix that is worth asking about."""
DEAREST_LIMIT = 255
HALVED = 4
"""At every fourth step of a search what is left is halved."""


def first_candidates(spelling: SpellingCosts, room: int, *, last: bool) -> LikelyCandidates:
    """What the first layer asks about."""
    beginning = Roots.beginning(spelling)
    first = RootRound(beginning.prefixes, beginning.costs, beginning.even_costs, 0, NO_PREFIXES)
    return _fitted(spelling, [first], room, last=last)


def next_candidates(
    before: LikelyCandidates, kept: Strings, shares: Floats, room: int, *, last: bool
) -> LikelyCandidates:
    """What the next layer asks about, if these escapes were kept, with these shares of users."""
    asked_again = again_limits(before, room)
    rounds = [replace(each, again=again) for each, again in zip(before.rounds, asked_again, strict=True)]
    closed = before.asked_after(len(before.rounds) - 1, kept) == NEVER
    costs, even_costs = _root_costs(states_behind(before.spelling, kept), before.spelling, closed, shares)
    open_ = np.flatnonzero(~closed.all(axis=1))
    rounds.append(RootRound(strings(kept[open_].tolist()), costs[open_], even_costs[open_], 0, NO_PREFIXES))
    return _fitted(before.spelling, rounds, room, last=last)


def expected_shares(costs: NDArray[np.integer]) -> Floats:
    """The share of users who should hold strings that cost so much."""
    return np.asarray(WORDS_OF_A_USER * np.exp(-costs / STEPS_PER_NAT))


def again_limits(before: LikelyCandidates, room: int) -> list[int]:
    """What words of each round may cost to be asked about again: as much as fits, the same for all rounds."""
    roots = [before.round_roots(number) for number in range(len(before.rounds))]
    asked = [*(each.again for each in before.rounds[:-1]), before.rounds[-1].limit]

    def words(limit: int) -> int:
        return sum(
            LikelyStrings(each, min(limit, most), NO_PREFIXES).size for each, most in zip(roots, asked, strict=True)
        )

    limit = largest_fitting(words, int(room * AGAIN_SHARE), max(asked))
    return [min(limit, most) for most in asked]


def _fitted(spelling: SpellingCosts, rounds: Sequence[RootRound], room: int, *, last: bool) -> LikelyCandidates:
    """The candidates of some rounds, the last of which goes as far as there is room."""
    *earlier, newest = rounds
    trial = LikelyCandidates(spelling, tuple(rounds))
    taken = sum(part.size for part in trial.again)
    roots = trial.fresh.roots
    most = min(DEAREST_LIMIT, largest_limit(spelling))

    def prefix_limit(limit: int) -> int:
        return NO_PREFIXES if last else max(limit - PREFIX_GAP, 1)

    limit = largest_fitting(lambda limit: LikelyStrings(roots, limit, prefix_limit(limit)).size, room - taken, most)
    fitted = replace(newest, limit=limit, prefix_limit=prefix_limit(limit))
    return LikelyCandidates(spelling, (*earlier, fitted))


def largest_fitting(size: Callable[[int], int], room: int, most: int) -> int:
    """The largest limit, from 0 to `most`, within which there is room for everything; without a limit there is nothing.

    Sizes take long to compute, and nearly grow by e with every natural logarithm, so that few of them tell it.
    """
    fits, breaks, limit = 0, most + 1, (most + 1) // 2
    for tried in itertools.count(1):
        if breaks - fits <= 1:
            break
        found = size(limit)
        fits, breaks = (limit, breaks) if found <= room else (fits, limit)
        # One step beyond what should fit, so that both sides close in.
        further = math.floor(STEPS_PER_NAT * math.log(max(room, 1) / max(found, 1))) + int(found <= room)
        # If that leads astray, halving won't.
        limit = limit + further if tried % HALVED else (fits + breaks) // 2
        limit = max(fits + 1, min(limit, breaks - 1))
    return fits


def _root_costs(
    states: NDArray[np.int64], spelling: SpellingCosts, closed: NDArray[np.bool_], shares: Floats
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What roots cost that such shares of users go on from: with the spelling's costs on top, and evenly."""
    chances = np.where(closed, 0.0, np.exp(-spelling.cost[states] / STEPS_PER_NAT))
    going_on = np.maximum(chances.sum(axis=1), 1e-9)
    free = np.maximum((~closed).sum(axis=1), 1)

    def cost(share: Floats) -> NDArray[np.int64]:
        return np.asarray(np.maximum(1, np.rint(-STEPS_PER_NAT * np.log(share / WORDS_OF_A_USER))), np.int64)

    return cost(shares * (1 - EVEN_SHARE) / going_on), cost(shares * EVEN_SHARE / free)
