"""The service as one ASGI application: what devices and operators ask, and what is done without being asked.

Reports have a path of their own, without a framework, because there are millions of them. Everything else goes through
Starlette. `ops.concurrency` draws what runs where, and in which order it ends.
"""

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import cache

import msgspec
import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Message, Receive, Scope, Send

from neologue.errors import StorageError
from neologue.service.api.addresses import is_https, sender_of
from neologue.service.api.connections import ConnectionLimits, Connections
from neologue.service.api.device_routes import CHECK_IN, KNOWN, LAYERS, DeviceRoutes
from neologue.service.api.group_routes import GroupRoutes
from neologue.service.api.log_routes import LOG, LogRoutes
from neologue.service.api.openapi import description
from neologue.service.api.operator_api import Context
from neologue.service.api.operator_router import OperatorRouter
from neologue.service.api.packed_documents import PackedDocuments
from neologue.service.api.paths import Paths
from neologue.service.api.rate_limit import Limit, Standing
from neologue.service.api.report_route import PATH as REPORTS
from neologue.service.api.report_route import ReportRoute
from neologue.service.api.request_bodies import RequestBodies
from neologue.service.api.responses import (
    HANDLERS,
    JSON,
    NO_STORE,
    SHARED,
    Handlers,
    Prepared,
    answer,
    failure,
    security_headers,
)
from neologue.service.api.schemas import Health
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.campaigns.coordinator import Coordinator
from neologue.service.campaigns.earlier_campaigns import log_earlier_campaigns
from neologue.service.campaigns.service_ledger import service_ledger
from neologue.service.collect.check_ins import CheckIns
from neologue.service.collect.intake import Intake, IntakeLimits
from neologue.service.collect.late_reports import LateReports
from neologue.service.collect.layer_cache import LayerCache
from neologue.service.collect.layer_refresh import LayerRefresh
from neologue.service.collect.places import Places
from neologue.service.log.log_publisher import LogPublisher
from neologue.service.masked.groups import MaskingGroups
from neologue.service.ops import logs
from neologue.service.ops.access import OPERATOR
from neologue.service.ops.concurrency import RepeatedStep, Threads
from neologue.service.ops.garbage_collection import collect_seldom
from neologue.service.ops.metrics import MEDIA, Metrics
from neologue.service.ops.publishing import Publishing, read_trust
from neologue.service.ops.service_keys import load_keys
from neologue.service.ops.settings import Settings
from neologue.service.ops.software import log_software
from neologue.service.storage.database_address import open_database
from neologue.service.storage.migrations import migrate
from neologue.service.storage.place_store import PlaceStore
from neologue.service.storage.report_store import ReportStore
from neologue.service.webhook_settings import webhook_steps

WRONG = frozenset({400, 401, 403, 404, 405, 413, 414})
"""Statuses that honest devices and careful people seldom see: an address that gets many of them becomes suspect."""
OF_DEVICES = (CHECK_IN, REPORTS, LAYERS, KNOWN, LOG)
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

LONGEST_QUERY = 4096
"""The most bytes behind the path: thousands of parameters take milliseconds to read."""
_QUERY_TOO_LONG = f"what follows the path has at most {LONGEST_QUERY:,} bytes"
_PIECE = 1 << 16
"""The most bytes that are written before it is seen whether the peer reads."""

log = structlog.get_logger("neologue.service")


