"""The intake: reports come in one by one, and are counted many at a time.

A report waits in memory, apart from all others, until enough new ones are there to be written as one sum; who sent it
waits for that, but not for long: then it is told to ask again. Nothing is confirmed before it is durable, nothing of a
single report leaves the memory, and nothing grows without bound: when too much waits, the intake is busy.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from types import TracebackType
from typing import Final, Self

from neologue.aggregation.decoding import Decoder
from neologue.aggregation.ephemeral import Pending
from neologue.errors import StorageError
from neologue.protocol.report import Asks
from neologue.service.storage.report_store import ReportStore

_LOG: Final = logging.getLogger(__name__)

_SLACK: Final = 4
"""After a batch, no other is written for so many times as long as it took: large layers are written less often."""
_SHORTEST_RETRY: Final = 0.1
_LONGEST_RETRY: Final = 5.0


class Receipt(StrEnum):
    """What the sender of a report is told."""

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


@dataclass(frozen=True, eq=False)
class IntakeLayer:
    """A layer as the intake needs it."""

    layer_index: int
    asks: Asks
    minimum: int
    """The fewest reports that are written together."""

    @cached_property
    def decoder(self) -> Decoder:
        """Reads its reports."""
        return Decoder(self.asks)


@dataclass
class _Queue:
    """What waits for one layer."""

    minimum: int
    pending: Pending = field(default_factory=Pending)
    senders: dict[bytes, list["asyncio.Future[Receipt]"]] = field(default_factory=dict)
    news: bool = False
    """Whether anything was sent since the last batch."""

    def add_sender(self, serial: bytes, sender: "asyncio.Future[Receipt]") -> None:
        """Someone more waits for what becomes of a report; those who gave up are forgotten."""
        others = self.senders.get(serial)
        self.senders[serial] = [*(other for other in others if not other.done()), sender] if others else [sender]
        self.news = True

    def answer(self, serials: Iterable[bytes], receipt: Receipt) -> None:
        """Tell whoever still waits, and forget their reports."""
        for serial in serials:
            self.pending.drop(serial)
            for sender in self.senders.pop(serial, ()):
                if not sender.done():
                    sender.set_result(receipt)


class Intake:
    """Takes the reports for all layers that one process serves, on one event loop."""

    def __init__(self, storage: ReportStore, limits: IntakeLimits | None = None) -> None:
        self._storage = storage
        self._limits = limits or IntakeLimits()
        self._queues: dict[tuple[bytes, int], _Queue] = {}
        self._patient: deque[tuple[float, asyncio.Future[Receipt]]] = deque()
        self._failing = False
        self._news = asyncio.Event()
        self._hurry = asyncio.Event()
        self._stopping = asyncio.Event()
        # A thread of its own: batches of one process never wait for each other's locks.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="commit")
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self._tasks = [asyncio.create_task(self._work()), asyncio.create_task(self._watch())]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def waiting(self) -> int:
        """How many reports wait."""
        return sum(len(queue.pending) for queue in self._queues.values())

    @property
    def held_bytes(self) -> int:
        """About how much memory they take."""
        return sum(queue.pending.held_bytes for queue in self._queues.values())

    @property
    def failing(self) -> bool:
        """Whether the last batch could not be written, so that nothing is confirmed at the moment."""
        return self._failing

    async def receive(self, campaign: bytes, layer: IntakeLayer, serial: bytes, report: bytes) -> Receipt:
        """What to tell the sender of a report; a ReportError if it is none of this layer."""
        if self._stopping.is_set():
            return Receipt.BUSY
        queue = self._queues.get((campaign, layer.layer_index))
        # Of two with the same serial the first one counts, whatever the second one says.
        if queue is None or serial not in queue.pending:
            if self.held_bytes >= self._limits.most_bytes:
                return Receipt.BUSY
            votes = layer.decoder.votes(report)
            if queue is None:
                queue = self._queues[campaign, layer.layer_index] = _Queue(layer.minimum)
            queue.pending.add(serial, votes)
            if len(queue.pending) >= self._largest(queue):
                self._hurry.set()
        sender: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        queue.add_sender(serial, sender)
        self._patient.append((time.monotonic() + self._limits.patience, sender))
        self._news.set()
        return await sender

    def close(self, campaign: bytes, layer_index: int) -> None:
        """Look at once at what waits for a layer, because it was closed: what is not counted is dropped."""
        queue = self._queues.get((campaign, layer_index))
        if queue is not None:
            queue.news = True
            self._news.set()
            self._hurry.set()

    async def stop(self) -> None:
        """Take nothing more, write what can be written and let the rest go: it was not confirmed, and is sent again."""
        for event in (self._stopping, self._news, self._hurry):
            event.set()
        if self._tasks:
            work, watch = self._tasks
            watch.cancel()
            await work
        for queue in self._queues.values():
            queue.answer(list(queue.senders), Receipt.RECEIVED)
        self._queues.clear()
        self._thread.shutdown()

    async def _watch(self) -> None:
        """Tell those who have waited long enough to ask again; their reports stay."""
        while True:
            now = time.monotonic()
            while self._patient and self._patient[0][0] <= now:
                _, sender = self._patient.popleft()
                if not sender.done():
                    sender.set_result(Receipt.RECEIVED)
            await asyncio.sleep(self._limits.patience / 8)

    async def _work(self) -> None:
        """Write batches, one after the other; when the intake stops, once more."""
        pause = retry = 0.0
        while True:
            await self._news.wait()
            if retry:
                await _passed(retry, unless=self._stopping)
            else:
                await _passed(max(pause, self._limits.interval), unless=self._hurry)
            last = self._stopping.is_set()
            self._news.clear()
            self._hurry.clear()
            began = time.monotonic()
            self._failing = not await self._written()
            pause = _SLACK * (time.monotonic() - began)
            retry = min(_LONGEST_RETRY, 2 * retry or _SHORTEST_RETRY) if self._failing else 0.0
            if last:
                return

    async def _written(self) -> bool:
        """Whether everything new that there is enough of could be written."""
        for (campaign, layer_index), queue in list(self._queues.items()):
            try:
                await self._write(campaign, layer_index, queue)
            except Exception as error:  # whatever it is: senders must not wait for somebody who has gone
                # Of our own errors we know that they quote nothing.
                told = str(error) if isinstance(error, StorageError) else type(error).__name__
                _LOG.error("a batch could not be written, and will be tried again: %s", told)
                queue.news = True
                self._news.set()
                return False
        return True

    async def _write(self, campaign: bytes, layer_index: int, queue: _Queue) -> None:
        """Write what waits for a layer, if it is enough; in any case, tell those who turn out to be counted already."""
        loop = asyncio.get_running_loop()
        while queue.news:
            queue.news = False
            batch = queue.pending.first(self._largest(queue))
            outcome = await loop.run_in_executor(
                self._thread, self._storage.commit_batch, campaign, layer_index, batch, queue.minimum
            )
            queue.answer(outcome.final, Receipt.FINAL)
            if outcome.over:
                queue.answer(batch.keys() - outcome.final, Receipt.CLOSED)
            if len(batch) < self._largest(queue):
                break
            queue.news = True  # there may be more behind them
        if queue.news:
            self._news.set()
        if not queue.pending:
            del self._queues[campaign, layer_index]

    def _largest(self, queue: _Queue) -> int:
        """How many reports are written at once, at most; they could always be enough."""
        return max(self._limits.most_reports, queue.minimum)


async def _passed(seconds: float, *, unless: asyncio.Event) -> None:
    """Wait for some time, or until something happens."""
    with suppress(TimeoutError):
        await asyncio.wait_for(unless.wait(), seconds)
