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
"""How finely candidates are told apart by holders and weight where only their number matters."""


@dataclass(frozen=True)
class _Threshold:
    """Where a rule draws the line in one layer."""

    chance: float
    """Votes that noise reaches with at most this chance suffice, times a candidate's weight."""
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
    """The votes that suffice at the least weight."""
    fewest: int
    """The votes with which a word of the greatest weight is kept."""
    doubtful: Floats
    """The chance of each true candidate of being a word to ask about again."""
    doubtful_noise: float
    """How many others are."""


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

    def worth(self, shares: Floats) -> Floats:
        """What candidates are worth to the significance rule that so many users should hold."""
        return self._noise.worth(shares * self.law.reports * self.law.channel.gain)

    def decide(
        self, holders: Floats, present: Floats, ends: NDArray[np.bool_], weights: Floats, totals: Floats
    ) -> ForeseenDecision:
        """Which candidates are kept with which chance; `totals` are all that end and all that go on."""
        rule = self._rule
        if rule.together:
            everything = self._settle(holders, present, weights, float(totals.sum()), rule.prefixes)
            thresholds = [everything, everything]
        else:
            thresholds = [
                self._settle(holders[members], present[members], weights[members], float(total), cut)
                for members, total, cut in ((ends, totals[0], rule.words), (~ends, totals[1], rule.prefixes))
            ]
        chances = np.empty(len(holders))
        for members, threshold in zip((ends, ~ends), thresholds, strict=True):
            chances[members] = self._kept(threshold, weights[members], holders[members])
        others = np.maximum(totals - [present[ends].sum(), present[~ends].sum()], 0)
        noise = [
            float(rest * self._kept(threshold, np.ones(1), np.zeros(1))[0])
            for rest, threshold in zip(others, thresholds, strict=True)
        ]
        sure = [
            max(int(self._least(np.array([threshold.chance * rule.least_weight]))[0]), threshold.sure)
            for threshold in thresholds
        ]
        heaviest = np.array([thresholds[0].chance * weights[ends].max(initial=1.0)])
        fewest = max(int(self._least(heaviest)[0]), thresholds[0].edge)
        doubtful, doubtful_noise = np.zeros(len(holders)), 0.0
        if rule.doubtful_level is not None:
            loosely = Cut(rule.doubtful_level, math.inf)
            loose = self._settle(holders[ends], present[ends], weights[ends], float(totals[0]), loosely)
            doubtful[ends] = np.maximum(self._kept(loose, weights[ends], holders[ends]) - chances[ends], 0.0)
            doubtful_noise = max(0.0, float(others[0] * self._kept(loose, np.ones(1), np.zeros(1))[0]) - noise[0])
            room_for = self.campaign.most_doubtful / max(float(present @ doubtful) + doubtful_noise, 1.0)
            doubtful, doubtful_noise = doubtful * min(room_for, 1.0), doubtful_noise * min(room_for, 1.0)
        return ForeseenDecision(chances, (noise[0], noise[1]), (sure[0], sure[1]), fewest, doubtful, doubtful_noise)

    def _settle(self, holders: Floats, present: Floats, weights: Floats, total: float, cut: Cut) -> _Threshold:
        """The threshold at which the rule's equation holds, and no more are kept than may be."""
        kinds = _group_alike(holders, weights, present, total, self._rule.least_weight)

        def kept(threshold: _Threshold) -> float:
            return float(kinds.numbers @ self._kept(threshold, kinds.weights, kinds.holders))

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

    def _kept(self, threshold: _Threshold, weights: Floats, holders: Floats) -> Floats:
        """The chance of being kept."""
        least, edge, lots = self._least(threshold.chance * weights), threshold.edge, threshold.lots
        tied = self.law.at_least(np.maximum(least, edge), holders)
        if lots == 1:
            return tied
        return lots * tied + (1 - lots) * self.law.at_least(np.maximum(least, edge + 1), holders)

    def _least(self, chances: Floats) -> NDArray[np.int64]:
        """The fewest votes that noise reaches with at most each of these chances, and that anonymity permits."""
        return np.maximum(self._noise.fewest(chances), self.anonymous)


@dataclass(frozen=True, eq=False)
class _Kinds:
    """Candidates that are alike: their holders, their weight and their number."""

    holders: Floats
    weights: Floats
    numbers: Floats


def _group_alike(holders: Floats, weights: Floats, present: Floats, total: float, least_weight: float) -> _Kinds:
    """Candidates that are held and weighed about alike, taken together; those that nobody holds come last."""
    size, weight = (
        np.round(np.log10(value) * KINDS_A_DECADE).astype(np.int64)
        for value in (holders + 1e-3, weights / least_weight)
    )
    kind = (size + 3 * KINDS_A_DECADE) * (weight.max(initial=0) + 1) + weight
    numbers = np.bincount(kind, present)
    some = np.flatnonzero(numbers)
    return _Kinds(
        np.append(np.bincount(kind, present * holders)[some] / numbers[some], 0.0),
        np.append(np.bincount(kind, present * weights)[some] / numbers[some], 1.0),
        np.append(numbers[some], max(0.0, total - float(present.sum()))),
    )
