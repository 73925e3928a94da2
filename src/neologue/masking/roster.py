"""Messages 1 and 2: who a device is, and who is in its group.

    1 advertisement  32 signing key; 1 number of the issuer that vouches for it; 64 voucher; 64 keys (sealing, masking);
                     64 signature of the keys
    2 roster         2 size; 2 own index; for each device of the group, by index, its advertisement from the key on

A device signs, with Ed25519, a label that ends in a NUL byte, SHA-256 of the terms, and its two keys. The digest of a
roster is SHA-256 of a label that ends in a NUL byte, the context of the group, and all its advertisements.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.ed25519 import is_signed
from neologue.errors import MaskingError
from neologue.masking.graph import circle, neighbours_at
from neologue.masking.keys import INDEX_BYTES, KEY_BYTES, PublicKeys, index_bytes
from neologue.masking.neighbourhood import LARGEST_GROUP
from neologue.masking.reader import Reader, header
from neologue.masking.terms import MOST_ISSUERS, MaskingGroup, Terms
from neologue.masking.voucher import VOUCHER_BYTES, Issuers

SIGNATURE_BYTES: Final = 64
ADVERTISED_BYTES: Final = KEY_BYTES + 1 + VOUCHER_BYTES + 2 * KEY_BYTES + SIGNATURE_BYTES
_ADVERTISEMENT: Final = b"neologue masking v2 advertisement\0"
_ROSTER: Final = b"neologue masking v2 roster\0"


@dataclass(frozen=True)
class Advertisement:
    """The public keys of a device, signed with the key for which an issuer vouches."""

    number: ClassVar[int] = 1

    signer: bytes
    """The device's raw Ed25519 public key."""
    issuer: int
    """The number of the issuer that vouches for it, in the order of the promise."""
    voucher: bytes
    keys: PublicKeys
    signature: bytes

    @classmethod
    def sign(cls, keys: PublicKeys, terms: Terms, signer: Ed25519PrivateKey, issuer: int, voucher: bytes) -> Self:
        """The keys with the signature of their device, against a server that would put its own in their place."""
        signature = signer.sign(_signed_keys(keys, terms))
        return cls(signer.public_key().public_bytes_raw(), issuer, voucher, keys, signature)

    @classmethod
    def parse(cls, body: bytes, terms: Terms) -> Self:
        """What a device has sent; or a MaskingError."""
        reader = Reader(cls.number, body, terms, ADVERTISED_BYTES)
        advertisement = cls.take(reader)
        reader.end()
        return advertisement

    @classmethod
    def take(cls, reader: Reader) -> Self:
        """The one that comes next, without a header."""
        signer, issuer, voucher = reader.take(KEY_BYTES), reader.choice(MOST_ISSUERS), reader.take(VOUCHER_BYTES)
        keys = PublicKeys(reader.take(KEY_BYTES), reader.take(KEY_BYTES))
        return cls(signer, issuer, voucher, keys, reader.take(SIGNATURE_BYTES))

    def is_genuine(self, terms: Terms) -> bool:
        """Whether the signer has signed just these keys for the group with just these terms."""
        return is_signed(self.signer, self.signature, _signed_keys(self.keys, terms))

    def is_vouched(self, issuers: Issuers) -> bool:
        """Whether the issuer that is named has vouched for the signer."""
        return issuers.vouch_for(self.signer, self.issuer, self.voucher)

    def body(self, terms: Terms) -> bytes:
        """The message."""
        return header(self.number, terms) + bytes(self)

    def __bytes__(self) -> bytes:
        return self.signer + bytes([self.issuer]) + self.voucher + bytes(self.keys) + self.signature


@dataclass(frozen=True)
class Roster:
    """All devices of a group, as each of them is told."""

    number: ClassVar[int] = 2

    group: MaskingGroup
    index: int
    advertised: tuple[Advertisement, ...]
    """By index."""

    @classmethod
    def parse(cls, body: bytes, terms: Terms) -> Self:
        """What the server has sent, if the group is as large as promised and each signer is there once."""
        # Until the size is known, as many as there can be at all.
        reader = Reader(cls.number, body, terms, 2 * INDEX_BYTES + LARGEST_GROUP * ADVERTISED_BYTES)
        group = MaskingGroup(terms, reader.count())
        index = reader.index(group)
        advertised = tuple(Advertisement.take(reader) for _ in range(group.size))
        reader.end()
        if len({each.signer for each in advertised}) < group.size:
            raise MaskingError("a signing key is in the roster twice, and each device has its own")
        return cls(group, index, advertised)

    @cached_property
    def digest(self) -> bytes:
        """What all devices of the group must agree on: the group and everybody in it."""
        return roster_digest(self.group, self.advertised)

    @cached_property
    def neighbours(self) -> tuple[int, ...]:
        """The neighbours of the device that is told, ascending."""
        order = circle(self.group.size, self.digest)
        return neighbours_at(order, order.index(self.index), self.group.neighbourhood.degree)

    def body(self) -> bytes:
        """The message."""
        records = b"".join(map(bytes, self.advertised))
        return header(self.number, self.group.terms) + index_bytes(self.group.size) + index_bytes(self.index) + records


def roster_digest(group: MaskingGroup, advertised: tuple[Advertisement, ...]) -> bytes:
    """The digest of a roster, which is the same for all devices of the group."""
    return hashlib.sha256(_ROSTER + group.context + b"".join(map(bytes, advertised))).digest()


def _signed_keys(keys: PublicKeys, terms: Terms) -> bytes:
    return _ADVERTISEMENT + terms.digest + bytes(keys)
