"""HTTP responses: JSON, and one shape for all errors."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from neologue.errors import (
    AccessError,
    BudgetError,
    CampaignError,
    CredentialError,
    InputError,
    LedgerError,
    NeologueError,
    NoCampaignError,
    OverfullError,
    RepeatedError,
    ReportError,
    StorageError,
)
from neologue.service.api.schemas import Failure, Problem

JSON = "application/json"
BUSY_SECONDS = 5
SHARED = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Retry-After"}
"""Headers for devices in web pages of any origin: they send no cookies, so every origin may ask."""
NO_STORE = {"Cache-Control": "no-store"}
"""Of whatever does not say otherwise: answers are for whoever asked."""
_SECURITY = [(b"x-content-type-options", b"nosniff")]
_SECURITY_TLS = [*_SECURITY, (b"strict-transport-security", b"max-age=31536000")]

_FAILURES: tuple[tuple[type[NeologueError], int, str], ...] = (
    (NoCampaignError, 404, "unknown"),
    (CampaignError, 409, "not_now"),
    (BudgetError, 409, "over_budget"),
    (LedgerError, 409, "ledger"),
    (CredentialError, 401, "forged"),
    (AccessError, 400, "invalid"),
    (OverfullError, 400, "overfull"),
    (RepeatedError, 409, "repeated"),
    (ReportError, 400, "malformed"),
    (StorageError, 503, "busy"),
    (InputError, 400, "invalid"),
)
"""The status and the code of each error; the first match counts."""


@dataclass(frozen=True)
class Prepared:
    """A response that is made once and sent many times."""

    status_code: int
    start: Message
    rest: Message

    @classmethod
    def of(cls, response: Response) -> "Prepared":
        """Prepare a response."""
        start = {"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers}
        return cls(response.status_code, start, {"type": "http.response.body", "body": response.body})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, as an ASGI application."""
        await send(self.start)
        await send(self.rest)


def security_headers(tls: bool) -> list[tuple[bytes, bytes]]:
    """The headers of every response; with TLS, browsers are told to come back with TLS alone."""
    return _SECURITY_TLS if tls else _SECURITY


def answer(value: object, status: int = 200) -> Response:
    """A value as JSON."""
    return Response(msgspec.json.encode(value), status, NO_STORE, JSON)


def failure(status: int, code: str, message: str, retry_after: float | None = None) -> Response:
    """An error, in the one shape."""
    response = answer(Failure(Problem(code, message)), status)
    if retry_after is not None:
        response.headers["Retry-After"] = str(max(1, round(retry_after)))
    return response


def failure_of(error: NeologueError) -> Response:
    """The response to an error that neologue raised on purpose."""
    for kind, status, code in _FAILURES:
        if isinstance(error, kind):
            # What a database has to say is for its operator, not for whoever asks.
            message = "the service can't reach its database; try again" if status == 503 else str(error)
            return failure(status, code, message, BUSY_SECONDS if status == 503 else None)
    return failure(500, "broken", "internal error: see the log of the service")


async def _known_failure(request: Request, error: Exception) -> Response:
    assert isinstance(error, NeologueError)
    return failure_of(error)


async def http_failure(request: Request, error: Exception) -> Response:
    """An address or a method that is not there, as JSON."""
    assert isinstance(error, HTTPException)
    codes = {404: "unknown", 405: "method"}
    message = "there is nothing under this address" if error.status_code == 404 else str(error.detail)
    response = failure(error.status_code, codes.get(error.status_code, "invalid"), message)
    response.headers.update(error.headers or {})
    return response


async def _request_cut(request: Request, error: Exception) -> Response:
    return failure(408, "cut", "the request did not arrive in time")


async def _fault(request: Request, error: Exception) -> Response:
    return failure(500, "broken", "internal error: see the log of the service")


Handlers = Mapping[Any, Callable[[Request, Exception], Awaitable[Response]]]
"""The response to each kind of error. None of them blocks: what does not is not sent to a thread."""
HANDLERS: Handlers = {
    NeologueError: _known_failure,
    HTTPException: http_failure,
    TimeoutError: _request_cut,
    ClientDisconnect: _request_cut,
    Exception: _fault,
}
"""The exception handlers of Starlette."""
