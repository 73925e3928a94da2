"""Raw connections of a stranger, who need not speak HTTP as others do."""

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from neologue.service.ops.settings import Settings
from neologue.service.worker import Worker
from service.serving import Served, served

PATIENCE = 30.0
"""Seconds after which a test fails that waits for the service to do something."""


@contextmanager
def attacked(
    folder: Path,
    made: Callable[[Settings], Worker] = Worker,
    **settings: Any,  # noqa: ANN401
) -> Iterator[tuple[Served, Worker]]:
    """A real service on loopback, and its worker, to look inside."""
    workers: list[Worker] = []

    def make(given: Settings) -> Worker:
        workers.append(made(given))
        return workers[-1]

    with served(f"sqlite:///{folder}/service.db", make, **settings) as service:
        yield service, workers[0]


def connect(service: Served, source: str = "127.0.0.1", receive_buffer: int | None = None) -> socket.socket:
    """A new connection from an address of this machine."""
    there = urlsplit(service.address)
    line = socket.socket()
    line.settimeout(PATIENCE)
    if receive_buffer is not None:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    line.bind((source, 0))
    line.connect((there.hostname, there.port))
    return line


def head(method: str, path: str, **headers: object) -> bytes:
    """The head of a request."""
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: here",
        *(f"{name.replace('_', '-')}: {headers[name]}" for name in headers),
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def answer(line: socket.socket) -> tuple[int, bytes]:
    """The next answer: its status, and all of it that came."""
    heard = b""
    while True:
        begun, ended, body = heard.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", begun, re.IGNORECASE)
        if ended and length and len(body) >= int(length[1]):
            return int(begun.split()[1]), heard
        more = line.recv(1 << 16)
        assert more, f"closed behind {heard!r}"
        heard += more


def is_closed(line: socket.socket) -> bool:
    """Wait until the service closes a connection, whatever it says before."""
    try:
        while line.recv(1 << 16):
            pass
    except ConnectionResetError:
        pass
    return True


def send(line: socket.socket, data: bytes) -> bool:
    """Send something; False if the service does not take it any more."""
    try:
        line.sendall(data)
    except (BrokenPipeError, ConnectionResetError):
        return False
    return True


def limited(service: Served, limit: str) -> int:
    """How many times a limit was met, by the metrics."""
    text = service.ask("GET", "/metrics").body.decode()
    found = re.search(rf'neologue_limits_total{{limit="{limit}"}} (\d+)', text)
    return int(found[1]) if found else 0
