"""The bodies of requests; those that take too long to arrive are given up.

One look at all of them every now and then costs less than a timer for each: nearly all arrive at once.
"""

import asyncio
import time
from types import TracebackType
from typing import Any, Final, Self

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from neologue.service.ops.concurrency import RepeatedStep

LOOKS: Final = 8
"""How many times all bodies are checked within the time limit of one."""


class RequestBodies:
    """Bodies that have begun to arrive and are not complete yet."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._begun: dict[asyncio.Task[Any], float] = {}
        """By the task that waits for it, the earliest first."""
        self._sweeping = RepeatedStep("giving up slow requests", self._give_up_slow, seconds / LOOKS)

    async def __aenter__(self) -> Self:
        await self._sweeping.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._sweeping.stop()

    async def body(self, receive: Receive, most: int) -> bytes | None:
        """The body of a request, unless it is longer than allowed; a TimeoutError if it takes too long."""
        task = asyncio.current_task()
        assert task
        self._begun[task] = time.monotonic()
        try:
            return await _read_body(receive, most)
        except asyncio.CancelledError:
            if task in self._begun:  # cancelled by somebody else
                raise
            task.uncancel()
            raise TimeoutError from None
        finally:
            self._begun.pop(task, None)

    async def _give_up_slow(self) -> None:
        """Cancel whoever has waited too long for a body."""
        latest = time.monotonic() - self._seconds
        for task in [task for task, begun in self._begun.items() if begun < latest]:
            del self._begun[task]
            task.cancel()


async def _read_body(receive: Receive, most: int) -> bytes | None:
    """The whole body, unless it is longer than allowed."""
    before = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        piece: bytes = message.get("body", b"")
        if len(before) + len(piece) > most:
            return None
        if not message.get("more_body"):
            # Nearly always it is one piece, which need not be copied.
            return bytes(before + piece) if before else piece
        before += piece
