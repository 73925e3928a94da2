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
from neologue.language.candidates import Strings, root
from neologue.language.vocabulary import Vocabulary
from neologue.layout.schedule import trie_layer_size
from neologue.protocol.layer import ExtendingLayer


def discover(
    campaign: Campaign, on_layer: OnLayer = lambda facts, words: None
) -> Generator[Question, Decision, Release]:
    """Grow a trie from votes, layer by layer and pass by pass; return the words that it ends in."""
    words: dict[str, ReleasedWord] = {}
    facts: list[LayerFacts] = []
    for pass_number in range(1, campaign.parameters.passes + 1):
        found, frontier = Vocabulary(words), root(campaign.alphabet)
        for number in range(1, campaign.parameters.depth + 1):
            layer = _next_layer(campaign, pass_number, number, frontier, found)
            if layer is None:
                break
            decision = yield Question(campaign, layer)
            prefixes, ended = layer.candidates.prefixes(decision.index)
            released = _released(layer, decision, prefixes.tolist(), ended, campaign.users)
            words.update((word.word, word) for word in released)
            frontier = prefixes[~ended]
            facts.append(_facts(layer, decision, len(frontier), len(released)))
            on_layer(facts[-1], len(words))
    ranked = sorted(words.values(), key=lambda word: (-word.estimate, word.word))
    return Release(campaign, tuple(facts), tuple(ranked))


def _next_layer(
    campaign: Campaign, pass_number: int, number: int, frontier: Strings, found: Vocabulary
) -> ExtendingLayer | None:
    """The layer that extends a frontier by one symbol; None if there is nothing to extend, or too few users to ask."""
    if not len(frontier):
        return None
    layer_size = trie_layer_size(campaign, len(frontier), pass_number, number)
    if layer_size is None:
        return None
    parameters = campaign.parameters
    return ExtendingLayer(
        pass_number=pass_number,
        number=number,
        layer_size=layer_size,
        alphabet=campaign.alphabet,
        frontier=frontier,
        extension=1,
        depth=parameters.depth,
        mechanism=parameters.randomizer,
        epsilon=campaign.epsilon,
        bound=parameters.words_per_user,
        sampler=parameters.sampler,
        known=campaign.known,
        found=found,
        targets=campaign.targets,
        form=campaign.form,
    )


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


def _facts(layer: ExtendingLayer, decision: Decision, kept: int, words: int) -> LayerFacts:
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
        fewest_votes=min(decision.votes.tolist(), default=0),
        decided=decision.made,
        digest=layer.digest.hex(),
    )
