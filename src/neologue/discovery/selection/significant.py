"""The rule `significant` keeps what the noise does not explain.

A candidate that nobody holds has Bin(n, q) votes, so its p-value is P(Bin(n, q) ≥ v). The procedure of Benjamini and
Hochberg (1995) on these p-values keeps the expected share of noise among the kept candidates at a stated level; the
votes of different candidates are independent for unary. Candidates that end a word have a stricter level than those
that go on: a false prefix costs a little work in the next layer, a false word is an error.

Most of the millions of likely strings are hopeless from the start, and testing them all alike makes it hard for
the others. So where a campaign asks about these (`neologue.discovery.selection.summed`), each p-value is divided by a
weight before the procedure, which keeps the level whatever the weights are as long as they average 1 and do not depend
on the votes (Genovese, Roeder and Wasserman 2006). A fifth of the weight is the same for all.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neologue import binom
from neologue.campaign.campaign import Campaign
from neologue.discovery.result import LayerFacts
from neologue.discovery.selection.rule import Cut, ForeseenCuts, Rule
from neologue.discovery.selection.selected import Integers, Selection, select_largest
from neologue.discovery.tally import Tally
from neologue.protocol.layer import ExtendingLayer
from neologue.randomizers.channel import Channel, Floats

EVEN_SHARE = 0.2
"""The part of the weight that is the same for all: a candidate that nobody would expect is judged five times harder."""
DETECTABLE = 1e-3
"""The p-value at which more expected holders stop earning a candidate more weight: it will be seen anyway."""


def select(layer: ExtendingLayer, tally: Tally, campaign: Campaign) -> Selection:
    """The words and prefixes that stand out from noise, each kind at its level."""
    parameters = campaign.parameters
    channel = layer.randomizer.channel
    null = NullLaw.of(channel.trials(tally.reports), float(channel.q), int(tally.votes.max(initial=0)))
    ended = layer.candidates.ended

    def judge(members: NDArray[np.bool_], level: float) -> Selection:
        """Those of some candidates that stand out among them."""
        some = np.flatnonzero(members)
        among = null.benjamini_hochberg(tally.votes[some], level)
        return Selection(some[among.index], among.thresholds, among.missing)

    words, prefixes = judge(ended, parameters.false_words), judge(~ended, parameters.false_prefixes)
    largest = select_largest(prefixes.index, tally.votes[prefixes.index], campaign.widest_frontier, layer)
    needed = np.maximum(prefixes.thresholds[np.isin(prefixes.index, largest.index)], largest.thresholds)
    index = np.concatenate([words.index, largest.index])
    order = np.argsort(index)

    def missing(others: Integers) -> Integers:
        ends = ended[others]
        votes = np.empty(len(others), np.int64)
        votes[ends] = words.missing(others[ends])
        votes[~ends] = np.maximum(prefixes.missing(others[~ends]), largest.missing(others[~ends]))
        return votes

    return Selection(index[order], np.concatenate([words.thresholds, needed])[order], missing)


def mix_weights(worth: Floats, scale: float | Floats) -> Floats:
    """Weights of candidates by what they are worth, `scale` being 1 over what all of them are worth on average."""
    return np.asarray(EVEN_SHARE + (1 - EVEN_SHARE) * worth * scale)


def foresee(campaign: Campaign) -> ForeseenCuts:
    """A level for words and one for prefixes, of which no more are kept than there is room for."""
    parameters = campaign.parameters
    return ForeseenCuts(
        words=Cut(parameters.false_words, math.inf),
        prefixes=Cut(parameters.false_prefixes, campaign.widest_frontier),
        together=False,
    )


def surely_enough(campaign: Campaign, facts: LayerFacts, channel: Channel, hostile: int) -> int:
    """Votes that noise reaches so rarely that they pass alone and with the least weight; what passes alone passes."""
    null = NullLaw.of(channel.trials(facts.reports), float(channel.q), 0)
    chance = EVEN_SHARE * campaign.parameters.false_words_in(facts.layer) / facts.candidates
    return int(null.fewest(np.array([chance]))[0])


@dataclass(frozen=True)
class NullLaw:
    """The law of the votes of a candidate that nobody holds."""

    trials: int
    noise: float
    lowest: int
    """The votes from which on the law is tabulated; fewer are as good as certain."""
    tails: Floats
    """`tails[v - lowest]`: the chance of at least v votes."""
    detectable: float
    """The votes above the mean that such a candidate hardly ever gets."""

    @classmethod
    def of(cls, trials: int, noise: float, most: int, lowest: int = 0) -> "NullLaw":
        """The law for so many contributions, tabulated up to the most votes that matter."""
        detectable = float(binom.isf(DETECTABLE, trials, noise)) + 1 - trials * noise
        return cls(trials, noise, lowest, binom.sf(np.arange(lowest, most + 1) - 1, trials, noise), detectable)

    def worth(self, votes: Floats) -> Floats:
        """What candidates are worth that should have so many votes more than noise gives them."""
        return np.minimum(votes, self.detectable)

    def fewest(self, chances: Floats) -> Integers:
        """The fewest votes that have at most such a chance."""
        # tails fall with the votes, so that is where they first come down to the chance.
        steps = np.searchsorted(-self.tails, -chances).astype(np.int64)
        votes = np.where(steps == 0, 0, self.lowest + steps)
        beyond = steps == len(self.tails)
        votes[beyond] = np.maximum(votes[beyond], binom.isf(chances[beyond], self.trials, self.noise) + 1)
        return votes

    def benjamini_hochberg(self, votes: Integers, level: float) -> Selection:
        """The candidates whose votes noise does not explain, at an expected share of noise of `level`."""
        values = self.tails[votes - self.lowest]
        small = np.flatnonzero(values <= level)
        ranked = np.sort(values[small])
        enough = np.flatnonzero(ranked * len(votes) <= level * np.arange(1, len(ranked) + 1))
        passed = int(enough[-1]) + 1 if len(enough) else 0

        def missing(others: Integers) -> Integers:
            # One more that passes raises the cut for all.
            return self.fewest(np.full(len(others), level * (passed + 1) / len(votes)))

        if not passed:
            return Selection(np.empty(0, np.int64), np.empty(0, np.int64), missing)
        cut = level * passed / len(votes)
        kept = small[values[small] <= cut]
        return Selection(kept, np.minimum(self.fewest(np.full(len(kept), cut)), votes[kept]), missing)


SIGNIFICANT = Rule(select, foresee, surely_enough, keeps_most_voted=False)
