"""The HTTP server under a worker or a witness: uvicorn, set up so that strangers can make nothing grow."""

import time
from typing import Any, Final

import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from neologue.service.api.connections import ConnectionLimits, Connections
from neologue.service.api.http_protocol import BoundedHttpProtocol
from neologue.service.ops.concurrency import RepeatedStep
from neologue.service.ops.settings import Settings

RESERVED: Final = 256
"""File descriptors for everything but connections: the database, its log, sockets that listen, libraries."""
_FEWEST: Final = 16

log = structlog.get_logger("neologue.service")


def server_options(settings: Settings, seconds_to_stop: float) -> dict[str, Any]:
    """What uvicorn is given, whoever starts it."""
    return {
        # By name: a worker process that had to import it before it begins would be taken for dead on a busy machine.
        "http": f"{BoundedHttpProtocol.__module__}:{BoundedHttpProtocol.__name__}",
        # Nothing here speaks WebSocket, whatever is installed.
        "ws": "none",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        # The service reads X-Forwarded-For itself, and as many entries as there are proxies.
        "proxy_headers": False,
        "timeout_graceful_shutdown": seconds_to_stop,
    }


class LimitedApplication:
    """An application that is no worker, with a worker's limits on its connections and headers."""

    def __init__(self, application: ASGIApp, settings: Settings) -> None:
        self._application = application
        self.largest_header = settings.largest_header
        limits = ConnectionLimits.of(settings)
        self.connections = Connections(limits, time.monotonic, _uncounted)
        self._closing = RepeatedStep("closing slow connections", self.connections.close_slow, limits.pause)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection; or the whole time of the server, which is one call as well."""
        if scope["type"] == "lifespan":
            async with self._closing:
                await self._application(scope, receive, send)
        else:
            await self._application(scope, receive, send)


def _uncounted(limit: str) -> None:
    """It has no metrics."""


def connections_allowed(wanted: int) -> int:
    """As many connections as are wanted, or as the system allows this process.

    Raises its own limit on file descriptors if it may: many systems begin with 1,024.
    """
    try:
        import resource
    except ImportError:  # not on this system
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + RESERVED
    if soft < needed:
        most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    allowed = max(_FEWEST, min(wanted, soft - RESERVED))
    if allowed < wanted:
        log.warning("fewer connections than wanted: raise the limit on open files", allowed=allowed, wanted=wanted)
    return allowed
