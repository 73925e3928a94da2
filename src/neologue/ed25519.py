"""Whether an Ed25519 signature is right, for every room that checks one by its raw public key."""

import hashlib
import threading
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

KEY_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
MOST_REMEMBERED: Final = 1 << 13
"""Of so many right signatures a process remembers the digest: many clients in it are told the same, and ask again."""

_remembered: Final[dict[bytes, None]] = {}
"""SHA-256 of key, signature and message, the oldest first; no message is kept, and nothing that a forger sends."""
_lock: Final = threading.Lock()


def is_signed(key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether the holder of a raw public key has signed a message."""
    # Of other lengths, parts could make the same bytes in a row as those of a right signature.
    if len(key) != KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    parts = hashlib.sha256(key + signature)
    parts.update(message)
    told = parts.digest()
    with _lock:
        if told in _remembered:
            return True
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):  # the second if the key is no point of the curve
        return False
    with _lock:
        _remembered[told] = None
        if len(_remembered) > MOST_REMEMBERED:
            del _remembered[next(iter(_remembered))]
    return True


def forget_signatures() -> None:
    """Verify every signature anew from now on, as a process does that has only just started."""
    with _lock:
        _remembered.clear()
