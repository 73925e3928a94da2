"""Keeps the layer cache up to date, and tells the intake, the places and the masking groups which layers are closed."""

import asyncio

from neologue.service.collect.intake import Intake
from neologue.service.collect.layer_cache import LayerCache
from neologue.service.collect.places import Places
from neologue.service.masked.groups import MaskingGroups
from neologue.service.ops.concurrency import Threads


class LayerRefresh:
    """Refreshes the layer cache of a worker, once at a time."""

    def __init__(
        self, layer_cache: LayerCache, threads: Threads, intake: Intake, places: Places, groups: MaskingGroups
    ) -> None:
        self._layer_cache, self._threads, self._places, self._intake = layer_cache, threads, places, intake
        self._collectors: tuple[Intake | Places | MaskingGroups, ...] = (intake, places, groups)
        self._one_at_a_time = asyncio.Lock()

    async def refresh(self) -> None:
        """Read the layer cache from the database, and drop what waits for layers that are closed."""
        async with self._one_at_a_time:
            for closed in await self._threads.run(self._layer_cache.refresh):
                for collector in self._collectors:
                    collector.close(closed.campaign_id, closed.layer_index)
            for ended in self._layer_cache.ended_layers():
                self._intake.end(ended.campaign_id, ended.layer_index)
            await self._places.refresh()
