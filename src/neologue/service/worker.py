"""The service as one ASGI application: devices, people, and the clockwork behind both.

Reports have a path of their own, without a framework, because there are millions of them. Everything else goes through
Starlette.
"""

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import structlog
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from neologue.errors import StorageError
from neologue.ledger.ledger import Ledger
from neologue.service.api.device_routes import CHECK_IN, KNOWN, LAYERS, DeviceRoutes
from neologue.service.api.group_routes import GroupRoutes
from neologue.service.api.openapi import description
from neologue.service.api.operator_api import Context
from neologue.service.api.operator_router import OperatorRouter
from neologue.service.api.rate_limit import Limit
from neologue.service.api.report_route import PATH as REPORTS
from neologue.service.api.report_route import ReportRoute
from neologue.service.api.request_bodies import RequestBodies
from neologue.service.api.responses import HANDLERS, SHARED, answer, failure
from neologue.service.api.schemas import Health
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.campaigns.coordinator import Coordinator
from neologue.service.collect.intake import Intake, IntakeLimits
from neologue.service.collect.late_reports import LateReports
from neologue.service.collect.layer_cache import LayerCache
from neologue.service.masked.groups import MaskingGroups
from neologue.service.ops.garbage_collection import seldom_searched
from neologue.service.ops.metrics import MEDIA, Metrics
from neologue.service.ops.service_keys import keys_of
from neologue.service.ops.settings import Settings
from neologue.service.ops.threads import Threads
from neologue.service.storage.database import open_database
from neologue.service.storage.migrations import migrate
from neologue.service.storage.report_store import ReportStore

WRONG = frozenset({400, 401, 403, 404, 405, 413})
"""What no honest device and no careful person is answered, so that whoever is answered it often is slowed down."""
OF_DEVICES = (CHECK_IN, REPORTS, LAYERS, KNOWN)
_SHARED = [(name.lower().encode(), value.encode()) for name, value in SHARED.items()]
_PREFLIGHT = Response(
    status_code=204,
    headers={
        "Access-Control-Allow-Origin": "*",
        "Access-Control-Allow-Methods": "GET, POST",
        "Access-Control-Allow-Headers": "Content-Type",
        "Access-Control-Max-Age": "86400",
    },
)

log = structlog.get_logger("neologue.service")


