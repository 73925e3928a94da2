"""Groups of secure aggregation as they live in the memory of one worker.

Devices come one by one and are gathered; when enough are there, or their time is over, the group goes through its
stages. Who has sent what a stage awaits waits for the next one, but not for long: then it is told to ask again. A
message takes one way:

    GroupRoutes ─► MaskingGroups ─┬─► GroupServer   its bytes: keys, shares, masked votes; in memory alone
                                  └─► GroupStore    what became of the group; on record before anybody is told

Threads do the work, on one message of a group at a time; one repeated step alone moves groups on, because a stage is
complete or its time is over.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Final, Self

import numpy as np

from neologue.aggregation.group_outcome import GroupSum, NoSum
from neologue.aggregation.masked_aggregator import GatheringLayer, terms_for
from neologue.aggregation.masked_group import GroupServer, Stage
from neologue.errors import MaskingError
from neologue.masking.terms import GROUP_BYTES
from neologue.service.masked.group_answer import ANSWERS_BY_STANDING, ANSWERS_BY_STATE, GroupAnswer, GroupReply
from neologue.service.masked.group_store import GroupState, GroupStore, SerialState
from neologue.service.masked.live_group import LiveGroup, stage_of
from neologue.service.ops.concurrency import RepeatedStep, Threads, describe, ignore
from neologue.service.storage.report_store import ReportStore

_LOG: Final = logging.getLogger(__name__)

_LOOK: Final = 0.25
"""How often deadlines are looked at, in seconds."""
_THREADS: Final = 2
_STAGES_LONG: Final = 5
"""The stages that a group's time has room for: one more than it has, in which a sum is counted, although the database
may be away for a while."""
_ALARMS: Final = {
    "refused_sum": "campaign %s: the votes of a group were refused, as no honest devices have such a sum",
    "false_secrets": "campaign %s: the votes of a group are lost, as a device has shared false secrets",
}


class MaskingGroups:
    """The groups of all campaigns that this worker has opened, on its event loop."""

    def __init__(
        self,
        storage: ReportStore,
        *,
        leads: Callable[[bytes], bool],
        patience: float,
        clock: Callable[[], float] = time.time,
        on_end: Callable[[str], None] = lambda how: None,
        on_alarm: Callable[[bytes, str], None] = lambda campaign, kind: None,
        on_fault: Callable[[], None] = ignore,
    ) -> None:
        """`leads` says whether it is this worker that opens groups for a campaign, so that all devices meet in one.

        `patience` is how long a device waits for others before it is told to ask again; `on_end` is called with how
        each group ended, and `on_alarm` with the campaign if it ended as only hostile or broken devices make it.
        """
        self._storage, self._store = storage, GroupStore(storage.database)
        self._leads, self._patience = leads, patience
        self._clock, self._on_end, self._on_alarm = clock, on_end, on_alarm
        self._gathering: dict[tuple[bytes, int], LiveGroup] = {}
        self._opening: dict[tuple[bytes, int], asyncio.Lock] = {}
        self._live: dict[bytes, LiveGroup] = {}
        self._votes: dict[tuple[bytes, bytes], bytes] = {}
        """By campaign and serial, the group that has the votes of a device in its sum."""
        self._threads = Threads("group", _THREADS)
        self._advancing = RepeatedStep("moving masking groups on", self._advance_due, _LOOK, on_fault=on_fault)

    async def __aenter__(self) -> Self:
        await self._advancing.__aenter__()
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

    async def is_barred(self, layer: GatheringLayer, serial: bytes) -> bool:
        """Whether so many groups have missed a device that it is invited to no other."""
        standing = await self._threads.run_to_end(self._store.standing, layer.campaign, serial, layer.strikes)
        return standing is SerialState.BARRED

    async def join(self, layer: GatheringLayer, serial: bytes) -> bytes | GroupAnswer:
        """The terms of a group that a device may join, or why there is none."""
        standing = await self._threads.run_to_end(self._store.standing, layer.campaign, serial, layer.strikes)
        if (answer := ANSWERS_BY_STANDING[standing]) is not None:
            return answer
        if not self._leads(layer.campaign):
            return GroupAnswer.BUSY
        async with self._opening.setdefault(layer.key, asyncio.Lock()):
            live = self._gathering.get(layer.key)
            if live is None or live.complete:
                live = await self._open(layer)
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
            return await self._answer_from_record(campaign, serial, group_id)
        stage = stage_of(message)
        async with live.turn:
            if live.group.stage is Stage.ADVERTISING and live.complete and live.group.awaits(serial):
                return GroupAnswer.OUT  # the layer may have no room for more than it gathers
            if stage is not None and stage >= live.group.stage:
                await self._take(live, stage, serial, message)
            if live.due:
                self._advancing.hurry()
            moved, answered = live.moved, stage is not None and stage < live.group.stage
        if not answered:
            try:
                await asyncio.wait_for(moved.wait(), self._patience)
            except TimeoutError:
                return GroupAnswer.WAIT
        async with live.turn:
            return await self._answer(live, serial, stage)

    async def _take(self, live: LiveGroup, stage: Stage, serial: bytes, message: bytes) -> None:
        if stage > live.group.stage:
            raise MaskingError("the message comes before its turn")
        claim = (live.layer.campaign, serial)
        if stage is Stage.MASKING and self._votes.get(claim, live.group.terms.group_id) != live.group.terms.group_id:
            raise MaskingError("another group has votes of this device in its sum")
        if stage is Stage.MASKING:
            # It may have been in the rosters of two groups, of which the other one has come to its end.
            standing = await self._threads.run_to_end(self._store.standing, *claim, live.layer.strikes)
            if standing in (SerialState.SPENT, SerialState.VOID):
                raise MaskingError("a sum that was or may be known has votes of this device")
        await self._threads.run_to_end(live.group.receive, serial, message)
        if stage is Stage.MASKING:
            self._votes[claim] = live.group.terms.group_id

    async def _answer(self, live: LiveGroup, serial: bytes, stage: Stage | None) -> GroupReply:
        """The reply to a device of a group in its present stage."""
        if live.ended is not None:
            return self._answer_by_end(live.ended, live, serial)
        if stage is not None and stage < live.group.stage < Stage.OVER:
            message = await self._threads.run_to_end(live.group.message_for, serial)
            if message is not None:
                return message
            # Who may have masked votes for it is told by its end.
            return GroupAnswer.OUT if stage < Stage.MASKING else GroupAnswer.WAIT
        return GroupAnswer.WAIT

    def _answer_by_end(self, ended: GroupState, live: LiveGroup, serial: bytes) -> GroupReply:
        answer = ANSWERS_BY_STATE[ended]
        # What is summed counts its survivors alone.
        return GroupAnswer.CLOSED if answer is GroupAnswer.FINAL and serial not in live.counted else answer

    async def _answer_from_record(self, campaign: bytes, serial: bytes, group_id: bytes) -> GroupReply:
        """The reply for a group that is not in this worker's memory, from the database."""
        if await self._threads.run_to_end(self._storage.is_spent, campaign, serial):
            return GroupAnswer.FINAL
        found = await self._threads.run_to_end(self._store.look_up, campaign, group_id, self._clock())
        if found is None:
            # It was never formed, or another worker is about to.
            return GroupAnswer.OUT if self._leads(campaign) else GroupAnswer.BUSY
        # What is summed has not counted this device, or it would be spent.
        return GroupAnswer.CLOSED if found is GroupState.SUMMED else ANSWERS_BY_STATE[found]

    # How groups go on

    async def _open(self, layer: GatheringLayer) -> LiveGroup | None:
        """A new group that gathers devices, if the layer has room for one."""
        if not self._advancing.running:
            return None
        room = await self._threads.run_to_end(self._store.room, layer.campaign, layer.layer_index, self._clock())
        # Those that have come and are yet to be written down.
        complete = sum(other.size for other in self._live.values() if other.layer.key == layer.key and not other.formed)
        size = min(layer.rules.size, room.free - complete)
        if size < layer.rules.fewest:
            return None
        rules = layer.rules
        terms = terms_for(layer.asks, os.urandom(GROUP_BYTES), rules.smallest, rules.dropout, rules.corrupt)
        live = LiveGroup(layer, GroupServer(terms, layer.issuers), size, time.monotonic() + layer.gather_seconds)
        self._live[terms.group_id] = self._gathering[layer.key] = live
        return live

    def close(self, campaign: bytes, layer_index: int) -> None:
        """Gather no more devices for a layer that was closed: those who wait are told when they ask again."""
        self._opening.pop((campaign, layer_index), None)
        live = self._gathering.get((campaign, layer_index))
        if live is not None:
            live.deadline = 0.0
            self._advancing.hurry()

    async def stop(self) -> None:
        """Bring all groups to their end, which is on record if it can be: where shares are missing, to nothing."""
        await self._advancing.stop()
        for live in list(self._live.values()):
            async with live.turn:
                try:
                    if live.group.stage is Stage.UNMASKING:
                        # With the shares at hand, for nobody can tell any more that they were too few.
                        await self._threads.run_to_end(live.group.advance)
                    live.group.abandon("the service stops")
                    await self._settle(live)
                except Exception as error:  # whatever it is: the other groups are brought to their ends
                    _LOG.warning("what became of a group could not be written: %s", describe(error))
        await self._threads.stop()

    async def _advance_due(self) -> None:
        """Move groups on, each that is complete or whose time is over."""
        due = [live for live in self._live.values() if live.due]
        failed = [error for error in await asyncio.gather(*map(self._advance, due)) if error]
        if failed:
            raise ExceptionGroup("some groups", failed)

    async def _advance(self, live: LiveGroup) -> Exception | None:
        """Move a group on by one stage, or to its end; what went wrong, if anything did."""
        async with live.turn:
            try:
                await self._strike(live)
                if live.group.stage is Stage.ADVERTISING:
                    await self._form(live)
                elif live.group.stage is Stage.CONFIRMING:
                    await self._begin_unmasking(live)
                elif live.group.stage is not Stage.OVER:
                    await self._threads.run_to_end(live.group.advance)
                if live.group.stage is Stage.OVER:
                    await self._settle(live)
            except Exception as error:  # whatever it is: the groups of others go on
                return error
            live.deadline = time.monotonic() + live.layer.stage_seconds
            live.moved.set()
            live.moved = asyncio.Event()
        return None

    async def _form(self, live: LiveGroup) -> None:
        """Form the group of the devices that have come, if they are enough and the layer has room; else abandon it."""
        layer, group = live.layer, live.group
        if self._gathering.get(layer.key) is live:
            del self._gathering[layer.key]
        if not layer.rules.survives(group.devices):
            group.abandon("too few devices have come")
            return
        now = self._clock()
        until = now + _STAGES_LONG * layer.stage_seconds
        form = partial(
            self._store.form,
            layer.campaign,
            layer.layer_index,
            group.terms,
            group.devices,
            now,
            until,
            most_groups=layer.rules.groups,
        )
        live.formed = await self._threads.run_to_end(form)
        if live.formed:
            await self._threads.run_to_end(group.advance)
        else:
            group.abandon("the layer has no room")

    async def _strike(self, live: LiveGroup) -> None:
        """Record whom the group has waited for in vain in this stage."""
        missed = live.group.missing - live.struck
        if missed:
            await self._threads.run_to_end(self._store.strike, live.layer.campaign, missed)
            live.struck |= missed

    async def _begin_unmasking(self, live: LiveGroup) -> None:
        """Ask for shares, once it is on record that they are asked for."""
        group = live.group
        ask = partial(self._store.ask_for_shares, group.terms.group_id, group.in_sum, self._clock())
        if await self._threads.run_to_end(ask):
            await self._threads.run_to_end(group.advance)
        else:
            group.abandon("its time is over, or a device of it has votes in another sum")

    async def _settle(self, live: LiveGroup) -> None:
        """Record how a group ended, and drop it."""
        group_id, outcome = live.group.terms.group_id, live.group.outcome
        if not live.formed:
            ended = GroupState.UNFORMED
        elif isinstance(outcome, GroupSum):
            ended = await self._threads.run_to_end(self._count, live, outcome)
        else:
            assert isinstance(outcome, NoSum)
            ended = await self._threads.run_to_end(self._store.give_up, group_id, outcome.false)
            if outcome.false:
                self._alarm(live, "false_secrets")
        if ended is GroupState.REFUSED:
            self._alarm(live, "refused_sum")
        live.ended = ended
        live.counted = outcome.counted if isinstance(outcome, GroupSum) else frozenset()
        # A sum of a layer is long, and nobody needs it any more.
        live.group.outcome = None
        del self._live[group_id]
        self._votes = {claim: where for claim, where in self._votes.items() if where != group_id}
        self._on_end(ended)
        live.moved.set()

    def _count(self, live: LiveGroup, summed: GroupSum) -> GroupState:
        """Count a sum, unless it can't be one of honest votes; then it is erased."""
        group_id = live.group.terms.group_id
        limits = live.layer.limits(summed.devices)
        if int(summed.votes.max()) > limits.candidate or int(summed.votes.sum(dtype=np.int64)) > limits.total:
            refused = self._store.refuse(group_id)
            summed.votes.fill(0)
            return refused
        return GroupState.SUMMED if self._store.count(group_id, summed.votes, summed.counted) else GroupState.LOST

    def _alarm(self, live: LiveGroup, kind: str) -> None:
        """Tell operators that a group ended as no honest devices end it."""
        _LOG.warning(_ALARMS[kind], live.layer.campaign.hex())
        self._on_alarm(live.layer.campaign, kind)
