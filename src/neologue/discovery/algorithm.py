"""Algorithm 2 of the paper, LDP TrieHH, in one loop.

The function is a generator, so that the same code runs under a simulator, a live service or a replay: it yields the
question for the users of the next layer and is sent what their votes decide. It is a function of these decisions
alone, so whoever keeps them can go on where it was broken off, without the votes.
"""

from collections.abc import Generator

import numpy as np
from numpy.typing import NDArray

from neologue.campaign.campaign import Campaign
from neologue.discovery.decision import Decision, OnLayer, Question
from neologue.discovery.estimates import VoteLaw, estimate_holders
from neologue.discovery.result import LayerFacts, Release, ReleasedWord
from neologue.language.candidates import Strings, root, strings
from neologue.language.spelling import Spelling
from neologue.language.vocabulary import Vocabulary
from neologue.layout.schedule import Schedule
from neologue.protocol.layer import ExtendingLayer
from neologue.randomizers.channel import Floats


def discover(
    campaign: Campaign, on_layer: OnLayer = lambda facts, words: None
) -> Generator[Question, Decision, Release]:
    """Grow a trie from votes, layer by layer and pass by pass; return the words that it ends in."""
    words: dict[str, ReleasedWord] = {}
    facts: list[LayerFacts] = []
    parameters = campaign.parameters
    known = Spelling.of(campaign.alphabet, campaign.known.words)
    for pass_number in range(1, parameters.passes + 1):
        unasked = campaign.users - sum(layer.asked for layer in facts)
        schedule = Schedule(campaign, pass_number, Vocabulary(words), unasked // (parameters.passes + 1 - pass_number))
        frontier, shares, spelling = root(campaign.alphabet), known.beginning(), known
        doubtful, doubts = strings([]), np.empty(0)
        while layer := schedule.next(frontier, shares, spelling, doubtful):
            decision = yield Question(campaign, layer, shares, spelling, doubts)
            prefixes, ended = layer.candidates.prefixes(decision.index)
            released = _released(layer, decision, prefixes.tolist(), ended, campaign.users)
            words.update((word.word, word) for word in released)
            going_on = np.flatnonzero(~ended)
            going_on = going_on[np.argsort(prefixes[going_on])]
            frontier, shares = prefixes[going_on], _shares(layer, decision.votes, decision.reports)[going_on]
            spelling = known.learning(frontier, shares) if len(frontier) else known
            doubtful, doubts = _doubtful(layer, decision)
            facts.append(_facts(layer, decision, len(frontier), len(released), len(doubtful)))
            on_layer(facts[-1], len(words))
    ranked = sorted(words.values(), key=lambda word: (-word.estimate, word.word))
    return Release(campaign, tuple(facts), tuple(ranked))


def _released(
    layer: ExtendingLayer, decision: Decision, prefixes: list[str], ended: NDArray[np.bool_], users: int
) -> list[ReleasedWord]:
    """The words that end in this layer, with their estimates; one that no device would contribute is noise."""
    law = VoteLaw(layer.randomizer.channel, decision.reports, users)
    votes = decision.votes[ended]
    found = estimate_holders(law, votes, decision.thresholds[ended])
    figures = zip(votes.tolist(), found.estimate.tolist(), found.low.tolist(), found.high.tolist(), strict=True)
    return [
        ReleasedWord(prefixes[index], *figure, layer.number, layer.pass_number, since=layer.number)
        for index, figure in zip(np.flatnonzero(ended), figures, strict=True)
        if layer.counts(prefixes[index])
    ]


def _doubtful(layer: ExtendingLayer, decision: Decision) -> tuple[Strings, Floats]:
    """The words to ask about again, in order, and their shares of users; not those that no device would contribute."""
    words = layer.candidates.prefixes(decision.doubtful)[0]
    counting = np.flatnonzero([layer.counts(word) for word in words.tolist()])
    order = counting[np.argsort(words[counting])]
    return strings(words[order].tolist()), _shares(layer, decision.doubts, decision.reports)[order]


def _shares(layer: ExtendingLayer, votes: NDArray[np.int64], reports: int) -> Floats:
    """The estimated share of users who hold each of some candidates, at least one of those asked."""
    return np.maximum(layer.randomizer.channel.estimate(votes, reports), 1.0) / max(reports, 1)


def _facts(layer: ExtendingLayer, decision: Decision, kept: int, words: int, doubtful: int) -> LayerFacts:
    shown = [int(votes.min()) for votes in (decision.votes, decision.doubts) if len(votes)]
    return LayerFacts(
        pass_number=layer.pass_number,
        layer=layer.number,
        length=layer.candidates.length,
        extension=layer.extension,
        candidates=layer.candidates.size,
        asked=layer.layer_size,
        reports=decision.reports,
        kept=kept,
        words=words,
        doubtful=doubtful,
        fewest_votes=min(shown, default=0),
        decided=decision.made,
        digest=layer.digest.hex(),
    )
