"""Algorithm 2 of the paper, LDP TrieHH, in one loop.

The function is a generator, so that the same code runs under a simulator, a live service or a replay: it
yields the layer that a cohort is to be asked and is sent the tally of their reports.
"""

from collections.abc import Callable, Generator

from neologue.discovery.estimates import VoteLaw, estimate_holders
from neologue.discovery.release import LayerFacts, Release, ReleasedWord
from neologue.discovery.schedule import Schedule
from neologue.discovery.selection import Selection, select
from neologue.discovery.tally import Tally
from neologue.language.candidates import root
from neologue.protocol.campaign import Campaign
from neologue.protocol.layer import Layer


def discover(
    campaign: Campaign, decided: Callable[[LayerFacts, int], None] = lambda facts, words: None
) -> Generator[Layer, Tally, Release]:
    """Grow a trie from votes, layer by layer and pass by pass; return the words that it ends in.

    `decided` hears of every layer that is decided, and how many words are found by then.
    """
    words: dict[str, ReleasedWord] = {}
    facts: list[LayerFacts] = []
    for passage in range(1, campaign.parameters.passes + 1):
        schedule = Schedule(campaign, passage, found=frozenset(words))
        frontier = root(campaign.alphabet)
        while layer := schedule.next(frontier):
            tally = yield layer
            selection = select(layer, tally, campaign.parameters)
            prefixes, ended = layer.candidates.prefixes(selection.index)
            frontier = prefixes[~ended]
            for word in _released(layer, tally, selection, prefixes[ended].tolist(), campaign.users):
                words.setdefault(word.word, word)
            facts.append(_facts(layer, tally, selection, len(frontier), int(ended.sum())))
            decided(facts[-1], len(words))
    ranked = sorted(words.values(), key=lambda word: (-word.estimate, word.word))
    return Release(campaign, tuple(facts), tuple(ranked))


def _released(layer: Layer, tally: Tally, selection: Selection, ended: list[str], users: int) -> list[ReleasedWord]:
    kept = selection.index[layer.candidates.ends(selection.index)]
    law = VoteLaw(layer.randomizer.channel, tally.reports, users)
    found = estimate_holders(law, tally.votes[kept], selection.word_threshold)
    return [
        ReleasedWord(word, float(estimate), float(low), float(high), layer.number, layer.passage)
        for word, estimate, low, high in zip(ended, found.estimate, found.low, found.high, strict=True)
    ]


def _facts(layer: Layer, tally: Tally, selection: Selection, kept: int, words: int) -> LayerFacts:
    return LayerFacts(
        passage=layer.passage,
        layer=layer.number,
        length=layer.candidates.depth,
        extension=layer.extension,
        candidates=layer.candidates.size,
        asked=layer.cohort,
        reports=tally.reports,
        kept=kept,
        words=words,
        prefix_threshold=selection.prefix_threshold,
        word_threshold=selection.word_threshold,
    )
