"""The line over which a fleet checks in for devices that sleep.

Nearly all that devices of a fleet do is to wait, and http.client takes longer to read the headers of an answer than the
service takes to write them. So requests that no client makes go without it; a client always has its own transport.
"""

import socket
from typing import Final
from urllib.parse import urlsplit

from neologue.device.network.transport import JSON, SMALL_ANSWER, HttpTransport, Response
from neologue.errors import LaterError

_SECONDS: Final = 60.0
_PIECE: Final = 1 << 16
_END: Final = b"\r\n\r\n"
_LENGTH: Final = b"\r\ncontent-length:"


def check_in_line(server: str) -> "HttpTransport | CheckInLine":
    """The line to a service; over TLS it is that of a device."""
    return HttpTransport(server) if urlsplit(server).scheme == "https" else CheckInLine(server)


class CheckInLine:
    """A connection that stays open to a service without TLS, for one thread at a time."""

    def __init__(self, server: str) -> None:
        """`server` is `http://host[:port][/path]`."""
        url = urlsplit(server)
        self._address = (url.hostname or "", url.port or 80)
        self._host, self._path = url.netloc, url.path.rstrip("/")
        self._socket: socket.socket | None = None

    def request(
        self, method: str, path: str, body: bytes = b"", kind: str = JSON, most: int = SMALL_ANSWER
    ) -> Response:
        """The answer; or a LaterError. A connection that was closed between two requests is opened once more."""
        head = (
            f"{method} {self._path}{path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: {kind}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        reused = self._socket is not None
        try:
            try:
                return self._exchange(head.encode() + body, most)
            except ConnectionError:
                if not reused:
                    raise
                return self._exchange(head.encode() + body, most)
        except (OSError, ValueError) as error:
            raise LaterError(f"no usable answer ({type(error).__name__}): try again later") from None

    def close(self) -> None:
        """Close the connection; the next request opens a new one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _exchange(self, request: bytes, most: int) -> Response:
        if self._socket is None:
            self._socket = socket.create_connection(self._address, _SECONDS)
        try:
            self._socket.sendall(request)
            answer = self._receive(b"")
            while _END not in answer:
                if len(answer) > most:
                    raise ValueError("too long")
                answer = self._receive(answer)
            head, _, body = answer.partition(_END)
            lowered = head.lower()
            length = int(lowered.partition(_LENGTH)[2].partition(b"\r\n")[0])
            if max(length, len(body)) > most:
                raise ValueError("too long")
            while len(body) < length:
                body = self._receive(body)
        except BaseException:
            # The rest of this answer must not be read as the next one.
            self.close()
            raise
        if b"\r\nconnection: close" in lowered:
            self.close()
        return Response(int(head[9:12]), body)

    def _receive(self, before: bytes) -> bytes:
        """What was received before, and what comes behind it."""
        assert self._socket is not None
        more = self._socket.recv(_PIECE)
        if not more:
            raise ConnectionError
        return before + more
