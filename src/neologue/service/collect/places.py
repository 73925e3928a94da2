"""The places that a worker has at hand: it gives one to each device that it invites, from memory.

A place is kept for the device until its report is counted or its time is over. Until its time is over, the same device
gets the same place when it checks in again, whatever it sent meanwhile: one credential has one place at a time. Which
device has a place is in memory alone.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from neologue.service.collect.intake import Intake
from neologue.service.collect.layer_cache import ServedLayer
from neologue.service.ops.concurrency import Threads
from neologue.service.storage.place_store import Block, PlaceStore

_SECONDS_AT_HAND: Final = 5.0
"""For how long the places of a block are given away; those that are left then are free again for all workers."""
NO_PLACE: Final = 0
"""The number of the block of those who are invited without a place: what they sent is here, and needs none."""
_PAUSE: Final = 0.5
"""For how many seconds nobody asks the database again after it had no place."""


@dataclass
class _LayerPlaces:
    """The places of one layer."""

    block: Block | None = None
    left: int = 0
    """How many places of the block are at hand."""
    ends: float = 0.0
    """Until when they are given away."""
    next_try: float = 0.0
    given: dict[bytes, Block] = field(default_factory=dict)
    """By the serial of a device the block of its place, the earliest first."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def expire(self, now: float) -> None:
        """Forget whose time is over."""
        while self.given and next(iter(self.given.values())).until <= now:
            del self.given[next(iter(self.given))]

    def kept(self, serial: bytes, now: float) -> int | None:
        """The number of the block with the place that a device has, if it has one."""
        self.expire(now)
        block = self.given.get(serial)
        return None if block is None else block.number

    def give(self, serial: bytes, now: float) -> int | None:
        """The number of the block with the place of a device: the one it has, or one at hand, if any is."""
        number = self.kept(serial, now)
        if number is None and self.block is not None and self.left and now < self.ends:
            self.left -= 1
            self.given[serial] = self.block
            number = self.block.number
        return number


class Places:
    """The places of all layers that one worker invites to, on its event loop."""

    def __init__(
        self, store: PlaceStore, intake: Intake, threads: Threads, clock: Callable[[], float] = time.time
    ) -> None:
        self._store, self._intake, self._threads, self._clock = store, intake, threads, clock
        self._layers: dict[tuple[bytes, int], _LayerPlaces] = {}

    async def reserve(self, served: ServedLayer, serial: bytes) -> int | None:
        """The number of the block in which a place is kept for a device; None if the layer has none to give.

        A device whose report waits or is counted gets none, or the one that it has: NO_PLACE or its number.
        """
        key = (served.campaign_id, served.layer_index)
        layer = self._layers.setdefault(key, _LayerPlaces())
        number = layer.kept(serial, self._clock())
        if number is not None:
            return number
        if self._intake.is_waiting(*key, serial) or await self._threads.run(
            self._intake.is_counted, served.campaign_id, serial
        ):
            return NO_PLACE
        number = layer.give(serial, self._clock())
        if number is not None:
            return number
        async with layer.turn:
            now = self._clock()
            number = layer.give(serial, now)
            if number is not None or now < layer.next_try:
                return number
            await self._give_back(key, layer)
            seconds = served.definition.answer_seconds
            at_hand = min(seconds, _SECONDS_AT_HAND)
            waiting = self._intake.waiting_blocks(*key)
            take = partial(self._store.take_block, *key, waiting, now, now + at_hand + seconds)
            layer.block = await self._threads.run_to_end(take)
            layer.ends = now + at_hand
            if layer.block is None:
                layer.next_try = now + _PAUSE
            else:
                layer.left = layer.block.places
            return layer.give(serial, now)

    async def refresh(self) -> None:
        """Give back what is at hand for too long, and forget whose time is over."""
        now = self._clock()
        for key, layer in list(self._layers.items()):
            layer.expire(now)
            if layer.left and now >= layer.ends:
                async with layer.turn:
                    if now >= layer.ends:
                        await self._give_back(key, layer)

    async def stop(self) -> None:
        """Give back all that is at hand: other workers may have use for it."""
        for key, layer in self._layers.items():
            async with layer.turn:
                await self._give_back(key, layer)

    def close(self, campaign: bytes, layer_index: int) -> None:
        """Forget a layer that was closed."""
        self._layers.pop((campaign, layer_index), None)

    async def _give_back(self, key: tuple[bytes, int], layer: _LayerPlaces) -> None:
        """Free the places at hand; until that is done, nobody gets them."""
        left, layer.left = layer.left, 0
        if layer.block is not None and left:
            await self._threads.run_to_end(self._store.give_back, *key, layer.block.number, left)
