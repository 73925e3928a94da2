"""What a campaign that grows a trie will find: Algorithm 2 with chances in the place of votes.

The words of a language and their shares are known, and so is the law of how users hold them. So each prefix has a
chance of being reported by a user, its votes have a known law, and a rule's threshold settles where its own equation
holds on average. A prefix is then not kept or dropped but carried on with the chance of having been kept. Layers are
sized by the planner that sizes real ones. Spelling is learnt from prefixes by the chance and the share that each has,
those of noise left out; a real layer learns from just what was kept, so its lists and weights are slightly others.

A device that holds too much is taken to report any of it, whatever the campaign's sampler. The greedy one prefers what
is typed most, which makes no difference where users hold few prefixes of a layer, as in all but the first ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from neologue.campaign.campaign import Campaign
from neologue.discovery.estimates import VoteLaw
from neologue.discovery.selection import RULES
from neologue.discovery.selection.significant import mix_weights
from neologue.language.candidates import Candidates, Strings, extensions
from neologue.language.spelling import Spelling
from neologue.language.vocabulary import Vocabulary
from neologue.layout.schedule import Schedule
from neologue.planning.expectation import FOUND, Forecast, ForeseenGroup, LayerForecast, report_bytes
from neologue.planning.trie_votes import ForeseenVotes
from neologue.populations.lexicon import Lexicon
from neologue.randomizers.channel import Floats
from neologue.randomizers.registry import randomizer

MOST_WEIGHED = 1_000_000
"""How many candidates the average weight is taken from."""
NEGLIGIBLE = 1e-9
"""The chance of a prefix that is not looked after any more."""
WEIGHED = 1e-3
"""… and of one that counts neither for the average weight nor for the spelling."""


def forecast_trie(campaign: Campaign, lexicon: Lexicon) -> Forecast:
    """Foresee a campaign that grows a trie among users who hold the words of a lexicon."""
    parameters = campaign.parameters
    earlier = _Earlier(np.zeros(len(lexicon.words)))
    layers: list[LayerForecast] = []
    false_words = 0.0
    for pass_number in range(1, parameters.passes + 1):
        unasked = campaign.users - sum(layer.layer_size for layer in layers)
        schedule = Schedule(campaign, pass_number, Vocabulary.empty(), unasked // (parameters.passes + 1 - pass_number))
        trie = _Trie(campaign, lexicon, earlier)
        while trie.length <= parameters.depth and trie.prefixes >= 0.5:
            size = schedule.size(max(1, round(trie.prefixes)), trie.length, round(trie.in_doubt))
            if size is None:
                break
            layer, false = trie.grow(*size, pass_number, schedule.number)
            layers.append(layer)
            false_words += false
        earlier = earlier.and_then(trie.found, trie.reached)
    held = lexicon.holding_chance(lexicon.shares)
    return Forecast(
        tuple(layers),
        coverage=float(held @ earlier.found / held.sum()),
        words=float(earlier.found.sum() + false_words),
        false_words=false_words,
        rarest_share=_rarest_share(campaign, layers),
        groups=tuple(
            ForeseenGroup(number, number, layer.words, layer.fewest_votes) for number, layer in enumerate(layers)
        ),
        report_bytes=max((report_bytes(campaign, layer.candidates) for layer in layers), default=0),
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
        self.spelling = lexicon.spelling
        """How words go on, as far as the layer before can tell."""
        self.reported = lexicon.spelling.steps(lexicon.words.astype("U1"))[:, 0]
        """For each word the share of users who reported its prefix in the layer before."""
        self.found = np.zeros(len(lexicon.words))
        """For each word the chance that it was missing, and is found."""
        self.reached: dict[int, Floats] = {}
        self.doubtful: Floats = np.zeros(len(lexicon.words))
        """For each word the chance that it is asked about again."""
        self.doubtful_noise = 0.0
        """How many others are."""

    @property
    def in_doubt(self) -> float:
        """How many words are asked about again."""
        return float(self.doubtful.sum()) + self.doubtful_noise

    def grow(
        self, extension: int, ways: int, layer_size: int, pass_number: int, number: int
    ) -> tuple[LayerForecast, float]:
        """One layer: what it looks like, and how many false words come of it."""
        campaign, lexicon, parameters = self.campaign, self.lexicon, self.campaign.parameters
        end = self.length + extension
        live = np.flatnonzero(self.present[0] + self.present[1] * (1 - self.earlier.found) > NEGLIGIBLE)
        asked, endings = self._list_candidates(live, extension, ways)
        live = live[asked.index(lexicon.words[live]) >= 0]
        starts = np.diff(lexicon.groups(end)[live], prepend=-1) > 0
        groups, first = np.cumsum(starts) - 1, live[starts]
        ends = lexicon.lengths[first] < end
        present, held, shares = self._states(live, groups, first, ends, end)
        counting = np.flatnonzero(present * held > NEGLIGIBLE)
        again = np.flatnonzero(self.doubtful > NEGLIGIBLE)
        positions = np.append(np.append(np.arange(len(first)), groups)[counting], len(first) + np.arange(len(again)))
        numbers = np.append((present * held)[counting], self.doubtful[again])
        reported = lexicon.sampling_chance(
            np.append(shares[counting], lexicon.shares[again]), numbers, parameters.words_per_user
        )
        candidates = max(1, round(self.prefixes)) * ways + round(self.in_doubt)
        channel = randomizer(parameters.randomizer, candidates, campaign.epsilon, parameters.words_per_user).channel
        votes = ForeseenVotes(VoteLaw(channel, layer_size, campaign.users), campaign)
        weights = self._weights(first, ends, again, asked, endings, votes)[positions]
        totals = self.prefixes * np.array([endings, ways - endings]) + [self.in_doubt, 0]
        ending = np.append(ends, np.ones(len(again), np.bool_))[positions]
        decided = votes.decide(reported * campaign.users, numbers, ending, weights, totals)
        real = numbers * decided.chances
        self.prefixes = float(real[~ending].sum()) + decided.noise[1]
        kept = np.zeros(len(present))
        kept[counting] = present[counting] * decided.chances[: len(counting)]
        self._advance(live, groups, ends, kept)
        self.found[again] += real[len(counting) :]
        self.reported[first] = (
            np.bincount(positions, real * reported)[: len(first)]
            / np.maximum(np.bincount(positions, real), NEGLIGIBLE)[: len(first)]
        )
        self.reported[live] = self.reported[first][groups]
        self._note_doubtful(first, again, positions, numbers * decided.doubtful, decided.doubtful_noise, reported)
        layer = LayerForecast(
            pass_number,
            number,
            self.length,
            extension,
            candidates,
            layer_size,
            round(self.prefixes),
            round(float(real[ending].sum()) + decided.noise[0]),
            *decided.sure,
            decided.fewest,
        )
        self.length = end
        self.reached[end] = self.present.sum(axis=0)
        self.spelling = self._learn_spelling()
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

    def _advance(
        self, live: NDArray[np.int64], groups: NDArray[np.int64], ends: NDArray[np.bool_], kept: Floats
    ) -> None:
        """Words that end are found, and prefixes that go on are the next frontier."""
        lost_earlier, kept_earlier = kept[: len(ends)][groups], kept[len(ends) :]
        ended = ends[groups]
        self.found[live[ended]] = lost_earlier[ended]
        self.present = np.zeros_like(self.present)
        self.present[:, live[~ended]] = lost_earlier[~ended], kept_earlier[~ended]

    def _note_doubtful(
        self,
        first: NDArray[np.int64],
        again: NDArray[np.int64],
        positions: NDArray[np.int64],
        numbers: Floats,
        noise: float,
        reported: Floats,
    ) -> None:
        """Words that were neither found nor dropped are asked about again."""
        words = np.append(first, again)[positions]
        self.doubtful = np.bincount(words, numbers, len(self.doubtful)).astype(np.float64)
        some = numbers > NEGLIGIBLE
        self.reported[words[some]] = reported[some]
        self.doubtful_noise = noise

    def _starts(self, live: NDArray[np.int64]) -> tuple[NDArray[np.int64], Strings]:
        """The first of some words with each prefix of the present length, and these prefixes."""
        starts = live[np.diff(self.lexicon.groups(self.length)[live], prepend=-1) > 0]
        return starts, self.lexicon.words[starts].astype(f"U{self.length}")

    def _learn_spelling(self) -> Spelling:
        """Learn the spelling of the known words and of the prefixes that go on."""
        present = self.present.sum(axis=0)
        starts, prefixes = self._starts(np.flatnonzero(present > WEIGHED))
        if not len(starts):
            return self.lexicon.spelling
        return self.lexicon.spelling.learning(prefixes, self.reported[starts] * present[starts])

    def _list_candidates(self, live: NDArray[np.int64], extension: int, ways: int) -> tuple[Candidates, float]:
        """List all true candidates and what else is voted on beside them: the likeliest ways to go on, or every one.

        And how many of the ways of a prefix end, on average.
        """
        starts, frontier = self._starts(live)
        alphabet, present, lists = self.campaign.alphabet, self.present.sum(axis=0)[starts], None
        if len(frontier) and ways < extensions(alphabet.size - 1, extension):
            lists = self.spelling.likeliest(frontier, self.reported[starts], extension, ways, present)
        asked = Candidates(alphabet, frontier, extension, lists)
        return asked, float(present @ asked.endings / max(present.sum(), NEGLIGIBLE))

    def _weights(
        self,
        first: NDArray[np.int64],
        ends: NDArray[np.bool_],
        again: NDArray[np.int64],
        asked: Candidates,
        endings: float,
        votes: ForeseenVotes,
    ) -> Floats:
        """The weight that the significance rule gives to each true candidate, words asked about again at the end."""
        starts, prefixes = self._starts(first)
        present = self.present.sum(axis=0)[starts]
        counting = np.flatnonzero(present > WEIGHED)
        if not RULES[self.campaign.parameters.rule].weighs or not len(counting):
            return np.ones(len(first) + len(again))
        positions = np.searchsorted(asked.frontier, prefixes[counting])
        step = -(-int(asked.ways[positions].sum()) // MOST_WEIGHED)
        some, candidates = counting[::step], asked.among(positions[::step])
        reported, numbers = np.repeat([self.reported[starts[some]], present[some]], candidates.ways, axis=1)
        expected, ended = votes.worth(reported * self.spelling.after(candidates)), candidates.ended
        # Lists may leave none of a kind; then no true candidate is of it either.
        means = [
            float(numbers[members] @ expected[members] / max(numbers[members].sum(), NEGLIGIBLE))
            for members in (ended, ~ended)
        ]
        end = self.length + asked.extension
        spelled = self.spelling.steps(self.lexicon.words[first].astype(f"U{end}"))[:, self.length : end].prod(axis=1)
        doubted = votes.worth(self.reported[again])
        # Noise that is asked about again had as many votes as words have that are.
        in_doubt = float(doubted @ self.doubtful[again]) + self.doubtful_noise * votes.worth(np.ones(1))[0]
        ending = self.prefixes * endings
        means[0] = (means[0] * ending + in_doubt) / max(ending + self.in_doubt, NEGLIGIBLE)
        worth = np.append(votes.worth(self.reported[first] * spelled), doubted)
        return mix_weights(worth, 1 / np.where(np.append(ends, again >= 0), *means))


def _rarest_share(campaign: Campaign, layers: list[LayerForecast]) -> float | None:
    """The share of users from which on a word is found with a chance of 95 % in the first pass, on its own merit."""
    parameters = campaign.parameters
    pass_number = [layer for layer in layers if layer.pass_number == 1]
    laws = [
        VoteLaw(
            randomizer(parameters.randomizer, layer.candidates, campaign.epsilon, parameters.words_per_user).channel,
            layer.layer_size,
            campaign.users,
        )
        for layer in pass_number
    ]

    def excess(share: float) -> float:
        """By how much the chance of the most unlucky word, whatever the layer it ends in, is above 95 %."""
        worst = going_on = 1.0
        for layer, law in zip(pass_number, laws, strict=True):
            worst = min(worst, going_on * float(law.at_least(layer.word_votes, share * campaign.users)))
            going_on *= float(law.at_least(layer.prefix_votes, share * campaign.users))
        return worst - FOUND

    if not pass_number or excess(1.0) < 0:
        return None
    return 0.0 if excess(0.0) >= 0 else float(brentq(excess, 0.0, 1.0, xtol=1e-12, rtol=1e-4))