class Worker:
    """One worker."""

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], float] = time.time,
        more: Callable[["Worker"], Sequence[BaseRoute]] = lambda service: (),
    ) -> None:
        """The service of these settings, and `more` that is served beside it."""
        self.settings, self._clock = settings, clock
        self.database = open_database(settings.database)
        migrate(self.database)
        keys = keys_of(self.database)
        self._keys = keys
        self._storage = ReportStore(self.database)
        self.threads = Threads()
        self._ending = asyncio.Event()
        self.stopping = False
        """Whether whoever serves it has begun to stop: what would last for a while, such as a stream, ends at once."""
        self.ledger = Ledger(settings.ledger) if settings.ledger else None
        worker = f"{socket.gethostname()}:{os.getpid()}:{os.urandom(4).hex()}"
        self.coordinator = Coordinator(self._storage, keys, self.ledger, worker)
        self.layer_cache = LayerCache(self.database, keys, clock)
        self.metrics = Metrics()
        self.context = Context(self.database, self.coordinator, keys, clock)
        self._requests = Limit(settings.requests_per_second, 2 * settings.requests_per_second)
        self._failures = Limit(settings.failures_per_minute / 60, settings.failures_per_minute)
        self._bodies = RequestBodies(settings.seconds_to_send)
        self._device_routes = DeviceRoutes(
            self.database, self.layer_cache, self._bodies, self.threads, self.refresh, self.metrics.check_ins
        )
        late_reports = LateReports(self._storage, self.threads, self.refresh)
        self._report_route = ReportRoute(
            lambda: self.intake,
            self.layer_cache,
            self._bodies,
            keys.ticket,
            late_reports,
            self.metrics.reports,
            settings.patience,
        )
        self._group_routes = GroupRoutes(lambda: self.groups, self.layer_cache, self._bodies, keys.ticket, late_reports)
        self._operator_router = OperatorRouter(
            self.context, self._bodies, self.threads, self.refresh, settings.largest_request
        )
        routes = [*self._routes(), *more(self)]
        self._people = Starlette(routes=routes, lifespan=self._lifespan, exception_handlers=HANDLERS)
        # A path is right or wrong: a redirection would be made of the host that the request names.
        self._people.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection, as ASGI has it."""
        if scope["type"] != "http":
            await self._people(scope, receive, send)
            return
        if scope["method"] == "OPTIONS" and scope["path"] in (CHECK_IN, REPORTS):
            await _PREFLIGHT(scope, receive, send)
            return
        shared = scope["path"].startswith(OF_DEVICES)
        address, now = self._address(scope), time.monotonic()
        wait = self._failures.wait(address, now) or self._requests.take(address, now)
        if wait:
            slow = failure(429, "slow_down", "too many requests from this address", wait)
            slow.headers.update(SHARED if shared else {})
            await slow(scope, receive, send)
            return
        status = 500

        async def watched(message: Any) -> None:  # noqa: ANN401 - a message of ASGI
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if shared:
                    message["headers"] = [*message["headers"], *_SHARED]
            await send(message)

        try:
            if scope["path"] == REPORTS:
                response = await self._report_route.answer(scope["method"], receive)
                status = response.status_code
                await response(scope, receive, send)
            else:
                await self._people(scope, receive, watched)
        finally:
            if status in WRONG:
                self._failures.count(address, now)
            route = REPORTS if scope["path"] == REPORTS else getattr(scope.get("route"), "path", "none")
            self.metrics.requests.add(route, status)

    async def body(self, request: Request, most: int | None = None) -> bytes | None:
        """What somebody has sent, unless it is more than the service takes of them."""
        return await self._bodies.body(request.receive, self.settings.largest_request if most is None else most)

    async def _health(self, request: Request) -> Response:
        return answer(Health("alive"))

    async def _ready(self, request: Request) -> Response:
        await self.threads.run(self._storage.open_layers)
        return answer(Health("ready"))

    async def _metrics(self, request: Request) -> Response:
        self.metrics.waiting.set(self.intake.waiting)
        return Response(self.metrics.text(), media_type=MEDIA)

    async def _openapi(self, request: Request) -> Response:
        return answer(description())

    def _routes(self) -> list[Route]:
        return [
            *self._device_routes.routes(),
            *self._group_routes.routes(),
            *self._operator_router.routes(),
            Route("/healthz", self._health),
            Route("/readyz", self._ready),
            Route("/metrics", self._metrics),
            Route("/openapi.json", self._openapi),
        ]

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        limits = IntakeLimits(patience=self.settings.patience, most_bytes=self.settings.waiting_bytes)
        self.intake = Intake(self._storage, limits)
        self.groups = MaskingGroups(
            self._storage,
            self._keys.operator,
            leads=lambda campaign: campaign in self.coordinator.leading,
            patience=self.settings.group_patience,
            clock=self._clock,
            ended=self.metrics.groups.add,
        )
        self._refreshing = asyncio.Lock()
        try:
            await self.refresh()
            async with self.intake, self.groups:
                clockwork = [asyncio.create_task(self._keep_on(each)) for each in (self.refresh, self._turn)]
                bodies = asyncio.create_task(self._bodies.watch())
                log.info("serving", database=self.database.name, workers_key=self._keys.public.hex())
                try:
                    with seldom_searched():
                        yield
                finally:
                    bodies.cancel()
                    # What is under way is waited for: its thread would go on, and take up again what `rest` leaves.
                    self._ending.set()
                    await asyncio.gather(bodies, *clockwork, return_exceptions=True)
                    with suppress(StorageError):
                        await self.threads.run(self.coordinator.rest)
        finally:
            await self.threads.stop()
            self.database.close()
        log.info("stopped")

    async def _keep_on(self, what: Callable[[], Awaitable[None]]) -> None:
        """Do something again and again, until the service ends. A fault is told, and does not end it."""
        while not self._ending.is_set():
            try:
                await what()
            except StorageError as error:
                log.warning("the database is away", reason=str(error))
            except Exception:
                self.metrics.faults.inc()
                log.exception("a fault of the service")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), self.settings.refresh)

    async def refresh(self) -> None:
        """Look at the board anew, and drop what waits for layers that are closed."""
        async with self._refreshing:
            for closed in await self.threads.run(self.layer_cache.refresh):
                self.intake.close(closed.campaign_id, closed.layer_index)
                self.groups.close(closed.campaign_id, closed.layer_index)

    async def _turn(self) -> None:
        """Move campaigns on."""
        await self.threads.run(self.coordinator.turn, self._clock(), _tell)

    def _address(self, scope: Scope) -> str:
        """Where a request comes from, for the limits alone."""
        if self.settings.behind_proxy:
            forwarded = dict(scope["headers"]).get(b"x-forwarded-for", b"").decode("latin-1")
            # The last one is the proxy's own word; those before it may be made up.
            return str(forwarded.rpartition(",")[2].strip())
        return scope["client"][0] if scope["client"] else ""


def _tell(what: str, entry: CampaignRow) -> None:
    log.info(what, campaign=entry.name)
