"""Messages 3 to 5 and 9 of a group: shares of secrets, votes under masks, and the shares that are given away.

    3 sharing        2 own index; 16 tag of the seed; for each neighbour: 80 sealed shares, 16 tag of the share of the
                     seed, 16 tag of the share of the key
    4 delivery       2 own index; the set of devices that have shared; for each neighbour among them: 80 sealed shares,
                     16 and 16 tags
    5 masked vector  2 own index; 64 signature of who has shared; the entries, packed
    9 unmasking      2 own index; for each neighbour: 0 no share, 1 of its seed, 2 of its key; if not 0, 32 share

Where there is one record for each neighbour, these are in ascending order of their indices. A decoder knows from the
group how long a message can be, and refuses anything longer.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Final, Self

from neologue.masking.field import ELEMENT_BYTES, from_bytes, to_bytes
from neologue.masking.keys import INDEX_BYTES, SEAL_BYTES, TAG_BYTES, index_bytes
from neologue.masking.reader import Reader, header, set_bytes, set_octets
from neologue.masking.roster import SIGNATURE_BYTES
from neologue.masking.terms import MaskingGroup

SEALED_BYTES: Final = 2 * ELEMENT_BYTES + SEAL_BYTES
DEAL_BYTES: Final = SEALED_BYTES + 2 * TAG_BYTES


class ShareKind(IntEnum):
    """Of which of its two secrets a device's neighbour gives a share."""

    NEITHER = 0
    SEED = 1
    """Of the mask that the device put on alone: its vector has arrived."""
    KEY = 2
    """For the masks that it shares with others: its vector has not arrived."""


@dataclass(frozen=True)
class Deal:
    """What a device gives one neighbour: a share of each of its secrets, sealed, and their tags."""

    sealed: bytes
    tags: tuple[bytes, bytes]
    """Of the share of the seed, and of the share of the key."""

    @classmethod
    def take(cls, reader: Reader) -> Self:
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
    deals: bytes
    """One for each neighbour, as bytes: a server holds many."""

    @classmethod
    def parse(cls, body: bytes, group: MaskingGroup) -> Self:
        """What a device has sent; or a MaskingError."""
        deals = group.neighbourhood.degree * DEAL_BYTES
        reader = Reader(cls.number, body, group.terms, INDEX_BYTES + TAG_BYTES + deals)
        sharing = cls(reader.index(group), reader.take(TAG_BYTES), reader.take(deals))
        reader.end()
        return sharing

    def deal(self, position: int) -> Deal:
        """What the neighbour at a position is given."""
        start = position * DEAL_BYTES
        sealed, tags = start + SEALED_BYTES, start + SEALED_BYTES + TAG_BYTES
        return Deal(self.deals[start:sealed], (self.deals[sealed:tags], self.deals[tags : tags + TAG_BYTES]))

    def body(self, group: MaskingGroup) -> bytes:
        """The message."""
        return header(self.number, group.terms) + index_bytes(self.index) + self.seed_tag + self.deals


@dataclass(frozen=True)
class Delivery:
    """Who has shared, and what the neighbours among them have shared with a device."""

    number: ClassVar[int] = 4

    index: int
    shared: frozenset[int]
    """The devices of the whole group that have shared."""
    deals: tuple[Deal, ...]
    """One for each neighbour that has shared, ascending."""

    @classmethod
    def parse(cls, body: bytes, group: MaskingGroup, neighbours: Collection[int]) -> Self:
        """What the server has sent to a device with these neighbours; or a MaskingError."""
        most = INDEX_BYTES + set_bytes(group.size) + len(neighbours) * DEAL_BYTES
        reader = Reader(cls.number, body, group.terms, most)
        index, shared = reader.index(group), reader.devices(group)
        deals = tuple(Deal.take(reader) for other in neighbours if other in shared)
        reader.end()
        return cls(index, shared, deals)

    def body(self, group: MaskingGroup) -> bytes:
        """The message."""
        beginning = header(self.number, group.terms) + index_bytes(self.index) + set_octets(self.shared, group.size)
        return beginning + b"".join(map(bytes, self.deals))


@dataclass(frozen=True)
class MaskedVector:
    """The votes of a device under its masks, and its signature of the set for which it has put them on."""

    number: ClassVar[int] = 5

    index: int
    signature: bytes
    packed: bytes

    @classmethod
    def parse(cls, body: bytes, group: MaskingGroup) -> Self:
        """What a device has sent; or a MaskingError."""
        reader = Reader(cls.number, body, group.terms, INDEX_BYTES + SIGNATURE_BYTES + group.vector_bytes)
        vector = cls(reader.index(group), reader.take(SIGNATURE_BYTES), reader.take(group.vector_bytes))
        reader.end()
        return vector

    def body(self, group: MaskingGroup) -> bytes:
        """The message."""
        return header(self.number, group.terms) + index_bytes(self.index) + self.signature + self.packed


@dataclass(frozen=True)
class Unmasking:
    """The shares that a device gives away."""

    number: ClassVar[int] = 9

    index: int
    shares: tuple[tuple[ShareKind, int], ...]
    """For each neighbour the kind of share, and the share; 0 if there is none."""

    @classmethod
    def parse(cls, body: bytes, group: MaskingGroup) -> Self:
        """What a device has sent; or a MaskingError."""
        degree = group.neighbourhood.degree
        reader = Reader(cls.number, body, group.terms, INDEX_BYTES + degree * (1 + ELEMENT_BYTES))
        index = reader.index(group)
        shares: list[tuple[ShareKind, int]] = []
        for _ in range(degree):
            kind = ShareKind(reader.choice(len(ShareKind)))
            shares.append((kind, from_bytes(reader.take(ELEMENT_BYTES)) if kind else 0))
        reader.end()
        return cls(index, tuple(shares))

    def body(self, group: MaskingGroup) -> bytes:
        """The message."""
        records = (bytes([kind]) + (to_bytes(share) if kind else b"") for kind, share in self.shares)
        return header(self.number, group.terms) + index_bytes(self.index) + b"".join(records)
