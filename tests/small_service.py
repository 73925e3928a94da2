"""A small service that speaks the protocol with devices over real HTTP on this machine, and can misbehave."""

import gzip
import json
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from invitations import OPERATOR, campaign_id
from layers import small_layer
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.credential import Credential, issue
from neologue.protocol.documents import known_document
from neologue.protocol.invitation import invite
from neologue.protocol.layer import Layer
from neologue.protocol.submission import Submission
from neologue.protocol.succession import Link
from neologue.protocol.ticket import is_ticket, ticket

CAMPAIGN = campaign_id(1)
SECRET = bytes(range(32))


@dataclass
class Reply:
    """An answer of the service."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, status: int, told: object, **headers: str) -> "Reply":
        """An answer in JSON."""
        return cls(
            status, json.dumps(told).encode(), {name.replace("_", "-"): value for name, value in headers.items()}
        )


def error(status: int, code: str, **headers: str) -> Reply:
    """An error in the one shape."""
    return Reply.of(status, {"error": {"code": code, "message": "made up"}}, **headers)


class SilenceError(Exception):
    """The connection is to be cut without a word."""


Fault = Callable[["Service", Callable[[], Reply]], Reply]
"""What stands between a request and its answer."""


def lost_before(service: "Service", answer: Callable[[], Reply]) -> Reply:
    """The request does not arrive."""
    raise SilenceError


def lost_after(service: "Service", answer: Callable[[], Reply]) -> Reply:
    """The request arrives and does its work; its answer is lost."""
    answer()
    raise SilenceError


def instead(reply: Reply) -> Fault:
    """Another answer, and nothing is done."""
    return lambda _service, _answer: reply


class Service:
    """What a campaign's service keeps: the layer it invites everybody to, and the reports it has counted."""

    def __init__(self, layer: Layer | ClosedLayer | None = None, known: Vocabulary | None = None) -> None:
        self.layer = layer or small_layer(["ab", "ca"], 5)
        self.documents = {f"/v1/layers/{self.layer.digest.hex()}": self.layer.document}
        known = known or self.layer.known
        self.documents[f"/v1/known/{known.digest}"] = known_document(known)
        self.campaign = CAMPAIGN
        self.state = "invited"
        self.operator = OPERATOR
        self.links: list[Link] = []
        """How the operator's keys have replaced each other."""
        self.batch = 1
        """How many reports are made final at once."""
        self.closed = False
        self.pending: dict[bytes, bytes] = {}
        self.final: dict[bytes, bytes] = {}
        self.requests: list[tuple[str, str]] = []
        self.bodies: list[bytes] = []
        self.faults: dict[str, list[Fault]] = {}
        self.connections = 0
        self.packs = True
        self.address = ""
        self.turn = Lock()

    def credential(self) -> Credential:
        """A credential for another device."""
        return issue(self.campaign, OPERATOR)

    def ahead(self, path: str, *faults: Fault) -> None:
        """What will go wrong with the next requests for a path, or one that begins like it."""
        self.faults.setdefault(path, []).extend(faults)

    def asked(self, path: str) -> int:
        """How many requests there were for a path, or one that begins like it."""
        return sum(asked.startswith(path) for _, asked in self.requests)

    def answer(self, method: str, path: str, body: bytes) -> Reply:
        """What the protocol says."""
        with self.turn:
            self.requests.append((method, path))
            fault = next(
                (self.faults[start].pop(0) for start in self.faults if path.startswith(start) and self.faults[start]),
                None,
            )
            if fault is not None:
                return fault(self, lambda: self._answer(method, path, body))
            return self._answer(method, path, body)

    def _answer(self, method: str, path: str, body: bytes) -> Reply:
        match method, path:
            case "POST", "/v1/check-in":
                return self._check_in(json.loads(body)["credential"])
            case "POST", "/v1/reports":
                return self._report(body)
            case "GET", document if document in self.documents:
                return Reply(200, self.documents[document])
        return error(404, "unknown")

    def _check_in(self, text: str) -> Reply:
        credential = Credential.parse(text)
        if not credential.issued_by(OPERATOR.public_key().public_bytes_raw()):
            return error(401, "forged")
        replaced = {"succession": b"".join(map(bytes, self.links)).hex()} if self.links else {}
        if self.state == "wait":
            return Reply.of(200, {"state": "wait", "retry_after": 7} | replaced)
        if self.state == "over":
            return Reply.of(200, {"state": "over"} | replaced)
        return Reply.of(200, self.invited(credential) | replaced)

    def invited(self, credential: Credential) -> dict[str, Any]:
        """The invitation to the layer."""
        invitation = invite(self.campaign, self.layer, self.operator)
        return {
            "state": "invited",
            "layer": self.layer.digest.hex(),
            "operator": invitation.operator.hex(),
            "signature": invitation.signature.hex(),
            "ticket": ticket(SECRET, self.campaign, self.layer.digest, credential.serial).hex(),
        }

    def _report(self, body: bytes) -> Reply:
        self.bodies.append(body)
        sent = Submission.parse(body)
        if not is_ticket(sent.ticket, SECRET, self.campaign, self.layer.digest, sent.serial):
            return error(401, "forged")
        if sent.serial in self.final:
            return Reply.of(200, {"state": "final"})
        if self.closed:
            return error(410, "closed")
        self.pending[sent.serial] = sent.report
        if len(self.pending) < self.batch:
            return Reply.of(202, {"state": "received", "retry_after": 5})
        self.final |= self.pending
        self.pending = {}
        return Reply.of(200, {"state": "final"})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    service: Service

    def setup(self) -> None:
        super().setup()
        self.service.connections += 1

    def do_GET(self) -> None:
        self._reply(b"")

    def do_POST(self) -> None:
        self._reply(self.rfile.read(int(self.headers["Content-Length"])))

    def _reply(self, body: bytes) -> None:
        try:
            reply = self.service.answer(self.command, self.path, body)
        except SilenceError:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        content, headers = reply.body, dict(reply.headers)
        if (
            self.service.packs
            and "gzip" in self.headers.get("Accept-Encoding", "")
            and "Content-Encoding" not in headers
        ):
            content, headers["Content-Encoding"] = gzip.compress(content), "gzip"
        self.send_response(reply.status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *values: object) -> None:  # noqa: A002
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, address: object) -> None:
        """A device that goes away is nothing to speak of."""


@contextmanager
def running(service: Service, certificate: Path | None = None) -> Iterator[Service]:
    """The service, at its address on this machine."""
    handler = type("Handler", (_Handler,), {"service": service})
    with _Server(("127.0.0.1", 0), handler) as server:
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        service.address = f"{'http' if certificate is None else 'https'}://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()
