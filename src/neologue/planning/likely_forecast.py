"""What a campaign that asks about likely strings will find: its own algorithm, fed with votes that are foreseen.

The words of a language and their shares are known, and so is the law of how users hold them. So each string that some
word belongs to has a chance of being reported by a user, and its votes are drawn once, with a fixed seed. Strings that
no word belongs to are only counted, and as many of them stand out as do on average. The layers, their candidates, the
weights of strings and what is asked about again are those of `neologue.discovery.likely`, which is told of the escapes
that are kept: what it asks next does not depend on which words were found.

A device that holds too much is taken to report any of it, whatever the campaign's sampler.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from neologue.campaign.campaign import Campaign
from neologue.discovery.decision import Decision
from neologue.discovery.estimates import VoteLaw
from neologue.discovery.likely import LikelyQuestion, discover_likely
from neologue.discovery.result import LayerFacts
from neologue.discovery.selection.selected import select_largest
from neologue.discovery.string_costs import string_numbers
from neologue.language.likely_strings import LikelyStrings
from neologue.planning.expectation import FOUND, Forecast, ForeseenGroup, LayerForecast, report_bytes
from neologue.planning.standing_out import ForeseenStrings, StandingOut, stand_out
from neologue.planning.word_places import NOWHERE, WordPlaces, place_words
from neologue.populations.lexicon import Lexicon
from neologue.protocol.layer import LikelyLayer
from neologue.randomizers.channel import Floats

Integers = NDArray[np.int64]

SEED = 0
"""Of the votes that are drawn: the same campaign is foreseen in the same way."""
LOTS = 8
"""How many strings are drawn for each one that noise makes stand out; the likelier of them are taken."""


def forecast_likely(campaign: Campaign, lexicon: Lexicon) -> Forecast:
    """Foresee a campaign that asks about likely strings among users who hold the words of a lexicon."""
    course = _Course(campaign, lexicon)
    questions = discover_likely(campaign, course.note, lexicon.costs)
    try:
        question = next(questions)
        while True:
            question = questions.send(course.foresee(question))
    except StopIteration:
        pass
    held = lexicon.holding_chance(lexicon.shares)
    return Forecast(
        tuple(course.layers),
        coverage=float(held @ course.found / held.sum()),
        words=float(course.found.sum() + course.false_words),
        false_words=course.false_words,
        rarest_share=course.rarest_share,
        groups=tuple(course.groups),
        report_bytes=max((report_bytes(campaign, layer.candidates) for layer in course.layers), default=0),
    )


class _Course:
    """The words of a lexicon in the course of a campaign: where they were asked about, their votes, what was found."""

    def __init__(self, campaign: Campaign, lexicon: Lexicon) -> None:
        self.campaign, self.lexicon = campaign, lexicon
        self.layers: list[LayerForecast] = []
        self.groups: list[ForeseenGroup] = []
        self.false_words = 0.0
        self.rarest_share: float | None = None
        """As the last layer of the first pass has it."""
        words = len(lexicon.words)
        self.found = np.zeros(words, np.bool_)
        self._random = np.random.default_rng(SEED)
        self._asked = np.zeros(words, np.int64)
        """The layer that asked about each word for the first time; 0 before."""
        self._costs = np.zeros(words, np.int64)
        """What it cost then."""
        self._votes = np.zeros(words, np.int64)
        """All its votes since then."""
        self._ending: list[StandingOut] = []
        """The words of the present layer, part by part."""
        self._going_on: StandingOut | None = None
        """Its escapes."""

    def foresee(self, question: LikelyQuestion) -> Decision:
        """Draw the votes of a layer, and decide it."""
        layer, lexicon = question.layer, self.lexicon
        if layer.number == 1:
            self._asked[:] = self._votes[:] = 0
        places = place_words(lexicon.words, lexicon.codes, layer.candidates.fresh)
        parts = self._words_by_part(question, places)
        words = np.concatenate(parts)
        escaping, escapes = self._escapes(places, words)
        shares = np.append(lexicon.shares[words], np.bincount(escapes, lexicon.shares[escaping]).astype(np.float64))
        votes = self._draw_votes(question, shares)
        self._votes[words] += votes[: len(words)]
        fresh = parts[0]
        self._asked[fresh], self._costs[fresh] = layer.number, places.costs[fresh]
        self._find_words(question, parts)
        if question.last:
            self._going_on, nothing = None, np.empty(0, np.int64)
            return Decision(self._reports_of(layer), True, nothing, nothing, nothing)
        heads = escaping[np.unique(escapes, return_index=True)[1]]
        return self._keep_escapes(question, heads, places.costs[heads], votes[len(words) :])

    def note(self, facts: LayerFacts, words: int) -> None:
        """Hear what came of a decision."""
        false = sum(float(group.noise.sum()) for group in self._ending)
        self.false_words += false
        last = len(self.layers)
        for part, group in enumerate(self._ending):
            first = last - facts.layer + part if part else last
            self.groups.append(ForeseenGroup(first, last, group.released, group.fewest))
        self.layers.append(
            LayerForecast(
                pass_number=facts.pass_number,
                layer=facts.layer,
                length=facts.length,
                extension=facts.extension,
                candidates=facts.candidates,
                layer_size=facts.asked,
                kept=facts.kept,
                words=sum(group.released for group in self._ending),
                word_votes=max(group.sure for group in self._ending),
                prefix_votes=self._going_on.sure if self._going_on else 0,
                fewest_votes=min(group.fewest for group in self._ending),
            )
        )

    def _words_by_part(self, question: LikelyQuestion, places: WordPlaces) -> list[Integers]:
        """The words that are asked about for the first time, and those of each earlier round that are again."""
        rounds = question.layer.candidates.rounds[:-1]
        left = ~self.found
        again = [
            np.flatnonzero(left & (self._asked == number) & (self._costs <= each.again))
            for number, each in enumerate(rounds, 1)
        ]
        return [np.flatnonzero(left & places.ended & (self._asked == 0)), *again]

    def _escapes(self, places: WordPlaces, words: Integers) -> tuple[Integers, Integers]:
        """The words that belong to an escape, and the number of that escape."""
        escaping = ~self.found & ~places.ended & (places.lengths != NOWHERE)
        escaping[words] = False
        some = np.flatnonzero(escaping)
        lengths = places.lengths[some]
        keys = np.empty(len(some), np.int64)
        for length in np.unique(lengths).tolist():
            rows = lengths == length
            keys[rows] = length * len(places.lengths) + self.lexicon.groups(length)[some[rows]]
        return some, np.unique(keys, return_inverse=True)[1]

    def _reports_of(self, layer: LikelyLayer) -> int:
        """The reports that a layer counts, some of them made up."""
        return self.campaign.parameters.counted_reports(layer.layer_size)

    def _draw_votes(self, question: LikelyQuestion, shares: Floats) -> Integers:
        """Votes for strings whose words have these shares."""
        layer = question.layer
        channel = layer.randomizer.channel
        reported = self.lexicon.sampling_chance(shares, np.ones(len(shares)), layer.bound)
        samples = self._random.binomial(layer.layer_size, np.minimum(reported, 1.0))
        others = channel.trials(self._reports_of(layer)) - samples
        return self._random.binomial(samples, float(channel.p)) + self._random.binomial(others, float(channel.q))

    def _find_words(self, question: LikelyQuestion, parts: list[Integers]) -> None:
        """Which words stand out by all their votes."""
        layer, candidates = question.layer, question.layer.candidates
        strings = (candidates.fresh, *candidates.again)
        groups = [
            ForeseenStrings(
                self._votes[words],
                self._costs[words],
                string_numbers(some)[0],
                question.reports_of(part, self._reports_of(layer)),
                question.votes_needed(part, self._reports_of(layer)),
            )
            for part, (words, some) in enumerate(zip(parts, strings, strict=True))
        ]
        level = self.campaign.parameters.false_words_in(layer.number)
        self._ending = stand_out(groups, layer.randomizer.channel, level, int(self.found.sum()))
        found = np.concatenate([words[some.passed] for words, some in zip(parts, self._ending, strict=True)])
        self.found[found] = True
        if question.last and layer.pass_number == 1:
            self.rarest_share = self._rarest(question)

    def _keep_escapes(self, question: LikelyQuestion, heads: Integers, costs: Integers, votes: Integers) -> Decision:
        """Decide which escapes are kept, noise among them; each has the votes and a word that belongs to it."""
        layer, parameters = question.layer, self.campaign.parameters
        fresh, reports = layer.candidates.fresh, self._reports_of(layer)
        group = ForeseenStrings(votes, costs, string_numbers(fresh)[1], reports, question.prefix_votes_needed(reports))
        (standing,) = stand_out([group], layer.randomizer.channel, parameters.false_prefixes, 0)
        self._going_on = standing
        noise, noise_costs = self._draw_noise(fresh, standing)
        index = np.append(layer.candidates.index(self.lexicon.words[heads[standing.passed]]), noise)
        thresholds = standing.thresholds[np.append(costs[standing.passed], noise_costs)]
        # Noise that stands out hardly ever has more votes than it needs.
        votes = np.append(votes[standing.passed], thresholds[len(thresholds) - len(noise) :])
        index, first = np.unique(index, return_index=True)
        largest = select_largest(index, votes[first], self.campaign.most_roots, layer)
        kept = first[np.isin(index, largest.index)]
        return Decision(self._reports_of(layer), True, largest.index, votes[kept], thresholds[kept])

    def _draw_noise(self, fresh: LikelyStrings, standing: StandingOut) -> tuple[Integers, Integers]:
        """As many prefixes as stand out by chance, with their costs: cheaper ones are judged less strictly."""
        count = round(float(standing.noise.sum()))
        if not count:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        drawn = np.unique(self._random.integers(0, fresh.size, LOTS * count))
        texts, ended = fresh.strings(drawn)
        drawn, texts = drawn[~ended], texts[~ended]
        costs = fresh.roots.costs_of(texts, fresh.prefix_limit)
        chances = standing.noise_chances[costs]
        lots = np.sort(np.argsort(self._random.random(len(drawn)) ** (1 / np.maximum(chances, 1e-300)))[-count:])
        return drawn[lots], costs[lots]

    def _rarest(self, question: LikelyQuestion) -> float | None:
        """The share of users who have to report a word that every layer asks about."""
        layer, users = question.layer, self.campaign.users
        part = min(1, len(self._ending) - 1)
        reports = question.reports_of(part, self._reports_of(layer))
        law = VoteLaw(layer.randomizer.channel, reports, users, question.asked_of(part))

        def excess(share: float) -> float:
            return float(law.at_least(self._ending[part].sure, share * users)) - FOUND

        if excess(1.0) < 0:
            return None
        return 0.0 if excess(0.0) >= 0 else float(brentq(excess, 0.0, 1.0, xtol=1e-12, rtol=1e-4))
