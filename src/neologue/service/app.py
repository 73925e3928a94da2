"""The service as one ASGI application: devices, people, and the clockwork behind both.

Reports have a path of their own, without a framework, because there are millions of them. Everything else goes through
Starlette.
"""

import asyncio
import gzip
import os
import re
import socket
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from typing import Any

import msgspec
import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from neologue.errors import NeologueError, ReportError, StorageError
from neologue.privacy.ledger import Ledger
from neologue.protocol.credential import Credential
from neologue.protocol.report import HEADER_BYTES
from neologue.protocol.submission import Submission
from neologue.protocol.ticket import is_ticket
from neologue.service import access, register
from neologue.service.access import Person
from neologue.service.answers import BUSY_SECONDS, Prepared, answer, failure, failure_of
from neologue.service.api import CheckIn, Final, Health, Received
from neologue.service.arrivals import Arrivals
from neologue.service.board import Board, Posted
from neologue.service.coordinator import Coordinator
from neologue.service.database import open_database
from neologue.service.endpoints import ENDPOINTS, Call, Desk, Endpoint, Text
from neologue.service.garbage import seldom_searched
from neologue.service.intake import Intake, Limits, Receipt
from neologue.service.keys import keys_of
from neologue.service.limits import Limit
from neologue.service.metrics import MEDIA, Metrics
from neologue.service.migrations import migrate
from neologue.service.openapi import description
from neologue.service.register import Entry
from neologue.service.secure import Cohorts
from neologue.service.secure_http import CohortDesk
from neologue.service.settings import Settings
from neologue.service.storage import Storage
from neologue.service.threads import Threads

REPORTS = "/v1/reports"
SUBMISSION_BYTES = 48
IMMUTABLE = "public, max-age=31536000, immutable"
LARGEST_CHECK_IN = 1024
LARGEST_UNREAD = 1024
"""The most bytes of a body that nobody asked for."""
DOCUMENTS = 64
"""How many documents of layers and lists of words are kept as they go over the wire."""

WRONG = frozenset({400, 401, 403, 404, 405, 413})
"""What no honest device and no careful person is answered, so that whoever is answered it often is slowed down."""
DIGEST = re.compile("[0-9a-f]{64}", re.ASCII)

CHECK_IN = "/v1/check-in"
OF_DEVICES = (CHECK_IN, REPORTS, "/v1/layers/", "/v1/known/")
"""What devices ask for, also those in pages of other origins. They send no cookies, so that any origin may."""
SHARED = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Retry-After"}
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


