"""Which strings stand out in a layer, foreseen: those of words by drawn votes, and how many of the others by chance.

The millions of strings that no word belongs to are counted by cost. The rule's threshold is the one at which its own
equation holds with as many of them as stand out on average.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neologue.discovery.selection.significant import NullLaw
from neologue.discovery.selection.summed import weigh_costs
from neologue.randomizers.channel import Channel, Floats

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

FARTHEST = 20
"""Standard deviations of noise up to which votes are tabulated: rarer votes than the smallest cut."""
SMALLEST_CUT = 1e-6
"""How many false ones are as good as none."""
ROUNDS = 100
SETTLED = 0.999


@dataclass(frozen=True, eq=False)
class ForeseenStrings:
    """Strings that the same layers asked about: those that words belong to, and how many there are in all."""

    votes: Integers
    costs: Integers
    numbers: Integers
    """How many strings there are of each cost, those of the words among them."""
    reports: int
    """How many reports these layers have."""
    needed: int
    """The fewest votes that the promises about rare strings call for."""


@dataclass(frozen=True, eq=False)
class StandingOut:
    """Which of a group's strings stand out."""

    passed: Flags
    thresholds: Integers
    """For each cost the fewest votes that suffice."""
    noise: Floats
    """For each cost how many strings stand out that no word belongs to."""
    noise_chances: Floats
    """For each cost the chance of such a string."""
    present: Flags
    """For each cost whether there are strings of it at all."""

    @property
    def released(self) -> int:
        """How many stand out, noise included."""
        return int(self.passed.sum()) + round(float(self.noise.sum()))

    @property
    def sure(self) -> int:
        """The votes that suffice, whatever the cost."""
        return int(self.thresholds[self.present].max(initial=0))

    @property
    def fewest(self) -> int:
        """The votes that suffice for the least strictly judged."""
        return int(self.thresholds[self.present].min(initial=int(self.thresholds.max())))


def stand_out(groups: Sequence[ForeseenStrings], channel: Channel, level: float, found: int) -> list[StandingOut]:
    """Which strings `neologue.discovery.selection.summed.pass_significant` passes, as far as can be foreseen."""
    laws = [_null_law(channel, group.reports) for group in groups]
    weights = weigh_costs(laws, [group.reports for group in groups], [group.numbers for group in groups], channel)
    total = sum(int(group.numbers.sum()) for group in groups)
    others = [group.numbers - np.bincount(group.costs, minlength=len(group.numbers)) for group in groups]
    values = [
        law.tails[np.minimum(group.votes - law.lowest, len(law.tails) - 1).clip(0)] / weight[group.costs]
        for group, law, weight in zip(groups, laws, weights, strict=True)
    ]
    ranked = np.sort(np.concatenate(values))

    def passing(cut: float) -> float:
        noise = (
            other @ _chance(law, law.fewest(cut * weight))
            for other, law, weight in zip(others, laws, weights, strict=True)
        )
        return float(found + np.searchsorted(ranked, cut, side="right") + sum(noise))

    cut, before = level, math.inf
    smallest = SMALLEST_CUT / max(total, 1)
    for _ in range(ROUNDS):
        if cut > SETTLED * before or cut == smallest:
            break
        before, cut = cut, max(smallest, min(cut, level * passing(cut) / max(total, 1)))
    standing = []
    for group, law, weight, other in zip(groups, laws, weights, others, strict=True):
        thresholds = np.maximum(law.fewest(cut * weight), group.needed)
        chances = _chance(law, thresholds)
        passed = group.votes >= thresholds[group.costs]
        standing.append(StandingOut(passed, thresholds, other * chances, chances, group.numbers > 0))
    return standing


def _null_law(channel: Channel, reports: int) -> NullLaw:
    """The votes that noise gives, tabulated as far as they matter."""
    trials, chance = channel.trials(reports), float(channel.q)
    reach = FARTHEST * (1 + math.sqrt(trials * chance))
    return NullLaw.of(trials, chance, int(trials * chance + reach) - 1, max(0, int(trials * chance - reach)))


def _chance(law: NullLaw, votes: Integers) -> Floats:
    """The chance that noise has at least so many votes."""
    inside = law.tails[np.clip(votes - law.lowest, 0, len(law.tails) - 1)]
    return np.where(votes <= law.lowest, 1.0, np.where(votes - law.lowest >= len(law.tails), 0.0, inside))
