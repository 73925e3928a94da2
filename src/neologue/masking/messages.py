"""The seven messages of a group, as bytes.

Each begins with 18 bytes: the version, 1; the number of the message; the identity of the group. Numbers are
big-endian. A device has an index in its group, from 0, in 2 bytes. Where there is one record for each
neighbour, these are in ascending order of their indices, as in the roster.

    1 advertisement  64 keys (sealing, masking); 1 signed or not; if so 32 signer, 64 signature
    2 roster         2 size; 2 own index; for each neighbour: 2 index, and its advertisement from the keys on
    3 sharing        2 own index; 16 tag of the seed; for each neighbour: 80 sealed shares, 16 tag of the share of the
                     seed, 16 tag of the share of the key
    4 delivery       2 own index; for each neighbour: 1 shared or not; if so 80 sealed shares, 16 and 16 tags
    5 masked vector  2 own index; the entries, packed
    6 request        2 own index; 2 devices whose vectors have arrived; for each neighbour: 0 it has not shared,
                     1 its vector has arrived, 2 it has not
    7 unmasking      2 own index; for each neighbour: 0 no share, 1 of its seed, 2 of its key; if not 0, 32 share

A decoder knows from the group how long a message can be, and refuses anything longer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Final, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from neologue.errors import MaskingError
from neologue.masking.field import ELEMENT_BYTES, from_bytes, to_bytes
from neologue.masking.keys import INDEX_BYTES, KEY_BYTES, SEAL_BYTES, TAG_BYTES, PublicKeys, index_bytes
from neologue.masking.neighbourhood import LARGEST_GROUP
from neologue.masking.terms import GROUP_BYTES, VERSION, MaskingGroup, Terms

SIGNATURE_BYTES: Final = 64
_SIGNED: Final = b"neologue masking v1 advertisement\0"
SEALED_BYTES: Final = 2 * ELEMENT_BYTES + SEAL_BYTES

HEADER_BYTES: Final = 2 + GROUP_BYTES
DEAL_BYTES: Final = SEALED_BYTES + 2 * TAG_BYTES
_MOST_ADVERTISED: Final = 2 * KEY_BYTES + 1 + KEY_BYTES + SIGNATURE_BYTES


class Kind(IntEnum):
    """Which of its two secrets a device's neighbour is asked for, or gives a share of."""

    NEITHER = 0
    SEED = 1
    """Of the mask that the device put on alone: its vector has arrived."""
    KEY = 2
    """For the masks that it shares with others: its vector has not arrived."""


class _Reader:
    """Takes bytes from the front of a message."""

    def __init__(self, number: int, body: bytes, terms: Terms, most: int) -> None:
        if not HEADER_BYTES <= len(body) <= HEADER_BYTES + most:
            raise MaskingError(f"{len(body):,} bytes are no length of message {number}")
        if body[0] != VERSION:
            raise MaskingError(f"version {body[0]} of secure aggregation is not supported, only {VERSION}")
        if body[1] != number:
            raise MaskingError(f"message {body[1]} where message {number} is expected")
        if body[2:HEADER_BYTES] != terms.group_id:
            raise MaskingError("the message belongs to another group")
        self._number = number
        self._rest = memoryview(body)[HEADER_BYTES:]

    def take(self, count: int) -> bytes:
        if len(self._rest) < count:
            raise MaskingError(f"message {self._number} is too short")
        taken, self._rest = self._rest[:count], self._rest[count:]
        return bytes(taken)

    def choice(self, choices: int) -> int:
        """One byte below a bound."""
        (value,) = self.take(1)
        if value >= choices:
            raise MaskingError(f"a byte of message {self._number} is {value}, where it is below {choices}")
        return int(value)

    def count(self) -> int:
        return int.from_bytes(self.take(INDEX_BYTES), "big")

    def index(self, group: MaskingGroup) -> int:
        index = self.count()
        if index >= group.size:
            raise MaskingError(f"device {index} in a group of {group.size:,}")
        return index

    def end(self) -> None:
        if len(self._rest):
            raise MaskingError(f"message {self._number} is too long")


def _header(number: int, terms: Terms) -> bytes:
    return bytes([VERSION, number]) + terms.group_id


