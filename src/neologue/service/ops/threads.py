"""The threads of a service, in which it waits for its database: once it has stopped, none is left."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_T = TypeVar("_T")


class Threads:
    """As many as are of use on this machine."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(thread_name_prefix="service")

    async def run(self, work: Callable[..., _T], *given: object) -> _T:
        """Do something in a thread. It is done to its end, even if nobody waits for it any more."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *given)

    async def stop(self) -> None:
        """Wait until all that was begun is done; nothing can be begun any more."""
        await asyncio.to_thread(self._pool.shutdown)
