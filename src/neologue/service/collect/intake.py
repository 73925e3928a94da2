"""The intake: reports arrive one by one and are counted many at a time.

A report waits in memory, apart from all others, until enough new ones are there to be written as one sum. Its sender
waits for that, but not for long: then it is told to ask again. Nothing is confirmed before it is durable, nothing of a
single report leaves the memory, and nothing grows without bound: when too much waits, the intake is busy.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from types import TracebackType
from typing import Final, Self

from neologue.aggregation.ephemeral import IntakeLayer, Pending
from neologue.aggregation.kernels import Votes
from neologue.aggregation.made_up import made_up_votes
from neologue.errors import RepeatedError, StorageError
from neologue.service.ops.concurrency import RepeatedStep, Threads, ignore
from neologue.service.storage.report_store import BatchOutcome, ReportStore

_SLACK: Final = 4.0
"""After a batch, no other is written for so many times as long as it took: large layers are written less often. Half
the patience of senders is the limit, for whoever sends in such a pause is to get an answer rather than to ask again."""
_LOOKS: Final = 8
"""How many times a sender's patience is looked at while it lasts."""


class Receipt(StrEnum):
    """The answer to the sender of a report."""

    FINAL = "final"
    """It is counted and durable."""
    RECEIVED = "received"
    """It is not durable yet: the same bytes are to be sent again later."""
    CLOSED = "closed"
    """It was not counted and never will be."""
    BUSY = "busy"
    """It was not taken: the same bytes are to be sent again later."""


@dataclass(frozen=True)
class IntakeLimits:
    """How long the intake waits, and how much it holds."""

    patience: float = 1.5
    """For how many seconds a sender waits before it is told to ask again."""
    interval: float = 0.1
    """For how many seconds reports are gathered at least."""
    most_reports: int = 5_000
    """How many reports are written at once, at most."""
    most_bytes: int = 256 << 20
    """How much memory the reports that wait may take together, about."""


@dataclass
class _Queue:
    """What waits for one layer."""

    minimum: int
    layer: IntakeLayer
    ended: bool = False
    """Whether that time is over: what is too little for a batch is filled up."""
    pending: Pending = field(default_factory=Pending)
    blocks: dict[bytes, int] = field(default_factory=dict)
    """By serial the block in which a place is kept for a report; 0 if none is."""
    senders: dict[bytes, list["asyncio.Future[Receipt]"]] = field(default_factory=dict)
    news: bool = False
    """Whether anything was sent since the last batch."""

    def add_sender(self, serial: bytes, sender: "asyncio.Future[Receipt]") -> None:
        """Someone more waits for what becomes of a report; those who gave up are forgotten."""
        others = self.senders.get(serial)
        self.senders[serial] = [*(other for other in others if not other.done()), sender] if others else [sender]

    def answer(self, serials: Iterable[bytes], receipt: Receipt) -> None:
        """Tell whoever still waits, and forget their reports."""
        for serial in serials:
            self.pending.drop(serial)
            self.blocks.pop(serial, None)
            for sender in self.senders.pop(serial, ()):
                if not sender.done():
                    sender.set_result(receipt)


