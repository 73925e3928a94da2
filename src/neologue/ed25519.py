"""Whether an Ed25519 signature is right, for every room that checks one by its raw public key."""

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def is_signed(key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether the holder of a raw public key has signed a message."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):  # the second if the key is no point of the curve
        return False
    return True
