"""A chart of a campaign over time: how long each layer took, how many reports it has, and how the words add up."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

from neologue.service.api.schemas import CampaignView, LayerView
from neologue.service.campaigns.expected_end import ExpectedEnd
from neologue.service.storage.states import OVER, LayerState

MARGIN: Final = 0.04
"""The part of the chart behind the last moment, where the final number of words is drawn."""
STEPS: Final = 200
"""Into how many steps the chart divides time, so that an open page is sent a new one only if it looks different."""
LABELLED: Final = 6.0
"""The least width of a layer, in per cent, that has room for its label."""


@dataclass(frozen=True)
class LayerBar:
    """A layer in the chart: positions in per cent of the width, heights in per cent of the largest layer."""

    label: str
    x: float
    width: float
    height: float
    """By the number of reports that it needs."""
    filled: float
    """By the number of reports that it has."""
    is_current: bool

    @property
    def has_room(self) -> bool:
        """Whether its label fits below it."""
        return self.width >= LABELLED

    @property
    def middle(self) -> float:
        """Where its label is."""
        return self.x + self.width / 2


@dataclass(frozen=True)
class WordsStep:
    """For how long the campaign had so many words: positions in per cent, the height in per cent of the most words."""

    x: float
    width: float
    height: float


@dataclass(frozen=True)
class Timeline:
    """The chart of a campaign with at least one layer."""

    bars: Sequence[LayerBar]
    steps: Sequence[WordsStep]
    words: int
    start: float
    end: float
    """The last moment: the end, the expected end, or now. Times are Unix times."""
    now: float | None
    """Where now is, in per cent; None if the campaign is over."""

    @property
    def seconds(self) -> float:
        """How long the campaign took, or is expected to take."""
        return self.end - self.start

    @classmethod
    def of(
        cls, campaign: CampaignView, layers: Sequence[LayerView], expected: ExpectedEnd, now: float
    ) -> "Timeline | None":
        """The chart of a campaign, if a layer was opened."""
        if not layers:
            return None
        is_over = campaign.state in OVER
        last = campaign.changed if is_over else now
        start = layers[0].opened
        end = last if is_over else max(now, expected.campaign or expected.layer or now)
        scale = _Scale(start, max(end, start + 1.0))
        closes = [*(later.opened for _, later in pairwise(layers)), last]
        most = max(layer.layer_size for layer in layers) or 1
        bars = [
            LayerBar(
                label=f"{layer.facts.pass_number}.{layer.facts.layer}" if layer.facts else "",
                x=scale.position(layer.opened),
                width=scale.position(close) - scale.position(layer.opened),
                height=100 * layer.layer_size / most,
                filled=100 * min(1.0, layer.reports / most),
                is_current=layer.state != LayerState.DECIDED,
            )
            for layer, close in zip(layers, closes, strict=True)
        ]
        counts = list(accumulate(layer.facts.words if layer.facts else 0 for layer in layers))
        # The words of a layer are there from its end to that of the next; at the end, to the right edge.
        edges = [*map(scale.position, closes), 100.0 if is_over else scale.position(now)]
        steps = [
            WordsStep(left, right - left, 100 * count / counts[-1])
            for count, (left, right) in zip(counts, pairwise(edges), strict=True)
            if count
        ]
        return cls(bars, steps, counts[-1], start, end, None if is_over else scale.position(now))


@dataclass(frozen=True)
class _Scale:
    start: float
    end: float

    def position(self, moment: float) -> float:
        """Where a moment is, in per cent of the width."""
        share = (min(moment, self.end) - self.start) / (self.end - self.start)
        return 100 * (1 - MARGIN) * round(STEPS * max(0.0, share)) / STEPS
