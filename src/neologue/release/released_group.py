"""Words of a release that were judged by the votes of the same layers.

Where a trie grows, these are the votes of one layer. Where words are asked about again, they are those of all layers
from the first that asked about a word to the one that released it: the larger their number of reports, the more votes
noise has given each.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from neologue.discovery.result import LayerFacts, ReleasedWord

Span = tuple[int, int, int]
"""A pass, the layer of it that released words, and the first whose votes these were judged by."""


@dataclass(frozen=True)
class LayerSize:
    """How much a layer asked, and of how many."""

    candidates: int
    asked: int
    reports: int


@dataclass(frozen=True)
class ReleasedGroup:
    """So many words, and the layers by whose votes they were judged."""

    first: int
    """The first of these layers, by its position in the release …"""
    last: int
    """… and the last, from which the words were released."""
    size: LayerSize
    """All these layers together, with as many candidates as the largest."""
    words: int
    fewest_votes: int
    """The fewest votes of a word."""


def together(layers: Iterable[LayerSize]) -> LayerSize:
    """Several layers as if they were one, with as many candidates as the largest."""
    every = tuple(layers)
    return LayerSize(
        max(layer.candidates for layer in every),
        sum(layer.asked for layer in every),
        sum(layer.reports for layer in every),
    )


def sizes(layers: Iterable[LayerFacts]) -> tuple[LayerSize, ...]:
    """The sizes of the layers of a release."""
    return tuple(LayerSize(layer.candidates, layer.asked, layer.reports) for layer in layers)


def released_groups(layers: Iterable[LayerFacts], words: Iterable[ReleasedWord]) -> tuple[ReleasedGroup, ...]:
    """The words of a release by the layers that judged them; words of layers that it does not have are left out."""
    facts = tuple(layers)
    position = {(layer.pass_number, layer.layer): number for number, layer in enumerate(facts) if layer.reports}
    votes: dict[tuple[int, int], list[int]] = {}
    for word in words:
        span = position.get((word.pass_number, word.since)), position.get((word.pass_number, word.layer))
        if span[0] is not None and span[1] is not None and span[0] <= span[1]:
            votes.setdefault((span[0], span[1]), []).append(word.votes)
    every = sizes(facts)
    return tuple(
        ReleasedGroup(first, last, together(every[first : last + 1]), len(cast), min(cast))
        for (first, last), cast in sorted(votes.items())
    )


def judged_together(layers: Sequence[LayerFacts], words: Iterable[ReleasedWord]) -> dict[Span, LayerFacts]:
    """The layers that judged words of a release together, as if they were one each."""
    return {
        (layers[group.last].pass_number, layers[group.last].layer, layers[group.first].layer): replace(
            layers[group.last],
            candidates=group.size.candidates,
            asked=group.size.asked,
            reports=group.size.reports,
            words=group.words,
            fewest_votes=group.fewest_votes,
        )
        for group in released_groups(layers, words)
    }
