"""Devices that answer a layer which is not on the board of this worker."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum

from neologue.service.campaigns import campaign_store
from neologue.service.ops.threads import Threads
from neologue.service.storage.report_store import ReportStore


class SenderStatus(Enum):
    """How such a device stands."""

    COUNTED = "counted"
    CLOSED = "closed"
    EARLY = "early"
    """The layer is newer than the board was, which has been read anew."""
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class LateReports:
    """What it takes to find out."""

    storage: ReportStore
    threads: Threads
    refresh: Callable[[], Awaitable[None]]
    """Reads the board anew."""

    async def standing(self, campaign: bytes, serial: bytes, digest: bytes) -> SenderStatus:
        """How the device stands that answers the layer whose digest begins like this."""
        if await self.threads.run(self.storage.spent, campaign, serial):
            return SenderStatus.COUNTED
        state = await self.threads.run(self._state_of_layer, campaign, digest)
        if state is None:
            return SenderStatus.UNKNOWN
        if state != campaign_store.OPEN:
            return SenderStatus.CLOSED
        await self.refresh()
        return SenderStatus.EARLY

    def _state_of_layer(self, campaign: bytes, digest: bytes) -> str | None:
        with self.storage.database.reading() as db:
            layers = campaign_store.layers_of(db, campaign)
        return next((layer.state for layer in layers if layer.digest.startswith(digest)), None)