class Intake:
    """Takes the reports for all layers that one worker serves, on its event loop."""

    def __init__(
        self,
        storage: ReportStore,
        limits: IntakeLimits | None = None,
        on_fault: Callable[[], None] = ignore,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`on_fault` is called when a batch can't be written for any reason but the database."""
        self._storage, self._clock = storage, clock
        self._limits = limits or IntakeLimits()
        self._queues: dict[tuple[bytes, int], _Queue] = {}
        self._patient: deque[tuple[float, asyncio.Future[Receipt]]] = deque()
        self._threads = Threads("commit", 1)
        patience = self._limits.patience
        self._writing = RepeatedStep(
            "writing batches of reports",
            self._write_batches,
            self._limits.interval,
            on_request=True,
            slack=_SLACK,
            longest_pause=patience / 2,
            last=True,
            on_fault=on_fault,
        )
        self._reminding = RepeatedStep(
            "telling senders to ask again", self._end_patience, patience / _LOOKS, on_fault=on_fault
        )
        self._running = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._running.enter_async_context(self._writing)
        await self._running.enter_async_context(self._reminding)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take nothing more, write what can be written and let the rest go: it was not confirmed, and is sent again."""
        await self._running.aclose()
        for queue in self._queues.values():
            queue.answer(list(queue.senders), Receipt.RECEIVED)
        self._queues.clear()
        await self._threads.stop()

    @property
    def waiting(self) -> int:
        """How many reports wait."""
        return sum(len(queue.pending) for queue in self._queues.values())

    @property
    def held_bytes(self) -> int:
        """About how much memory they take."""
        return sum(queue.pending.held_bytes for queue in self._queues.values())

    def waiting_blocks(self, campaign: bytes, layer_index: int) -> Counter[int]:
        """How many reports of a layer wait, by the block in which places are kept for them."""
        queue = self._queues.get((campaign, layer_index))
        return Counter(queue.blocks.values() if queue else ())

    def is_waiting(self, campaign: bytes, layer_index: int, serial: bytes) -> bool:
        """Whether the report with this serial waits for a layer."""
        queue = self._queues.get((campaign, layer_index))
        return queue is not None and serial in queue.pending

    def is_counted(self, campaign: bytes, serial: bytes) -> bool:
        """Whether the report with this serial is counted, by any worker; it waits for the database."""
        return self._storage.is_spent(campaign, serial)

    async def receive(
        self, campaign: bytes, layer: IntakeLayer, serial: bytes, report: bytes, block: int = 0
    ) -> Receipt:
        """Take a report, and wait for the answer to its sender; a ReportError if it is not one of this layer.

        `block` is the number of the block in which a place is kept for it, or 0.
        """
        queue = self._take(campaign, layer, serial, report, block)
        if queue is None:
            return Receipt.BUSY
        sender: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        queue.add_sender(serial, sender)
        self._patient.append((time.monotonic() + self._limits.patience, sender))
        return await sender

    def keep(self, campaign: bytes, layer: IntakeLayer, serial: bytes, report: bytes) -> Receipt:
        """Take a report like `receive`, and tell its sender nothing of what becomes of it."""
        queue = self._take(campaign, layer, serial, report, 0)
        return Receipt.BUSY if queue is None else Receipt.RECEIVED

    def _take(self, campaign: bytes, layer: IntakeLayer, serial: bytes, report: bytes, block: int) -> _Queue | None:
        """Let a report wait for others; None if too much waits already."""
        if not self._writing.running:
            return None
        queue = self._queues.get((campaign, layer.layer_index))
        # Of two with the same serial the first one counts, whatever the second one says.
        if queue is None or serial not in queue.pending:
            if self.held_bytes >= self._limits.most_bytes:
                return None
            votes = layer.decoder.votes(report)
            if layer.sent_before and layer.sent_before.by_another(serial, report):
                raise RepeatedError("another device has sent the same report, which chance does not do")
            if queue is None:
                queue = self._queues[campaign, layer.layer_index] = _Queue(layer.minimum, layer)
            queue.pending.add(serial, votes)
            queue.blocks[serial] = block
            if len(queue.pending) >= self._largest_batch(queue):
                self._writing.hurry()
        queue.news = True
        self._writing.request()
        return queue

    def close(self, campaign: bytes, layer_index: int) -> None:
        """Look at once at what waits for a layer, because it was closed: what is not counted is dropped."""
        queue = self._queues.get((campaign, layer_index))
        if queue is not None:
            queue.news = True
            self._writing.hurry()

    def end(self, campaign: bytes, layer_index: int) -> None:
        """Write all that waits for a planned layer, however little it is: nobody can send anything more to it."""
        queue = self._queues.get((campaign, layer_index))
        if queue is not None and queue.layer.planned:
            queue.ended = queue.news = True
            self._writing.hurry()

    async def _end_patience(self) -> None:
        """Tell those who have waited long enough to ask again; their reports stay."""
        now = time.monotonic()
        while self._patient and self._patient[0][0] <= now:
            _, sender = self._patient.popleft()
            if not sender.done():
                sender.set_result(Receipt.RECEIVED)

    async def _write_batches(self) -> None:
        """Write what is new in each layer, as far as there is enough of it."""
        failed: list[Exception] = []
        for (campaign, layer_index), queue in list(self._queues.items()):
            try:
                await self._write(campaign, layer_index, queue)
            except StorageError:
                queue.news = True
                raise  # the database is away for the other layers too
            except Exception as error:
                queue.news = True
                failed.append(error)
        if failed:
            raise ExceptionGroup("some batches", failed)

    async def _write(self, campaign: bytes, layer_index: int, queue: _Queue) -> None:
        """Write what waits for a layer, if it is enough; in any case, tell those who turn out to be counted already."""
        while queue.news:
            queue.news = False
            batch = queue.pending.first(self._largest_batch(queue))
            outcome = await self._threads.run(self._commit, campaign, layer_index, queue, batch)
            queue.answer(outcome.final, Receipt.FINAL)
            if outcome.over:
                queue.answer(batch.keys() - outcome.final, Receipt.CLOSED)
            if len(batch) < self._largest_batch(queue):
                break
            queue.news = True  # there may be more behind them
        if queue.news:
            self._writing.request()
        if not queue.pending:
            del self._queues[campaign, layer_index]

    def _commit(self, campaign: bytes, layer_index: int, queue: _Queue, batch: dict[bytes, Votes]) -> BatchOutcome:
        if queue.layer.planned:
            make_up = partial(made_up_votes, queue.layer.asks) if queue.ended else None
            return self._storage.commit_planned(campaign, layer_index, batch, queue.minimum, make_up)
        blocks = {serial: queue.blocks[serial] for serial in batch}
        return self._storage.commit_batch(campaign, layer_index, batch, queue.minimum, blocks, self._clock())

    def _largest_batch(self, queue: _Queue) -> int:
        """How many reports are written at once, at most; they could always be enough."""
        return max(self._limits.most_reports, queue.minimum)
