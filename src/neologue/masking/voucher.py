"""A voucher: an issuer's signature that a signing key belongs to a device that may take part in a campaign.

The issuer signs, with Ed25519, "neologue signing key v1" and a NUL byte, the identity of the campaign in 16 bytes and
the device's public key in 32. Unlike a credential it may be seen by all: it admits nobody without the private key.
"""

from dataclasses import dataclass
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.ed25519 import is_signed

VOUCHER_BYTES: Final = 64
_DOMAIN: Final = b"neologue signing key v1\0"


def vouch(campaign_id: bytes, key: bytes, issuer: Ed25519PrivateKey) -> bytes:
    """The issuer's voucher for a device's raw public key."""
    return issuer.sign(_DOMAIN + campaign_id + key)


@dataclass(frozen=True)
class Issuers:
    """Those who vouch for the signing keys of a campaign's devices."""

    campaign_id: bytes
    keys: tuple[bytes, ...]
    """Raw Ed25519 public keys."""

    def vouch_for(self, key: bytes, issuer: int, voucher: bytes) -> bool:
        """Whether the issuer with this number has vouched for a key."""
        if issuer >= len(self.keys):
            return False
        return is_signed(self.keys[issuer], voucher, _DOMAIN + self.campaign_id + key)

    def issuer_of(self, key: bytes, voucher: bytes) -> int | None:
        """The number of the issuer whose voucher this is; None if it is nobody's."""
        return next((number for number in range(len(self.keys)) if self.vouch_for(key, number, voucher)), None)
