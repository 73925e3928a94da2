"""Evidence of where a service runs: a quote that a vendor's hardware has signed, over the key of the service's log.

Nothing is claimed of a service that shows none. A quote that verifies shows that whoever holds the log's key is an
image with the expected measurement, on hardware of that vendor, as far as the vendor is to be trusted; not that the
image does what it should.

Evidence is a JSON object: `kind`, and the parts that this kind has, each in base64.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Self

from neologue.errors import InputError, LogError
from neologue.table import Table
from neologue.transparency.signed_note import decode_base64

DOMAIN: Final = b"neologue evidence v1\0"
MOST_BYTES: Final = 1 << 16


@dataclass(frozen=True)
class Expected:
    """What evidence must show."""

    measurement: bytes
    """Of the image that is expected."""
    root: bytes
    """SHA-256 of the vendor's root certificate."""
    binding: bytes
    """What the quote must be over."""
    allow_debug: bool = False
    """Whether the host may look into the machine, so that nothing is hidden from it."""


@dataclass(frozen=True)
class Evidence:
    """Evidence as it was shown; it proves nothing until `verify` has returned."""

    kind: str
    parts: Mapping[str, bytes]

    @classmethod
    def parse(cls, document: bytes) -> Self:
        """The evidence in a document; a LogError if there is none."""
        try:
            said = dict(json.loads(document[: MOST_BYTES + 1]))
            kind = str(said.pop("kind"))
            return cls(kind, {str(name): decode_base64(part) for name, part in said.items()})
        except (ValueError, TypeError, KeyError, RecursionError):
            raise LogError("this is no evidence of where a service runs; get it anew") from None

    def verify(self, expected: Expected) -> None:
        """Raise an error unless the evidence shows what is expected; what has no verifier is refused."""
        VERIFIERS[self.kind](self.parts, expected)


def binding_of(log_key: bytes) -> bytes:
    """What a quote is over that speaks for the log with this key: 64 bytes."""
    return hashlib.sha512(DOMAIN + log_key).digest()


def _verify_sev_snp(parts: Mapping[str, bytes], expected: Expected) -> None:
    """An attestation report of AMD SEV-SNP: `report`, and the certificates `vcek`, `ask` and `ark`."""
    try:
        import omne_attest
    except ImportError as error:
        raise InputError("evidence of SEV-SNP needs a verifier: install neologue[attestation]") from error
    policy = omne_attest.Policy(
        measurement=expected.measurement, report_data=expected.binding, reject_debug=not expected.allow_debug
    )
    try:
        chain = (parts["vcek"], parts["ask"], parts["ark"])
        omne_attest.verify(parts["report"], *chain, expected.root, policy)
    except KeyError as error:
        raise LogError(f"evidence of SEV-SNP lacks {error}; get it anew") from None
    except (omne_attest.Fail, ValueError) as error:
        raise LogError(f"the evidence does not show what is expected: {error}") from None


Verifier = Callable[[Mapping[str, bytes], Expected], None]
VERIFIERS: Final[Table[Verifier]] = Table(
    "verifier of evidence", "neologue.transparency.evidence", {"sev-snp": _verify_sev_snp}
)
