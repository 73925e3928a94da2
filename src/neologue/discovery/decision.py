"""How the votes of a layer are decided, and what is left of them then."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from neologue.campaign.campaign import Campaign
from neologue.discovery.result import LayerFacts
from neologue.discovery.selection import select
from neologue.discovery.selection.selected import Selection
from neologue.discovery.tally import Tally
from neologue.protocol.layer import ExtendingLayer, Layer

Trace = Callable[[Layer, Tally, Selection], None]
"""Called with every decided layer, including the votes of dropped candidates, of all layers that they are judged by.

No privacy statement covers those votes, so only simulations may trace decisions, never a service with real devices.
"""


OnLayer = Callable[[LayerFacts, int], None]
"""Hears of every layer that is decided, and how many words are found by then."""


def no_trace(layer: Layer, tally: Tally, selection: Selection) -> None:
    """The default trace, which records nothing."""


@dataclass(frozen=True, eq=False)
class Decision:
    """What is kept of a layer, with its votes. Nothing else of the tally matters any more, and it may be erased."""

    reports: int
    made: bool
    """Whether enough reports came to decide anything."""
    index: NDArray[np.int64]
    """The candidates kept, in order."""
    votes: NDArray[np.int64]
    thresholds: NDArray[np.int64]
    """For each the fewest votes that would have done."""
    carried: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """The votes so far of all words that the next layer asks about again, in its order.

    Only those of the last decision are needed to go on, so that earlier ones may be erased.
    """


@dataclass(frozen=True, eq=False)
class DecidedLayer:
    """A layer and what was decided of it."""

    layer: Layer
    decision: Decision

    def prefix_votes(self) -> dict[str, int]:
        """The votes of the prefixes that were kept."""
        texts, ended = self.layer.candidates.prefixes(self.decision.index)
        return dict(zip(texts[~ended].tolist(), self.decision.votes[~ended].tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Question:
    """A layer to be asked, and all that decides it besides the votes."""

    campaign: Campaign
    layer: ExtendingLayer

    def decide(self, tally: Tally, trace: Trace = no_trace) -> Decision:
        """Apply the campaign's rule to the votes."""
        nothing = np.empty(0, np.int64)
        if tally.reports < self.campaign.fewest_reports(self.layer.randomizer.candidates):
            return Decision(tally.reports, made=False, index=nothing, votes=nothing, thresholds=nothing)
        selection = select(self.layer, tally, self.campaign)
        trace(self.layer, tally, selection)
        return Decision(
            tally.reports,
            made=True,
            index=selection.index,
            votes=tally.votes[selection.index],
            thresholds=selection.thresholds,
        )
