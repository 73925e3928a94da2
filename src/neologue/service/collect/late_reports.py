"""Devices that answer a layer which is not in the layer cache of this worker."""

from dataclasses import dataclass
from enum import StrEnum

from neologue.service.campaigns import campaign_store
from neologue.service.collect.layer_refresh import LayerRefresh
from neologue.service.ops.concurrency import Threads
from neologue.service.storage.report_store import ReportStore
from neologue.service.storage.states import LayerState


class SenderStatus(StrEnum):
    """What the database says of such a device."""

    COUNTED = "counted"
    CLOSED = "closed"
    EARLY = "early"
    """The layer is newer than the layer cache was, which has been refreshed."""
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class LateReports:
    """Looks up what became of such a device or its layer."""

    storage: ReportStore
    threads: Threads
    layers: LayerRefresh

    async def status(self, campaign: bytes, serial: bytes, digest: bytes) -> SenderStatus:
        """The status of a device that answers the layer whose digest begins like this."""
        if await self.threads.run(self.storage.is_spent, campaign, serial):
            return SenderStatus.COUNTED
        state = await self.threads.run(self._state_of_layer, campaign, digest)
        if state is None:
            return SenderStatus.UNKNOWN
        if state != LayerState.OPEN:
            return SenderStatus.CLOSED
        await self.layers.refresh()
        return SenderStatus.EARLY

    def _state_of_layer(self, campaign: bytes, digest: bytes) -> LayerState | None:
        with self.storage.database.reading() as db:
            layers = campaign_store.layers_of(db, campaign)
        return next((layer.state for layer in layers if layer.digest.startswith(digest)), None)
