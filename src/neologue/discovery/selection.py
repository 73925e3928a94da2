"""Which candidates of a layer are kept.

`top` is the paper's rule: the η_max candidates with the most votes, whatever they mean.

`significant` keeps what the noise does not explain. A candidate that nobody holds has Bin(n, q) votes, so its
p-value is P(Bin(n, q) ≥ v). The procedure of Benjamini and Hochberg (1995) on these p-values keeps the
expected share of noise among the kept candidates at a stated level; the votes of different candidates are
independent for unary. Candidates that end a word have a stricter level than those that go on: a false prefix
costs a little work in the next layer, a false word is an error. A candidate that ends a word and passes the level of
prefixes alone is a doubtful word: it goes on as a prefix does, and the next layer is asked about it again. What that
layer's users say of it is judged by their votes alone, so a second look makes no error likelier.

Most of the millions of candidates are hopeless from the start, and testing them all alike makes it hard for
the others. So each p-value is divided by a weight before the procedure, which keeps the level whatever the
weights are as long as they average 1 and do not depend on this layer's votes (Genovese, Roeder and Wasserman
2006). A fifth of the weight is the same for all; the rest follows how many holders a candidate should
have, by the votes of its prefix in the layer before and the spelling of the known words and of all prefixes kept then.

Under either rule nothing is kept with fewer votes than the campaign's k-anonymity calls for.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from neologue.campaign.campaign import Campaign
from neologue.discovery.tally import Tally
from neologue.entropy import SeededEntropy
from neologue.privacy.anonymity import release_threshold
from neologue.protocol.layer import Layer
from neologue.randomizers.channel import Floats

Integers = NDArray[np.int64]

EVEN_SHARE = 0.2
"""The part of the weight that is the same for all: a candidate that nobody would expect is judged five times harder."""
DETECTABLE = 1e-3
"""The p-value at which more expected holders stop earning a candidate more weight: it will be seen anyway."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The candidates kept, in order, and for each the fewest votes that would have done."""

    index: Integers
    thresholds: Integers
    missing: Callable[[Integers], Integers]
    """For candidates that were not kept, the fewest votes that surely would have done, if no other had changed."""
    doubtful: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    """The words among those not kept that are to be asked about again, in order."""


def select(layer: Layer, tally: Tally, campaign: Campaign, expected: Floats | None = None) -> Selection:
    """Apply the campaign's rule to a layer; `expected` is each candidate's expected share of users, if known."""
    parameters = campaign.parameters
    rule = _top(layer, tally, campaign) if parameters.rule == "top" else _significant(layer, tally, campaign, expected)
    least = release_threshold(layer.randomizer.channel, tally.reports, parameters.k_anonymity, parameters.alpha)
    enough = tally.votes[rule.index] >= least
    return Selection(
        rule.index[enough],
        np.maximum(rule.thresholds[enough], least),
        lambda places: np.maximum(rule.missing(places), least),
        rule.doubtful[tally.votes[rule.doubtful] >= least],
    )


def _top(layer: Layer, tally: Tally, campaign: Campaign) -> Selection:
    return _largest(np.arange(len(tally.votes)), tally.votes, room(campaign), layer)


def _significant(layer: Layer, tally: Tally, campaign: Campaign, expected: Floats | None) -> Selection:
    parameters = campaign.parameters
    channel = layer.randomizer.channel
    null = NullLaw.of(channel.trials(tally.reports), float(channel.q), int(tally.votes.max(initial=0)))
    worth = None if expected is None else np.minimum(expected.ravel() * tally.reports * channel.gain, null.detectable)
    ended = layer.candidates.ended

    def judge(members: NDArray[np.bool_]) -> Callable[[float], Selection]:
        """Passes those of some candidates, at any level, that stand out among them."""
        places = np.flatnonzero(members)
        weights = np.ones(len(places)) if worth is None else mixed_weights(worth[places])

        def passed(level: float) -> Selection:
            among = null.benjamini_hochberg(tally.votes[places], weights, level)
            return Selection(
                places[among.index], among.thresholds, lambda index: among.missing(np.searchsorted(places, index))
            )

        return passed

    ending = judge(ended)
    words, prefixes = ending(parameters.false_words), judge(~ended)(parameters.false_prefixes)
    largest = _largest(prefixes.index, tally.votes[prefixes.index], room(campaign), layer)
    doubtful = np.empty(0, np.int64)
    # Nobody is asked again where no layer follows.
    if campaign.most_doubtful and len(largest.index) and layer.candidates.length + layer.extension <= layer.depth:
        doubtful = np.setdiff1d(ending(parameters.false_prefixes).index, words.index)
        doubtful = _largest(doubtful, tally.votes[doubtful], campaign.most_doubtful, layer).index
    needed = np.maximum(prefixes.thresholds[np.isin(prefixes.index, largest.index)], largest.thresholds)
    index = np.concatenate([words.index, largest.index])
    order = np.argsort(index)

    def missing(places: Integers) -> Integers:
        ends = ended[places]
        votes = np.empty(len(places), np.int64)
        votes[ends] = words.missing(places[ends])
        votes[~ends] = np.maximum(prefixes.missing(places[~ends]), largest.missing(places[~ends]))
        return votes

    return Selection(index[order], np.concatenate([words.thresholds, needed])[order], missing, doubtful)


