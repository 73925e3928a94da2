"""How a device talks to a service: the standard library's HTTP, with limits on every answer.

A server may be hostile, and so may a captive portal that answers in its place. So an answer has one deadline and a
largest size, headers and compressed bytes included; redirects are not followed; TLS certificates are checked. Every
failure is a LaterError.
"""

import http.client
import ssl
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, Self
from urllib.parse import urlsplit

from neologue.errors import LaterError, OversizeError, ParameterError
from neologue.one_address import BoundedHttp, BoundedHttps, TooLongError

JSON: Final = "application/json"
OCTETS: Final = "application/octet-stream"
SMALL_ANSWER = 1 << 16
"""The most bytes of an answer that is no document."""

_SECONDS: Final = 60.0
_HEADERS: Final = 1 << 16
_GZIP: Final = 31  # wbits: a window of 2^15 bytes, gzip


@dataclass(frozen=True)
class Response:
    """What a server answered."""

    status: int
    body: bytes
    retry_after: str | None = None
    """The header, as it came."""


class Transport(Protocol):
    """What sends requests to the service; tests inject faults here."""

    def request(
        self, method: str, path: str, body: bytes = b"", kind: str = JSON, most: int = SMALL_ANSWER
    ) -> Response:
        """The answer, whose body has at most so many bytes; or a LaterError, also if the request may have arrived."""


class HttpTransport:
    """A persistent connection to one server, for use by one thread at a time."""

    def __init__(
        self, server: str, *, ca_file: Path | str | None = None, seconds: float = _SECONDS, plain: bool = False
    ) -> None:
        """`server` is `https://host[:port][/path]`; `ca_file` has the certificates to trust instead of the system's.

        `seconds` is how long a whole answer may take. Without TLS anybody on the network can read and change the
        traffic, so http:// is only for this machine, or where `plain` says that the network is trusted.
        """
        try:
            url = urlsplit(server)
            host, port = url.hostname, url.port
        except ValueError:
            host = port = None
        if host is None or url.scheme not in ("http", "https") or url.query or url.fragment or url.username:
            raise ParameterError(
                f"{server!r} is not the address of a service; give one such as https://words.example.org"
            )
        if url.scheme == "http" and not (plain or _is_loopback(host)):
            raise ParameterError(
                f"{server!r} is an address without TLS, which is for this machine only; give https://{host}"
            )
        self._server = server
        self._path = url.path.rstrip("/")
        self._seconds = seconds
        if url.scheme == "https":
            self._connection: BoundedHttp = BoundedHttps(host, port, timeout=seconds, context=_tls_context(ca_file))
        else:
            self._connection = BoundedHttp(host, port, timeout=seconds)

    def request(
        self, method: str, path: str, body: bytes = b"", kind: str = JSON, most: int = SMALL_ANSWER
    ) -> Response:
        """The answer; or a LaterError. A connection that was closed between two requests is opened once more."""
        headers = {"Accept-Encoding": "gzip"} | ({"Content-Type": kind} if body else {})
        reused = self._connection.sock is not None
        try:
            try:
                return self._exchange(method, path, body, headers, most)
            except (ConnectionError, http.client.BadStatusLine):
                if not reused:
                    raise
                # Every request of a device is idempotent.
                return self._exchange(method, path, body, headers, most)
        except TooLongError:
            raise OversizeError(
                f"an answer from {self._server} has more than {most:,} bytes: try again later"
            ) from None
        except (OSError, http.client.HTTPException, ValueError, zlib.error) as error:
            # Python's message may quote what the server sent.
            raise LaterError(
                f"no usable answer from {self._server} ({type(error).__name__}): try again later"
            ) from None

    def close(self) -> None:
        """Close the connection; the next request opens a new one."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"HttpTransport({self._server!r})"

    def _exchange(self, method: str, path: str, body: bytes, headers: Mapping[str, str], most: int) -> Response:
        connection = self._connection
        connection.allowance.renew(self._seconds, _HEADERS + most)
        try:
            connection.request(method, self._path + path, body or None, headers)
            with connection.getresponse() as answer:
                if (answer.length or 0) > most:
                    raise TooLongError
                content = answer.read(most + 1)
                if len(content) > most:
                    raise TooLongError
                if answer.length:
                    raise ValueError("cut short")
                if answer.getheader("Content-Encoding") == "gzip":
                    content = _decompress(content, most)
                return Response(answer.status, content, answer.getheader("Retry-After"))
        except BaseException:
            # The rest of this answer must not be read as the next one.
            connection.close()
            raise


def _decompress(content: bytes, most: int) -> bytes:
    """The gzip content, if it is complete and within the limit; a zip bomb is unpacked no further."""
    unpacking = zlib.decompressobj(_GZIP)
    unpacked = unpacking.decompress(content, most + 1)
    if len(unpacked) > most:
        raise TooLongError
    if not unpacking.eof or unpacking.unused_data:
        raise ValueError("not whole")
    return unpacked


def _is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _tls_context(ca_file: Path | str | None) -> ssl.SSLContext:
    """A context that trusts the system's certificates, or only those of a file."""
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise ParameterError(f"{ca_file} is not a PEM file of certificates ({error.strerror})") from error
