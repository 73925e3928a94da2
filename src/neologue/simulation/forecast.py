"""What a campaign will find, foreseen without asking anyone: Algorithm 2 with chances in the place of votes.

The words of a language and their shares are known, and so is the law of how users hold them. So each prefix has a
chance of being reported by a user, its votes have a known law, and a rule's threshold settles where its own equation
holds on average. A prefix is then not kept or dropped but carried on with the chance of having been kept. Layers are
sized by the planner that sizes real ones.

A device that holds too much is taken to report any of it, whatever the campaign's sampler. The greedy one prefers what
is typed most, which makes no difference where users hold few prefixes of a layer, as in all but the first ones.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import binom

from neologue.discovery.estimates import VoteLaw
from neologue.discovery.schedule import Schedule
from neologue.discovery.selection import EVEN_SHARE, NullLaw, room
from neologue.language.candidates import Candidates, extensions
from neologue.language.vocabulary import Vocabulary
from neologue.privacy.anonymity import release_threshold
from neologue.protocol.campaign import Campaign
from neologue.protocol.report import HEADER_BYTES
from neologue.randomizers.channel import Floats
from neologue.randomizers.registry import randomizer
from neologue.simulation.lexicon import Lexicon

FOUND = 0.95
"""The chance with which the rarest word that a forecast names is found."""
MOST_WEIGHED = 1_000_000
"""How many candidates the average weight is taken from."""
FARTHEST = 20
"""Standard deviations of noise up to which votes are tabulated: rarer votes than the smallest cut."""
SMALLEST_CUT = 1e-6
"""How many false ones are as good as none."""
NEGLIGIBLE = 1e-9
"""The chance of a prefix that is not looked after any more."""
WEIGHED = 1e-3
"""… and of one that does not count for the average weight."""
ROUNDS = 100
KINDS_A_DECADE = 10
"""How finely candidates are told apart by holders and weight where only their number matters."""


@dataclass(frozen=True)
class LayerForecast:
    """A layer as foreseen."""

    passage: int
    layer: int
    length: int
    extension: int
    candidates: int
    cohort: int
    kept: int
    words: int
    word_votes: int
    """The votes that surely suffice for a word to be released, whatever its spelling."""
    prefix_votes: int
    """The votes that surely suffice for a prefix to go on."""


@dataclass(frozen=True)
class Forecast:
    """A campaign as foreseen."""

    layers: tuple[LayerForecast, ...]
    coverage: float
    words: float
    """How many words are released, false ones included."""
    false_words: float
    rarest_share: float | None
    """A word that this share of users reports is found with a chance of 95 %, whatever its spelling and company; None
    if not even one that everybody reports is."""
    report_bytes: int
    """The longest report that a device sends."""


def forecast(campaign: Campaign, lexicon: Lexicon) -> Forecast:
    """Foresee a campaign among users who hold the words of a lexicon."""
    parameters = campaign.parameters
    earlier = _Earlier(np.zeros(len(lexicon.words)))
    layers: list[LayerForecast] = []
    false_words = 0.0
    for passage in range(1, parameters.passes + 1):
        unasked = campaign.users - sum(layer.cohort for layer in layers)
        schedule = Schedule(campaign, passage, Vocabulary.empty(), unasked // (parameters.passes + 1 - passage))
        trie = _Trie(campaign, lexicon, earlier)
        while trie.length <= parameters.depth and trie.prefixes >= 0.5:
            size = schedule.size(max(1, round(trie.prefixes)), trie.length)
            if size is None:
                break
            layer, false = trie.grow(*size, passage, schedule.number)
            layers.append(layer)
            false_words += false
        earlier = earlier.and_then(trie.found, trie.reached)
    held = lexicon.held(lexicon.shares)
    return Forecast(
        tuple(layers),
        coverage=float(held @ earlier.found / held.sum()),
        words=float(earlier.found.sum() + false_words),
        false_words=false_words,
        rarest_share=_rarest_share(campaign, layers),
        report_bytes=max((_report_bytes(campaign, layer.candidates) for layer in layers), default=0),
    )


@dataclass(frozen=True, eq=False)
class _Earlier:
    """What the passes before have done."""

    found: Floats
    """For each word the chance that it was found."""
    reached: Mapping[int, Floats] = field(default_factory=dict)
    """For each length at which a layer ended and each longer word, the chance that its prefix was kept."""

    def kept(self, length: int) -> Floats:
        """For each word the chance that its prefix of a length was not lost in every pass."""
        known = max((end for end in self.reached if end <= length), default=None)
        if known is not None:
            return self.reached[known]
        return np.full(len(self.found), 1.0 if self.reached else 0.0)

    def and_then(self, found: Floats, reached: Mapping[int, Floats]) -> "_Earlier":
        """With one more pass, which found words that were missing."""
        after = _Earlier(found, reached)
        both = {end: 1 - (1 - self.kept(end)) * (1 - after.kept(end)) for end in {*self.reached, *reached}}
        return _Earlier(np.minimum(self.found + found, 1.0), both)


class _Trie:
    """The chances of all prefixes, as layers go by.

    Words of earlier passes are not reported again. So a prefix is in one of two states: lost in all earlier passes, and
    then all its words are missing; or kept in one of them, and then a few may be.
    """

    def __init__(self, campaign: Campaign, lexicon: Lexicon, earlier: _Earlier) -> None:
        self.campaign, self.lexicon, self.earlier = campaign, lexicon, earlier
        self.length = 1
        self.prefixes = campaign.alphabet.size - 1.0
        """How many prefixes the frontier has, noise included."""
        kept = earlier.kept(1)
        self.present = np.stack([1 - kept, kept])
        """For each state and word the chance that its prefix is in this state, and in the frontier."""
        self.reported = lexicon.steps[:, 0].copy()
        """For each word the share of users who reported its prefix in the layer before."""
        self.found = np.zeros(len(lexicon.words))
        """For each word the chance that it was missing, and is found."""
        self.reached: dict[int, Floats] = {}

    def grow(self, extension: int, cohort: int, passage: int, number: int) -> tuple[LayerForecast, float]:
        """One layer: what it looks like, and how many false words come of it."""
        campaign, lexicon = self.campaign, self.lexicon
        parameters, characters = campaign.parameters, campaign.alphabet.size - 1
        end = self.length + extension
        live = np.flatnonzero(self.present[0] + self.present[1] * (1 - self.earlier.found) > NEGLIGIBLE)
        starts = np.diff(lexicon.groups(end)[live], prepend=-1) > 0
        groups, first = np.cumsum(starts) - 1, live[starts]
        ends = lexicon.lengths[first] < end
        present, held, shares = self._states(live, groups, first, ends, end)
        counting = np.flatnonzero(present * held > NEGLIGIBLE)
        numbers, places = (present * held)[counting], np.append(np.arange(len(first)), groups)[counting]
        reported = lexicon.sampled(shares[counting], numbers, parameters.words_per_user)
        per_prefix = extensions(characters, extension)
        candidates = max(1, round(self.prefixes)) * per_prefix
        channel = randomizer(parameters.randomizer, candidates, campaign.epsilon, parameters.words_per_user).channel
        votes = _Votes(VoteLaw(channel, cohort, campaign.users), campaign)
        weights = self._weights(first, ends, extension, votes)[places]
        totals = self.prefixes * np.array([per_prefix - characters**extension, characters**extension])
        decided = votes.decide(reported * campaign.users, numbers, ends[places], weights, totals)
        real = numbers * decided.chances
        self.prefixes = float(real[~ends[places]].sum()) + decided.noise[1]
        kept = np.zeros(len(present))
        kept[counting] = present[counting] * decided.chances
        self._go_on(live, groups, ends, kept)
        self.reported[first] = np.bincount(places, real * reported, len(first)) / np.maximum(
            np.bincount(places, real, len(first)), NEGLIGIBLE
        )
        self.reported[live] = self.reported[first][groups]
        layer = LayerForecast(
            passage,
            number,
            self.length,
            extension,
            candidates,
            cohort,
            round(self.prefixes),
            round(float(real[ends[places]].sum()) + decided.noise[0]),
            *decided.sure,
        )
        self.length = end
        self.reached[end] = self.present.sum(axis=0)
        return layer, decided.noise[0]

    def _states(
        self,
        live: NDArray[np.int64],
        groups: NDArray[np.int64],
        first: NDArray[np.int64],
        ends: NDArray[np.bool_],
        end: int,
    ) -> tuple[Floats, Floats, Floats]:
        """All candidates, lost earlier; then all words, their candidates kept earlier and they missing all the same.

        The chance of each to be in the frontier, how many candidates it stands for then, and the share of their words.
        """
        shares = self.lexicon.shares[live]
        kept = np.where(ends, self.earlier.found[first], self.earlier.kept(end)[first])
        lost = 1 - np.minimum(kept / np.maximum(self.earlier.kept(self.length)[first], NEGLIGIBLE), 1.0)
        everything = np.bincount(groups, shares, len(first))
        before = np.bincount(groups, shares * self.present[1, live], len(first)) / everything
        missing = 1 - np.minimum(self.earlier.found[live] / np.maximum(kept, NEGLIGIBLE)[groups], 1.0)
        with np.errstate(divide="ignore"):
            held = -np.expm1(np.bincount(groups, np.log1p(-missing), len(first)))
        held /= np.maximum(np.bincount(groups, missing, len(first)), NEGLIGIBLE)
        left = np.bincount(groups, shares * missing, len(first))[groups] + shares * (1 - missing)
        return (
            np.append(self.present[0, first] + before * lost, self.present[1, live] * (1 - lost)[groups]),
            np.append(np.ones(len(first)), missing * held[groups]),
            np.append(everything, left),
        )

    def _go_on(self, live: NDArray[np.int64], groups: NDArray[np.int64], ends: NDArray[np.bool_], kept: Floats) -> None:
        """Words that end are found, and prefixes that go on are the next frontier."""
        lost_earlier, kept_earlier = kept[: len(ends)][groups], kept[len(ends) :]
        ended = ends[groups]
        self.found[live[ended]] = lost_earlier[ended]
        self.present = np.zeros_like(self.present)
        self.present[:, live[~ended]] = lost_earlier[~ended], kept_earlier[~ended]

    def _weights(self, first: NDArray[np.int64], ends: NDArray[np.bool_], extension: int, votes: "_Votes") -> Floats:
        """The weight that the significance rule gives to each true candidate."""
        starts = first[np.diff(self.lexicon.groups(self.length)[first], prepend=-1) > 0]
        present = self.present.sum(axis=0)
        starts = starts[present[starts] > WEIGHED]
        if self.campaign.parameters.rule == "top" or not len(starts):
            return np.ones(len(first))
        per_prefix = extensions(self.campaign.alphabet.size - 1, extension)
        some = starts[:: -(-len(starts) * per_prefix // MOST_WEIGHED)]
        candidates = Candidates(self.campaign.alphabet, self.lexicon.words[some].astype(f"U{self.length}"), extension)
        expected = votes.worth(self.reported[some, None] * self.lexicon.spelling.after(candidates))
        ended = candidates.ended[:per_prefix]
        means = [
            float(np.average(expected[:, members].mean(axis=1), weights=present[some])) for members in (ended, ~ended)
        ]
        spelled = self.lexicon.steps[first, self.length : self.length + extension].prod(axis=1)
        worth = votes.worth(self.reported[first] * spelled)
        return np.asarray(EVEN_SHARE + (1 - EVEN_SHARE) * worth / np.where(ends, *means))


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
class _Decided:
    chances: Floats
    """The chance of each true candidate of being kept."""
    noise: tuple[float, float]
    """How many others are kept: ending in ⊥, and going on."""
    sure: tuple[int, int]
    """The votes that suffice at the least weight."""


@dataclass(frozen=True, eq=False)
class _Votes:
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
    ) -> _Decided:
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
        return _Decided(chances, (noise[0], noise[1]), (sure[0], sure[1]))

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


def _rarest_share(campaign: Campaign, layers: list[LayerForecast]) -> float | None:
    """The share of users from which on a word is found with a chance of 95 % in the first pass, on its own merit."""
    parameters = campaign.parameters
    passage = [layer for layer in layers if layer.passage == 1]
    laws = [
        VoteLaw(
            randomizer(parameters.randomizer, layer.candidates, campaign.epsilon, parameters.words_per_user).channel,
            layer.cohort,
            campaign.users,
        )
        for layer in passage
    ]

    def excess(share: float) -> float:
        """By how much the chance of the most unlucky word, whatever the layer it ends in, is above 95 %."""
        worst = going_on = 1.0
        for layer, law in zip(passage, laws, strict=True):
            worst = min(worst, going_on * float(law.at_least(layer.word_votes, share * campaign.users)))
            going_on *= float(law.at_least(layer.prefix_votes, share * campaign.users))
        return worst - FOUND

    if not passage or excess(1.0) < 0:
        return None
    return 0.0 if excess(0.0) >= 0 else float(brentq(excess, 0.0, 1.0, xtol=1e-12, rtol=1e-4))


def _report_bytes(campaign: Campaign, candidates: int) -> int:
    parameters = campaign.parameters
    mechanism = randomizer(parameters.randomizer, candidates, campaign.epsilon, parameters.words_per_user)
    return HEADER_BYTES + mechanism.payload_bytes
