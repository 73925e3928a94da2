"""Whether an Ed25519 signature is right, for every room that checks one by its raw public key."""

from functools import lru_cache
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_REMEMBERED: Final = 1 << 13
"""Of so many signatures a process knows whether they are right: of what many clients in it are told, and ask again."""


@lru_cache(_REMEMBERED)
def is_signed(key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether the holder of a raw public key has signed a message."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):  # the second if the key is no point of the curve
        return False
    return True
