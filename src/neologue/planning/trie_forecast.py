"""What a campaign that grows a trie will find: Algorithm 2 with chances in the place of votes.

The words of a language and their shares are known, and so is the law of how users hold them. So each prefix has a
chance of being reported by a user, its votes have a known law, and a rule's threshold settles where its own equation
holds on average. A prefix is then not kept or dropped but carried on with the chance of having been kept.

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
from neologue.layout.schedule import trie_layer_size
from neologue.planning.expectation import FOUND, Forecast, ForeseenGroup, LayerForecast, report_bytes
from neologue.planning.trie_votes import ForeseenVotes
from neologue.populations.lexicon import Lexicon
from neologue.randomizers.channel import Floats
from neologue.randomizers.registry import randomizer

NEGLIGIBLE = 1e-9
"""The chance of a prefix that is not looked after any more."""


def forecast_trie(campaign: Campaign, lexicon: Lexicon) -> Forecast:
    """Foresee a campaign that grows a trie among users who hold the words of a lexicon."""
    parameters = campaign.parameters
    earlier = _Earlier(np.zeros(len(lexicon.words)))
    layers: list[LayerForecast] = []
    false_words = 0.0
    for pass_number in range(1, parameters.passes + 1):
        trie = _Trie(campaign, lexicon, earlier)
        for number in range(1, parameters.depth + 1):
            if trie.prefixes < 0.5:
                break
            layer_size = trie_layer_size(campaign, max(1, round(trie.prefixes)), pass_number, number)
            if layer_size is None:
                break
            layer, false = trie.grow(layer_size, pass_number, number)
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
        self.found = np.zeros(len(lexicon.words))
        """For each word the chance that it was missing, and is found."""
        self.reached: dict[int, Floats] = {}

    def grow(self, layer_size: int, pass_number: int, number: int) -> tuple[LayerForecast, float]:
        """One layer: what it looks like, and how many false words come of it."""
        campaign, lexicon, parameters = self.campaign, self.lexicon, self.campaign.parameters
        end, symbols = self.length + 1, campaign.alphabet.size
        live = np.flatnonzero(self.present[0] + self.present[1] * (1 - self.earlier.found) > NEGLIGIBLE)
        starts = np.diff(lexicon.groups(end)[live], prepend=-1) > 0
        groups, first = np.cumsum(starts) - 1, live[starts]
        ends = lexicon.lengths[first] < end
        present, held, shares = self._states(live, groups, first, ends, end)
        counting = np.flatnonzero(present * held > NEGLIGIBLE)
        positions = np.append(np.arange(len(first)), groups)[counting]
        numbers = (present * held)[counting]
        reported = lexicon.sampling_chance(shares[counting], numbers, parameters.words_per_user)
        candidates = max(1, round(self.prefixes)) * symbols
        channel = randomizer(parameters.randomizer, candidates, campaign.epsilon, parameters.words_per_user).channel
        votes = ForeseenVotes(VoteLaw(channel, layer_size, campaign.users), campaign)
        ending = ends[positions]
        decided = votes.decide(
            reported * campaign.users, numbers, ending, self.prefixes * np.array([1.0, symbols - 1.0])
        )
        real = numbers * decided.chances
        self.prefixes = float(real[~ending].sum()) + decided.noise[1]
        kept = np.zeros(len(present))
        kept[counting] = present[counting] * decided.chances
        self._advance(live, groups, ends, kept)
        layer = LayerForecast(
            pass_number,
            number,
            self.length,
            1,
            candidates,
            layer_size,
            round(self.prefixes),
            round(float(real[ending].sum()) + decided.noise[0]),
            *decided.sure,
            decided.fewest,
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

    def _advance(
        self, live: NDArray[np.int64], groups: NDArray[np.int64], ends: NDArray[np.bool_], kept: Floats
    ) -> None:
        """Words that end are found, and prefixes that go on are the next frontier."""
        lost_earlier, kept_earlier = kept[: len(ends)][groups], kept[len(ends) :]
        ended = ends[groups]
        self.found[live[ended]] = lost_earlier[ended]
        self.present = np.zeros_like(self.present)
        self.present[:, live[~ended]] = lost_earlier[~ended], kept_earlier[~ended]


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
