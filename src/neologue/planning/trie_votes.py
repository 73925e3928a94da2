"""The votes of a layer as foreseen: which candidates a rule keeps, with which chance.

A rule has a threshold that depends on the votes of all candidates. Here it is the one at which the rule's own equation
holds on average, and at which no more prefixes are kept than there is room for.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neologue.campaign.campaign import Campaign
from neologue.discovery.estimates import VoteLaw
from neologue.discovery.selection import RULES
from neologue.discovery.selection.rule import Cut, ForeseenCuts
from neologue.discovery.selection.significant import NullLaw
from neologue.randomizers.channel import Floats

FARTHEST = 20
"""Standard deviations of noise up to which votes are tabulated: rarer votes than the smallest cut."""
SMALLEST_CUT = 1e-6
"""How many false ones are as good as none."""
ROUNDS = 100
KINDS_A_DECADE = 10
"""How finely candidates are told apart by holders where only their number matters."""


@dataclass(frozen=True)
class _Threshold:
    """Where a rule draws the line in one layer."""

    chance: float
    """Votes that noise reaches with at most this chance suffice."""
    edge: int = 0
    """With fewer votes nothing is kept, for want of room, and with exactly so many by lots."""
    lots: float = 1.0
    """The chance of those."""

    @property
    def sure(self) -> int:
        """Enough votes for the room there is."""
        return self.edge if self.lots == 1 else self.edge + 1


@dataclass(frozen=True, eq=False)
class ForeseenDecision:
    """What a layer keeps, in chances."""

    chances: Floats
    """The chance of each true candidate of being kept."""
    noise: tuple[float, float]
    """How many others are kept: ending in ⊥, and going on."""
    sure: tuple[int, int]
    """The votes that suffice."""
    fewest: int
    """The votes with which a word may be kept."""


@dataclass(frozen=True, eq=False)
class ForeseenVotes:
    """The laws of a layer's votes, and the thresholds that follow from them."""

    law: VoteLaw
    campaign: Campaign

    @cached_property
    def _rule(self) -> ForeseenCuts:
        """What the campaign's rule does."""
        return RULES[self.campaign.parameters.rule].foresee(self.campaign)

    @cached_property
    def _noise(self) -> NullLaw:
        """The votes that noise gives, tabulated as far as they matter."""
        trials, chance = self.law.channel.trials(self.law.reports), float(self.law.channel.q)
        reach = FARTHEST * (1 + math.sqrt(trials * chance))
        return NullLaw.of(trials, chance, int(trials * chance + reach) - 1, max(0, int(trials * chance - reach)))

    @cached_property
    def anonymous(self) -> int:
        """The votes that the promises of k-anonymity and of unique words call for."""
        return self.campaign.anonymity.votes_needed(self.law.channel, self.law.reports)

    def decide(self, holders: Floats, present: Floats, ends: NDArray[np.bool_], totals: Floats) -> ForeseenDecision:
        """Which candidates are kept with which chance; `totals` are all that end and all that go on."""
        rule = self._rule
        if rule.together:
            everything = self._settle(holders, present, float(totals.sum()), rule.prefixes)
            thresholds = [everything, everything]
        else:
            thresholds = [
                self._settle(holders[members], present[members], float(total), cut)
                for members, total, cut in ((ends, totals[0], rule.words), (~ends, totals[1], rule.prefixes))
            ]
        chances = np.empty(len(holders))
        for members, threshold in zip((ends, ~ends), thresholds, strict=True):
            chances[members] = self._kept(threshold, holders[members])
        others = np.maximum(totals - [present[ends].sum(), present[~ends].sum()], 0)
        noise = [
            float(rest * self._kept(threshold, np.zeros(1))[0])
            for rest, threshold in zip(others, thresholds, strict=True)
        ]
        sure = [max(self._least(threshold.chance), threshold.sure) for threshold in thresholds]
        fewest = max(self._least(thresholds[0].chance), thresholds[0].edge)
        return ForeseenDecision(chances, (noise[0], noise[1]), (sure[0], sure[1]), fewest)

    def _settle(self, holders: Floats, present: Floats, total: float, cut: Cut) -> _Threshold:
        """The threshold at which the rule's equation holds, and no more are kept than may be."""
        alike, numbers = _group_alike(holders, present, total)

        def kept(threshold: _Threshold) -> float:
            return float(numbers @ self._kept(threshold, alike))

        smallest = SMALLEST_CUT / max(total, 1.0)
        settled = _Threshold(cut.level)
        if cut.level < 1:
            for _ in range(ROUNDS):
                before = settled.chance
                settled = _Threshold(max(smallest, min(before, cut.level * kept(settled) / max(total, 1.0))))
                if settled.chance > 0.999 * before or settled.chance == smallest:
                    break
        if kept(settled) <= cut.most:
            return settled
        votes = range(self.law.channel.trials(self.law.reports) + 1)
        edge = bisect_left(votes, True, key=lambda fewest: kept(replace(settled, edge=fewest + 1)) <= cut.most)
        above, all_of_them = kept(replace(settled, edge=edge + 1)), kept(replace(settled, edge=edge))
        return replace(settled, edge=edge, lots=(cut.most - above) / (all_of_them - above))

    def _kept(self, threshold: _Threshold, holders: Floats) -> Floats:
        """The chance of being kept."""
        least, edge, lots = self._least(threshold.chance), threshold.edge, threshold.lots
        tied = self._at_least(max(least, edge), holders)
        if lots == 1:
            return tied
        return lots * tied + (1 - lots) * self._at_least(max(least, edge + 1), holders)

    def _at_least(self, votes: int, holders: Floats) -> Floats:
        return self.law.at_least(np.full(len(holders), votes), holders)

    def _least(self, chance: float) -> int:
        """The fewest votes that noise reaches with at most this chance, and that anonymity permits."""
        return max(int(self._noise.fewest(np.array([chance]))[0]), self.anonymous)


def _group_alike(holders: Floats, present: Floats, total: float) -> tuple[Floats, Floats]:
    """How many users hold candidates that about as many hold, and how many these are; those of nobody come last."""
    kind = np.round(np.log10(holders + 1e-3) * KINDS_A_DECADE).astype(np.int64) + 3 * KINDS_A_DECADE
    numbers = np.bincount(kind, present)
    some = np.flatnonzero(numbers)
    return (
        np.append(np.bincount(kind, present * holders)[some] / numbers[some], 0.0),
        np.append(numbers[some], max(0.0, total - float(present.sum()))),
    )
