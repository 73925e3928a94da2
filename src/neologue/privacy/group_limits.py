"""What the sum of a masking group can be if all its devices are honest, and so what hostile ones can make of it.

Under a mask no vote can be checked, but the sum of a group can. Say that n devices are in it, with c contributions
each. Whatever they hold, their votes have these upper bounds in distribution:

- **One candidate**: Bin(n·r, p) + Bin(n·(c-r), q), if each device holds it in at most r contributions. r is 1, but for
  the element of a closed list that stands for all other words.
- **All candidates**, unary: Bin(n·h, p) + Bin(n·(s-h), q), as a report speaks of at most h = min(B, s) of s candidates.
  Of Subset Selection a contribution has d votes, always: n·c·d.

By Chernoff's inequality such a sum X, with the cumulant generating function K, exceeds x with a chance of at most
exp(K(t) - t·x), for any t > 0: at most exp(-L) for x = (K(t) + L)/t. Every t gives a limit that holds; the smallest of
many is taken. L is such that all limits, on all candidates of all groups of a campaign together, refuse a group of
honest devices with a chance of at most 2^-40.

A sum above a limit is refused as a whole. So hostile devices, however many are in a group, and whatever they add modulo
whatever, bring a candidate to no more votes than the first limit, and all candidates together to no more than the
second. No check of one group's sum can do better than that by more than the chances it allows: n honest devices that
all hold a word have such a sum, and it is the same sum.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from neologue.masking.rules import GroupRules
from neologue.masking.terms import MOST_ENTRIES
from neologue.privacy.bound import ROUNDING
from neologue.randomizers.channel import Channel
from neologue.randomizers.randomizer import Randomizer
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary
from neologue.table import Table

REFUSAL_BITS: Final = 40
"""A campaign refuses any group of honest devices with a chance of at most 2^-40."""
_KINDS: Final = 2
"""One candidate, and all of them, share that chance evenly."""
_TILTS: Final = np.geomspace(1e-4, 40.0, 2000)


@dataclass(frozen=True)
class SumLimits:
    """The most votes that the sum of a group may have."""

    candidate: int
    total: int


def sum_limits(randomizer: Randomizer[Any], devices: int, groups: int, repeats: int = 1) -> SumLimits:
    """The limits on a sum of so many devices, of a campaign of at most so many groups.

    A device may hold a candidate in `repeats` of its contributions.
    """
    return SumLimits(
        candidate_limit(randomizer.channel, devices, groups, repeats),
        TOTALS[randomizer.name](randomizer, devices, groups),
    )


@lru_cache(maxsize=1024)
def candidate_limit(channel: Channel, devices: int, groups: int, repeats: int = 1) -> int:
    """The most votes that one candidate may have, whatever the number of candidates."""
    held = devices * min(repeats, channel.contributions)
    limit = _limit(held, channel.trials(devices) - held, channel, _nats(groups, MOST_ENTRIES))
    return min(limit, channel.trials(devices))


def hostile_votes(channel: Channel, rules: GroupRules) -> int:
    """The most votes that one hostile device can bring a candidate, all of them in the sum of its group."""
    return candidate_limit(channel, rules.size, rules.groups)


@lru_cache(maxsize=1024)
def _unary_total(randomizer: Unary, devices: int, groups: int) -> int:
    held = min(randomizer.bound, randomizer.candidates)
    others = randomizer.candidates - held
    return _limit(devices * held, devices * others, randomizer.channel, _nats(groups, 1))


def _selection_total(randomizer: SubsetSelection, devices: int, groups: int) -> int:
    return randomizer.channel.trials(devices) * randomizer.subset_size


TOTALS: Table[Callable[[Any, int, int], int]] = Table(
    "limit on all votes of a masking group for the randomizer",
    "neologue.privacy.group_limits",
    {Unary.name: _unary_total, SubsetSelection.name: _selection_total},
)
"""The most votes of all candidates together, by randomizer, devices and groups."""


def _nats(groups: int, limits: int) -> float:
    """L for one of so many limits in each of so many groups."""
    return REFUSAL_BITS * math.log(2) + math.log(_KINDS * groups) + math.log(limits)


def _limit(held: int, others: int, channel: Channel, nats: float) -> int:
    """What Bin(held, p) + Bin(others, q) exceeds with a chance of at most exp(-nats)."""
    p, q = float(channel.p), float(channel.q)
    grown = np.expm1(_TILTS)
    cumulants = held * np.log1p(p * grown) + others * np.log1p(q * grown)
    return math.ceil(float(((cumulants + nats) / _TILTS).min()) * (1 + ROUNDING))
