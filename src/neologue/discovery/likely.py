"""A discovery that asks about what is likely: best first, with escapes, and words judged by all their votes.

Like `neologue.discovery.algorithm` it is a generator that yields questions and is sent decisions, and is a function of
these decisions alone. Besides what is kept, a decision has the sums of the votes of all words that are asked about
again.
"""

from collections.abc import Generator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neologue.campaign.campaign import Campaign
from neologue.campaign.promise import too_few_users
from neologue.discovery.decision import Decision, OnLayer, Trace, no_trace
from neologue.discovery.estimates import VoteLaw, estimate_holders
from neologue.discovery.result import LayerFacts, Release, ReleasedPrefix, ReleasedWord
from neologue.discovery.selection.selected import Integers, Selection, select_largest
from neologue.discovery.selection.summed import Judged, Passed, pass_significant
from neologue.discovery.string_costs import string_costs
from neologue.discovery.tally import Tally
from neologue.language.candidates import Strings, strings
from neologue.language.spelling_costs import SpellingCosts
from neologue.language.spelling_training import learn_spelling
from neologue.language.vocabulary import Vocabulary
from neologue.layout.likely_rounds import again_limits, first_candidates, next_candidates
from neologue.protocol.layer import LikelyLayer


@dataclass(frozen=True, eq=False)
class LikelyQuestion:
    """A layer to be asked, and all that decides it besides its votes."""

    campaign: Campaign
    layer: LikelyLayer
    earlier: Integers
    """The votes so far of the words that are asked about again, in order."""
    reports: tuple[int, ...]
    """The reports of the layers of this pass so far."""
    found: int
    """How many words were released before."""

    @property
    def left(self) -> int:
        """How many layers of the pass follow this one."""
        assert self.campaign.parameters.layers is not None
        return self.campaign.parameters.layers - self.layer.number

    @property
    def last(self) -> bool:
        """Whether none does."""
        return self.left == 0

    @cached_property
    def _parts(self) -> list[tuple[NDArray[np.int16], NDArray[np.bool_]]]:
        """The costs of the candidates and whether each is a word: of the fresh strings, then of each earlier round."""
        candidates = self.layer.candidates
        return [string_costs(part) for part in (candidates.fresh, *candidates.again)]

    @cached_property
    def _released(self) -> Integers:
        """The candidates that were released before. Nobody reports them any more, and `found` counts them already."""
        index = self.layer.candidates.index(strings(sorted(self.layer.found.words)))
        asked = index[index >= 0]
        return asked[self.layer.candidates.prefixes(asked)[1]]

    def decide(self, tally: Tally, trace: Trace = no_trace) -> Decision:
        """Which words are released, which escapes go on, and what is carried over."""
        nothing = np.empty(0, np.int64)
        if tally.reports < self.campaign.fewest_reports(self.layer.randomizer.candidates):
            return Decision(tally.reports, made=False, index=nothing, votes=nothing, thresholds=nothing)
        parameters, channel = self.campaign.parameters, self.layer.randomizer.channel
        starts, fresh_ended = self.layer.candidates.starts, self._parts[0][1]
        summed = tally.votes.copy()
        summed[starts[1] :] += self.earlier
        summed[self._released] = 0
        words = [np.flatnonzero(fresh_ended), *(np.arange(starts[n], starts[n + 1]) for n in range(1, len(starts) - 1))]
        groups = [
            self._judged(summed[index], self._parts[number][0][index - starts[number]], tally.reports, number)
            for number, index in enumerate(words)
        ]
        passed = pass_significant(groups, channel, parameters.false_words_in(self.layer.number), self.found)
        found = [(index[some.index], some) for index, some in zip(words, passed, strict=True)]
        escapes = None if self.last else self._escapes(summed, tally.reports)
        if escapes:
            found.append(escapes)
        index = np.concatenate([index for index, _ in found])
        order = np.argsort(index)
        thresholds = np.concatenate([some.thresholds for _, some in found])
        needed = [*(some.missing for some in passed), *([escapes[1].missing] if escapes else [])]
        selection = Selection(index[order], thresholds[order], lambda others: self._missing(others, needed))
        trace(self.layer, Tally(summed, tally.reports), selection)
        return Decision(
            tally.reports,
            made=True,
            index=selection.index,
            votes=summed[selection.index],
            thresholds=selection.thresholds,
            carried=nothing if self.last else self._carried(summed, words),
        )

    def _judged(self, votes: Integers, costs: NDArray[np.int16], reports: int, part: int) -> Judged:
        return Judged(votes, costs, self.reports_of(part, reports), self.votes_needed(part, reports))

    def votes_needed(self, part: int, reports: int) -> int:
        """What the promises call for of the words of a part, if so many reports came in this layer."""
        asked_by = (*(self.reports[part - 1 :] if part else ()), reports)
        return self.campaign.anonymity.summed_votes_needed(self.layer.randomizer.channel, asked_by, self.left)

    def prefix_votes_needed(self, reports: int) -> int:
        """The same of prefixes, which are judged by one layer."""
        return self.campaign.anonymity.votes_needed(self.layer.randomizer.channel, reports)

    def _escapes(self, votes: Integers, reports: int) -> tuple[Integers, Passed]:
        """The prefixes that users go on from in ways that were not asked about, no more than there is room for."""
        costs, ended = self._parts[0]
        index = np.flatnonzero(~ended)
        parameters = self.campaign.parameters
        group = Judged(votes[index], costs[index], reports, self.prefix_votes_needed(reports))
        (passed,) = pass_significant([group], self.layer.randomizer.channel, parameters.false_prefixes, 0)
        largest = select_largest(passed.index, group.votes[passed.index], self.campaign.most_roots, self.layer)
        needed = np.maximum(passed.thresholds[np.isin(passed.index, largest.index)], largest.thresholds)
        missing = np.maximum(passed.missing, largest.missing(np.arange(len(passed.missing))))
        return index[largest.index], Passed(largest.index, needed, missing)

    def _missing(self, others: Integers, needed: list[Integers]) -> Integers:
        """The fewest votes that surely would have kept some candidates, by part and cost; escapes are the last part."""
        starts = self.layer.candidates.starts
        parts = np.searchsorted(starts, others, side="right") - 1
        votes = np.empty(len(others), np.int64)
        for part in np.unique(parts).tolist():
            rows = np.flatnonzero(parts == part)
            costs, ended = (values[others[rows] - starts[part]] for values in self._parts[part])
            for kind, some in ((part, ended), (-1, ~ended)):
                votes[rows[some]] = needed[kind][costs[some]]
        return votes

    def _carried(self, summed: Integers, words: list[Integers]) -> Integers:
        """The votes of the words that the next layer asks about again, round by round, as it will number them."""
        starts = self.layer.candidates.starts
        by_round = [*range(1, len(words)), 0]
        limits = again_limits(self.layer.candidates, self.campaign.largest_layer)
        return np.concatenate(
            [
                summed[words[part][self._parts[part][0][words[part] - starts[part]] <= limit]]
                for part, limit in zip(by_round, limits, strict=True)
            ]
        )

    def reports_of(self, part: int, reports: int) -> int:
        """How many reports speak of the candidates of a part, if so many came in this layer.

        Part 0 is asked about for the first time, part j since layer j.
        """
        return reports + (sum(self.reports[part - 1 :]) if part else 0)

    def asked_of(self, part: int) -> int | None:
        """How many users these reports are of on average, where some are made up; None if they are of as many."""
        layers = 1 + (len(self.reports[part - 1 :]) if part else 0)
        return layers * self.layer.layer_size if self.campaign.parameters.drawn else None


