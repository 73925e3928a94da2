"""The trie of a simulated discovery as data for a page: as much of it as a page can carry.

A page shows every path to a released word, the most widely held first, until there is no more room; then prefixes that
lived and led nowhere, and dropped candidates that came near, both under prefixes that are shown.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from neologue.discovery.result import ReleasedWord
from neologue.language.candidates import Strings, strings
from neologue.simulation.trie_trace import LayerTrace, VotedCandidates

MOST_ON_PATHS = 140_000
"""Prefixes and words on the way to released words."""
MOST_BESIDE = 12_000
"""Dead ends, and as many dropped candidates; each layer has an equal share."""


@dataclass(frozen=True, eq=False)
class ShownLayer:
    """The candidates of one layer that the page shows: their indices among those kept and those dropped."""

    trie_trace: LayerTrace
    parents: Strings
    """The prefixes shown of the layer before, in order."""
    kept: NDArray[np.int64]
    dropped: NDArray[np.int64]

    def living(self) -> Strings:
        """The prefixes shown that go on, in order."""
        kept = self.trie_trace.kept
        return np.sort(kept.texts[self.kept[~kept.ended[self.kept]]])

    def words(self, released: Container[tuple[int, str]]) -> int:
        """How many released words are shown."""
        kept = self.trie_trace.kept
        ending = kept.texts[self.kept[kept.ended[self.kept]]].tolist()
        return sum((self.trie_trace.pass_number, text) in released for text in ending)


def trie_data(
    layers: Sequence[LayerTrace], words: Sequence[ReleasedWord], truth: Mapping[str, int], users: int
) -> dict[str, object]:
    """The shown part of the trie as plain values, in lists that a script walks from each prefix to its children."""
    shown = list(_choose_shown(layers, _paths(layers, words)))
    released = {(word.pass_number, word.word) for word in words}
    held = strings(sorted(truth))
    return {
        "users": users,
        "kept": sum(len(layer.kept.texts) for layer in layers),
        "shown": sum(len(layer.kept) for layer in shown),
        "words": sum(layer.words(released) for layer in shown),
        "layers": [_layer(layer, released, held, truth, users) for layer in shown],
    }


def _paths(layers: Sequence[LayerTrace], words: Iterable[ReleasedWord]) -> list[set[int]]:
    """The kept candidates of each layer on the way to as many words as there is room for."""
    indices = {(layer.pass_number, layer.number): number for number, layer in enumerate(layers)}
    living, ending = (
        [
            {text: position for position, (text, ended) in enumerate(_items(layer.kept)) if ended == wanted}
            for layer in layers
        ]
        for wanted in (False, True)
    )
    paths: list[set[int]] = [set() for _ in layers]
    room = MOST_ON_PATHS
    for word in words:
        steps = []
        for number in range(1, word.layer + 1):
            layer_index = indices[word.pass_number, number]
            stop = layers[layer_index].length + layers[layer_index].extension
            ends = len(word.word) < stop
            step = ending[layer_index][word.word] if ends else living[layer_index][word.word[:stop]]
            if step not in paths[layer_index]:
                steps.append((layer_index, step))
        if len(steps) > room:
            break
        room -= len(steps)
        for layer_index, step in steps:
            paths[layer_index].add(step)
    return paths


def _choose_shown(layers: Sequence[LayerTrace], paths: Sequence[set[int]]) -> Iterator[ShownLayer]:
    share = MOST_BESIDE // max(len(layers), 1)
    numbered = zip(layers, paths, strict=True)
    for _, pass_number in groupby(numbered, key=lambda pair: pair[0].pass_number):
        parents: Strings | None = None
        for layer, path in pass_number:
            if parents is None:
                parents = np.unique(_heads(np.append(layer.kept.texts, layer.dropped.texts), layer.length))
            on_path = np.array(sorted(path), np.int64)
            ends = np.setdiff1d(_under(layer.kept, layer.length, parents), on_path)
            ends = ends[np.argsort(-layer.kept.votes[ends], kind="stable")[:share]]
            near = _under(layer.dropped, layer.length, parents)
            lacking = (layer.dropped.needed - layer.dropped.votes)[near]
            near = near[np.argsort(lacking, kind="stable")[:share]]
            shown = ShownLayer(layer, parents, np.concatenate([on_path, ends]), near)
            yield shown
            parents = shown.living()


def _layer(
    shown: ShownLayer, released: Container[tuple[int, str]], held: Strings, truth: Mapping[str, int], users: int
) -> dict[str, object]:
    layer, parents = shown.trie_trace, shown.parents
    chosen = ((layer.kept, shown.kept), (layer.dropped, shown.dropped))
    texts = np.concatenate([voted.texts[positions] for voted, positions in chosen])
    ended = np.concatenate([voted.ended[positions] for voted, positions in chosen])
    votes = np.concatenate([voted.votes[positions] for voted, positions in chosen])
    needed = np.concatenate([voted.needed[positions] for voted, positions in chosen])
    order = np.argsort(texts)
    texts, ended = texts[order], ended[order]
    children = _children(texts, layer.length, parents)
    kept = _children(layer.kept.texts, layer.length, parents)
    more = kept - _children(layer.kept.texts[shown.kept], layer.length, parents)
    passed = zip(texts.tolist(), ended.tolist(), (votes >= needed)[order].tolist(), strict=True)
    return {
        "pass": layer.pass_number,
        "layer": layer.number,
        "length": layer.length,
        "extension": layer.extension,
        "noise": round(layer.noise, 4),
        "deviation": round(layer.deviation, 4),
        "scale": round(users / (layer.reports * layer.gain), 6),
        **({"roots": parents.tolist()} if layer.number == 1 else {}),
        "children": children.tolist(),
        "more": {int(position): int(more[position]) for position in np.flatnonzero(more)},
        "tails": [text[layer.length :] for text in texts.tolist()],
        "votes": votes[order].tolist(),
        "needed": needed[order].tolist(),
        "held": _held(texts, ended, layer.length + layer.extension, held, truth),
        # Noise that spells a known word passes, and is no word all the same.
        "known": [
            position
            for position, (text, ends, enough) in enumerate(passed)
            if ends and enough and (layer.pass_number, text) not in released
        ],
    }


def _held(texts: Strings, ended: NDArray[np.bool_], width: int, held: Strings, truth: Mapping[str, int]) -> list[int]:
    """For a word how many users hold it, for a prefix how many held words begin with it."""
    long_enough = held[np.char.str_len(held) >= width]
    beginnings, counts = np.unique(_heads(long_enough, width), return_counts=True)
    below = dict(zip(beginnings.tolist(), counts.tolist(), strict=True))
    return [
        truth.get(text, 0) if ends else below.get(text, 0) for text, ends in zip(texts.tolist(), ended, strict=True)
    ]


def _items(voted: VotedCandidates) -> Iterator[tuple[str, bool]]:
    return zip(voted.texts.tolist(), voted.ended.tolist(), strict=True)


def _heads(texts: Strings, length: int) -> Strings:
    return texts.astype(f"U{length}")


def _under(voted: VotedCandidates, length: int, parents: Strings) -> NDArray[np.int64]:
    """The candidates that extend one of some prefixes."""
    return np.flatnonzero(np.isin(_heads(voted.texts, length), parents))


def _children(texts: Strings, length: int, parents: Strings) -> NDArray[np.int64]:
    """How many of the texts extend each of some prefixes."""
    heads = _heads(texts, length)
    heads = heads[np.isin(heads, parents)]
    return np.bincount(np.searchsorted(parents, heads), minlength=len(parents))
