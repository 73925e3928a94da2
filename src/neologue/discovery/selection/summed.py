"""Words judged by the sum of their votes.

Where a campaign asks about what is likely, the rule `significant` judges words by all their votes, in every layer that
asked about them, and prefixes by those of one layer. A word that nobody holds has Bin(n, q) votes in all, n being the
reports of the layers that asked about it, as if they were one layer. A word that is not found is looked at again in the
next layer; each look has its part of the level, so that the expected share of noise among all released words stays
within it. A word that was passed over before has fewer votes than one that was not looked at, so that looking again
makes no p-value too small.

As in `neologue.discovery.selection.significant`, each p-value is divided by a weight that follows from how many users
should hold the string, and not from its votes (Genovese, Roeder and Wasserman, 2006).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neologue.discovery.selection.selected import Integers
from neologue.discovery.selection.significant import NullLaw, mix_weights
from neologue.layout.likely_rounds import expected_shares
from neologue.randomizers.channel import Channel, Floats


@dataclass(frozen=True, eq=False)
class Judged:
    """Strings that the same layers asked about."""

    votes: Integers
    """The sum of their votes."""
    costs: NDArray[np.int16]
    reports: int
    """How many reports these layers have."""
    needed: int
    """The fewest votes that the promises about rare strings call for."""


@dataclass(frozen=True, eq=False)
class Passed:
    """The strings of a group that noise does not explain."""

    index: Integers
    thresholds: Integers
    """For each the fewest votes that would have done."""
    missing: Integers
    """For each cost the fewest votes that surely would have done for a string that is not among them."""


def pass_significant(groups: Sequence[Judged], channel: Channel, level: float, found: int) -> list[Passed]:
    """The strings that stand out among all groups, at an expected share of noise of `level`, and are no rare ones."""
    laws = [
        NullLaw.of(channel.trials(group.reports), float(channel.q), int(group.votes.max(initial=0))) for group in groups
    ]
    numbers = [np.bincount(group.costs, minlength=1) for group in groups]
    weights = weigh_costs(laws, [group.reports for group in groups], numbers, channel)
    total = sum(len(group.votes) for group in groups)
    # All strings of one cost have one weight: few of the millions have the votes to be looked at more closely.
    close = [
        np.flatnonzero(group.votes >= law.fewest(level * weight)[group.costs])
        for group, law, weight in zip(groups, laws, weights, strict=True)
    ]
    values = [
        law.tails[group.votes[some]] / weight[group.costs[some]]
        for group, law, weight, some in zip(groups, laws, weights, close, strict=True)
    ]
    ranked = np.sort(np.concatenate(values))
    enough = np.flatnonzero(ranked * total <= level * np.arange(found + 1, found + len(ranked) + 1))
    count = found + int(enough[-1]) + 1 if len(enough) else 0
    # One more that passes raises the cut for all.
    cut, raised = level * count / max(total, 1), level * (max(count, found) + 1) / max(total, 1)
    passed = []
    for group, law, weight, some, value in zip(groups, laws, weights, close, values, strict=True):
        kept = some[(value <= cut) & (group.votes[some] >= group.needed)]
        fewest = np.minimum(law.fewest(cut * weight)[group.costs[kept]], group.votes[kept])
        missing = np.maximum(law.fewest(raised * weight), group.needed)
        passed.append(Passed(kept, np.maximum(fewest, group.needed), missing))
    return passed


def weigh_costs(
    laws: Sequence[NullLaw], reports: Sequence[int], numbers: Sequence[Integers], channel: Channel
) -> list[Floats]:
    """For each group the weight of a string by its cost, of which `numbers` tells how many there are.

    All strings of all groups weigh 1 on average.
    """
    worth = [
        law.worth(expected_shares(np.arange(len(number))) * answered * channel.gain)
        for law, answered, number in zip(laws, reports, numbers, strict=True)
    ]
    total = sum(float(number @ value) for number, value in zip(numbers, worth, strict=True))
    count = sum(int(number.sum()) for number in numbers)
    return [mix_weights(value, count / total if total else 0.0) for value in worth]
