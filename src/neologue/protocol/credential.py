"""A credential: an issuer's signature that a device may take part in a campaign, once.

    bytes 0–15     the identity of the campaign
    bytes 16–31    the serial, 16 random bytes that belong to one device and to nothing else
    bytes 32–95    the issuer's Ed25519 signature of "neologue credential v1", a NUL byte, and bytes 0–31

As text it is base64url without padding, 128 characters. An issuer is the service itself or an app's own backend, which
knows to whom it gives a credential; so a serial must not be derived from anything about that person.

For a campaign under masks a device has a signing key, for which the issuer vouches (`neologue.masking.voucher`). It
joins with the text of its credential, a full stop, and 128 more characters: base64url of the private key, 32 bytes, and
the voucher, 64. Only the credential is sent to the service. A device may make the key itself and show its issuer the
public one; where the issuer makes it, the issuer knows it.
"""

import base64
import re
import secrets
from dataclasses import dataclass, replace
from typing import Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from neologue.errors import CredentialError
from neologue.masking.voucher import VOUCHER_BYTES, vouch
from neologue.protocol.invitation import CAMPAIGN_BYTES, KEY_BYTES, SIGNATURE_BYTES, check_bytes

DOMAIN = b"neologue credential v1\0"
SERIAL_BYTES = 16
TEXT_CHARACTERS = 128

_PART = rf"[A-Za-z0-9_-]{{{TEXT_CHARACTERS}}}"
_TEXT = re.compile(rf"({_PART})(?:\.({_PART}))?", re.ASCII)


@dataclass(frozen=True)
class Credential:
    """What a device presents; it proves nothing until `issued_by` has checked it."""

    campaign_id: bytes
    serial: bytes
    signature: bytes
    signing_key: bytes = b""
    """The raw private key by which other devices of a campaign under masks know this one, or nothing."""
    voucher: bytes = b""
    """The issuer's, for the public key."""

    def __post_init__(self) -> None:
        check_bytes("the identity of a campaign", self.campaign_id, CAMPAIGN_BYTES)
        check_bytes("the serial of a credential", self.serial, SERIAL_BYTES)
        check_bytes("the signature of a credential", self.signature, SIGNATURE_BYTES)
        if self.signing_key or self.voucher:
            check_bytes("a signing key", self.signing_key, KEY_BYTES)
            check_bytes("a voucher", self.voucher, VOUCHER_BYTES)

    @classmethod
    def parse(cls, text: str) -> Self:
        """The credential in its text form, perhaps with a signing key; or a CredentialError that doesn't quote it."""
        match = _TEXT.fullmatch(text)
        if not match:
            raise CredentialError(
                f"a credential has {TEXT_CHARACTERS} letters, digits, - and _, with a signing key a full stop and as "
                f"many again, and this text of {len(text):,} characters is none: copy it as a whole"
            )
        content, own = (base64.urlsafe_b64decode(part or "") for part in match.groups())
        signed = CAMPAIGN_BYTES + SERIAL_BYTES
        fields = (content[:CAMPAIGN_BYTES], content[CAMPAIGN_BYTES:signed], content[signed:])
        return cls(*fields, own[:KEY_BYTES], own[KEY_BYTES:])

    @property
    def text(self) -> str:
        """The credential as it is sent to the service, without a signing key."""
        return base64.urlsafe_b64encode(self.campaign_id + self.serial + self.signature).decode()

    @property
    def joining_text(self) -> str:
        """The credential as a device joins with it, with its signing key if it has one."""
        own = base64.urlsafe_b64encode(self.signing_key + self.voucher).decode()
        return f"{self.text}.{own}" if own else self.text

    def issued_by(self, issuer: bytes) -> bool:
        """Whether the issuer with this raw public key signed it."""
        try:
            key = Ed25519PublicKey.from_public_bytes(issuer)
            key.verify(self.signature, DOMAIN + self.campaign_id + self.serial)
        except (InvalidSignature, ValueError):  # the second if the key is no point of the curve
            return False
        return True

    def __repr__(self) -> str:
        # Whoever reads it in a log could use it.
        return f"<Credential for the campaign {self.campaign_id.hex()}>"


def issue(campaign_id: bytes, issuer: Ed25519PrivateKey, serial: bytes | None = None) -> Credential:
    """A new credential for one device, with a random serial unless one is given."""
    check_bytes("the identity of a campaign", campaign_id, CAMPAIGN_BYTES)
    drawn = secrets.token_bytes(SERIAL_BYTES) if serial is None else serial
    check_bytes("the serial of a credential", drawn, SERIAL_BYTES)
    return Credential(campaign_id, drawn, issuer.sign(DOMAIN + campaign_id + drawn))


def issue_with_key(campaign_id: bytes, issuer: Ed25519PrivateKey) -> Credential:
    """A new credential for a device of a campaign under masks, with a signing key that the issuer makes for it."""
    key = Ed25519PrivateKey.generate()
    voucher = vouch(campaign_id, key.public_key().public_bytes_raw(), issuer)
    return replace(issue(campaign_id, issuer), signing_key=key.private_bytes_raw(), voucher=voucher)
