"""A service inside the process that invites every device to one layer, for an app's own tests."""

import json
from collections.abc import Iterable

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.device.network.transport import Response
from neologue.device.policy import Policy
from neologue.device.sending_time import SendingTime, SendingWindow
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import root
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.credential import issue
from neologue.protocol.documents import known_document
from neologue.protocol.invitation import invite
from neologue.protocol.layer import ExtendingLayer
from neologue.protocol.submission import HEAD_BYTES

AT_ONCE = SendingTime(SendingWindow(0.0, 0.001))
"""A client that is given this sends without the moment that it draws in earnest."""


class RehearsalService:
    """A transport for `Client` that answers as a service would, and keeps the reports it gets.

    >>> from tempfile import mkdtemp
    >>> from neologue.device import Client
    >>> from neologue.testing import AT_ONCE, RehearsalService
    >>> service = RehearsalService()
    >>> with Client(mkdtemp(), service, service.policy, sending_time=AT_ONCE) as client:
    ...     client.join(service.credential())
    ...     client.typed("yeet")
    ...     client.tick().state.value
    'final'
    >>> len(service.reports)
    1
    """

    def __init__(self, *, epsilon: float = 7.0, known: Iterable[str] = (), words_per_user: int = 60) -> None:
        self._key, self._campaign, alphabet = Ed25519PrivateKey.generate(), bytes(16), Alphabet.named("en")
        self._layer = ExtendingLayer(
            pass_number=1,
            number=1,
            layer_size=50_000,
            alphabet=alphabet,
            frontier=root(alphabet),
            extension=2,
            depth=15,
            mechanism="unary",
            epsilon=epsilon,
            bound=words_per_user,
            sampler="random",
            known=Vocabulary(known),
        )
        self.reports: list[bytes] = []
        """The reports that came, as they are on the wire."""

    @property
    def policy(self) -> Policy:
        """The default policy of a device that trusts this service."""
        return Policy(operators=frozenset({self._key.public_key().public_bytes_raw()}))

    def credential(self) -> str:
        """A new credential, as the app's backend would hand it out."""
        return issue(self._campaign, self._key).text

    def request(
        self, method: str, path: str, body: bytes = b"", kind: str = "application/json", most: int = 65536
    ) -> Response:
        """Answer a request of a device."""
        match path.split("/")[2]:
            case "check-in":
                invitation = invite(self._campaign, self._layer, self._key)
                invited = {
                    "state": "invited",
                    "layer": self._layer.digest.hex(),
                    "operator": invitation.operator.hex(),
                    "signature": invitation.signature.hex(),
                    "ticket": bytes(16).hex(),
                }
                return Response(200, json.dumps(invited).encode())
            case "layers":
                return Response(200, self._layer.document)
            case "known":
                return Response(200, known_document(self._layer.known))
        self.reports.append(body[HEAD_BYTES:])
        return Response(200, b'{"state": "final"}')
