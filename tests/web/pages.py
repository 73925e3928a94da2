"""A web server for the tests: static files under a strict policy, and a service behind the same origin."""

import http.client
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Final
from urllib.parse import urlsplit

ROOT: Final = Path(__file__).parents[2]
FOLDERS: Final = {
    "/static/": ROOT / "src" / "neologue" / "web" / "static",
    "/tests/": ROOT / "tests" / "web",
    "/vectors/": ROOT / "vectors",
}
KINDS: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
}
POLICY: Final = "default-src 'self'"
BLANK: Final = b'<!doctype html><html lang="en"><meta charset="utf-8"><title>blank</title>'

# What a service has to say to devices in pages of other origins.
CORS: Final = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Retry-After"}
PREFLIGHT: Final = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Content-Type",
    "Access-Control-Max-Age": "86400",
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    upstream = ""
    cors = False
    policy = POLICY

    def do_GET(self) -> None:
        if self.path.startswith(("/v1/", "/log/")):
            self._forward(b"")
            return
        path = urlsplit(self.path).path
        if path == "/":
            self._send(200, BLANK, {"Content-Type": KINDS[".html"], "Content-Security-Policy": self.policy})
            return
        if path == "/favicon.ico":
            self._send(204, b"", {})
            return
        for start, folder in FOLDERS.items():
            file = folder / path.removeprefix(start)
            if path.startswith(start) and file.parent == folder and file.suffix in KINDS and file.is_file():
                headers = {"Content-Type": KINDS[file.suffix], "Content-Security-Policy": self.policy}
                self._send(200, file.read_bytes(), headers)
                return
        self._send(404, b"", {})

    def do_POST(self) -> None:
        self._forward(self.rfile.read(int(self.headers["Content-Length"])))

    def do_OPTIONS(self) -> None:
        self._send(204 if self.cors else 405, b"", PREFLIGHT if self.cors else {})

    def _forward(self, body: bytes) -> None:
        there = urlsplit(self.upstream)
        connection = http.client.HTTPConnection(there.hostname or "", there.port, timeout=300)
        sent = {name: self.headers[name] for name in ("Content-Type", "Accept-Encoding") if name in self.headers}
        try:
            connection.request(self.command, self.path, body or None, sent)
            with connection.getresponse() as answer:
                names = ("Content-Type", "Content-Encoding", "Retry-After", "Location")
                headers = {name: value for name in names if (value := answer.getheader(name))}
                self._send(answer.status, answer.read(), headers | (CORS if self.cors else {}))
        except (OSError, http.client.HTTPException):
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        finally:
            connection.close()

    def _send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *values: object) -> None:  # noqa: A002
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, address: object) -> None:
        """A browser that goes away is nothing to speak of."""


@contextmanager
def pages(upstream: str = "", *, cors: bool = False, connects_to: str = "") -> Iterator[str]:
    """The address of the pages, with the service at `upstream` under their /v1 and /log."""
    policy = f"{POLICY}; connect-src 'self' {connects_to}" if connects_to else POLICY
    handler = type("Handler", (_Handler,), {"upstream": upstream, "cors": cors, "policy": policy})
    with _Server(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
