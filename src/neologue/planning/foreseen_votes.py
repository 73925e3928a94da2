"""The votes of a layer as foreseen: which candidates a rule keeps, with which chance.

Both rules have a threshold that depends on the votes of all candidates. Here it settles where the rule's own equation
holds on average, and where no more prefixes are kept than there is room for.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from neologue.campaign.campaign import Campaign
from neologue.discovery.estimates import VoteLaw
from neologue.discovery.selection import EVEN_SHARE, NullLaw, room
from neologue.privacy.anonymity import release_threshold
from neologue.randomizers.channel import Floats

FARTHEST = 20
"""Standard deviations of noise up to which votes are tabulated: rarer votes than the smallest cut."""
SMALLEST_CUT = 1e-6
"""How many false ones are as good as none."""
ROUNDS = 100
KINDS_A_DECADE = 10
"""How finely candidates are told apart by holders and weight where only their number matters."""


@dataclass(frozen=True)
class _Cut:
    """Where a rule draws the line."""

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
    doubtful: Floats
    """The chance of each true candidate of being a word to ask about again."""
    doubtful_noise: float
    """How many others are."""


@dataclass(frozen=True, eq=False)
class ForeseenVotes:
    """The laws of a layer's votes, and the thresholds that settle between them."""

    law: VoteLaw
    campaign: Campaign

    @cached_property
    def _noise(self) -> tuple[int, Floats]:
        """The votes from which on noise is tabulated, and the chance that it reaches them, and each more."""
        trials, chance = self.law.channel.trials(self.law.reports), float(self.law.channel.q)
        reach = FARTHEST * (1 + math.sqrt(trials * chance))
        lowest = max(0, int(trials * chance - reach))
        return lowest, binom.sf(np.arange(lowest, int(trials * chance + reach)) - 1, trials, chance)

    @cached_property
    def _detectable(self) -> float:
        return NullLaw.of(self.law.channel.trials(self.law.reports), float(self.law.channel.q), 0).detectable

    @cached_property
    def anonymous(self) -> int:
        """The votes that k-anonymity calls for."""
        parameters = self.campaign.parameters
        return release_threshold(self.law.channel, self.law.reports, parameters.k_anonymity, parameters.alpha)

    def worth(self, shares: Floats) -> Floats:
        """What candidates are worth to the significance rule that so many users should hold."""
        return np.minimum(shares * self.law.reports * self.law.channel.gain, self._detectable)

    def decide(
        self, holders: Floats, present: Floats, ends: NDArray[np.bool_], weights: Floats, totals: Floats
    ) -> ForeseenDecision:
        """Which candidates are kept with which chance; `totals` are all that end and all that go on."""
        parameters = self.campaign.parameters
        most = room(self.campaign)
        if parameters.rule == "top":
            everything = self._settled(holders, present, weights, float(totals.sum()), 1.0, most)
            cuts = [everything, everything]
        else:
            cuts = [
                self._settled(holders[members], present[members], weights[members], float(total), level, limit)
                for members, total, level, limit in (
                    (ends, totals[0], parameters.false_words, math.inf),
                    (~ends, totals[1], parameters.false_prefixes, most),
                )
            ]
        chances = np.empty(len(holders))
        for members, cut in zip((ends, ~ends), cuts, strict=True):
            chances[members] = self._kept(cut, weights[members], holders[members])
        others = np.maximum(totals - [present[ends].sum(), present[~ends].sum()], 0)
        noise = [
            float(rest * self._kept(cut, np.ones(1), np.zeros(1))[0]) for rest, cut in zip(others, cuts, strict=True)
        ]
        lightest = EVEN_SHARE if parameters.rule == "significant" else 1.0
        sure = [max(int(self._least(np.array([cut.chance * lightest]))[0]), cut.sure) for cut in cuts]
        doubtful, doubtful_noise = np.zeros(len(holders)), 0.0
        if parameters.rule == "significant" and self.campaign.most_doubtful:
            every = holders[ends], present[ends], weights[ends], float(totals[0]), parameters.false_prefixes
            loose = self._settled(*every, math.inf)
            doubtful[ends] = np.maximum(self._kept(loose, weights[ends], holders[ends]) - chances[ends], 0.0)
            doubtful_noise = max(0.0, float(others[0] * self._kept(loose, np.ones(1), np.zeros(1))[0]) - noise[0])
            room_for = self.campaign.most_doubtful / max(float(present @ doubtful) + doubtful_noise, 1.0)
            doubtful, doubtful_noise = doubtful * min(room_for, 1.0), doubtful_noise * min(room_for, 1.0)
        return ForeseenDecision(chances, (noise[0], noise[1]), (sure[0], sure[1]), doubtful, doubtful_noise)

    def _settled(
        self, holders: Floats, present: Floats, weights: Floats, total: float, level: float, most: float
    ) -> _Cut:
        """Where the rule's equation holds, and no more than `most` are kept."""
        kinds = _alike(holders, weights, present, total)

        def kept(cut: _Cut) -> float:
            return float(kinds.numbers @ self._kept(cut, kinds.weights, kinds.holders))

        smallest = SMALLEST_CUT / max(total, 1.0)
        cut = _Cut(level)
        if level < 1:
            for _ in range(ROUNDS):
                before = cut.chance
                cut = _Cut(max(smallest, min(before, level * kept(cut) / max(total, 1.0))))
                if cut.chance > 0.999 * before or cut.chance == smallest:
                    break
        if kept(cut) <= most:
            return cut
        votes = range(self.law.channel.trials(self.law.reports) + 1)
        edge = bisect_left(votes, True, key=lambda fewest: kept(replace(cut, edge=fewest + 1)) <= most)
        above, all_of_them = kept(replace(cut, edge=edge + 1)), kept(replace(cut, edge=edge))
        return replace(cut, edge=edge, lots=(most - above) / (all_of_them - above))

    def _kept(self, cut: _Cut, weights: Floats, holders: Floats) -> Floats:
        """The chance of being kept."""
        least = self._least(cut.chance * weights)
        tied = self.law.at_least(np.maximum(least, cut.edge), holders)
        if cut.lots == 1:
            return tied
        return cut.lots * tied + (1 - cut.lots) * self.law.at_least(np.maximum(least, cut.edge + 1), holders)

    def _least(self, chances: Floats) -> NDArray[np.int64]:
        """The fewest votes that noise reaches with at most each of these chances, and that k-anonymity permits."""
        lowest, tails = self._noise
        places = np.searchsorted(-tails, -chances)
        return np.maximum(np.where(places == 0, 0, lowest + places), self.anonymous)


@dataclass(frozen=True, eq=False)
class _Kinds:
    """Candidates that are alike: their holders, their weight and their number."""

    holders: Floats
    weights: Floats
    numbers: Floats


def _alike(holders: Floats, weights: Floats, present: Floats, total: float) -> _Kinds:
    """Candidates that are held and weighed about alike, taken together; those that nobody holds come last."""
    size, weight = (
        np.round(np.log10(value) * KINDS_A_DECADE).astype(np.int64) for value in (holders + 1e-3, weights / EVEN_SHARE)
    )
    kind = (size + 3 * KINDS_A_DECADE) * (weight.max(initial=0) + 1) + weight
    numbers = np.bincount(kind, present)
    some = np.flatnonzero(numbers)
    return _Kinds(
        np.append(np.bincount(kind, present * holders)[some] / numbers[some], 0.0),
        np.append(np.bincount(kind, present * weights)[some] / numbers[some], 1.0),
        np.append(numbers[some], max(0.0, total - float(present.sum()))),
    )
