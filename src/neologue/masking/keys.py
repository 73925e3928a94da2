"""The keys of a group: X25519 pairs, what two devices derive from them with HKDF-SHA256, and sealed shares.

HKDF takes the digest of the group's roster as its salt: a device that was told another roster, under the same terms,
can open nothing that was sealed under this one. Its info is a label that ends in a NUL byte and says what the key is
for, and the indices in 2 bytes each, big-endian, of the devices between which it is.

A device has two pairs. Under the first, shares are sealed. The second gives the masks; its private key is derived from
a secret that is shared, for if the device drops out its neighbours give that away; it is there before the roster.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from neologue.errors import MaskingError
from neologue.masking.field import to_bytes

KEY_BYTES: Final = 32
TAG_BYTES: Final = 16
SEAL_BYTES: Final = 16
INDEX_BYTES: Final = 2

_MASK_PAIR: Final = b"neologue masking v2 mask pair\0"
_SELF: Final = b"neologue masking v2 self mask\0"
_PAIRWISE: Final = b"neologue masking v2 pairwise mask\0"
_SEAL: Final = b"neologue masking v2 seal\0"
_TAG: Final = b"neologue masking v2 tag\0"
_NONCE: Final = bytes(12)
"""Every key seals one message."""


@dataclass(frozen=True)
class PublicKeys:
    """What a device advertises."""

    sealing: bytes
    masking: bytes

    @property
    def usable(self) -> bool:
        """Whether both keys lead to secrets: a point of small order would make them known to all."""
        try:
            for key in (self.sealing, self.masking):
                _PROBE.exchange(X25519PublicKey.from_public_bytes(key))
        except ValueError:
            return False
        return True

    def __bytes__(self) -> bytes:
        return self.sealing + self.masking


# A point of small order gives nothing with any private key.
_PROBE: Final = X25519PrivateKey.from_private_bytes(bytes(KEY_BYTES))


def mask_pair(secret: int, digest: bytes) -> X25519PrivateKey:
    """The private key for masks that a shared secret stands for, under the digest of the terms.

    It is made before the roster is known, and so with the terms alone.
    """
    return X25519PrivateKey.from_private_bytes(_derive(to_bytes(secret), digest, _MASK_PAIR))


def self_mask_key(seed: int, roster: bytes, index: int) -> bytes:
    """The key of the mask that a device puts on alone."""
    return _derive(to_bytes(seed), roster, _SELF + index_bytes(index))


def pairwise_mask_key(own: X25519PrivateKey, other: bytes, roster: bytes, pair: tuple[int, int]) -> bytes:
    """The key of the mask that two devices, by their indices in any order, put on with opposite signs."""
    between = b"".join(map(index_bytes, sorted(pair)))
    return _derive(_agree(own, other), roster, _PAIRWISE + between)


def seal(plain: bytes, own: X25519PrivateKey, other: bytes, roster: bytes, sender: int, receiver: int) -> bytes:
    """Encrypt shares for one neighbour; each direction has its own key, so that no key seals twice."""
    return _cipher(own, other, roster, sender, receiver).encrypt(_NONCE, plain, None)


def unseal(sealed: bytes, own: X25519PrivateKey, other: bytes, roster: bytes, sender: int, receiver: int) -> bytes:
    """What a neighbour has sealed for this device; or a MaskingError."""
    try:
        return _cipher(own, other, roster, sender, receiver).decrypt(_NONCE, sealed, None)
    except InvalidTag:
        raise MaskingError(f"what device {sender} sealed for device {receiver} can't be opened") from None


def tag(element: int, roster: bytes, kind: int, owner: int, holder: int) -> bytes:
    """A commitment to a share, by which it is recognised later; uniform elements can't be guessed."""
    purpose = bytes([kind]) + index_bytes(owner) + index_bytes(holder)
    return hashlib.sha256(_TAG + roster + purpose + to_bytes(element)).digest()[:TAG_BYTES]


def index_bytes(index: int) -> bytes:
    """The index of a device on the wire."""
    return index.to_bytes(INDEX_BYTES, "big")


def _cipher(own: X25519PrivateKey, other: bytes, roster: bytes, sender: int, receiver: int) -> ChaCha20Poly1305:
    info = _SEAL + index_bytes(sender) + index_bytes(receiver)
    return ChaCha20Poly1305(_derive(_agree(own, other), roster, info))


def _agree(own: X25519PrivateKey, other: bytes) -> bytes:
    try:
        return own.exchange(X25519PublicKey.from_public_bytes(other))
    except ValueError:
        raise MaskingError("a neighbour's public key leads to no secret") from None


def _derive(secret: bytes, salt: bytes, info: bytes) -> bytes:
    return HKDF(SHA256(), KEY_BYTES, salt, info).derive(secret)
