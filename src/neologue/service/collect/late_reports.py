"""Devices that answer a layer which is not in the layer cache of this worker."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from neologue.service.campaigns import layer_store
from neologue.service.collect.layer_cache import LayerCache
from neologue.service.collect.layer_refresh import LayerRefresh
from neologue.service.ops.concurrency import Threads
from neologue.service.ops.service_keys import Keys
from neologue.service.storage.report_store import ReportStore
from neologue.service.storage.states import LayerState


class SenderStatus(StrEnum):
    """What the database says of such a device."""

    COUNTED = "counted"
    CLOSED = "closed"
    EARLY = "early"
    """The layer is newer than the layer cache was, which has been refreshed."""
    UNKNOWN = "unknown"
    FORGED = "forged"
    """The ticket is not of an invitation to the layer: nothing is said of the device."""


VOUCHED: Final = (SenderStatus.COUNTED, SenderStatus.CLOSED, SenderStatus.EARLY)
"""What is said of devices alone that have shown their ticket."""


@dataclass(frozen=True)
class LateReports:
    """Looks up what became of such a device or its layer."""

    storage: ReportStore
    layer_cache: LayerCache
    threads: Threads
    layers: LayerRefresh
    keys: Keys

    async def status(
        self, campaign: bytes, serial: bytes, ticket: bytes, digest: bytes, *, suspect: bool
    ) -> SenderStatus:
        """The status of a device that answers the layer whose digest begins like this and shows its ticket.

        A suspect that names a campaign of which this worker has not heard costs no search of the database.
        """
        if suspect and self.layer_cache.campaign(campaign) is None:
            return SenderStatus.UNKNOWN
        status = await self.threads.run(self._look_up, campaign, serial, ticket, digest)
        if status is SenderStatus.EARLY:
            await self.layers.refresh()
        return status

    async def is_counted(self, campaign: bytes, serial: bytes) -> bool:
        """Whether a report is counted, by any worker."""
        return await self.threads.run(self.storage.is_spent, campaign, serial)

    def _look_up(self, campaign: bytes, serial: bytes, ticket: bytes, beginning: bytes) -> SenderStatus:
        with self.storage.database.reading() as db:
            states = layer_store.states_of_layers(db, campaign)
        digest = next((digest for digest in states if digest.startswith(beginning)), None)
        if digest is None:
            return SenderStatus.UNKNOWN
        if not self.keys.is_ticket(ticket, campaign, digest, serial):
            return SenderStatus.FORGED
        if self.storage.is_spent(campaign, serial):
            return SenderStatus.COUNTED
        return SenderStatus.EARLY if states[digest] == LayerState.OPEN else SenderStatus.CLOSED
