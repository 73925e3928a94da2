"""The bodies of requests, as far as they have arrived; what takes too long is given up.

One look at all of them every now and then costs less than a timer for each: nearly all arrive at once.
"""

import asyncio
import time
from typing import Any, Final

from starlette.requests import ClientDisconnect
from starlette.types import Receive

LOOKS: Final = 8
"""How many times all are looked at while a body may arrive."""


class RequestBodies:
    """What has begun to arrive and is not there yet."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._begun: dict[asyncio.Task[Any], float] = {}
        """By the task that waits for it, the earliest first."""

    async def body(self, receive: Receive, most: int) -> bytes | None:
        """The body of a request, unless it is longer than allowed; a TimeoutError if it takes too long."""
        task = asyncio.current_task()
        assert task
        self._begun[task] = time.monotonic()
        try:
            return await _whole(receive, most)
        except asyncio.CancelledError:
            if task in self._begun:  # somebody else wants it to end
                raise
            task.uncancel()
            raise TimeoutError from None
        finally:
            self._begun.pop(task, None)

    async def watch(self) -> None:
        """Give up what takes too long, again and again."""
        while True:
            await asyncio.sleep(self._seconds / LOOKS)
            latest = time.monotonic() - self._seconds
            for task in [task for task, begun in self._begun.items() if begun < latest]:
                del self._begun[task]
                task.cancel()


async def _whole(receive: Receive, most: int) -> bytes | None:
    """All that arrives of a body, unless it is longer than allowed."""
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
