"""A ticket: a MAC by which the service recognises a device that it has invited, without a public-key operation.

bytes 0–3      the number of the block in which a place is kept for the device's report; 0 if none is
bytes 4–15     the MAC
"""

import hashlib
import hmac

TICKET_BYTES = 16
SECRET_BYTES = 32

_BLOCK_BYTES = 4
_PURPOSE = b"neologue ticket"


def ticket(secret: bytes, campaign_id: bytes, digest: bytes, serial: bytes, block: int = 0) -> bytes:
    """The ticket of the device with this serial for the layer with this digest, under the service's secret."""
    number = block.to_bytes(_BLOCK_BYTES, "big")
    size = TICKET_BYTES - _BLOCK_BYTES
    return (
        number
        + hashlib.blake2b(
            campaign_id + digest + serial + number, digest_size=size, key=secret, person=_PURPOSE
        ).digest()
    )


def is_ticket(shown: bytes, secret: bytes, campaign_id: bytes, digest: bytes, serial: bytes) -> bool:
    """Whether this is the ticket of that device, for any block; compared in constant time."""
    return hmac.compare_digest(shown, ticket(secret, campaign_id, digest, serial, block_of(shown)))


def block_of(shown: bytes) -> int:
    """The number of the block that a ticket names."""
    return int.from_bytes(shown[:_BLOCK_BYTES], "big")
