"""The bodies of requests; those that take too long are given up, and the slowest one if they need too much memory.

One look at all of them every now and then costs less than a timer for each: nearly all arrive at once.
"""

import asyncio
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from neologue.service.ops.concurrency import RepeatedStep

LOOKS: Final = 8
"""How many times all bodies are checked within the time limit of one."""


class RequestBodies:
    """Bodies that have begun to arrive and are not complete yet."""

    def __init__(self, seconds: float, most_bytes: int, on_limit: Callable[[str], None]) -> None:
        """Each may take so long, and all together so much memory; `on_limit` is told the limit that ends one."""
        self._seconds, self._most_bytes, self._on_limit = seconds, most_bytes, on_limit
        self._bytes = 0
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

    async def body(
        self, receive: Receive, most: int, head: int = 0, admits: Callable[[bytes], bool] | None = None
    ) -> bytes | None:
        """The body of a request, unless it is longer than allowed; a TimeoutError if it takes too long.

        If it comes in several pieces, `admits` is asked about its first `head` bytes as soon as they are here. What it
        does not admit is not read further: the body is then what has come so far.
        """
        task = asyncio.current_task()
        assert task
        self._begun[task] = time.monotonic()
        try:
            return await self._read(receive, most, head, admits)
        except asyncio.CancelledError:
            if task in self._begun:  # cancelled by somebody else
                raise
            task.uncancel()
            raise TimeoutError from None
        finally:
            self._begun.pop(task, None)

    async def _read(
        self, receive: Receive, most: int, head: int, admits: Callable[[bytes], bool] | None
    ) -> bytes | None:
        before = bytearray()
        try:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                piece: bytes = message.get("body", b"")
                if len(before) + len(piece) > most:
                    self._on_limit("body_bytes")
                    return None
                if not message.get("more_body"):
                    # Nearly always it is one piece, which need not be copied.
                    return bytes(before + piece) if before else piece
                before += piece
                self._bytes += len(piece)
                if admits and len(before) >= head:
                    if not admits(bytes(before[:head])):
                        return bytes(before)
                    admits = None
                if self._bytes > self._most_bytes:
                    self._make_room()
        finally:
            self._bytes -= len(before)

    def _make_room(self) -> None:
        """Give up the body that has taken longest, which may be that of the caller."""
        longest = next(iter(self._begun))
        if longest is asyncio.current_task():
            self._on_limit("arriving_bytes")
            raise TimeoutError
        self._give_up(longest, "arriving_bytes")

    async def _give_up_slow(self) -> None:
        """Cancel whoever has waited too long for a body."""
        latest = time.monotonic() - self._seconds
        for task in [task for task, begun in self._begun.items() if begun < latest]:
            self._give_up(task, "body_seconds")

    def _give_up(self, task: asyncio.Task[Any], limit: str) -> None:
        self._on_limit(limit)
        del self._begun[task]
        task.cancel()