@dataclass(frozen=True)
class Advertisement:
    """The public keys of a device, and who signed them if anybody did."""

    number: ClassVar[int] = 1

    keys: PublicKeys
    signer: bytes = b""
    """A raw Ed25519 public key, or nothing."""
    signature: bytes = b""

    @classmethod
    def parse(cls, body: bytes, terms: Terms) -> Self:
        """What a device has sent; or a MaskingError."""
        reader = _Reader(cls.number, body, terms, _MOST_ADVERTISED)
        advertisement = cls.take(reader)
        reader.end()
        return advertisement

    @classmethod
    def take(cls, reader: _Reader) -> Self:
        """The one that comes next, without a header."""
        keys = PublicKeys(reader.take(KEY_BYTES), reader.take(KEY_BYTES))
        if reader.choice(2):
            return cls(keys, reader.take(KEY_BYTES), reader.take(SIGNATURE_BYTES))
        return cls(keys)

    @classmethod
    def sign(cls, keys: PublicKeys, terms: Terms, signer: Ed25519PrivateKey) -> Self:
        """The keys with the signature of their device, against a server that would put its own in their place."""
        return cls(keys, signer.public_key().public_bytes_raw(), signer.sign(_SIGNED + terms.digest + bytes(keys)))

    def is_genuine(self, terms: Terms) -> bool:
        """Whether the signer that is named has signed just these keys for the group with just these terms."""
        try:
            key = Ed25519PublicKey.from_public_bytes(self.signer)
            key.verify(self.signature, _SIGNED + terms.digest + bytes(self.keys))
        except (InvalidSignature, ValueError):  # the second if the key is no point of the curve
            return False
        return True

    def body(self, terms: Terms) -> bytes:
        """The message."""
        return _header(self.number, terms) + bytes(self)

    def __bytes__(self) -> bytes:
        return bytes(self.keys) + bytes([bool(self.signer)]) + self.signer + self.signature


@dataclass(frozen=True)
class Roster:
    """What a device is told of its neighbours."""

    number: ClassVar[int] = 2

    group: MaskingGroup
    index: int
    neighbours: Mapping[int, Advertisement]
    """By index, ascending."""

    @classmethod
    def parse(cls, body: bytes, terms: Terms) -> Self:
        """What the server has sent, if each neighbour is there once and there are as many as the terms call for."""
        # Until the size is known, as many as there can be at all.
        most = 2 * INDEX_BYTES + LARGEST_GROUP * (INDEX_BYTES + _MOST_ADVERTISED)
        reader = _Reader(cls.number, body, terms, most)
        group = MaskingGroup(terms, reader.count())
        index = reader.index(group)
        neighbours: dict[int, Advertisement] = {}
        last = -1
        for _ in range(group.neighbourhood.degree):
            other = reader.index(group)
            if other <= last:
                raise MaskingError(f"neighbour {other} follows {last}: each must be there once, in order")
            if other == index:
                raise MaskingError(f"device {index} is its own neighbour")
            neighbours[other] = Advertisement.take(reader)
            last = other
        reader.end()
        return cls(group, index, neighbours)

    def body(self) -> bytes:
        """The message."""
        records = b"".join(index_bytes(other) + bytes(keys) for other, keys in self.neighbours.items())
        return _header(self.number, self.group.terms) + index_bytes(self.group.size) + index_bytes(self.index) + records


@dataclass(frozen=True)
class Deal:
    """What a device gives one neighbour: a share of each of its secrets, sealed, and their tags."""

    sealed: bytes
    tags: tuple[bytes, bytes]
    """Of the share of the seed, and of the share of the key."""

    @classmethod
    def take(cls, reader: _Reader) -> Self:
        """The one that comes next."""
        return cls(reader.take(SEALED_BYTES), (reader.take(TAG_BYTES), reader.take(TAG_BYTES)))

    def __bytes__(self) -> bytes:
        return self.sealed + b"".join(self.tags)


@dataclass(frozen=True)
class Sharing:
    """The shares of a device's secrets, for all its neighbours."""

    number: ClassVar[int] = 3

    index: int
    seed_tag: bytes
    deals: tuple[Deal, ...]
    """One for each neighbour."""

    @classmethod
    def parse(cls, body: bytes, group: MaskingGroup) -> Self:
        """What a device has sent; or a MaskingError."""
        degree = group.neighbourhood.degree
        reader = _Reader(cls.number, body, group.terms, INDEX_BYTES + TAG_BYTES + degree * DEAL_BYTES)
        sharing = cls(reader.index(group), reader.take(TAG_BYTES), tuple(Deal.take(reader) for _ in range(degree)))
        reader.end()
        return sharing

    def body(self, group: MaskingGroup) -> bytes:
        """The message."""
        return (
            _header(self.number, group.terms)
            + index_bytes(self.index)
            + self.seed_tag
            + b"".join(bytes(deal) for deal in self.deals)
        )