def mixed_weights(worth: Floats) -> Floats:
    """Weights that average 1: a part the same for all, the rest in proportion to what a candidate is worth."""
    total = worth.sum()
    if not total > 0:
        return np.ones(len(worth))
    return np.asarray(EVEN_SHARE + (1 - EVEN_SHARE) * worth * (len(worth) / total))


@dataclass(frozen=True)
class NullLaw:
    """The law of the votes of a candidate that nobody holds."""

    trials: int
    noise: float
    tails: Floats
    """`tails[v]`: the chance of at least v votes."""
    detectable: float
    """The votes above the mean that such a candidate hardly ever gets."""

    @classmethod
    def of(cls, trials: int, noise: float, most: int) -> "NullLaw":
        """The law for so many contributions, tabulated up to the most votes seen."""
        detectable = float(binom.isf(DETECTABLE, trials, noise)) + 1 - trials * noise
        return cls(trials, noise, binom.sf(np.arange(most + 1) - 1, trials, noise), detectable)

    def fewest(self, chances: Floats) -> Integers:
        """The fewest votes that have at most such a chance."""
        # tails fall with the votes, so that is where they first come down to the chance.
        votes = np.searchsorted(-self.tails, -chances).astype(np.int64)
        beyond = votes == len(self.tails)
        votes[beyond] = np.maximum(votes[beyond], binom.isf(chances[beyond], self.trials, self.noise) + 1)
        return votes

    def benjamini_hochberg(self, votes: Integers, weights: Floats, level: float) -> Selection:
        """The candidates whose votes noise does not explain, at an expected share of noise of `level`."""
        values = self.tails[votes] / weights
        small = np.flatnonzero(values <= level)
        ranked = np.sort(values[small])
        enough = np.flatnonzero(ranked * len(votes) <= level * np.arange(1, len(ranked) + 1))
        passed = int(enough[-1]) + 1 if len(enough) else 0

        def missing(places: Integers) -> Integers:
            # Whoever joins those who pass makes them one more, and so raises the cut for all. Lists of extensions may
            # leave no candidates of a kind, and then there are no places either.
            return self.fewest(level * (passed + 1) / max(len(votes), 1) * weights[places])

        if not passed:
            return Selection(np.empty(0, np.int64), np.empty(0, np.int64), missing)
        cut = level * passed / len(votes)
        places = small[values[small] <= cut]
        return Selection(places, np.minimum(self.fewest(cut * weights[places]), votes[places]), missing)


def room(campaign: Campaign) -> int:
    """The most prefixes that may be kept, so that the next layer fits, doubtful words and all."""
    most = (campaign.largest_layer - campaign.most_doubtful) // campaign.alphabet.size
    return min(campaign.parameters.frontier, most)


def _largest(index: Integers, votes: Integers, count: int, layer: Layer) -> Selection:
    """The `count` with the most votes; ties at the edge fall by lots that the layer's digest fixes.

    With more votes than the best that was left out a candidate would surely have been kept, so that is its threshold;
    if nothing was left out, none was needed.
    """
    if len(index) <= count:
        return Selection(index, np.zeros(len(index), np.int64), lambda places: np.zeros(len(places), np.int64))
    edge = np.partition(votes, len(votes) - count)[len(votes) - count]
    tied = np.flatnonzero(votes == edge)
    sure = np.flatnonzero(votes > edge)
    lots = SeededEntropy(int.from_bytes(layer.digest, "big"))
    lucky = tied[lots.subset(len(tied), count - len(sure))]
    kept = np.sort(np.concatenate([sure, lucky]))
    left_out = np.delete(votes, kept).max()
    thresholds = np.minimum(votes[kept], left_out + 1)
    return Selection(index[kept], thresholds, lambda places: np.full(len(places), edge + 1, np.int64))
