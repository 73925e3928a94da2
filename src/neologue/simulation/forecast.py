"""What a campaign will find, foreseen without asking anyone: Algorithm 2 with chances in the place of votes.

The words of a language and their shares are known, and so is the law of how users hold them. So each prefix has a
chance of being reported by a user, its votes have a known law, and a rule's threshold settles where its own equation
holds on average. A prefix is then not kept or dropped but carried on with the chance of having been kept. Layers are
sized by the planner that sizes real ones.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

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
FARTHEST = 60
"""Standard deviations of noise up to which votes are tabulated."""
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
    rarest_share: float
    """A word that this share of users reports is found with a chance of 95 %, whatever its spelling and company."""
    report_bytes: int
    """The longest report that a device sends."""


def forecast(campaign: Campaign, lexicon: Lexicon) -> Forecast:
    """Foresee a campaign among users who hold the words of a lexicon."""
    parameters = campaign.parameters
    missing = np.ones(len(lexicon.words))
    layers: list[LayerForecast] = []
    false_words = 0.0
    for passage in range(1, parameters.passes + 1):
        unasked = campaign.users - sum(layer.cohort for layer in layers)
        schedule = Schedule(campaign, passage, Vocabulary.empty(), unasked // (parameters.passes + 1 - passage))
        trie = _Trie(campaign, lexicon, missing)
        while trie.length <= parameters.depth and trie.prefixes >= 0.5:
            size = schedule.size(max(1, round(trie.prefixes)), trie.length)
            if size is None:
                break
            layer, false = trie.grow(*size, passage, schedule.number)
            layers.append(layer)
            false_words += false
        missing = missing * (1 - trie.found)
    held = lexicon.held(lexicon.shares)
    return Forecast(
        tuple(layers),
        coverage=float(held @ (1 - missing) / held.sum()),
        words=float((1 - missing).sum() + false_words),
        false_words=false_words,
        rarest_share=_rarest_share(campaign, layers),
        report_bytes=max((_report_bytes(campaign, layer.candidates) for layer in layers), default=0),
    )


class _Trie:
    """The chances of all prefixes, as layers go by."""

    def __init__(self, campaign: Campaign, lexicon: Lexicon, missing: Floats) -> None:
        self.campaign, self.lexicon = campaign, lexicon
        self.shares = lexicon.shares * missing
        self.length = 1
        self.prefixes = campaign.alphabet.size - 1.0
        """How many prefixes the frontier has, noise included."""
        self.present = np.ones(len(lexicon.words))
        """For each word the chance that its prefix is in the frontier."""
        self.reported = lexicon.steps[:, 0]
        """For each word the share of users who reported its prefix in the layer before."""
        self.found = np.zeros(len(lexicon.words))

    def grow(self, extension: int, cohort: int, passage: int, number: int) -> tuple[LayerForecast, float]:
        """One layer: what it looks like, and how many false words come of it."""
        campaign, lexicon = self.campaign, self.lexicon
        parameters, characters = campaign.parameters, campaign.alphabet.size - 1
        end = self.length + extension
        groups = lexicon.groups(end)
        first = np.flatnonzero(np.diff(groups, prepend=-1))
        present = self.present[first]
        shares = np.bincount(groups, self.shares).astype(np.float64)
        reported = lexicon.sampled(shares, present, parameters.words_per_user)
        per_prefix = extensions(characters, extension)
        candidates = max(1, round(self.prefixes)) * per_prefix
        channel = randomizer(parameters.randomizer, candidates, campaign.epsilon, parameters.words_per_user).channel
        votes = _Votes(VoteLaw(channel, cohort, campaign.users), campaign)
        ends = lexicon.lengths[first] < end
        weights = self._weights(first, ends, extension, votes)
        totals = self.prefixes * np.array([per_prefix - characters**extension, characters**extension])
        decided = votes.decide(reported * campaign.users, present, ends, weights, totals)
        kept = present * decided.chances
        self.found = np.where(lexicon.lengths < end, self.found + kept[groups], self.found)
        self.present = np.where(lexicon.lengths < end, 0.0, kept[groups])
        self.reported = reported[groups]
        # A threshold settles between whole votes; ties at the edge fall by lots, so that no more are kept than fit.
        self.prefixes = min(float(kept[~ends].sum()) + decided.noise[1], float(room(campaign)))
        words = float(kept[ends].sum()) + decided.noise[0]
        layer = LayerForecast(
            passage,
            number,
            self.length,
            extension,
            candidates,
            cohort,
            round(self.prefixes),
            round(words),
            *decided.sure,
        )
        self.length = end
        return layer, decided.noise[0]

    def _weights(self, first: NDArray[np.int64], ends: NDArray[np.bool_], extension: int, votes: "_Votes") -> Floats:
        """The weight that the significance rule gives to each true candidate."""
        if self.campaign.parameters.rule == "top":
            return np.ones(len(first))
        per_prefix = extensions(self.campaign.alphabet.size - 1, extension)
        live = first[self.present[first] > 1e-3]
        starts = live[np.unique(self.lexicon.groups(self.length)[live], return_index=True)[1]]
        some = starts[:: -(-len(starts) * per_prefix // MOST_WEIGHED)] if len(starts) else starts
        candidates = Candidates(self.campaign.alphabet, self.lexicon.words[some].astype(f"U{self.length}"), extension)
        expected = (self.reported[some, None] * self.lexicon.spelling.after(candidates)).ravel()
        spelled = self.lexicon.steps[first, self.length : self.length + extension].prod(axis=1)
        worth = votes.worth(self.reported[first] * spelled)
        means = [float(votes.worth(expected[members]).mean()) for members in (candidates.ended, ~candidates.ended)]
        return np.asarray(EVEN_SHARE + (1 - EVEN_SHARE) * worth / np.where(ends, *np.maximum(means, 1e-300)))


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
    def null(self) -> NullLaw:
        """The votes of a candidate that nobody holds."""
        trials, noise = self.law.channel.trials(self.law.reports), float(self.law.channel.q)
        most = int(trials * noise + FARTHEST * (1 + math.sqrt(trials * noise)))
        return NullLaw.of(trials, noise, most)

    @cached_property
    def anonymous(self) -> int:
        """The votes that k-anonymity calls for."""
        parameters = self.campaign.parameters
        return release_threshold(self.law.channel, self.law.reports, parameters.k_anonymity, parameters.alpha)

    def worth(self, shares: Floats) -> Floats:
        """What candidates are worth to the significance rule that so many users should hold."""
        return np.minimum(shares * self.law.reports * self.law.channel.gain, self.null.detectable)

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
        chances = self.law.at_least(self._least(np.where(ends, *cuts) * weights), holders)
        others = np.maximum(totals - [present[ends].sum(), present[~ends].sum()], 0)
        noise = [float(rest * self._passing(cut)) for rest, cut in zip(others, cuts, strict=True)]
        lightest = EVEN_SHARE if parameters.rule == "significant" else 1.0
        sure = [int(self._least(np.array([cut * lightest]))[0]) for cut in cuts]
        return _Decided(chances, (noise[0], noise[1]), (sure[0], sure[1]))

    def _settled(
        self, holders: Floats, present: Floats, weights: Floats, total: float, level: float, most: float
    ) -> float:
        """The p-value up to which candidates are kept: where the rule's equation holds, and no more than `most` are."""
        kinds = _alike(holders, weights, present)
        others = max(0.0, total - float(present.sum()))

        def kept(cut: float) -> float:
            passing = self.law.at_least(self._least(cut * kinds.weights), kinds.holders)
            return float(kinds.numbers @ passing) + others * self._passing(cut)

        smallest = 1e-6 / max(total, 1.0)
        cut = level
        if level < 1:
            for _ in range(ROUNDS):
                before, cut = cut, max(smallest, min(cut, level * kept(cut) / max(total, 1.0)))
                if cut > 0.999 * before or cut == smallest:
                    break
        if kept(cut) > most:
            solved = brentq(lambda log: kept(math.exp(log)) - most, math.log(1e-300), math.log(cut), xtol=1e-3)
            cut = math.exp(float(solved))
        return cut

    def _least(self, chances: Floats) -> NDArray[np.int64]:
        """The fewest votes that noise reaches with at most each of these chances, and that k-anonymity permits."""
        return np.maximum(np.searchsorted(-self.null.tails, -chances), self.anonymous)

    def _passing(self, cut: float) -> float:
        """The chance that noise alone is kept."""
        return float(self.null.tails[min(int(self._least(np.array([cut]))[0]), len(self.null.tails) - 1)])


