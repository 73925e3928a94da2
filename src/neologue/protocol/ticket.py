"""A ticket: a MAC by which the service recognises a device that it has invited, without a public-key operation."""

import hashlib
import hmac

TICKET_BYTES = 16
SECRET_BYTES = 32

_PURPOSE = b"neologue ticket"


def ticket(secret: bytes, campaign_id: bytes, digest: bytes, serial: bytes) -> bytes:
    """The ticket of the device with this serial for the layer with this digest, under the service's secret."""
    keyed = hashlib.blake2b(campaign_id + digest + serial, digest_size=TICKET_BYTES, key=secret, person=_PURPOSE)
    return keyed.digest()


def is_ticket(shown: bytes, secret: bytes, campaign_id: bytes, digest: bytes, serial: bytes) -> bool:
    """Whether this is that ticket, compared in constant time."""
    return hmac.compare_digest(shown, ticket(secret, campaign_id, digest, serial))