class Service:
    """One worker."""

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], float] = time.time,
        more: Callable[["Service"], Sequence[BaseRoute]] = lambda service: (),
    ) -> None:
        """The service of these settings, and `more` that is served beside it."""
        self.settings, self._clock = settings, clock
        self.database = open_database(settings.database)
        migrate(self.database)
        keys = keys_of(self.database)
        self._keys = keys
        self._storage = Storage(self.database)
        self.threads = Threads()
        self._ending = asyncio.Event()
        self.stopping = False
        """Whether whoever serves it has begun to stop: what would last for a while, such as a stream, ends at once."""
        self.ledger = Ledger(settings.ledger) if settings.ledger else None
        worker = f"{socket.gethostname()}:{os.getpid()}:{os.urandom(4).hex()}"
        self.coordinator = Coordinator(self._storage, keys, self.ledger, worker)
        self.board = Board(self.database, keys, clock)
        self.metrics = Metrics()
        self.desk = Desk(self.database, self.coordinator, keys, clock)
        self._requests = Limit(settings.requests_per_second, 2 * settings.requests_per_second)
        self._failures = Limit(settings.failures_per_minute / 60, settings.failures_per_minute)
        self._arrivals = Arrivals(settings.seconds_to_send)
        self._said = _said(settings.patience)
        self._cohort_desk = CohortDesk(
            lambda: self.cohorts, self.board, self._storage, self._arrivals, keys.ticket, self.refresh, self.threads
        )
        self._document = lru_cache(DOCUMENTS)(self._fetched)
        routes = [*self._routes(), *more(self)]
        self._people = Starlette(routes=routes, lifespan=self._lifespan, exception_handlers=_HANDLERS)
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
                response = await self._report(receive) if scope["method"] == "POST" else _only_post()
                status = response.status_code
                if isinstance(response, Response):  # those that are prepared have it
                    response.headers.update(SHARED)
                await response(scope, receive, send)
            else:
                await self._people(scope, receive, watched)
        finally:
            if status in WRONG:
                self._failures.count(address, now)
            route = REPORTS if scope["path"] == REPORTS else getattr(scope.get("route"), "path", "none")
            self.metrics.requests.add(route, status)

    async def _report(self, receive: Receive) -> Response | Prepared:
        """Take a report; nothing of it is said to anybody but its device."""
        try:
            body = await self._arrivals.body(receive, SUBMISSION_BYTES + self.board.longest_report)
            if body is None:
                return self._took("too_large", failure(413, "too_large", "no layer that is open has reports as long"))
            submission = Submission.parse(body)
            posted = self.board.answering(submission.campaign_id, submission.report[1:HEADER_BYTES])
            if posted is None:
                return await self._late(submission)
            if not is_ticket(
                submission.ticket, self._keys.ticket, posted.campaign_id, posted.digest, submission.serial
            ):
                return self._took("forged", failure(401, "forged", "this is not the ticket of an invitation"))
            if posted.gathers:
                return self._took("malformed", failure(400, "malformed", "the campaign takes votes under masks alone"))
            return await self._counted(posted, submission)
        except ReportError as error:
            return self._took("malformed", failure_of(error))
        except (TimeoutError, ClientDisconnect):
            return self._took("cut", failure(408, "cut", "the request did not arrive in time"))
        except StorageError as error:
            return self._took("busy", failure_of(error))

    async def _counted(self, posted: Posted, submission: Submission) -> Response | Prepared:
        """Wait until the report is counted, or until its device had better ask again."""
        notice = self.board.notice(posted.campaign_id)
        if notice is None or notice.entry.state != register.RUNNING:
            return self._took("busy", failure(503, "busy", "the campaign is held; send the same bytes later", 60))
        receipt = await self.intake.receive(posted.campaign_id, posted.served, submission.serial, submission.report)
        return self._took(receipt, self._said[receipt])

    async def _late(self, submission: Submission) -> Response | Prepared:
        """Answer a report for a layer that is not on the board: it may be counted, closed, or newer than the board."""
        if len(submission.report) < HEADER_BYTES:
            raise ReportError(f"{len(submission.report)} bytes are too few for a report")
        campaign, tag = submission.campaign_id, submission.report[1:HEADER_BYTES]
        if await self.threads.run(self._storage.spent, campaign, submission.serial):
            return self._took(Receipt.FINAL, self._said[Receipt.FINAL])
        state = await self.threads.run(self._state_of_layer, campaign, tag)
        if state is None:
            return self._took("unknown", failure(404, "unknown", "no layer of the campaign is answered by this report"))
        if state != register.OPEN:
            return self._took(Receipt.CLOSED, self._said[Receipt.CLOSED])
        await self.refresh()
        return self._took("busy", failure(503, "busy", "the layer has just begun; send the same bytes again", 1))

    def _state_of_layer(self, campaign: bytes, tag: bytes) -> str | None:
        with self.database.reading() as db:
            layers = register.asked(db, campaign)
        return next((layer.state for layer in layers if layer.digest.startswith(tag)), None)

    def _took(self, outcome: str, response: Response | Prepared) -> Response | Prepared:
        self.metrics.reports.add(outcome)
        return response

    async def _check_in(self, request: Request) -> Response:
        body = await self._arrivals.body(request.receive, LARGEST_CHECK_IN)
        if body is None:
            return failure(413, "too_large", "a check-in is a credential, and nothing else")
        try:
            credential = Credential.parse(msgspec.json.decode(body, type=CheckIn).credential)
        except (msgspec.ValidationError, msgspec.DecodeError) as error:
            return failure(400, "malformed", f"a check-in has a credential: {error}")
        if self.board.notice(credential.campaign_id) is None:
            await self.refresh()
        told = self.board.check_in(credential)
        self.metrics.check_ins.add(type(told).__name__.lower())
        return answer(told)

    async def _layer(self, request: Request) -> Response:
        return await self._document_of("layers", request)

    async def _known(self, request: Request) -> Response:
        return await self._document_of("known", request)

    async def _document_of(self, kind: str, request: Request) -> Response:
        """A document by its digest, compressed if that is understood; it never changes, so it may be kept for ever."""
        digest = request.path_params["digest"]
        zipped = await self.threads.run(self._document, kind, digest) if DIGEST.fullmatch(digest) else None
        if zipped is None:
            return failure(404, "unknown", f"there is nothing under this digest in {kind}")
        headers = {"Cache-Control": IMMUTABLE, "ETag": f'"{digest}"', "Vary": "Accept-Encoding"}
        media = "application/json" if kind == "layers" else "text/plain; charset=utf-8"
        if request.headers.get("If-None-Match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            return Response(zipped, headers={**headers, "Content-Encoding": "gzip"}, media_type=media)
        return Response(gzip.decompress(zipped), headers=headers, media_type=media)

    def _fetched(self, kind: str, digest: str) -> bytes | None:
        read = register.document_of if kind == "layers" else register.known_of
        with self.database.reading() as db:
            stored = read(db, bytes.fromhex(digest))
        return None if stored is None else gzip.compress(zlib.decompress(stored), mtime=0)

    def _endpoint(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        async def served(request: Request) -> Response:
            person = await self.threads.run(self._person, request.headers.get("Authorization", ""))
            if endpoint.roles and person is None:
                return failure(401, "no_token", "give a token of the service: Authorization: Bearer <token>")
            if endpoint.roles and person and person.role not in endpoint.roles:
                return failure(403, "forbidden", f"this is for the role {' or '.join(endpoint.roles)}")
            most = self.settings.largest_request if endpoint.takes else LARGEST_UNREAD
            body = await self.body(request, most)
            if body is None:
                return failure(413, "too_large", f"this request has at most {most:,} bytes")
            try:
                taken = None if endpoint.takes is None else msgspec.json.decode(body, type=endpoint.takes)
                query = None if endpoint.asks is None else _query(request, endpoint.asks)
            except (msgspec.ValidationError, msgspec.DecodeError) as error:
                return failure(400, "malformed", f"the request can't be used: {error}")
            if not all(name.isprintable() for name in request.path_params.values()):
                return failure(404, "unknown", "nothing here has a name with characters that can't be shown")
            call = Call(person or Person("nobody", ""), request.path_params, taken, query)
            given = await self.threads.run(endpoint.serve, self.desk, call)
            if endpoint.method != "GET":
                await self.refresh()
            if isinstance(given, Text):
                return Response(given.content, endpoint.status, media_type=given.media)
            return answer(given, endpoint.status)

        return served

    async def body(self, request: Request, most: int | None = None) -> bytes | None:
        """What somebody has sent, unless it is more than the service takes of them."""
        return await self._arrivals.body(request.receive, self.settings.largest_request if most is None else most)

    def _person(self, authorization: str) -> Person | None:
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token:
            return None
        with self.database.reading() as db:
            return access.holder(db, token)

    async def _health(self, request: Request) -> Response:
        return answer(Health("alive"))

    async def _ready(self, request: Request) -> Response:
        await self.threads.run(self._storage.open_layers)
        return answer(Health("ready"))

    async def _metrics(self, request: Request) -> Response:
        self.metrics.waiting.set(self.intake.held_bytes)
        return Response(self.metrics.text(), media_type=MEDIA)

    async def _openapi(self, request: Request) -> Response:
        return answer(description())

    def _routes(self) -> list[Route]:
        return [
            Route(CHECK_IN, self._check_in, methods=["POST"]),
            Route("/v1/layers/{digest}", self._layer, methods=["GET"]),
            Route("/v1/known/{digest}", self._known, methods=["GET"]),
            *self._cohort_desk.routes(),
            *(Route(each.path, self._endpoint(each), methods=[each.method]) for each in ENDPOINTS),
            Route("/healthz", self._health),
            Route("/readyz", self._ready),
            Route("/metrics", self._metrics),
            Route("/openapi.json", self._openapi),
        ]

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        limits = Limits(patience=self.settings.patience, most_bytes=self.settings.waiting_bytes)
        self.intake = Intake(self._storage, limits)
        self.cohorts = Cohorts(
            self._storage,
            self._keys.operator,
            leads=lambda campaign: campaign in self.coordinator.leading,
            patience=self.settings.cohort_patience,
            clock=self._clock,
            ended=self.metrics.cohorts.add,
        )
        self._refreshing = asyncio.Lock()
        try:
            await self.refresh()
            async with self.intake, self.cohorts:
                clockwork = [asyncio.create_task(self._keep_on(each)) for each in (self.refresh, self._turn)]
                arrivals = asyncio.create_task(self._arrivals.watch())
                log.info("serving", database=self.database.name, workers_key=self._keys.public.hex())
                try:
                    with seldom_searched():
                        yield
                finally:
                    arrivals.cancel()
                    # What is under way is waited for: its thread would go on, and take up again what `rest` leaves.
                    self._ending.set()
                    await asyncio.gather(arrivals, *clockwork, return_exceptions=True)
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
            for closed in await self.threads.run(self.board.refresh):
                self.intake.close(closed.campaign_id, closed.place)
                self.cohorts.close(closed.campaign_id, closed.place)

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


def _tell(what: str, entry: Entry) -> None:
    log.info(what, campaign=entry.name)


def _query(request: Request, kind: Any) -> Any:  # noqa: ANN401 - a value of the kind that the endpoint asks for
    """What stands behind the path of an address, each thing once."""
    given = request.query_params
    if len(given.multi_items()) > len(given):
        raise msgspec.ValidationError("something is given twice behind the path")
    return msgspec.convert(dict(given), kind, strict=False)


def _only_post() -> Response:
    response = failure(405, "method", "reports are sent by POST")
    response.headers["Allow"] = "POST"
    return response


def _said(patience: float) -> dict[Receipt, Prepared]:
    """What is answered to each receipt of the intake."""
    said = {
        Receipt.FINAL: answer(Final()),
        Receipt.RECEIVED: answer(Received(patience), 202),
        Receipt.CLOSED: failure(410, "closed", "the layer is closed, and the report was not counted; erase it"),
        Receipt.BUSY: failure(503, "busy", "too much is waiting; send the same bytes later", BUSY_SECONDS),
    }
    for response in said.values():
        response.headers.update(SHARED)
    return {receipt: Prepared.of(response) for receipt, response in said.items()}


def _known_failure(request: Request, error: Exception) -> Response:
    assert isinstance(error, NeologueError)
    return failure_of(error)


def _http_failure(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    codes = {404: "unknown", 405: "method"}
    response = failure(error.status_code, codes.get(error.status_code, "invalid"), str(error.detail))
    response.headers.update(error.headers or {})
    return response


def _cut(request: Request, error: Exception) -> Response:
    return failure(408, "cut", "the request did not arrive in time")


def _fault(request: Request, error: Exception) -> Response:
    return failure(500, "broken", "the service has a fault; its log says which")


_HANDLERS: dict[Any, Any] = {
    NeologueError: _known_failure,
    HTTPException: _http_failure,
    TimeoutError: _cut,
    ClientDisconnect: _cut,
    Exception: _fault,
}