def discover_likely(
    campaign: Campaign, on_layer: OnLayer = lambda facts, words: None, spelling: SpellingCosts | None = None
) -> Generator[LikelyQuestion, Decision, Release]:
    """Ask about what is likely, layer by layer and pass by pass; return the words that stand out.

    `spelling` is that of the known words, if whoever asks has learnt it before.
    """
    words: dict[str, ReleasedWord] = {}
    prefixes: list[ReleasedPrefix] = []
    facts: list[LayerFacts] = []
    parameters, room = campaign.parameters, campaign.largest_layer
    layers = parameters.layers
    assert layers is not None
    layer_size = campaign.users // (parameters.passes * layers)
    spelling = spelling or learn_spelling(campaign.alphabet, campaign.known.words)
    for pass_number in range(1, parameters.passes + 1):
        candidates = first_candidates(spelling, room, last=layers == 1)
        if layer_size < (least := campaign.fewest_reports(candidates.size)):
            raise too_few_users(parameters, campaign.users, layer_size, least)
        earlier: Integers = np.empty(0, np.int64)
        reports: tuple[int, ...] = ()
        roots: list[ReleasedPrefix] = []
        for number in range(1, layers + 1):
            layer = LikelyLayer(
                pass_number=pass_number,
                number=number,
                layer_size=layer_size,
                alphabet=campaign.alphabet,
                depth=parameters.depth,
                mechanism=parameters.randomizer,
                epsilon=campaign.epsilon,
                bound=parameters.words_in(number),
                sampler=parameters.sampler,
                known=campaign.known,
                found=Vocabulary(words),
                targets=campaign.targets,
                form=campaign.form,
                asked=candidates,
            )
            last = number == layers
            question = LikelyQuestion(campaign, layer, earlier, reports, len(words))
            decision = yield question
            texts, ended = candidates.prefixes(decision.index)
            released = _released(question, decision, texts.tolist(), ended)
            words.update((word.word, word) for word in released)
            reports = (*reports, decision.reports)
            # From a prefix as long as a word can be, users go on to that word alone.
            going_on = np.flatnonzero(~ended & (np.char.str_len(texts) <= parameters.depth))
            going_on = going_on[np.argsort(texts[going_on])]
            shown = [word.votes for word in released] + decision.votes[going_on].tolist()
            facts.append(_facts(question, decision, len(going_on), len(released), min(shown, default=0)))
            on_layer(facts[-1], len(words))
            if last or not decision.made:
                break
            channel = layer.randomizer.channel
            asked = question.asked_of(0) or decision.reports
            shares = np.maximum(channel.estimate(decision.votes[going_on], decision.reports), 1.0) / asked
            candidates = next_candidates(candidates, texts[going_on], shares, room, last=number + 1 == layers)
            earlier = decision.carried
            # Where everything was asked about that could go on, no root is left.
            going_on = going_on[np.isin(texts[going_on], candidates.rounds[-1].prefixes)]
            roots = _kept(question, decision, texts, going_on)
            if not candidates.size:
                break
        prefixes += roots
    ranked = sorted(words.values(), key=lambda word: (-word.estimate, word.word))
    heaviest = sorted(prefixes, key=lambda kept: (-kept.estimate, kept.prefix, kept.pass_number))
    return Release(campaign, tuple(facts), tuple(ranked), tuple(heaviest))


