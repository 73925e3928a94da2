"""What a campaign is doing now, as sentences and figures, sent to whoever looks at it as soon as it changes.

A stream of events ends after some seconds and the browser asks for the next by itself: so a service can stop in good
order, and a session that is over sees no more.
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
from neologue.service.campaigns import campaign_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.storage.states import OVER, CampaignState, LayerState
from neologue.service.worker import Worker
from neologue.web.page import Page, Visit, fragment

STREAM: Final = 5.0
"""How many seconds a stream lasts."""
AGAIN: Final = 200
"""After how many milliseconds the browser asks for the next one."""
MOST: Final = 32
"""How many streams of a worker last; whoever comes then is told how things stand, and to ask again."""
LATER: Final = 5000
"""After how many milliseconds."""
STEPS: Final = 10
"""In how many steps a layer's progress is read out."""
_lasting: Final[set[object]] = set()
"""The streams of this worker that are open; only the event loop looks."""


@dataclass(frozen=True)
class ProgressView:
    """How far a campaign has come."""

    campaign: CampaignView
    layers: list[LayerView]
    label: str
    """What the layer that is asked now is called."""

    @property
    def now(self) -> LayerView | None:
        """The layer that is asked now, or is being decided."""
        return self.layers[-1] if self.layers and self.layers[-1].state != LayerState.DECIDED else None

    @property
    def words(self) -> int:
        """The words found so far. Which they are is told by the release."""
        return sum(layer.facts.words for layer in self.layers if layer.facts)

    @property
    def share(self) -> float:
        """How much of its cohort has reported in the layer that is asked now."""
        return self.now.reports / self.now.layer_size if self.now and self.now.layer_size else 0.0

    @property
    def doing(self) -> str:
        """One sentence for one line."""
        match self.campaign.state:
            case CampaignState.DRAFT:
                return "Waits to be started."
            case CampaignState.RELEASED:
                return f"Has found {_words(self.words)}."
            case CampaignState.REFUSED:
                return "Ended without a release: the budget does not cover it."
            case CampaignState.ABORTED:
                return "Was ended without a release."
        held = "Paused; nobody is asked. " if self.campaign.state == CampaignState.PAUSED else ""
        if self.now is None:
            return f"{held}Gets its next layer ready."
        if self.now.state == LayerState.CLOSED:
            return f"{held}{self.label}: deciding what is kept."
        return f"{held}{self.label}: {self.now.reports:,} of {self.now.layer_size:,} reports."

    @property
    def said(self) -> str:
        """The same for somebody who listens, who is told of every tenth of a layer."""
        if self.campaign.state != CampaignState.RUNNING or self.now is None or self.now.state != LayerState.OPEN:
            return self.doing
        return f"{self.label}: {int(self.share * STEPS) * 100 // STEPS} % of the reports are there."

    @property
    def over(self) -> bool:
        """Whether nothing will change any more."""
        return self.campaign.state in OVER


def standing(service: Worker, entry: CampaignRow) -> ProgressView:
    """How far a campaign has come, by the database."""
    with service.database.reading() as db:
        layers = [LayerView.of(asked, SLOTS) for asked in campaign_store.asked(db, entry.id)]
    return ProgressView(CampaignView.of(entry), layers, _label(service, entry, len(layers)))


def stream(visit: Visit) -> Response:
    """Events for as long as somebody looks."""
    return StreamingResponse(_events(visit), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


async def _events(visit: Visit) -> AsyncIterator[str]:
    lasts = len(_lasting) < MOST
    stream, service = object(), visit.service
    if lasts:
        _lasting.add(stream)
    try:
        yield f"retry: {AGAIN if lasts else LATER}\n\n"
        told: dict[str, str] = {}
        end = time.monotonic() + STREAM
        while True:
            events = await service.threads.run(_looked, visit)
            for name, text in events.items():
                if told.get(name) != text:
                    yield f"event: {name}\ndata: {json.dumps(text)}\n\n"
            told = events
            if not lasts or service.stopping or time.monotonic() > end:
                return
            await asyncio.sleep(service.settings.refresh)
    finally:
        _lasting.discard(stream)


def _looked(visit: Visit) -> dict[str, str]:
    """What there is to tell, by the name of its event: pieces of the page, and what is read out."""
    stands = standing(visit.service, visit.entry())
    return {
        "state": stands.campaign.state,
        "now": fragment("now.html", standing=stands),
        "layers": fragment("layers.html", standing=stands),
        "said": stands.said,
    }


def _label(service: Worker, entry: CampaignRow, layers: int) -> str:
    cached = service.layer_cache.campaign(entry.id)
    asks = cached.layer.collecting.asks if cached and cached.layer else None
    if isinstance(asks, Layer):
        return f"Pass {asks.pass_number}, layer {asks.number}"
    return "Counting the words" if isinstance(asks, ClosedLayer) else f"Layer {layers}"


def _words(number: int) -> str:
    return "1 word" if number == 1 else f"{number:,} words"


PAGES = (Page("GET", "/campaigns/{name}/progress", stream, for_script=True),)
