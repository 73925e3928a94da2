"""A trace of how the trie of a simulated discovery grew: what was kept in each layer, and what was nearly kept.

No privacy statement covers the votes of dropped candidates. A live service never publishes them; a simulation, whose
users are made up or provided for the purpose, may show them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neologue.discovery.selection.selected import Selection
from neologue.discovery.tally import Tally
from neologue.errors import ParameterError
from neologue.language.candidates import Candidates, Strings, strings
from neologue.protocol.layer import ExtendingLayer, Layer

MOST_HELD = 100_000
"""The most dropped candidates of a layer that are kept in the trace, among those that some word belongs to."""
MOST_NOISE = 40
"""The same among those that no word belongs to."""


@dataclass(frozen=True, eq=False)
class VotedCandidates:
    """Some candidates of a layer, in order, with their votes."""

    candidates: Candidates
    index: NDArray[np.int64]
    votes: NDArray[np.int64]
    needed: NDArray[np.int64]
    """The fewest votes that would keep each."""

    @property
    def texts(self) -> Strings:
        """The candidates as prefixes or words."""
        return self._texts_and_ends[0]

    @property
    def ended(self) -> NDArray[np.bool_]:
        """Whether each is a whole word."""
        return self._texts_and_ends[1]

    @cached_property
    def _texts_and_ends(self) -> tuple[Strings, NDArray[np.bool_]]:
        return self.candidates.prefixes(self.index)


@dataclass(frozen=True)
class LayerTrace:
    """How one layer was decided."""

    pass_number: int
    number: int
    length: int
    """The length of the prefixes that the layer extended, in characters."""
    extension: int
    reports: int
    noise: float
    """The mean votes of a candidate that nobody holds."""
    deviation: float
    """Their standard deviation."""
    gain: float
    """The mean votes that one holder adds."""
    kept: VotedCandidates
    dropped: VotedCandidates
    """The dropped candidates that came nearest to being kept."""


class TrieTrace:
    """The trace of a simulated discovery: a part of each layer, of bounded size."""

    def __init__(self, words: Sequence[str]) -> None:
        self.layers: list[LayerTrace] = []
        self._lexicon = words
        self._counting = strings([])
        self._counting_for: int | None = None

    def trace(self, layer: Layer, tally: Tally, selection: Selection) -> None:
        """Record how a layer was decided that extends prefixes; others grow no trie."""
        if not isinstance(layer, ExtendingLayer):
            raise ParameterError(
                "only a discovery that grows a trie can be traced: give layers=None, or leave out the trace"
            )
        channel = layer.randomizer.channel
        dropped = self._dropped(layer, tally, selection)
        # A copy without the long lists that the layer's candidates may have cached.
        candidates = replace(layer.candidates)
        self.layers.append(
            LayerTrace(
                pass_number=layer.pass_number,
                number=layer.number,
                length=layer.candidates.length,
                extension=layer.extension,
                reports=tally.reports,
                noise=float(channel.mean(0, tally.reports)),
                deviation=float(np.sqrt(channel.variance(0, tally.reports))),
                gain=channel.gain,
                kept=VotedCandidates(candidates, selection.index, tally.votes[selection.index], selection.thresholds),
                dropped=VotedCandidates(candidates, dropped, tally.votes[dropped], selection.missing(dropped)),
            )
        )

    def _dropped(self, layer: Layer, tally: Tally, selection: Selection) -> NDArray[np.int64]:
        """The dropped candidates to record: the nearest that some word belongs to, and the most voted others."""
        held = np.setdiff1d(layer.candidates.index(self._words(layer)), np.append(selection.index, -1))
        lacking = selection.missing(held) - tally.votes[held]
        nearest = held[np.argsort(lacking, kind="stable")[:MOST_HELD]]
        others = tally.votes.copy()
        others[selection.index] = others[held] = -1
        count = min(MOST_NOISE, int((others >= 0).sum()))
        if not count:
            return np.sort(nearest)
        edge = np.partition(others, -count)[-count]
        loud = np.flatnonzero(others >= edge)
        return np.sort(np.concatenate([nearest, loud[np.argsort(-others[loud], kind="stable")[:count]]]))

    def _words(self, layer: Layer) -> Strings:
        """The words of the population that can be found; the same for all layers of a pass."""
        if self._counting_for != layer.pass_number:
            self._counting = strings([word for word in self._lexicon if layer.counts(word)])
            self._counting_for = layer.pass_number
        return self._counting