def _released(
    question: LikelyQuestion, decision: Decision, texts: list[str], ended: NDArray[np.bool_]
) -> list[ReleasedWord]:
    """The words that pass in this layer, with their estimates; one that no device would contribute is noise."""
    layer = question.layer
    released = []
    parts = np.searchsorted(layer.candidates.starts, decision.index, side="right") - 1
    for part in np.unique(parts[ended]).tolist():
        rows = np.flatnonzero(ended & (parts == part))
        reports = question.reports_of(part, decision.reports)
        law = VoteLaw(layer.randomizer.channel, reports, question.campaign.users, question.asked_of(part))
        votes = decision.votes[rows]
        found = estimate_holders(law, votes, decision.thresholds[rows])
        figures = zip(votes.tolist(), found.estimate.tolist(), found.low.tolist(), found.high.tolist(), strict=True)
        released += [
            ReleasedWord(texts[row], *figure, layer.number, layer.pass_number, since=part or layer.number)
            for row, figure in zip(rows.tolist(), figures, strict=True)
            if layer.counts(texts[row])
        ]
    return released


def _kept(question: LikelyQuestion, decision: Decision, texts: Strings, rows: Integers) -> list[ReleasedPrefix]:
    """The prefixes that go on, with estimates of how many users do in ways that were not asked about."""
    layer, votes = question.layer, decision.votes[rows]
    law = VoteLaw(layer.randomizer.channel, decision.reports, question.campaign.users, question.asked_of(0))
    found = estimate_holders(law, votes, decision.thresholds[rows])
    return [
        ReleasedPrefix(*figures, layer.number, layer.pass_number)
        for figures in zip(
            texts[rows].tolist(),
            votes.tolist(),
            found.estimate.tolist(),
            found.low.tolist(),
            found.high.tolist(),
            strict=True,
        )
    ]


def _facts(question: LikelyQuestion, decision: Decision, kept: int, words: int, fewest_votes: int) -> LayerFacts:
    layer = question.layer
    return LayerFacts(
        pass_number=layer.pass_number,
        layer=layer.number,
        length=0,
        extension=0,
        candidates=layer.candidates.size,
        asked=layer.layer_size,
        reports=decision.reports,
        kept=kept,
        words=words,
        fewest_votes=fewest_votes,
        decided=decision.made,
        digest=layer.digest.hex(),
    )
