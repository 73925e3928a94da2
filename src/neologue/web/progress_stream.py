"""What a campaign is doing now, as sentences and figures, streamed to open pages as soon as it changes.

A stream of events ends after a few seconds and the browser asks for the next by itself: so a service can stop
gracefully, and a session that has expired sees no more.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response, StreamingResponse

from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import Layer
from neologue.protocol.slot import SLOTS
from neologue.service.api.schemas import CampaignView, LayerView
from neologue.service.campaigns import layer_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.campaigns.expected_end import ExpectedEnd, expected_end
from neologue.service.storage.states import CampaignState, LayerState
from neologue.service.worker import Worker
from neologue.web.page import Page, PageRequest, render_fragment
from neologue.web.timeline import Timeline

STREAM_SECONDS: Final = 5.0
"""How long a stream lasts."""
RETRY_MILLISECONDS: Final = 200
"""After how long the browser asks for the next one."""
MOST_STREAMS: Final = 32
"""How many streams a worker keeps open; further ones end at once and are asked for again later."""
BUSY_RETRY_MILLISECONDS: Final = 5000
"""After how long such a browser asks again."""
ANNOUNCED_STEPS: Final = 10
"""In how many steps a layer's progress is read out."""
_open_streams: Final[set[object]] = set()
"""The open streams of this worker; only the event loop touches it."""


@dataclass(frozen=True)
class ProgressView:
    """How far a campaign has come."""

    campaign: CampaignView
    layers: list[LayerView]
    label: str
    """The name of the current layer."""
    end: ExpectedEnd
    timeline: Timeline | None

    @property
    def current_layer(self) -> LayerView | None:
        """The layer that collects reports now, or is being decided."""
        return self.layers[-1] if self.layers and self.layers[-1].state != LayerState.DECIDED else None

    @property
    def words(self) -> int:
        """How many words were found so far; only the release says which."""
        return sum(layer.facts.words for layer in self.layers if layer.facts)

    @property
    def share(self) -> float:
        """The share of the reports of the current layer that have arrived."""
        layer = self.current_layer
        return layer.reports / layer.layer_size if layer and layer.layer_size else 0.0

    @property
    def summary(self) -> str:
        """What the campaign is doing, as one sentence."""
        match self.campaign.state:
            case CampaignState.DRAFT:
                return "Not started yet."
            case CampaignState.RELEASED:
                return f"Found {_count_words(self.words)}."
            case CampaignState.REFUSED:
                return "Ended without a release: the budget does not cover it."
            case CampaignState.ABORTED:
                return "Aborted without a release."
        paused = "Paused. " if self.campaign.state == CampaignState.PAUSED else ""
        layer = self.current_layer
        if layer is None:
            return f"{paused}Preparing {'the next layer or the release' if self.layers else 'the first layer'}."
        if layer.state == LayerState.CLOSED:
            return f"{paused}{self.label}: deciding what to keep."
        return f"{paused}{self.label}: {layer.reports:,} of {layer.layer_size:,} reports."

    @property
    def announcement(self) -> str:
        """The summary for screen readers, which changes only with every tenth of a layer."""
        layer = self.current_layer
        if self.campaign.state != CampaignState.RUNNING or layer is None or layer.state != LayerState.OPEN:
            return self.summary
        percent = int(self.share * ANNOUNCED_STEPS) * 100 // ANNOUNCED_STEPS
        return f"{self.label}: {percent} % of the reports have arrived."


def campaign_progress(service: Worker, entry: CampaignRow) -> ProgressView:
    """How far a campaign has come, by the database."""
    with service.database.reading() as db:
        rows = layer_store.layers_of(db, entry.id)
    layers = [LayerView.of(layer, SLOTS) for layer in rows]
    now = service.context.clock()
    # To the minute, so that an open page is sent a new one only when it has changed.
    end = expected_end(entry.definition, rows, now).to_the_minute()
    campaign = CampaignView.of(entry)
    timeline = Timeline.of(campaign, layers, end, now)
    return ProgressView(campaign, layers, _layer_label(service, entry, len(layers)), end, timeline)


def stream_progress(request: PageRequest) -> Response:
    """Send events as long as the page is open."""
    return StreamingResponse(_events(request), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


async def _events(request: PageRequest) -> AsyncIterator[str]:
    stays_open = len(_open_streams) < MOST_STREAMS
    stream, service = object(), request.service
    if stays_open:
        _open_streams.add(stream)
    try:
        yield f"retry: {RETRY_MILLISECONDS if stays_open else BUSY_RETRY_MILLISECONDS}\n\n"
        sent: dict[str, str] = {}
        end = time.monotonic() + STREAM_SECONDS
        while True:
            events = await service.threads.run(_current_events, request)
            for name, text in events.items():
                if sent.get(name) != text:
                    yield f"event: {name}\ndata: {json.dumps(text)}\n\n"
            sent = events
            if not stays_open or service.stopping or time.monotonic() > end:
                return
            await asyncio.sleep(service.settings.refresh)
    finally:
        _open_streams.discard(stream)


def _current_events(request: PageRequest) -> dict[str, str]:
    """The data of each event: pieces of the page, and what a screen reader announces."""
    progress = campaign_progress(request.service, request.campaign())
    return {
        "state": progress.campaign.state,
        "now": render_fragment("current_layer.html", progress=progress),
        "timeline": render_fragment("timeline.html", timeline=progress.timeline),
        "layers": render_fragment("layers.html", progress=progress),
        "announcement": progress.announcement,
    }


def _layer_label(service: Worker, entry: CampaignRow, layers: int) -> str:
    cached = service.layer_cache.campaign(entry.id)
    asks = cached.layer.collecting.asks if cached and cached.layer else None
    if isinstance(asks, Layer):
        return f"Pass {asks.pass_number}, layer {asks.number}"
    return "Counting the words" if isinstance(asks, ClosedLayer) else f"Layer {layers}"


def _count_words(number: int) -> str:
    return "1 word" if number == 1 else f"{number:,} words"


PAGES = (Page("GET", "/campaigns/{name}/progress", stream_progress, for_script=True),)
