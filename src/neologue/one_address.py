"""HTTP requests that go to the address they were made for, and to no other, and whose answers end.

A request carries a token, a signature or the question of an auditor. Whoever answers it must not be able to send it
on, by a redirection, to a machine of their choice or to one that only this machine can reach; nor to keep whoever asks
for ever, by an answer that comes byte by byte.
"""

import http.client
import io
import math
import socket
import time
import urllib.request
from typing import Any, Final

SLOWEST: Final = 10
"""How many times as long as between two pieces of it a whole answer may take."""


class TooLongError(ValueError):
    """There is more of an answer than may be read."""


class Allowance:
    """How long and how much may still be read."""

    def renew(self, seconds: float, octets: float = math.inf, between: float = math.inf) -> None:
        """So many seconds and bytes from now on, with at most so many seconds between two pieces."""
        self._deadline = time.monotonic() + seconds
        self._octets, self._between = octets, between

    def seconds_left(self) -> float:
        """How long the next piece may take."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return min(left, self._between)

    def take(self, octets: int) -> None:
        """Count what was read."""
        self._octets -= octets
        if self._octets < 0:
            raise TooLongError


class _BoundedReader(io.RawIOBase):
    """What http.client reads from."""

    def __init__(self, sock: socket.socket, allowance: Allowance) -> None:
        self._sock = sock
        self._stream = sock.makefile("rb", buffering=0)
        self._allowance = allowance

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:  # noqa: ANN401 - anything that is a buffer
        self._sock.settimeout(self._allowance.seconds_left())
        count = self._stream.readinto(buffer)
        self._allowance.take(count or 0)
        return count

    def close(self) -> None:
        self._stream.close()
        super().close()


class _Socket:
    """As much of a socket as http.client uses."""

    def __init__(self, sock: socket.socket, allowance: Allowance) -> None:
        self._sock = sock
        self._allowance = allowance

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_BoundedReader(self._sock, self._allowance))

    def sendall(self, content: bytes) -> None:
        self._sock.settimeout(self._allowance.seconds_left())
        self._sock.sendall(content)

    def close(self) -> None:
        self._sock.close()


class BoundedHttp(http.client.HTTPConnection):
    """A connection that keeps to an allowance, which is renewed for each request."""

    sock: Any

    def __init__(self, *address: Any, **options: Any) -> None:  # noqa: ANN401 - those of http.client
        super().__init__(*address, **options)
        self.allowance = Allowance()

    def connect(self) -> None:
        """Connect, and read within the allowance from then on."""
        super().connect()
        self.sock = _Socket(self.sock, self.allowance)


class BoundedHttps(BoundedHttp, http.client.HTTPSConnection):
    """The same with TLS."""


class _Once(BoundedHttp):
    """A connection for one request."""

    def __init__(self, *address: Any, **options: Any) -> None:  # noqa: ANN401 - those of http.client
        super().__init__(*address, **options)
        self.allowance.renew(SLOWEST * options["timeout"], between=options["timeout"])


class _OnceTls(_Once, http.client.HTTPSConnection):
    """The same with TLS."""


class _Http(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Once, request)


class _Https(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_OnceTls, request)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Redirections are answers, with a status that is an error."""


def send_request(request: urllib.request.Request, seconds: float) -> http.client.HTTPResponse:
    """The answer to a request; raises what `urlopen` raises, also while the answer is read.

    There are at most so many seconds between two pieces of it, and `SLOWEST` times as many until it is read.
    """
    opener = urllib.request.build_opener(_Http, _Https, _NoRedirects)
    answer: http.client.HTTPResponse = opener.open(request, timeout=seconds)
    return answer