class Worker:
    """One worker: everything is built in the order of its needs, and runs from the start of the lifespan to its end."""

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], float] = time.time,
        more: Callable[["Worker"], Sequence[BaseRoute]] = lambda service: (),
        handlers: Handlers = {},  # noqa: B006 - never changed
    ) -> None:
        """A service with these settings.

        `more` gives the routes that are served beside its own, `handlers` the responses to errors in the place of its
        own.
        """
        self.settings, self._clock = settings, clock
        self.stopping = False
        """Whether whoever serves it has begun to stop: what would last for a while, such as a stream, ends at once."""
        self._ready_until = 0.0
        """Until when it is not looked at again whether the database answers."""
        self._looking = asyncio.Lock()
        """Of those who ask at the same time, one looks."""
        self.metrics = Metrics()
        self.threads = Threads("service")

        self.database = open_database(settings.database)
        migrate(self.database)
        self._storage = ReportStore(self.database)
        self._keys = keys = load_keys(self.database, settings.wrapping_key)
        self.ledger = service_ledger(self.database)
        name = f"{socket.gethostname()}:{os.getpid()}:{os.urandom(4).hex()}"
        self.coordinator = Coordinator(self._storage, keys, self.ledger, name)
        log_earlier_campaigns(self.database, keys)
        evidence = log_software(self.database, settings.evidence)
        self.trust = trust = read_trust(settings.witnesses)
        """The witnesses of the log."""
        self.layer_cache = LayerCache(self.database, keys, clock, trust.quorum)

        on_fault, on_limit = self.metrics.faults.inc, self.metrics.limits.add
        self.largest_header = settings.largest_header
        limits_of_connections = ConnectionLimits.of(settings)
        self.connections = Connections(limits_of_connections, time.monotonic, on_limit)
        """Read by the server's protocol, which counts every connection here."""
        self._closing = RepeatedStep(
            "closing slow connections", self.connections.close_slow, limits_of_connections.pause, on_fault=on_fault
        )
        self._bodies = bodies = RequestBodies(settings.seconds_to_send, settings.arriving_bytes, on_limit)
        limits = IntakeLimits(patience=settings.patience, most_bytes=settings.waiting_bytes)
        self.intake = Intake(self._storage, limits, on_fault, clock)
        self._places = places = Places(PlaceStore(self.database), self.intake, self.threads, clock)
        self.groups = MaskingGroups(
            self._storage,
            leads=self.coordinator.is_leading,
            patience=settings.group_patience,
            clock=clock,
            on_end=self.metrics.groups.add,
            on_alarm=lambda campaign, kind: self.metrics.alarms.add(campaign.hex(), kind),
            on_fault=on_fault,
        )
        self.layers = LayerRefresh(self.layer_cache, self.threads, self.intake, places, self.groups)
        self._refreshing = RepeatedStep(
            "refreshing the layer cache", self.layers.refresh, settings.refresh, on_fault=on_fault
        )
        self._advancing = RepeatedStep("moving campaigns on", self._advance, settings.refresh, on_fault=on_fault)

        publishing = Publishing(LogPublisher(self.database, keys.log), trust, self.threads)
        self._publishing = publishing.steps(settings.refresh, on_fault)
        self._telling = webhook_steps(settings, self.database, clock, self.threads)
        self.context = Context(self.database, self.coordinator, self.ledger, keys, clock, settings)
        late_reports = LateReports(self._storage, self.layer_cache, self.threads, self.layers, keys)
        self._report_route = ReportRoute(
            self.intake,
            self.layer_cache,
            bodies,
            keys,
            late_reports,
            self.metrics.reports,
            settings.patience,
        )
        documents = PackedDocuments(self.database)
        device_routes = DeviceRoutes(
            documents,
            self.layer_cache,
            CheckIns(self.layer_cache, places, self.groups),
            bodies,
            self.threads,
            self.layers,
            self.metrics.check_ins,
        )
        group_routes = GroupRoutes(self.groups, self.layer_cache, bodies, keys, late_reports)
        self._operator_router = operator_router = OperatorRouter(
            self.context, bodies, self.threads, self.layers, settings.largest_request
        )
        self._requests = Limit(settings.requests_per_second, 2 * settings.requests_per_second)
        self._failures = Limit(settings.failures_per_minute / 60, settings.failures_per_minute)
        log_routes = LogRoutes(self.database, documents, self.threads, trust.quorum, evidence)
        routes: list[BaseRoute] = [
            *device_routes.routes(),
            *group_routes.routes(),
            *log_routes.routes(),
            *operator_router.routes(),
        ]
        routes += [*self._routes(), *more(self)]
        answers = {**HANDLERS, **handlers}
        self._paths, self._no_such_path = Paths.of(routes), answers[HTTPException]
        self._app = Starlette(routes=routes, lifespan=self._lifespan, exception_handlers=answers)
        # A path is right or wrong: a redirection would be made of the host that the request names.
        self._app.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection, as an ASGI application."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path, now, headers = scope["path"], time.monotonic(), security_headers(is_https(scope, self.settings.proxies))
        sending = _Sending(send, [*headers, *_SHARED] if path.startswith(OF_DEVICES) else headers)
        address = sender_of(scope, self.settings.proxies)
        wait = self._requests.take(address, now)
        if wait:
            self.metrics.limits.add("requests_of_address")
            await _slow_down(wait)(scope, receive, sending)
            return
        if scope["method"] == "OPTIONS" and path in (CHECK_IN, REPORTS):
            await _PREFLIGHT(scope, receive, _Sending(send, headers))
            return
        standing = scope["standing"] = sending.standing = Standing(self._failures, address, now)
        try:
            if path == REPORTS:
                response = await self._report_route.answer(scope["method"], receive, standing)
                await response(scope, receive, sending)
            elif len(scope["query_string"]) > LONGEST_QUERY:
                self.metrics.limits.add("query_bytes")
                await failure(414, "query_bytes", _QUERY_TOO_LONG)(scope, receive, sending)
            elif path not in self._paths:
                nothing = await self._no_such_path(Request(scope, receive), HTTPException(404))
                await nothing(scope, receive, sending)
            else:
                await self._app(scope, receive, sending)
        finally:
            standing.end(sending.failed, time.monotonic())
            route = REPORTS if path == REPORTS else getattr(scope.get("route"), "path", "none")
            self.metrics.requests.add(route, sending.status)
            if sending.replaced:
                self.metrics.limits.add("failures_of_address")

    async def body(self, request: Request, most: int | None = None) -> bytes | None:
        """The body of a request, unless it is longer than allowed."""
        return await self._bodies.body(request.receive, self.settings.largest_request if most is None else most)

    async def _health(self, request: Request) -> Response:
        return answer(Health("alive"))

    async def _ready(self, request: Request) -> Response:
        if time.monotonic() >= self._ready_until:
            async with self._looking:
                if time.monotonic() >= self._ready_until:
                    await self.threads.run(self._storage.open_layers)
                    self._ready_until = time.monotonic() + self.settings.refresh
        return answer(Health("ready"))

    async def _metrics(self, request: Request) -> Response:
        self.metrics.waiting.set(self.intake.waiting)
        self.metrics.connections.set(self.connections.open)
        self.metrics.log_lines.set(logs.LIMIT.left_out)
        traffic = not self.layer_cache.hides_numbers
        if not traffic:
            token = request.headers.get("Authorization", "")
            person = await self.threads.run(self._operator_router.person, token)
            traffic = person is not None and person.role == OPERATOR
        return Response(self.metrics.text(traffic=traffic), headers=NO_STORE, media_type=MEDIA)

    async def _openapi(self, request: Request) -> Response:
        return Response(_description(), media_type=JSON)

    def _routes(self) -> list[Route]:
        return [
            Route("/healthz", self._health),
            Route("/readyz", self._ready),
            Route("/metrics", self._metrics),
            Route("/openapi.json", self._openapi),
        ]

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        try:
            await self.layers.refresh()
            async with self._closing, self._bodies, self.intake, self.groups:
                try:
                    async with AsyncExitStack() as steps:
                        for step in (self._refreshing, self._advancing, *self._publishing, *self._telling):
                            await steps.enter_async_context(step)
                        log.info("serving", database=self.database.name, workers_key=self._keys.public.hex())
                        if self._keys.wrapping is None:
                            log.warning("keys are raw in the database and its backups: give --wrapping-key")
                        with collect_seldom():
                            yield
                finally:
                    # Behind the last turn, which would take up again what this gives back.
                    with suppress(StorageError):
                        await self.threads.run(self.coordinator.rest)
                        await self._places.stop()
        finally:
            await self.threads.stop()
            self.database.close()
        log.info("stopped")

    async def _advance(self) -> None:
        """Move campaigns on."""
        await self.threads.run(self.coordinator.turn, self._clock(), _log_event)


