"""HTTP/1.1 as this service speaks it: uvicorn's protocol on httptools, with a limit on whatever a peer can make grow.

uvicorn bounds neither the bytes nor the time of a header, neither how many connections there are nor how long they stay
without a request, and logs a line for every request that can't be parsed. Decision 33 says why it is used nevertheless.
"""

import asyncio
import socket
from contextlib import suppress
from typing import Any, Final, Protocol, cast

import httptools
from uvicorn._types import ASGI3Application
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from neologue.service.api.addresses import network_of
from neologue.service.api.connections import Awaited, Connections
from neologue.service.api.responses import failure, security_headers

MOST_HEADERS: Final = 100
"""How many headers a request may have, each of which costs time however short it is; browsers send twenty."""
MOST_PIPELINED: Final = 8
"""How many requests a peer may send ahead of their answers; devices and browsers send none."""
MOST_UNREAD: Final = 1 << 20
"""The most bytes of a body that are thrown away behind its answer: whoever is cut while sending reads no answer."""
SEND_BUFFER: Final = 1 << 17
"""Bytes of an answer that the system keeps for a peer: by itself it would take megabytes from whoever reads nothing."""
_BODY: Final = (Awaited.BODY, Awaited.REST, Awaited.READER)
_FRAMING: Final = 4
"""A body may bring 1/2^4 of its length in marks of its pieces."""


class BoundedApplication(Protocol):
    """An application that counts its connections."""

    connections: Connections
    largest_header: int


class BoundedHttpProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        application = cast(BoundedApplication, self.app)
        self._connections, self._largest_header = application.connections, application.largest_header
        # Addresses and paths are personal, whatever loggers there are.
        self.access_log = False
        self.address = ""
        self.awaits = Awaited.HEADER
        self._in_header = True
        self._answering: RequestResponseCycle = None  # type: ignore[assignment]
        """The request that is answered now, or was answered last; None, as in uvicorn, before there is one."""
        self._framing = 0
        """Bytes of the request that are no body: its header, and the marks of its pieces."""
        self._unread = 0
        self._refusal = (400, "malformed", "this is not a request of HTTP/1.1")

    @property
    def unsent(self) -> int:
        """The bytes that the peer has not read."""
        return self.transport.get_write_buffer_size()

    def cut(self) -> None:
        """End it at once."""
        self._stop_answering()
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count a new connection in, or refuse it."""
        super().connection_made(transport)
        _bound_unsent(transport)
        self.address = network_of(self.client[0]) if self.client else ""
        if not self._connections.admit(self):
            self._refuse(503, "busy", "too many connections; try again")

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it out."""
        self._connections.leave(self)
        super().connection_lost(exc)
        self._stop_answering()
        # What was asked and is not answered would keep the connection in memory until it is collected.
        self.pipeline.clear()
        self.cycle = self._answering

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def _stop_answering(self) -> None:
        """Have nothing more written: the request that is answered is not the latest one if others are ahead of it."""
        if self._answering is not None:
            self._answering.disconnected = True
            self._answering.message_event.set()

    def data_received(self, data: bytes) -> None:
        """Parse what has come, and no more of a header than allowed."""
        try:
            self._parse(data)
        except httptools.HttpParserUpgrade:
            # Nothing else is spoken here: the request is answered as if it had not asked for it, and nothing behind it
            # is read, which a proxy may take for its body or for somebody else's request.
            self.cycle.keep_alive = False
        except httptools.HttpParserError:
            self._refuse(*self._refusal)
            return
        if self._framing > self._largest_header:
            self._refuse(431, "header_bytes", f"a request has a header of at most {self._largest_header:,} bytes")
            return
        if not self.pipeline:
            self._await_rest()

    def _parse(self, data: bytes) -> None:
        room = self._largest_header - self._framing
        if self._in_header and len(data) > room:
            header, data = data[:room], data[room:]
            self._framing = self._largest_header
            if header:
                self.parser.feed_data(header)
            if self._in_header and self._framing:  # its end is not in sight, and the parser need not see more of it
                self._framing += len(data)
                return
        self._framing += len(data)
        self.parser.feed_data(data)

    def _await_rest(self) -> None:
        """Wait for the rest of a request, if the last one on this connection is not complete."""
        if not self._in_header:
            if self.awaits not in _BODY:
                self._wait(Awaited.BODY)
        elif self._framing and self.awaits is Awaited.REQUEST and (self.cycle is None or self.cycle.response_complete):
            self._wait(Awaited.HEADER)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, unless there are too many."""
        if len(self.headers) >= MOST_HEADERS:
            self._refusal = (431, "headers", f"a request has at most {MOST_HEADERS} headers")
            raise ValueError
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to answer, unless too much is to be answered already."""
        if len(self.pipeline) >= MOST_PIPELINED:
            self._refusal = (400, "pipelined", f"at most {MOST_PIPELINED} requests are taken ahead of their answers")
            raise ValueError
        self._in_header = False
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Keep a piece of the body for the application, or throw it away if the answer is there."""
        self._framing -= len(body) + (len(body) >> _FRAMING)
        super().on_body(body)
        if self.cycle.response_complete:
            self._unread += len(body)
            if self._unread > MOST_UNREAD:
                self._connections.on_limit("unread_body_bytes")
                self.cut()

    def on_message_complete(self) -> None:
        """The whole request has come: it is on us now."""
        super().on_message_complete()
        self._in_header, self._framing, self._unread = True, 0, 0
        if self.cycle.response_complete:
            self._wait(Awaited.REQUEST)
        elif self.awaits is not Awaited.READER:
            self._connections.work(self)

    def on_response_complete(self) -> None:
        """The answer is written: the next one's turn, or that of the peer.

        Without a timer for each, as uvicorn has: idle connections are closed with all others that wait.
        """
        self.server_state.total_requests += 1
        if not self.transport.is_closing():
            self.flow.resume_reading()
            if self.pipeline:
                self._start_asgi_task(*self.pipeline.pop())
                return
        self._wait(Awaited.REQUEST if self._in_header else Awaited.REST)

    def pause_writing(self) -> None:
        """The peer does not read as fast as we write."""
        super().pause_writing()
        self._wait(Awaited.READER)

    def resume_writing(self) -> None:
        """The peer has read enough."""
        super().resume_writing()
        self.awaits = Awaited.REQUEST
        if self.cycle is None or self.cycle.response_complete:
            self._wait(Awaited.REQUEST)
        else:
            self._connections.work(self)

    def _wait(self, awaited: Awaited) -> None:
        self.awaits = awaited
        self._connections.wait(self)

    def _refuse(self, status: int, code: str, message: str) -> None:
        """Answer in the one shape of errors, unless an answer is under way, and close."""
        self._connections.on_limit(code)
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self.cut()
            return
        response = failure(status, code, message)
        headers = [*response.raw_headers, *security_headers(self.scheme == "https"), (b"connection", b"close")]
        lines = [name + b": " + value for name, value in headers]
        self.transport.write(STATUS_LINE[status] + b"\r\n".join(lines) + b"\r\n\r\n" + bytes(response.body))
        self.transport.close()


def _bound_unsent(transport: asyncio.Transport) -> None:
    """Bound what the system keeps of answers; what it keeps beyond that is ours, and counted."""
    line = transport.get_extra_info("socket")
    with suppress(OSError, AttributeError):
        line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
