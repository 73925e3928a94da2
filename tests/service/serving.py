"""A real service on loopback: in a thread of this process, or in a process of its own that can be killed."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import uvicorn

from neologue.device.library import Library
from neologue.device.policy import Policy
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import Layer
from neologue.service.http_server import server_options
from neologue.service.ops import access
from neologue.service.ops.settings import Settings
from neologue.service.worker import Worker

PATIENCE = 180.0
PORTS = (20_000, 32_000)
"""Below the ports of outgoing connections, above those of Ray's workers."""


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever it says
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of an error, in the one shape that errors have."""
        assert set(self.json) == {"error"}
        assert set(self.json["error"]) == {"code", "message"}
        code: str = self.json["error"]["code"]
        return code


@dataclass(frozen=True)
class Served:
    """A running service."""

    address: str
    token: str

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | dict[str, Any] | None = None,
        token: str | None = None,
        **headers: str,
    ) -> Reply:
        """One request, with the first operator's token unless another is given."""
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        bearer = self.token if token is None else token
        sent = {
            "Authorization": f"Bearer {bearer}",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        request = urllib.request.Request(self.address + path, data, sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
                return Reply(reply.status, reply.read(), dict(reply.headers))
        except urllib.error.HTTPError as error:
            return Reply(error.code, error.read(), dict(error.headers))


def fetch_layer(service: Served, library: Library, digest: bytes) -> Layer | ClosedLayer:
    """A layer of the service, whatever a device would say to it."""
    return library.layer(digest, lambda path, most: service.ask("GET", path).body, Policy(), lambda unread: None)


@contextmanager
def served(url: str, made: Callable[[Settings], Worker] = Worker, **settings: Any) -> Iterator[Served]:  # noqa: ANN401
    """A service in a thread of this process, with or without pages."""
    service = made(Settings(database=url, **{"refresh": 0.05, "patience": 0.3, **settings}))
    with service.database.transaction() as db:
        token = access.new_token(db, f"tests {time.monotonic_ns()}", access.OPERATOR, time.time())
    config = uvicorn.Config(service, host="127.0.0.1", port=0, **server_options(service.settings, 5))
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive())
        port = server.servers[0].sockets[0].getsockname()[1]
        yield Served(f"http://127.0.0.1:{port}", token)
    finally:
        server.should_exit = True
        thread.join()


class Process:
    """A service in a process of its own, which listens on a fixed port, so that it can come back."""

    def __init__(self, url: str, folder: Path, port: int, *options: str) -> None:
        self._command = [
            *(sys.executable, "-m", "neologue", "serve", "--database", url, "--port", str(port), "--patience", "0.3"),
            *options,
        ]
        self.log = folder / f"log-{port}"
        self.address = f"http://127.0.0.1:{port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it serves."""
        with self.log.open("ab") as log:
            # A group of its own, so that its workers can be ended with it.
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, start_new_session=True)
        wait_until(self._ready)

    def kill(self) -> None:
        """End it, and all of its workers, without a warning."""
        assert self._process
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def kill_worker(self, dice: random.Random) -> None:
        """End one of its workers without a warning; it is to start another by itself."""
        assert self._process
        workers = [
            child
            for child in psutil.Process(self._process.pid).children()
            if "multiprocessing.spawn" in " ".join(child.cmdline())
        ]
        dice.choice(workers).kill()

    @property
    def pid(self) -> int:
        """The number of the process."""
        assert self._process
        return self._process.pid

    def stop(self) -> int:
        """End it in good order."""
        assert self._process
        self._process.terminate()
        return self._process.wait(PATIENCE)

    @property
    def token(self) -> str:
        """The token that the first start printed."""
        return next(
            line.rpartition(" ")[2] for line in self.log.read_text().splitlines() if line.startswith("operator token")
        )

    def _ready(self) -> bool:
        assert self._process
        assert self._process.poll() is None, self.log.read_text()[-2000:]
        try:
            with urllib.request.urlopen(f"{self.address}/readyz", timeout=5) as reply:
                return bool(reply.status == 200)
        except OSError:
            return False


def free_port() -> int:
    """A port that nobody listens on, out of those that no system gives to whoever asks for any.

    So nobody else gets it before a service listens on it, or while that is away.
    """
    while True:
        port = random.SystemRandom().randrange(*PORTS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def wait_until(condition: Any, seconds: float = PATIENCE) -> None:  # noqa: ANN401
    """Look again and again, until something is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.01)
