"""The concurrency of one worker: who runs where, who may block, and what ends whom.

    event loop (one thread; must never block)
    │
    ├─ requests               one task each, by Starlette
    │    ├── RequestBodies    waits for the bytes of a body
    │    ├── Intake           waits for the batch of a report
    │    └── MaskingGroups    waits for the next stage of a group
    │
    ├─ RepeatedStep           one task each; a failing step is logged and tried again, so none of them ends early
    │    ├── refreshing the layer cache          every `refresh` seconds ────────────► Threads "service"
    │    ├── moving campaigns on                 every `refresh` seconds ────────────► Threads "service"
    │    ├── closing slow connections            4 times per shortest time limit; no thread
    │    ├── giving up slow requests             8 times per time limit; no thread
    │    ├── telling senders to ask again        8 times per patience; no thread
    │    ├── writing batches of reports          when there are new ones ────────────► Threads "commit"
    │    └── moving masking groups on            at a message or every quarter of a second ──► Threads "group"
    │
    └─ Threads                everything that blocks: the database, compression, cryptography
         ├── "service"        many threads: requests, the layer cache, the coordinator
         ├── "commit"         one thread: batches of one worker never wait for each other's locks
         └── "group"          two threads: masks take time on a processor, which requests must not wait for

A thread calls back nobody: its result is awaited on the event loop, where alone the state of the intake, of groups and
of request bodies changes. What a thread has begun it finishes, even if nobody waits for it any more.

The end comes in this order, each behind the one before:

    requests (by the server) ─► campaigns and layer cache ─► leadership and places are given back ─► groups are ended
      ─► the intake writes what is enough ─► bodies ─► threads "service" ─► connections to the database

Each step that is under way is waited for; groups and intake stop their own threads behind their own last step.
"""

import asyncio
import logging
import time
import traceback
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from neologue.errors import CampaignError, LedgerError, StorageError

_LOG: Final = logging.getLogger(__name__)
_SHORTEST_RETRY: Final = 0.1
_LONGEST_RETRY: Final = 2.0
QUOTABLE: Final = (StorageError, LedgerError, CampaignError)
"""Errors whose messages name files, campaigns and populations, and nothing that a device has sent."""

_T = TypeVar("_T")


class Threads:
    """Threads for work that blocks; once they are stopped, none is left."""

    def __init__(self, name: str, most: int | None = None) -> None:
        """At most so many threads; by default as many as are of use on this machine. Each is started when needed."""
        self._pool = ThreadPoolExecutor(most, thread_name_prefix=name)

    async def run(self, work: Callable[..., _T], *arguments: object) -> _T:
        """Do something in a thread. If the caller is cancelled, the thread finishes its work nevertheless."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)

    async def run_to_end(self, work: Callable[..., _T], *arguments: object) -> _T:
        """Do something in a thread. A caller that is cancelled still waits, so that it keeps its locks until then."""
        done = asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            await asyncio.wait([done])
            done.exception()  # nobody is left to hear of it
            raise

    async def stop(self) -> None:
        """Wait until all work is done; no more is accepted."""
        await asyncio.to_thread(self._pool.shutdown)


def ignore() -> None:
    """The default for `on_fault`."""


class RepeatedStep:
    """A step that is taken again and again, one at a time, from `async with` on until its end.

    A step that fails is logged and taken again, after pauses that grow with every failure in a row.
    """

    def __init__(
        self,
        what: str,
        step: Callable[[], Awaitable[None]],
        pause: float,
        *,
        on_request: bool = False,
        slack: float = 0.0,
        longest_pause: float | None = None,
        last: bool = False,
        on_fault: Callable[[], None] = ignore,
    ) -> None:
        """`what` names it in the log; `pause` seconds lie between two steps, unless somebody is in a hurry.

        With `on_request`, a step is taken only if one was requested, and the pause comes first. With `slack`, a pause
        is at least so many times as long as the step before it took, up to `longest_pause`. With `last`, a step is
        taken once more in the end. `on_fault` is called when a step fails for any reason but the database.
        """
        self._what, self._step, self._pause = what, step, pause
        self._on_request, self._slack, self._longest_pause = on_request, slack, longest_pause
        self._last, self._on_fault = last, on_fault
        self._requested, self._hurried, self._stopping = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def running(self) -> bool:
        """Whether it has begun and is not told to stop."""
        return self._task is not None and not self._stopping.is_set()

    def request(self) -> None:
        """Have another step taken, after the usual pause."""
        self._requested.set()

    def hurry(self) -> None:
        """Have another step taken at once; a pause after a failure is kept."""
        self._requested.set()
        self._hurried.set()

    async def stop(self) -> None:
        """Take no more steps but the last one, if there is to be one; wait for what is under way."""
        self._stopping.set()
        self.hurry()
        if self._task:
            await self._task

    async def _run(self) -> None:
        pause, retry = (self._pause if self._on_request else 0.0), 0.0
        while True:
            if self._on_request and not retry:
                await self._requested.wait()
            await _wait(max(pause, retry), unless=self._stopping if retry else self._hurried)
            stopping = self._stopping.is_set()
            if stopping and not self._last:
                return
            self._requested.clear()
            self._hurried.clear()
            began = time.monotonic()
            failed = not await self._succeeds()
            pause = self._pause_after(time.monotonic() - began)
            retry = min(_LONGEST_RETRY, 2 * retry or _SHORTEST_RETRY) if failed else 0.0
            if stopping:
                return

    async def _succeeds(self) -> bool:
        """Take one step; whether nothing went wrong."""
        try:
            await self._step()
        except Exception as error:  # whatever it is: others wait for the next step
            if _is_fault(error):
                self._on_fault()
            _LOG.error("%s failed, and will be tried again: %s", self._what, describe(error))
            return False
        return True

    def _pause_after(self, seconds: float) -> float:
        slack = self._slack * seconds
        return max(self._pause, slack if self._longest_pause is None else min(slack, self._longest_pause))


def describe(error: Exception) -> str:
    """What a log may say of an error: where it was raised, and its message only if that can't quote a device."""
    if isinstance(error, ExceptionGroup):
        return "; ".join(sorted({describe(each) for each in error.exceptions}))
    if isinstance(error, QUOTABLE):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in {frames[-1].name} ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return type(error).__name__ + where


def _is_fault(error: Exception) -> bool:
    """Whether an error is the service's own, and not that of a database that is away."""
    if isinstance(error, ExceptionGroup):
        return any(map(_is_fault, error.exceptions))
    return not isinstance(error, StorageError)


async def _wait(seconds: float, *, unless: asyncio.Event) -> None:
    """Wait for some time, or until something happens."""
    with suppress(TimeoutError):
        await asyncio.wait_for(unless.wait(), seconds)
