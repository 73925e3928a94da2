"""A trace of a simulated discovery that asks about likely strings: what each layer asked, and what became of each word.

No privacy statement covers the votes of dropped candidates. A live service never publishes them; a simulation, whose
users are made up or provided for the purpose, may show them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from neologue.discovery.selection.selected import Selection
from neologue.discovery.tally import Tally
from neologue.language.candidates import Strings, strings
from neologue.protocol.layer import Layer, LikelyLayer

Integers = NDArray[np.int64]


class Place(IntEnum):
    """Where a layer has left a word that somebody holds."""

    FOUND = 0
    """It is released, by this layer or an earlier one."""
    ASKED = 1
    """The layer asked about it, and it had too few votes."""
    AHEAD = 2
    """It belongs to an escape that is kept, so that the next layer asks further."""
    BEHIND = 3
    """It belongs to an escape that was dropped."""
    NOWHERE = 4
    """It belongs to nothing that the layer asked about."""


@dataclass(frozen=True, eq=False)
class KeptEscape:
    """A prefix that users go on from in ways that the layer did not ask about."""

    prefix: str
    votes: int
    needed: int


@dataclass(frozen=True, eq=False)
class LikelyLayerTrace:
    """How one layer was decided."""

    pass_number: int
    number: int
    reports: int
    noise: float
    """The mean votes of a candidate that nobody holds, in this layer alone."""
    deviation: float
    """Their standard deviation."""
    gain: float
    """The mean votes that one holder adds."""
    fresh: int
    """The strings that no layer asked about before."""
    again: int
    """The words that an earlier layer asked about, too."""
    kept: tuple[KeptEscape, ...]
    """By their votes, the most first."""
    places: NDArray[np.int8]
    """For each word of the trace its `Place`."""
    lengths: Integers
    """For each the characters of it that its candidate has; -1 if it belongs to none."""
    votes: Integers
    """For each the votes that its candidate has in all."""
    needed: Integers
    """For each the votes that would have kept it."""


class LikelyTrace:
    """The trace of a simulated discovery, by the words of its population that can be found."""

    def __init__(self, words: Sequence[str]) -> None:
        self.layers: list[LikelyLayerTrace] = []
        self.words: Strings = strings([])
        """Those that count in the first layer."""
        self._lexicon = words
        self._found: NDArray[np.bool_] = np.empty(0, np.bool_)

    def trace(self, layer: Layer, tally: Tally, selection: Selection) -> None:
        """Record how a layer was decided; its tally has the votes of all layers that asked about a word."""
        assert isinstance(layer, LikelyLayer)
        if not self.layers:
            self.words = strings([word for word in self._lexicon if layer.counts(word)])
            self._found = np.zeros(len(self.words), np.bool_)
        candidates, channel = layer.candidates, layer.randomizer.channel
        index = candidates.index(self.words)
        index[self._found] = -1
        asked = np.flatnonzero(index >= 0)
        texts, ended = candidates.prefixes(index[asked])
        kept = np.isin(index[asked], selection.index)
        places = np.full(len(self.words), Place.NOWHERE, np.int8)
        places[asked] = np.where(
            ended, np.where(kept, Place.FOUND, Place.ASKED), np.where(kept, Place.AHEAD, Place.BEHIND)
        )
        self._found |= places == Place.FOUND
        places[self._found] = Place.FOUND
        lengths, votes, needed = (np.full(len(self.words), -1, np.int64) for _ in range(3))
        lengths[asked], votes[asked] = np.char.str_len(texts), tally.votes[index[asked]]
        needed[asked] = selection.missing(index[asked])
        self.layers.append(
            LikelyLayerTrace(
                pass_number=layer.pass_number,
                number=layer.number,
                reports=tally.reports,
                noise=float(channel.mean(0, tally.reports)),
                deviation=float(np.sqrt(channel.variance(0, tally.reports))),
                gain=channel.gain,
                fresh=int(candidates.starts[1]),
                again=candidates.size - int(candidates.starts[1]),
                kept=_kept_escapes(layer, tally, selection),
                places=places,
                lengths=lengths,
                votes=votes,
                needed=needed,
            )
        )


def _kept_escapes(layer: LikelyLayer, tally: Tally, selection: Selection) -> tuple[KeptEscape, ...]:
    texts, ended = layer.candidates.prefixes(selection.index)
    votes = tally.votes[selection.index]
    order = np.argsort(-votes, kind="stable")
    return tuple(
        KeptEscape(str(texts[row]), int(votes[row]), int(selection.thresholds[row]))
        for row in order[~ended[order]].tolist()
    )