@dataclass(frozen=True)
class Delivery:
    """What the neighbours of a device have shared with it."""

    number: ClassVar[int] = 4

    index: int
    deals: tuple[Deal | None, ...]
    """One for each neighbour, None for those that have not shared."""

    @classmethod
    def parse(cls, body: bytes, group: MaskingGroup) -> Self:
        """What the server has sent; or a MaskingError."""
        degree = group.neighbourhood.degree
        reader = _Reader(cls.number, body, group.terms, INDEX_BYTES + degree * (1 + DEAL_BYTES))
        index = reader.index(group)
        deals = tuple(Deal.take(reader) if reader.choice(2) else None for _ in range(degree))
        reader.end()
        return cls(index, deals)

    def body(self, group: MaskingGroup) -> bytes:
        """The message."""
        records = (b"\0" if deal is None else b"\1" + bytes(deal) for deal in self.deals)
        return _header(self.number, group.terms) + index_bytes(self.index) + b"".join(records)


@dataclass(frozen=True)
class MaskedVector:
    """The votes of a device under its masks."""

    number: ClassVar[int] = 5

    index: int
    packed: bytes

    @classmethod
    def parse(cls, body: bytes, group: MaskingGroup) -> Self:
        """What a device has sent; or a MaskingError."""
        reader = _Reader(cls.number, body, group.terms, INDEX_BYTES + group.vector_bytes)
        vector = cls(reader.index(group), reader.take(group.vector_bytes))
        reader.end()
        return vector

    def body(self, group: MaskingGroup) -> bytes:
        """The message."""
        return _header(self.number, group.terms) + index_bytes(self.index) + self.packed


@dataclass(frozen=True)
class Request:
    """Which shares a device is asked for. It can't ask for both of one neighbour: there is one byte for each."""

    number: ClassVar[int] = 6

    index: int
    arrived: int
    """The devices of the group whose vectors have arrived."""
    wanted: tuple[Kind, ...]
    """Of each neighbour; of one that has not shared, neither."""

    @classmethod
    def parse(cls, body: bytes, group: MaskingGroup) -> Self:
        """What the server has sent; or a MaskingError."""
        degree = group.neighbourhood.degree
        reader = _Reader(cls.number, body, group.terms, 2 * INDEX_BYTES + degree)
        index, arrived = reader.index(group), reader.count()
        wanted = tuple(Kind(reader.choice(len(Kind))) for _ in range(degree))
        reader.end()
        return cls(index, arrived, wanted)

    def body(self, group: MaskingGroup) -> bytes:
        """The message."""
        return (
            _header(self.number, group.terms) + index_bytes(self.index) + index_bytes(self.arrived) + bytes(self.wanted)
        )


@dataclass(frozen=True)
class Unmasking:
    """The shares that a device gives away."""

    number: ClassVar[int] = 7

    index: int
    shares: tuple[tuple[Kind, int], ...]
    """For each neighbour the kind of share, and the share; 0 if there is none."""

    @classmethod
    def parse(cls, body: bytes, group: MaskingGroup) -> Self:
        """What a device has sent; or a MaskingError."""
        degree = group.neighbourhood.degree
        reader = _Reader(cls.number, body, group.terms, INDEX_BYTES + degree * (1 + ELEMENT_BYTES))
        index = reader.index(group)
        shares: list[tuple[Kind, int]] = []
        for _ in range(degree):
            kind = Kind(reader.choice(len(Kind)))
            shares.append((kind, from_bytes(reader.take(ELEMENT_BYTES)) if kind else 0))
        reader.end()
        return cls(index, tuple(shares))

    def body(self, group: MaskingGroup) -> bytes:
        """The message."""
        records = (bytes([kind]) + (to_bytes(share) if kind else b"") for kind, share in self.shares)
        return _header(self.number, group.terms) + index_bytes(self.index) + b"".join(records)
