"""An invitation: a layer, or a closed one, its campaign, and the operator's signature of both.

The operator signs, with Ed25519, these 71 bytes:

    bytes 0–22     "neologue invitation v1" and a NUL byte, so that no other signature passes for this one
    bytes 23–38    the identity of the campaign, 16 random bytes
    bytes 39–70    the digest of the layer

Where votes are summed under masks (docs/secure-aggregation.md), it signs these bytes instead:

    bytes 0–29     "neologue masked invitation v2" and a NUL byte
    bytes 30–77    campaign and digest, as above
    bytes 78–      the promise: the fewest devices whose votes are summed, in 2 bytes, big-endian; in 1 byte the
                   dropouts that a group survives, in per cent; in 2 the corrupt devices that it withstands; in 1 the
                   number of issuers that vouch for devices, and the 32 bytes of each one's public key

No two invitations share a message: all parts have one length each, or say it. The digest covers all that a device is
told, except where a known word has a line break: see `neologue.device.policy`.
"""

from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.ed25519 import is_signed
from neologue.errors import ParameterError
from neologue.masking.terms import Promise
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import Layer

DOMAIN = b"neologue invitation v1\0"
MASKED_DOMAIN = b"neologue masked invitation v2\0"
CAMPAIGN_BYTES = 16
KEY_BYTES = 32
SIGNATURE_BYTES = 64
MOST_PROOF_BYTES = 1 << 13


@dataclass(frozen=True, eq=False)
class Invitation:
    """What a device is given; it proves nothing until `genuine` has checked the signature."""

    layer: Layer | ClosedLayer
    campaign_id: bytes
    operator: bytes
    """The operator's raw public key."""
    signature: bytes
    masked: Promise | None = None
    """What is promised of the groups in which votes are summed under masks; None if reports are sent as they are."""
    proof: bytes | None = None
    """A proof about the invitation that came beside it, such as of its inclusion in a log; no kind is known yet."""

    def __post_init__(self) -> None:
        check_bytes("the identity of a campaign", self.campaign_id, CAMPAIGN_BYTES)
        check_bytes("an operator's public key", self.operator, KEY_BYTES)
        check_bytes("an operator's signature", self.signature, SIGNATURE_BYTES)

    @property
    def genuine(self) -> bool:
        """Whether the signature is the operator's, for this campaign and this layer."""
        return is_signed(
            self.operator, self.signature, signed_message(self.campaign_id, self.layer.digest, self.masked)
        )


def invite(
    campaign_id: bytes, layer: Layer | ClosedLayer, private_key: Ed25519PrivateKey, masked: Promise | None = None
) -> Invitation:
    """The operator's invitation to answer a layer of a campaign, under masks if something is promised of these."""
    check_bytes("the identity of a campaign", campaign_id, CAMPAIGN_BYTES)
    signature = private_key.sign(signed_message(campaign_id, layer.digest, masked))
    return Invitation(layer, campaign_id, private_key.public_key().public_bytes_raw(), signature, masked)


def signed_message(campaign_id: bytes, layer_digest: bytes, masked: Promise | None = None) -> bytes:
    """The bytes that an operator signs."""
    if masked is None:
        return DOMAIN + campaign_id + layer_digest
    return MASKED_DOMAIN + campaign_id + layer_digest + bytes(masked)


def check_bytes(what: str, value: bytes, length: int) -> None:
    """Refuse what is not a byte string of just this length."""
    if not isinstance(value, bytes) or len(value) != length:
        size = f"{len(value)} bytes" if isinstance(value, bytes) else type(value).__name__
        raise ParameterError(f"{what} must be {length} bytes, not {size}")
