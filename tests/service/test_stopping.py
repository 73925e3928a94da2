"""A service that has stopped: none of its threads is left, and none of its connections to the database."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from neologue.service.ops.settings import Settings
from neologue.service.worker import Worker

LONG = 0.5
"""Far longer than a service that waits for nobody takes to stop."""


async def begun_and_stopped(service: Worker, wait: Callable[[], Any]) -> list[str]:
    """Start a service as a server does, wait for something in a thread, and stop it; what it says."""
    said: list[str] = []
    asked = iter(["lifespan.startup", "lifespan.shutdown"])

    async def receive() -> dict[str, str]:
        kind = next(asked)
        if kind == "lifespan.shutdown":
            await asyncio.to_thread(wait)
        return {"type": kind}

    async def send(message: Any) -> None:  # noqa: ANN401 - a message of ASGI
        said.append(message["type"])

    await service({"type": "lifespan"}, receive, send)
    return said


@pytest.mark.parametrize("clockwork", ["refresh", "turn"])
def test_the_database_is_closed_behind_the_last_thread(
    url: str, clockwork: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Worker(Settings(database=url, refresh=0.01))
    owner = {"refresh": service.layer_cache, "turn": service.coordinator}[clockwork]
    really, close = getattr(owner, clockwork), service.database.close
    under_way, closed = threading.Event(), threading.Event()
    too_early: list[bool] = []

    def slow(*given: Any) -> Any:  # noqa: ANN401 - whatever it takes and gives
        under_way.set()
        too_early.append(closed.wait(LONG))
        return really(*given)

    def closing() -> None:
        closed.set()
        close()

    monkeypatch.setattr(owner, clockwork, slow)
    monkeypatch.setattr(service.database, "close", closing)
    before = set(threading.enumerate())
    said = asyncio.run(begun_and_stopped(service, under_way.wait))
    assert said == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert closed.is_set()
    assert not any(too_early), "the database was closed while a thread was to use it"
    assert set(threading.enumerate()) <= before
    assert not service.database._idle, "no connection was put back after that"


def test_a_service_that_can_not_start_keeps_no_connection(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Worker(Settings(database=url))

    def away() -> list[Any]:
        raise OSError("made up")

    monkeypatch.setattr(service.layer_cache, "refresh", away)
    with pytest.raises(OSError, match="made up"):
        asyncio.run(begun_and_stopped(service, time.monotonic))
    assert not service.database._idle
