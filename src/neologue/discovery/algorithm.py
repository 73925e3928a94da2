"""Algorithm 2 of the paper, LDP TrieHH, in one loop.

The function is a generator, so that the same code runs under a simulator, a live service or a replay: it
yields the layer that a cohort is to be asked and is sent the tally of their reports.
"""

from collections.abc import Callable, Generator

import numpy as np
from numpy.typing import NDArray

from neologue.discovery.estimates import VoteLaw, estimate_holders
from neologue.discovery.release import LayerFacts, Release, ReleasedWord
from neologue.discovery.schedule import Schedule
from neologue.discovery.selection import Selection, select
from neologue.discovery.tally import Tally
from neologue.language.candidates import root
from neologue.language.spelling import Spelling
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.campaign import Campaign
from neologue.protocol.layer import Layer
from neologue.randomizers.channel import Floats

Hears = Callable[[LayerFacts, int], None]
"""Hears of every layer that is decided, and how many words are found by then."""

Witness = Callable[[Layer, Tally, Selection], None]
"""Sees how every layer is decided, the votes of what was dropped included.

No privacy statement covers those votes, so nothing that asks real devices may have a witness: it is for simulations.
"""


def nobody(layer: Layer, tally: Tally, selection: Selection) -> None:
    """The witness of a discovery that has none."""


def discover(
    campaign: Campaign, hears: Hears = lambda facts, words: None, witness: Witness = nobody
) -> Generator[Layer, Tally, Release]:
    """Grow a trie from votes, layer by layer and pass by pass; return the words that it ends in."""
    words: dict[str, ReleasedWord] = {}
    facts: list[LayerFacts] = []
    parameters = campaign.parameters
    spelling = Spelling.of(campaign.alphabet, campaign.known.words)
    for passage in range(1, parameters.passes + 1):
        unasked = campaign.users - sum(layer.asked for layer in facts)
        schedule = Schedule(campaign, passage, Vocabulary(words), unasked // (parameters.passes + 1 - passage))
        frontier, shares = root(campaign.alphabet), spelling.beginning()
        while layer := schedule.next(frontier):
            tally = yield layer
            if tally.reports < parameters.smallest_layer:
                facts.append(_facts(layer, tally, kept=0, words=0, fewest_votes=0, decided=False))
                hears(facts[-1], len(words))
                break
            expected = shares[:, None] * spelling.after(layer.candidates) if parameters.rule == "significant" else None
            selection = select(layer, tally, campaign, expected)
            witness(layer, tally, selection)
            prefixes, ended = layer.candidates.prefixes(selection.index)
            released = _released(layer, tally, selection, prefixes.tolist(), ended, campaign.users)
            words.update((word.word, word) for word in released)
            frontier, shares = prefixes[~ended], _shares(layer, tally, selection.index[~ended])
            fewest = int(tally.votes[selection.index].min()) if len(selection.index) else 0
            facts.append(
                _facts(layer, tally, kept=len(frontier), words=len(released), fewest_votes=fewest, decided=True)
            )
            hears(facts[-1], len(words))
    ranked = sorted(words.values(), key=lambda word: (-word.estimate, word.word))
    return Release(campaign, tuple(facts), tuple(ranked))


def _released(
    layer: Layer, tally: Tally, selection: Selection, prefixes: list[str], ended: NDArray[np.bool_], users: int
) -> list[ReleasedWord]:
    """The words that end in this layer, with their estimates; one that no device would contribute is noise."""
    law = VoteLaw(layer.randomizer.channel, tally.reports, users)
    votes = tally.votes[selection.index[ended]]
    found = estimate_holders(law, votes, selection.thresholds[ended])
    figures = zip(votes.tolist(), found.estimate.tolist(), found.low.tolist(), found.high.tolist(), strict=True)
    return [
        ReleasedWord(prefixes[place], *figure, layer.number, layer.passage)
        for place, figure in zip(np.flatnonzero(ended), figures, strict=True)
        if layer.counts(prefixes[place])
    ]


def _shares(layer: Layer, tally: Tally, index: NDArray[np.int64]) -> Floats:
    """The estimated share of users who hold each of some candidates, at least one of the cohort."""
    holders = layer.randomizer.channel.estimate(tally.votes[index], tally.reports)
    return np.maximum(holders, 1.0) / max(tally.reports, 1)


def _facts(layer: Layer, tally: Tally, *, kept: int, words: int, fewest_votes: int, decided: bool) -> LayerFacts:
    return LayerFacts(
        passage=layer.passage,
        layer=layer.number,
        length=layer.candidates.length,
        extension=layer.extension,
        candidates=layer.candidates.size,
        asked=layer.cohort,
        reports=tally.reports,
        kept=kept,
        words=words,
        fewest_votes=fewest_votes,
        decided=decided,
    )
