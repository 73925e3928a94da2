"""A service that says what a check has written for it, and keeps every request.

It speaks the protocol with one layer, and answers as it should unless the next answer for a path was scripted.
"""

import json
import socket
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from time import sleep
from typing import Any, Final, Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.errors import NeologueError
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.credential import Credential, issue
from neologue.protocol.documents import known_document
from neologue.protocol.invitation import invite
from neologue.protocol.layer import Layer
from neologue.protocol.submission import Submission
from neologue.protocol.ticket import is_ticket, ticket


@dataclass(frozen=True)
class Reply:
    """An answer."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    trickling: Literal["", "headers", "body"] = ""
    """What of it comes byte by byte, after spaces that mean nothing."""

    @classmethod
    def json(cls, status: int, told: object, **headers: str) -> "Reply":
        """An answer in JSON; underscores in names of headers are hyphens."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return cls(status, json.dumps(told).encode(), named)

    @classmethod
    def error(cls, status: int, code: str, **headers: str) -> "Reply":
        """An error in the one shape."""
        return cls.json(status, {"error": {"code": code, "message": "scripted"}}, **headers)


PIECES: Final = 60
PAUSE: Final = 0.05
"""A part of an answer that trickles takes three seconds more than it should, in so many pieces."""


@dataclass(frozen=True)
class DeviceRequest:
    """What a device asked."""

    method: str
    path: str
    body: bytes
    kind: str


class CutError(Exception):
    """The connection is cut without an answer."""


Scripted = Callable[[Callable[[], Reply]], Reply]
"""Answers in the place of the service, whose own answer it may take."""


def instead(reply: Reply) -> Scripted:
    """Another answer, and the service does nothing."""
    return lambda _answer: reply


def lost_request(_answer: Callable[[], Reply]) -> Reply:
    """The request does not arrive."""
    raise CutError


def lost_answer(answer: Callable[[], Reply]) -> Reply:
    """The request arrives and does its work; its answer is lost."""
    answer()
    raise CutError


class ScriptedService:
    """A campaign with one layer."""

    def __init__(self, layer: Layer | ClosedLayer, operator: Ed25519PrivateKey) -> None:
        self.operator = self.issuer = operator
        self.campaign_id = b"conformance kit!"
        self.secret = bytes(32)
        self.address = ""
        self.requests: list[DeviceRequest] = []
        self.final: dict[bytes, bytes] = {}
        """By serial, the reports that count."""
        self.told: dict[str, Any] = {}
        """What an invitation says besides, or instead."""
        self._script: defaultdict[str, deque[Scripted]] = defaultdict(deque)
        self._turn = Lock()
        self.documents: dict[str, bytes] = {}
        self.ask_about(layer)

    def ask_about(self, layer: Layer | ClosedLayer) -> None:
        """Invite to this layer from now on."""
        self.layer = layer
        self.documents[f"/v1/layers/{layer.digest.hex()}"] = layer.document
        self.documents[f"/v1/known/{layer.known.digest}"] = known_document(layer.known)

    def credential(self) -> str:
        """A credential for another device."""
        return issue(self.campaign_id, self.issuer).text

    def script(self, path: str, *answers: Scripted) -> None:
        """What becomes of the next requests for a path, or one that begins like it."""
        self._script[path].extend(answers)

    @property
    def reports(self) -> list[bytes]:
        """The bodies of all reports that were sent, each time that they were."""
        return [request.body for request in self.requests if request.path == "/v1/reports"]

    def asked(self, path: str) -> int:
        """How many requests there were for a path, or one that begins like it."""
        return sum(request.path.startswith(path) for request in self.requests)

    def answer(self, request: DeviceRequest) -> Reply:
        """The answer to a request."""
        with self._turn:
            self.requests.append(request)
            for path, scripted in self._script.items():
                if request.path.startswith(path) and scripted:
                    return scripted.popleft()(lambda: self._answer(request))
            return self._answer(request)

    def _answer(self, request: DeviceRequest) -> Reply:
        try:
            match request.method, request.path:
                case "POST", "/v1/check-in":
                    return Reply.json(200, self.invitation(json.loads(request.body)["credential"]))
                case "POST", "/v1/reports":
                    return self._report(Submission.parse(request.body))
                case "GET", path if path in self.documents:
                    return Reply(200, self.documents[path])
        except (ValueError, KeyError, TypeError, NeologueError):
            return Reply.error(400, "malformed")
        return Reply.error(404, "unknown")

    def invitation(self, text: str) -> dict[str, Any]:
        """What a check-in is told."""
        serial = Credential.parse(text).serial
        invited = invite(self.campaign_id, self.layer, self.operator)
        return {
            "state": "invited",
            "layer": self.layer.digest.hex(),
            "operator": invited.operator.hex(),
            "signature": invited.signature.hex(),
            "ticket": ticket(self.secret, self.campaign_id, self.layer.digest, serial).hex(),
        } | self.told

    def _report(self, sent: Submission) -> Reply:
        if not is_ticket(sent.ticket, self.secret, self.campaign_id, self.layer.digest, sent.serial):
            return Reply.error(401, "forged")
        self.final.setdefault(sent.serial, sent.report)
        return Reply.json(200, {"state": "final"})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    service: ScriptedService

    def do_GET(self) -> None:
        self._reply(b"")

    def do_POST(self) -> None:
        self._reply(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _reply(self, body: bytes) -> None:
        request = DeviceRequest(self.command, self.path, body, self.headers.get("Content-Type", ""))
        try:
            reply = self.service.answer(request)
        except CutError:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(reply.status)
        if reply.trickling == "headers":
            self.flush_headers()
            self._trickle(b"X-Slow:", b"\r\n")
        ahead = PIECES if reply.trickling == "body" else 0
        for name, value in {"Content-Length": str(ahead + len(reply.body)), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if ahead:
            self._trickle()
        self.wfile.write(reply.body)

    def _trickle(self, before: bytes = b"", behind: bytes = b"") -> None:
        """Write spaces, one after the other."""
        self.wfile.write(before)
        for _ in range(PIECES):
            sleep(PAUSE)
            self.wfile.write(b" ")
        self.wfile.write(behind)

    def log_message(self, format: str, *values: object) -> None:  # noqa: A002
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, address: object) -> None:
        """A device that stops reading is judged, and not reported as an error of the server."""


@contextmanager
def running(service: ScriptedService) -> Iterator[ScriptedService]:
    """The service, at an address on this machine."""
    with _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"service": service})) as server:
        service.address = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()
