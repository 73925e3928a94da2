"""Memory stays flat over a campaign: of a report that was answered nothing is alive any more, not even its serial.

So it is in a layer with little noise, as here. Where equal reports are refused, 16 bytes of digests stay until the
layer is closed (`tests/aggregation/test_sent_before.py`).
"""

import asyncio
import gc
import json
import os
import tracemalloc
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest

from neologue.aggregation.ephemeral import IntakeLayer
from neologue.device.contribution import contribute
from neologue.protocol.credential import issue
from neologue.protocol.layer import Layer
from neologue.protocol.submission import Submission
from neologue.protocol.ticket import ticket
from neologue.service import worker
from neologue.service.api.device_routes import CHECK_IN
from neologue.service.api.report_route import PATH as REPORTS
from neologue.service.collect.intake import Intake, Receipt
from neologue.service.collect.layer_cache import ServedLayer
from neologue.service.ops.service_keys import load_keys
from neologue.service.ops.settings import Settings
from neologue.service.worker import Worker
from service.campaigns import WORDS, definition

CROWD = 1_000
"""Each time so many devices more have sent a report, it is weighed what is alive."""
CROWDS = 4
TOGETHER = 500
"""How many are sent at once."""
BATCH = 10
SLACK = 8_000
"""So many bytes more may be alive after one more crowd: eight for each report."""


@asynccontextmanager
async def running(service: Worker) -> AsyncIterator[None]:
    """A service that was started as a server does, and is stopped in the end."""
    begun, end = asyncio.Event(), asyncio.Event()
    asked = iter(["lifespan.startup", "lifespan.shutdown"])

    async def receive() -> dict[str, str]:
        kind = next(asked)
        if kind == "lifespan.shutdown":
            begun.set()
            await end.wait()
        return {"type": kind}

    async def send(message: Any) -> None:  # noqa: ANN401 - a message of ASGI
        pass

    serving = asyncio.create_task(service({"type": "lifespan"}, receive, send))
    await asyncio.wait_for(begun.wait(), 300)
    try:
        yield
    finally:
        end.set()
        await serving


async def asked(service: Worker, path: str, body: bytes) -> int:
    """The status that a request is answered with."""
    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    async def send(message: Any) -> None:  # noqa: ANN401 - a message of ASGI
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {
        "type": "http",
        "scheme": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [],
        "client": ("127.0.0.1", 1),
    }
    await service(scope, receive, send)
    (status,) = statuses
    return status


class Crowd:
    """Devices that come, do what they do, and are gone."""

    def __init__(self, service: Worker) -> None:
        self._service = service
        self._keys = load_keys(service.database)
        entry = service.coordinator.create(definition(devices=50_000, layer_seconds=1e6, batch=BATCH), 0.0)
        self._campaign = service.coordinator.start(entry.name, 0.0).id
        service.coordinator.turn(0.0)
        service.layer_cache.refresh()
        layer = self._posted.collecting.asks
        assert isinstance(layer, Layer)
        self._report = contribute(WORDS, layer)

    @property
    def _posted(self) -> ServedLayer:
        cached = self._service.layer_cache.campaign(self._campaign)
        assert cached
        assert cached.layer
        return cached.layer

    async def come(self, devices: int) -> None:
        """So many send until they are counted; others check in, send again what was counted, or send what is wrong."""
        for _ in range(0, devices, TOGETHER):
            await self._done(self._counted(os.urandom(16)) for _ in range(TOGETHER))
            await self._done(self._otherwise() for _ in range(TOGETHER // 25))
            await self._service.layers.refresh()

    async def _done(self, doings: Iterable[Coroutine[None, None, None]]) -> None:
        """Let all be done; more devices come where too few are left for a batch."""
        tasks = {asyncio.create_task(doing) for doing in doings}
        while tasks:
            done, tasks = await asyncio.wait(tasks, timeout=0.5)
            for task in done:
                task.result()
            if 0 < len(tasks) < BATCH:
                tasks |= {asyncio.create_task(self._counted(os.urandom(16))) for _ in range(BATCH)}

    async def _counted(self, serial: bytes) -> None:
        while (status := await asked(self._service, REPORTS, self._submission(serial))) != 200:
            assert status == 202

    async def _otherwise(self) -> None:
        credential = issue(self._campaign, self._keys.issuer)
        body = json.dumps({"credential": credential.text}).encode()
        assert await asked(self._service, CHECK_IN, body) == 200
        right = self._submission(credential.serial)
        assert await asked(self._service, REPORTS, right[:-1]) == 400
        assert await asked(self._service, REPORTS, right[:32] + bytes(16) + right[48:]) == 401
        for _ in range(2):
            await self._counted(credential.serial)

    def _submission(self, serial: bytes) -> bytes:
        shown = ticket(self._keys.ticket, self._campaign, self._posted.digest, serial)
        return bytes(Submission(self._campaign, serial, shown, self._report))


async def weight(service: Worker) -> int:
    """How many bytes are alive once nobody waits; when somebody's patience ends is remembered until then."""
    async with asyncio.timeout(300):
        while service.intake._patient:
            await asyncio.sleep(0.01)
    assert service.intake.waiting == 0
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def growth(folder: Path) -> int:
    """How many bytes more are alive after one more crowd, at least.

    What is kept of a report grows with every crowd. What is made once, whenever that is (a cache, a thread), does not.
    """
    service = Worker(
        Settings(
            database=str(folder / "service.db"),
            patience=0.2,
            # Both clocks stand still: the crowd says when to look.
            refresh=1e6,
            requests_per_second=1e6,
            failures_per_minute=1e6,
        ),
        clock=lambda: 0.0,
    )

    async def scene() -> int:
        crowd = Crowd(service)
        async with running(service):
            weights = []
            for _ in range(CROWDS):
                await crowd.come(CROWD)
                weights.append(await weight(service))
            return min(after - before for before, after in pairwise(weights))

    tracemalloc.start()
    try:
        return asyncio.run(scene())
    finally:
        tracemalloc.stop()


def test_memory_is_the_same_after_more_reports(tmp_path: Path) -> None:
    assert growth(tmp_path) < SLACK


class Remembering(Intake):
    """An intake that remembers who has sent something."""

    kept: ClassVar[list[bytes]] = []

    async def receive(
        self, campaign: bytes, layer: IntakeLayer, serial: bytes, report: bytes, block: int = 0
    ) -> Receipt:
        self.kept.append(serial)
        return await super().receive(campaign, layer, serial, report, block)


def test_that_somebody_keeps_a_serial_of_each_report_would_be_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "Intake", Remembering)
    assert growth(tmp_path) > 4 * SLACK
    Remembering.kept.clear()
