"""Groups of secure aggregation as they live in the memory of one worker: gathered, moved on, and told of.

Devices come one by one and are gathered; when enough are there, or their time is over, the group goes through its
stages. Who has sent what a stage awaits waits for the next one, but not for long: then it is told to ask again. The
work is done by threads, on one message of a group at a time; one task alone moves groups on, because a stage is
complete or its time is over. What becomes of a group is on record (`secure_store`) before anybody is told.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, partial
from types import TracebackType
from typing import Final, Self, TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.aggregation.masked_group import GroupServer, GroupSum, NoSum, Stage, terms_for
from neologue.errors import MaskingError, StorageError
from neologue.masking.messages import DEAL_BYTES, Advertisement, MaskedVector, Sharing, Unmasking
from neologue.masking.rules import GroupRules
from neologue.masking.terms import GROUP_BYTES
from neologue.masking.void_group import sign_void_statement
from neologue.masking.vote_packing import packed_bytes
from neologue.protocol.report import Asks
from neologue.service.masked.group_store import LOST, NOTHING, SUMMED, GroupStore
from neologue.service.storage.report_store import ReportStore

_LOG: Final = logging.getLogger(__name__)

_LOOK: Final = 0.25
"""How often deadlines are looked at, in seconds."""
_STAGES_LONG: Final = 4
"""The stages that a group's time has room for: one more than it has, in which a sum is counted, although the database
may be away for a while."""
MOST_BESIDES: Final = 256
"""The most bytes of a message beside its votes or shares."""
_STAGES: Final = {
    Advertisement.number: Stage.ADVERTISING,
    Sharing.number: Stage.SHARING,
    MaskedVector.number: Stage.MASKING,
    Unmasking.number: Stage.UNMASKING,
}
"""The stage that awaits each message of a device."""

T = TypeVar("T")


class GroupAnswer(StrEnum):
    """What a device is told that has nothing to answer."""

    WAIT = "wait"
    """The others are waited for: the same is to be sent again."""
    OUT = "out"
    """The group goes on without it, or was never formed: it may join another, unless its votes are masked."""
    FINAL = "final"
    """Its votes are in a sum that is counted and durable."""
    CLOSED = "closed"
    """Its votes are not counted, and never will be."""
    BUSY = "busy"
    """There is no group for it now, or another worker has it."""


@dataclass(frozen=True)
class VoidStatement:
    """That a group yielded nothing, signed."""

    signature: bytes


GroupReply = bytes | GroupAnswer | VoidStatement
"""What a device is told: the next message of its group, a word, or a statement."""


@dataclass(frozen=True, eq=False)
class GatheringLayer:
    """A layer that gathers groups."""

    campaign: bytes
    layer_index: int
    asks: Asks
    rules: GroupRules
    gather_seconds: float
    stage_seconds: float

    @property
    def key(self) -> tuple[bytes, int]:
        """By what it is known."""
        return self.campaign, self.layer_index

    @cached_property
    def longest(self) -> int:
        """The most bytes that a message of its devices has."""
        channel = self.asks.randomizer.channel
        bits = (channel.contributions * self.rules.size).bit_length()
        vector = packed_bytes(self.asks.randomizer.candidates, bits)
        return MOST_BESIDES + max(vector, self.rules.size * DEAL_BYTES)


@dataclass(eq=False)
class _Live:
    """A group in the memory of this worker."""

    layer: GatheringLayer
    group: GroupServer
    size: int
    """How many devices it waits for."""
    deadline: float
    formed: bool = False
    """Whether it is on record."""
    ended: str | None = None
    """What is on record of its end; before it is formed, that there will be none."""
    counted: frozenset[bytes] = frozenset()
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    """Set, and replaced, when it goes on to another stage or to its end."""

    @property
    def complete(self) -> bool:
        """Whether all have come that it gathers."""
        return self.group.devices >= self.size

    @property
    def due(self) -> bool:
        """Whether it is to be moved on."""
        if self.group.stage is Stage.ADVERTISING:
            done = self.complete
        else:
            done = self.group.ready or self.group.stage is Stage.OVER
        return done or time.monotonic() >= self.deadline


_UNFORMED: Final = "unformed"


class MaskingGroups:
    """The groups of all campaigns that this worker has opened, on one event loop."""

    def __init__(
        self,
        storage: ReportStore,
        operator: Ed25519PrivateKey,
        *,
        leads: Callable[[bytes], bool],
        patience: float,
        threads: int = 2,
        clock: Callable[[], float] = time.time,
        ended: Callable[[str], None] = lambda how: None,
    ) -> None:
        """`leads` says whether it is this worker that opens groups for a campaign, so that all devices meet in one.

        `patience` is how long a device waits for others before it is told to ask again; `ended` hears each end.
        """
        self._storage, self._store = storage, GroupStore(storage.database)
        self._operator, self._leads, self._patience = operator, leads, patience
        self._clock, self._heard = clock, ended
        self._gathering: dict[tuple[bytes, int], _Live] = {}
        self._opening: dict[tuple[bytes, int], asyncio.Lock] = {}
        self._live: dict[bytes, _Live] = {}
        self._votes: dict[tuple[bytes, bytes], bytes] = {}
        """By campaign and serial, the group that has the votes of a device in its sum."""
        self._news = asyncio.Event()
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="group")
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def devices(self) -> int:
        """How many devices are in groups."""
        return sum(live.group.devices for live in self._live.values())

    # What devices ask

    async def join(self, layer: GatheringLayer, serial: bytes) -> bytes | GroupAnswer:
        """The terms of a group that a device may join, or why there is none."""
        if await self._in_thread(self._storage.spent, layer.campaign, serial):
            return GroupAnswer.FINAL
        if not self._leads(layer.campaign):
            return GroupAnswer.BUSY
        async with self._opening.setdefault(layer.key, asyncio.Lock()):
            live = self._gathering.get(layer.key)
            if live is None or live.complete:
                live = await self._opened(layer)
        if live is None:
            return GroupAnswer.BUSY
        async with live.turn:
            # One that has lost its keys is waited for in vain, and joins the next.
            fresh = live.group.stage is Stage.ADVERTISING and live.group.awaits(serial)
        return bytes(live.group.terms) if fresh else GroupAnswer.BUSY

    async def receive(self, campaign: bytes, serial: bytes, group_id: bytes, message: bytes) -> GroupReply:
        """What to tell a device that has sent a message, or nothing to ask how its group fares; or a MaskingError."""
        live = self._live.get(group_id)
        if live is None or live.layer.campaign != campaign:
            return await self._on_record(campaign, serial, group_id)
        stage = _stage_of(message)
        async with live.turn:
            if live.group.stage is Stage.ADVERTISING and live.complete and live.group.awaits(serial):
                return GroupAnswer.OUT  # the layer may have no room for more than it gathers
            if stage is not None and stage >= live.group.stage:
                await self._taken(live, stage, serial, message)
            if live.due:
                self._news.set()
            moved, answered = live.moved, stage is not None and stage < live.group.stage
        if not answered:
            try:
                await asyncio.wait_for(moved.wait(), self._patience)
            except TimeoutError:
                return GroupAnswer.WAIT
        async with live.turn:
            return await self._told(live, serial, stage)

    async def _taken(self, live: _Live, stage: Stage, serial: bytes, message: bytes) -> None:
        if stage > live.group.stage:
            raise MaskingError("the message comes before its turn")
        claim = (live.layer.campaign, serial)
        if stage is Stage.MASKING and self._votes.get(claim, live.group.terms.group_id) != live.group.terms.group_id:
            raise MaskingError("another group has votes of this device in its sum")
        await self._in_thread(live.group.receive, serial, message)
        if stage is Stage.MASKING:
            self._votes[claim] = live.group.terms.group_id

    async def _told(self, live: _Live, serial: bytes, stage: Stage | None) -> GroupReply:
        """What a device is told by a group as it stands now."""
        if live.ended is not None:
            return self._said(live.ended, live, serial)
        if stage is not None and stage < live.group.stage < Stage.OVER:
            message = await self._in_thread(live.group.message_for, serial)
            if message is not None:
                return message
            # Who may have masked votes for it is told by its end.
            return GroupAnswer.OUT if stage < Stage.MASKING else GroupAnswer.WAIT
        return GroupAnswer.WAIT

    def _said(self, ended: str, live: _Live, serial: bytes) -> GroupReply:
        match ended:
            case "summed":
                return GroupAnswer.FINAL if serial in live.counted else GroupAnswer.CLOSED
            case "nothing":
                return VoidStatement(sign_void_statement(live.group.terms, self._operator))
            case "lost":
                return GroupAnswer.CLOSED
        return GroupAnswer.OUT

    async def _on_record(self, campaign: bytes, serial: bytes, group_id: bytes) -> GroupReply:
        """What the database says of a group that is not in this worker's memory."""
        if await self._in_thread(self._storage.spent, campaign, serial):
            return GroupAnswer.FINAL
        found = await self._in_thread(self._store.found, campaign, group_id, self._clock())
        if found is None:
            # It was never formed, or another worker is about to.
            return GroupAnswer.OUT if self._leads(campaign) else GroupAnswer.BUSY
        state, terms = found
        if state == NOTHING:
            return VoidStatement(sign_void_statement(terms, self._operator))
        # What is summed has not counted this device, or it would be spent.
        return GroupAnswer.CLOSED if state in (SUMMED, LOST) else GroupAnswer.BUSY

    # How groups go on

    async def _opened(self, layer: GatheringLayer) -> _Live | None:
        """A new group that gathers devices, if the layer has room for one."""
        if self._task is None or self._task.done():
            return None
        room = await self._in_thread(self._store.room, layer.campaign, layer.layer_index, self._clock())
        # Those that have come and are yet to be written down.
        complete = sum(other.size for other in self._live.values() if other.layer.key == layer.key and not other.formed)
        size = min(layer.rules.size, room.free - complete)
        if size < layer.rules.fewest:
            return None
        rules = layer.rules
        terms = terms_for(layer.asks, os.urandom(GROUP_BYTES), rules.smallest, rules.dropout, rules.corruption)
        live = _Live(layer, GroupServer(terms), size, time.monotonic() + layer.gather_seconds)
        self._live[terms.group_id] = self._gathering[layer.key] = live
        return live

    def close(self, campaign: bytes, layer_index: int) -> None:
        """Gather no more devices for a layer that was closed: those who wait are told when they ask again."""
        self._opening.pop((campaign, layer_index), None)
        live = self._gathering.get((campaign, layer_index))
        if live is not None:
            live.deadline = 0.0
            self._news.set()

    async def stop(self) -> None:
        """Bring all groups to their end, which is on record if it can be: where shares are missing, to nothing."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for live in list(self._live.values()):
            async with live.turn:
                try:
                    if live.group.stage is Stage.UNMASKING:
                        # With the shares at hand, for nobody can tell any more that they were too few.
                        await self._in_thread(live.group.advance)
                    live.group.abandon("the service stops")
                    await self._settled(live)
                except Exception as error:  # whatever it is: the other groups are brought to their ends
                    _LOG.warning("what became of a group could not be written: %s", _reason(error))
        self._threads.shutdown()

    async def _watch(self) -> None:
        """Move groups on, each when it is complete or its time is over."""
        while True:
            self._news.clear()
            due = [live for live in self._live.values() if live.due]
            failed = [error for error in await asyncio.gather(*map(self._moved_on, due)) if error]
            for error in failed:
                _LOG.error("a group could not be moved on, and will be tried again: %s", _reason(error))
            try:
                # What has failed is tried again later, not at once.
                await asyncio.wait_for(asyncio.sleep(_LOOK) if failed else self._news.wait(), _LOOK)
            except TimeoutError:
                continue

    async def _moved_on(self, live: _Live) -> Exception | None:
        """Move a group on by one stage, or to its end; what went wrong, if anything did."""
        async with live.turn:
            try:
                if live.group.stage is Stage.ADVERTISING:
                    await self._formed(live)
                elif live.group.stage is Stage.MASKING:
                    await self._begin_unmasking(live)
                elif live.group.stage is not Stage.OVER:
                    await self._in_thread(live.group.advance)
                if live.group.stage is Stage.OVER:
                    await self._settled(live)
            except Exception as error:  # whatever it is: the groups of others go on
                return error
            live.deadline = time.monotonic() + live.layer.stage_seconds
            live.moved.set()
            live.moved = asyncio.Event()
        return None

    async def _formed(self, live: _Live) -> None:
        """Go on with who has come, if they are enough and the layer has room for them; else nothing was begun."""
        layer, group = live.layer, live.group
        if self._gathering.get(layer.key) is live:
            del self._gathering[layer.key]
        if not layer.rules.survives(group.devices):
            group.abandon("too few devices have come")
            return
        now = self._clock()
        until = now + _STAGES_LONG * layer.stage_seconds
        form = partial(self._store.form, layer.campaign, layer.layer_index, group.terms, group.devices, now, until)
        live.formed = await self._in_thread(form)
        if live.formed:
            await self._in_thread(group.advance)
        else:
            group.abandon("the layer has no room")

    async def _begin_unmasking(self, live: _Live) -> None:
        """Ask for shares, once it is on record that they are asked for."""
        if await self._in_thread(self._store.ask_for_shares, live.group.terms.group_id, self._clock()):
            await self._in_thread(live.group.advance)
        else:
            live.group.abandon("its time is over")

    async def _settled(self, live: _Live) -> None:
        """Write down what became of a group, and let it go."""
        group_id, outcome = live.group.terms.group_id, live.group.outcome
        if not live.formed:
            ended = _UNFORMED
        elif isinstance(outcome, GroupSum):
            ended = await self._in_thread(self._counted, live, outcome)
        else:
            assert isinstance(outcome, NoSum)
            ended = await self._in_thread(partial(self._store.give_up, group_id, certain=True))
        live.ended = ended
        live.counted = outcome.counted if isinstance(outcome, GroupSum) else frozenset()
        # A sum of a layer is long, and nobody needs it any more.
        live.group.outcome = None
        del self._live[group_id]
        self._votes = {claim: where for claim, where in self._votes.items() if where != group_id}
        self._heard(ended)
        live.moved.set()

    def _counted(self, live: _Live, summed: GroupSum) -> str:
        """Count a sum, unless it can't be one of honest votes."""
        terms = live.group.terms
        if int(summed.votes.max()) > summed.devices * terms.votes:
            _LOG.warning("a device of a group has voted more often than it may: all its votes are dropped")
            return self._store.give_up(terms.group_id, certain=False)
        return SUMMED if self._store.count(terms.group_id, summed.votes, summed.counted) else LOST

    async def _in_thread(self, work: Callable[..., T], *arguments: object) -> T:
        """Do something in a thread, and wait for it to the end: whoever has the turn of a group keeps it so long."""
        done = asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            await asyncio.wait([done])
            done.exception()  # nobody is left to hear of it
            raise


def _reason(error: Exception) -> str:
    """What a log may say of an error: of our own we know that they quote nothing."""
    return str(error) if isinstance(error, StorageError) else type(error).__name__


def _stage_of(message: bytes) -> Stage | None:
    """The stage that awaits a message; None for no message at all."""
    if not message:
        return None
    stage = _STAGES.get(message[1]) if len(message) > 1 else None
    if stage is None:
        raise MaskingError("the message is none that a device sends")
    return stage
