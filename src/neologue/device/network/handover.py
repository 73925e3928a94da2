"""Hand-over by file: the requests of a device that may not use the network, and the answers that someone carries back.

A step whose answer is not at hand leaves its request, and is taken again when the answer has come. The request has the
answers that the step has used already, which come back with the new one. Whoever carries the files is trusted no more
than a network is: the device checks the answers as it checks those of HTTP. docs/protocol.md has the form of the files.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Self

from neologue.device.network.transport import JSON, OCTETS, SMALL_ANSWER, Response, Transport
from neologue.errors import DocumentError, LaterError, OversizeError, ParameterError
from neologue.protocol.documents import LARGEST_DOCUMENT, known_digest
from neologue.protocol.limits import LARGEST_KNOWN
from neologue.transparency.tiles import NUMBER

FORMAT: Final = 1
LARGEST_FILE: Final = 1 << 26
SOON: Final = 1.0
"""Seconds: a step is taken again as soon as its answer has come."""
_KINDS: Final = (JSON, OCTETS)
_KEPT: Final = ("/v1/layers/", "/v1/known/")
"""Documents: a device has them on its disk once it has used them."""
_CARRIED: Final = re.compile(
    r"POST /v1/(?:check-in|reports)|GET /v1/(?:layers|known)/[0-9a-f]{64}"
    rf"|GET /log/(?:campaigns/[0-9a-f]{{32}}/)?tile/[0-9]{{1,2}}/{NUMBER}(?:\.p/[0-9]{{1,3}})?"
    r"|GET /log/evidence"
)
"""What is carried: a group of masked votes needs a network, because others wait for each of its messages."""


@dataclass(frozen=True)
class HandedRequest:
    """A request in a file."""

    method: str
    path: str
    body: bytes = b""
    kind: str = JSON
    answers: Mapping[str, Response] = field(default_factory=dict)
    """What the same step has used already, by the name of its request."""

    @property
    def name(self) -> str:
        """By what an answer names its request."""
        return hashlib.sha256(f"{self.method} {self.path}\n".encode() + self.body).hexdigest()

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """The request in a file; or a ParameterError if it is none that may be carried."""
        try:
            told = _read_file(content)
            body = base64.b64decode(told["body"], validate=True)
            answers = _responses(told.get("answers", []))
            request = cls(told["method"], told["path"], body, told["type"], answers)
            if not _CARRIED.fullmatch(f"{request.method} {request.path}") or request.kind not in _KINDS:
                raise ValueError
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
            raise ParameterError("the file has no request of a device: have the device write it again") from None
        return request

    def __bytes__(self) -> bytes:
        body = base64.b64encode(self.body).decode()
        told = {"method": self.method, "path": self.path, "type": self.kind, "body": body}
        return json.dumps({"handover": FORMAT, **told, "answers": answer_items(self.answers)}).encode()


class HandoverTransport:
    """Answers requests from what was carried, and keeps the first one that it can't answer."""

    def __init__(self, carried: bytes | None = None) -> None:
        """`carried` are the answers in a file, if there are some."""
        self._answers = {} if carried is None else _read_answers(carried)
        self._used: dict[str, Response] = {}
        self.pending: HandedRequest | None = None

    def request(
        self, method: str, path: str, body: bytes = b"", kind: str = JSON, most: int = SMALL_ANSWER
    ) -> Response:
        """The answer, once; or a LaterError, and the request is pending."""
        # A report ends the step: what comes back is for the next one, which begins with it.
        request = HandedRequest(method, path, body, kind, self._used if method == "GET" else {})
        response = self._answers.pop(request.name, None)
        if response is None:
            self.pending = request
            raise LaterError("the next request of this device waits to be carried to the service", SOON)
        if len(response.body) > most:
            raise OversizeError(f"a carried answer has more than {most:,} bytes: have the request carried again")
        if not path.startswith(_KEPT):
            self._used[request.name] = response
        return response


def carry(request: HandedRequest, transport: Transport) -> bytes:
    """The file with the answer of a service, and with the documents that the next step of the device needs."""
    response = transport.request(request.method, request.path, request.body, request.kind, LARGEST_DOCUMENT)
    answers = {**request.answers, request.name: response}
    if request.path == "/v1/check-in" and response.status == 200:
        answers |= _documents(response, transport)
    return json.dumps({"handover": FORMAT, "answers": answer_items(answers)}).encode()


def _documents(invited: Response, transport: Transport) -> dict[str, Response]:
    """The layer that an invitation is for and its known words, as far as there are any: the device judges them."""
    fetched: dict[str, Response] = {}

    def fetch(path: str, most: int) -> bytes:
        wanted = HandedRequest("GET", path)
        if not _CARRIED.fullmatch(f"GET {path}"):
            raise DocumentError("the invitation names no document")
        response = fetched[wanted.name] = transport.request("GET", path, most=most)
        return response.body

    # The device asks for what is missing.
    with suppress(ValueError, KeyError, TypeError, RecursionError, DocumentError, LaterError):
        document = fetch(f"/v1/layers/{json.loads(invited.body)['layer']}", LARGEST_DOCUMENT)
        fetch(f"/v1/known/{known_digest(document)}", LARGEST_KNOWN)
    return fetched


def _read_file(content: bytes) -> dict[str, Any]:
    """The object in a file of a hand-over; or a ValueError."""
    if len(content) > LARGEST_FILE:
        raise ValueError("too long")
    told = json.loads(content)
    if not isinstance(told, dict) or told.get("handover") != FORMAT:
        raise ValueError("another format")
    return told


def _read_answers(content: bytes) -> dict[str, Response]:
    try:
        return _responses(_read_file(content)["answers"])
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
        raise ParameterError("the file has no answers that were carried: have the request carried again") from None


def _responses(items: list[dict[str, Any]]) -> dict[str, Response]:
    """Answers as a file has them, by the names of their requests."""
    return {
        str(answer["request"]): Response(
            int(answer["status"]),
            base64.b64decode(answer["body"], validate=True),
            None if answer["retry_after"] is None else str(answer["retry_after"]),
        )
        for answer in items
    }


def answer_items(answers: Mapping[str, Response]) -> list[dict[str, Any]]:
    """Answers in the form in which a file has them."""
    return [
        {
            "request": name,
            "status": answer.status,
            "retry_after": answer.retry_after,
            "body": base64.b64encode(answer.body).decode(),
        }
        for name, answer in answers.items()
    ]
