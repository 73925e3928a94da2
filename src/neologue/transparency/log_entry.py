"""The entries of an operator's log: what was done, and the digests of the documents that say how.

An entry is one JSON object in its canonical form (RFC 8785), of strings and whole numbers alone. It holds no text of a
document, no number of reports and no time. The same bytes that open a layer are an entry of the operator's tree and the
leaf of the campaign's own tree that has the layer's index.
"""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

from neologue.errors import LogError

IDENTITY_BYTES: Final = 16
DIGEST_BYTES: Final = 32


class Deed(StrEnum):
    """What an entry says was done."""

    CREATED = "campaign created"
    """`digest` is that of the campaign's definition."""
    STARTED = "campaign started"
    OPENED = "layer opened"
    """`digest` is that of the layer's document, `promise` that of what is promised of masks, if votes are masked."""
    CLOSED = "layer closed"
    RELEASED = "campaign released"
    """`digest` is that of the release."""
    ABORTED = "campaign aborted"
    REFUSED = "campaign refused"
    """Its population's budget did not cover the next step."""
    KNOWN = "words known"
    """`digest` is that of a list of known words."""
    KEY = "key in force"
    """`digest` is that of the operator's public key."""
    LINKED = "key replaced"
    """`digest` is that of a succession or revocation."""
    BUDGET = "budget set"
    """`digest` is that of a population's budget."""
    EVIDENCE = "evidence shown"
    """`digest` is that of evidence of where the service runs."""
    SOFTWARE = "software started"
    """`digest` is that of the package that runs the service."""


_OF_CAMPAIGN: Final = frozenset(
    {Deed.CREATED, Deed.STARTED, Deed.OPENED, Deed.CLOSED, Deed.RELEASED, Deed.ABORTED, Deed.REFUSED}
)
_OF_LAYER: Final = frozenset({Deed.OPENED, Deed.CLOSED})
_WITHOUT_DIGEST: Final = frozenset({Deed.STARTED, Deed.CLOSED, Deed.ABORTED, Deed.REFUSED})


@dataclass(frozen=True)
class LogEntry:
    """One entry."""

    deed: Deed
    digest: bytes | None = None
    """SHA-256 of the document that the deed is about."""
    campaign: bytes | None = None
    layer: int | None = None
    """The index of a layer among all of its campaign."""
    promise: bytes | None = None
    """SHA-256 of what devices are promised of the masks of their votes."""

    def __post_init__(self) -> None:
        fits = (
            (self.digest is None) == (self.deed in _WITHOUT_DIGEST)
            and (self.campaign is not None) == (self.deed in _OF_CAMPAIGN)
            and (self.layer is not None) == (self.deed in _OF_LAYER)
            and (self.layer is None or (type(self.layer) is int and self.layer >= 0))
            and (self.promise is None or self.deed is Deed.OPENED)
            and (self.campaign is None or len(self.campaign) == IDENTITY_BYTES)
            and all(len(digest) == DIGEST_BYTES for digest in (self.digest, self.promise) if digest is not None)
        )
        if not fits:
            raise LogError(f"an entry {self.deed!r} has other fields; this neologue does not know it")

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """The entry in these bytes; a LogError if they are none of a kind that is known."""
        try:
            said = dict(json.loads(content))
            entry = cls(
                Deed(said["deed"]),
                _bytes(said.get("digest")),
                _bytes(said.get("campaign")),
                said.get("layer"),
                _bytes(said.get("promise")),
            )
            known = bytes(entry) == content
        except (ValueError, TypeError, KeyError, RecursionError, LogError):
            known = False
        if not known:
            raise LogError(f"this entry of the log is none that this neologue knows: {content[:200]!r}")
        return entry

    def __bytes__(self) -> bytes:
        said: dict[str, str | int | None] = {
            "campaign": None if self.campaign is None else self.campaign.hex(),
            "deed": self.deed.value,
            "digest": None if self.digest is None else self.digest.hex(),
            "layer": self.layer,
            "promise": None if self.promise is None else self.promise.hex(),
        }
        present = {name: value for name, value in said.items() if value is not None}
        return json.dumps(present, separators=(",", ":")).encode()


def _bytes(said: str | None) -> bytes | None:
    return None if said is None else bytes.fromhex(said)