class _Sending:
    """Sends one response with the headers that all have, in pieces, and remembers its status."""

    __slots__ = ("_headers", "_send", "failed", "replaced", "standing", "status")

    def __init__(self, send: Send, headers: list[tuple[bytes, bytes]]) -> None:
        self._send, self._headers = send, headers
        self.standing: Standing | None = None
        self.status = 500
        self.failed = False
        self.replaced = False
        """Whether it was an answer to a wrong request, which a suspect address does not get."""

    async def __call__(self, message: Message) -> None:
        if self.replaced:
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.failed = self.status in WRONG
            if self.failed and self.standing and self.standing.suspect:
                slow = _slow_down(self.standing.wait)
                self.status = slow.status_code
                await self._send({**slow.start, "headers": [*slow.start["headers"], *self._headers]})
                await self._send(slow.rest)
                self.replaced = True
            else:
                await self._send({**message, "headers": [*message["headers"], *self._headers]})
        elif len(message.get("body", b"")) <= _PIECE:
            await self._send(message)
        else:
            await self._send_in_pieces(memoryview(message["body"]), message.get("more_body", False))

    async def _send_in_pieces(self, body: memoryview, more: bool) -> None:
        """Write no more before the peer has read what was written."""
        for start in range(0, len(body), _PIECE):
            end = start + _PIECE
            message = {"type": "http.response.body", "body": body[start:end], "more_body": more or end < len(body)}
            await self._send(message)


def _slow_down(wait: float) -> Prepared:
    return Prepared.of(failure(429, "slow_down", "too many requests from this address", wait))


@cache
def _description() -> bytes:
    """The description of the API, made once."""
    return msgspec.json.encode(description())


def _log_event(what: str, entry: CampaignRow) -> None:
    log.info(what, campaign=entry.name)