@dataclass(frozen=True, eq=False)
class _Kinds:
    holders: Floats
    weights: Floats
    numbers: Floats


def _alike(holders: Floats, weights: Floats, present: Floats) -> _Kinds:
    """Candidates that are held and weighed about alike, taken together."""
    if not len(holders):
        return _Kinds(np.empty(0), np.empty(0), np.empty(0))
    size, weight = (np.round(np.log10(value) * KINDS_A_DECADE).astype(np.int64) for value in (holders + 1e-6, weights))
    _, kind = np.unique((size << 32) + weight, return_inverse=True)
    numbers = np.maximum(np.bincount(kind, present), 1e-300)
    return _Kinds(
        np.bincount(kind, present * holders) / numbers,
        np.maximum(np.bincount(kind, present * weights) / numbers, EVEN_SHARE),
        numbers,
    )


def _rarest_share(campaign: Campaign, layers: list[LayerForecast]) -> float:
    """The share of users from which on a word is found with a chance of 95 % in the first pass, on its own merit."""
    passage = [layer for layer in layers if layer.passage == 1]
    if not passage:
        return 1.0
    parameters = campaign.parameters

    def missed(log_share: float) -> float:
        chance = 1.0
        for layer in passage:
            channel = randomizer(
                parameters.randomizer, layer.candidates, campaign.epsilon, parameters.words_per_user
            ).channel
            votes = layer.word_votes if layer is passage[-1] else layer.prefix_votes
            law = VoteLaw(channel, layer.cohort, campaign.users)
            chance *= float(law.at_least(votes, math.exp(log_share) * campaign.users))
        return chance - FOUND

    return 1.0 if missed(0.0) < 0 else math.exp(float(brentq(missed, math.log(1e-12), 0.0, xtol=1e-4)))


def _report_bytes(campaign: Campaign, candidates: int) -> int:
    parameters = campaign.parameters
    mechanism = randomizer(parameters.randomizer, candidates, campaign.epsilon, parameters.words_per_user)
    return HEADER_BYTES + mechanism.payload_bytes
