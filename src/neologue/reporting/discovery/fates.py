"""Where a simulated discovery lost the widely held words that it missed, and by how much."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from neologue.language.candidates import strings
from neologue.simulation.trie_trace import LayerTrace

MOST_MISSED = 50
"""So many words are told of."""


@dataclass(frozen=True)
class Fate:
    """The end of a word that was not found, in the last pass that got as far as it."""

    word: str
    holders: int
    pass_number: int
    layer: int
    prefix: str
    """What was dropped: the word itself, or a beginning of it."""
    votes: int | None
    """None if it was so far from being kept that its votes were not remembered."""
    needed: int | None
    asked: bool = True
    """Whether the layer asked about it."""


def most_missed(truth: Mapping[str, int], found: Collection[str], most: int) -> list[str]:
    """The most widely held words that were missed."""
    return sorted((word for word in truth if word not in found), key=lambda word: (-truth[word], word))[:most]


def fates(layers: Sequence[LayerTrace], truth: Mapping[str, int], found: Collection[str], most: int) -> list[Fate]:
    """The most widely held words that were missed, each with its end, where a trie grew."""
    missed = most_missed(truth, found, most)
    ends: dict[str, Fate] = {}
    for layer in layers:
        candidates = layer.kept.candidates
        numbers = candidates.index(strings(missed))
        lost = (numbers >= 0) & ~np.isin(numbers, layer.kept.index)
        dropped = dict(zip(layer.dropped.index.tolist(), range(len(layer.dropped.index)), strict=True))
        for index in np.flatnonzero(lost).tolist():
            word, row = missed[index], dropped.get(int(numbers[index]))
            votes, needed = (
                (None, None) if row is None else (int(layer.dropped.votes[row]), int(layer.dropped.needed[row]))
            )
            prefix = word[: layer.length + layer.extension]
            ends[word] = Fate(word, truth[word], layer.pass_number, layer.number, prefix, votes, needed)
    return [ends[word] for word in missed if word in ends]
