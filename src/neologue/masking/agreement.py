"""Messages 6 to 8: all devices of a group agree on who survives before any of them gives a share away.

    6 survivors      2 own index; the set of devices whose vectors have arrived; for each of them, ascending, its
                     signature of who has shared (64), as it came with the vector
    7 confirmation   2 own index; 64 signature of the survivors
    8 request        2 own index; the set of devices that have confirmed; for each of them, ascending, its signature

A device signs who has shared as a label that ends in a NUL byte, the digest of the roster and the set; and the
survivors as another label, the digest, the set of those who have shared and the set of survivors. It signs one of each
in a group.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from neologue.masking.keys import INDEX_BYTES, index_bytes
from neologue.masking.reader import Reader, header, set_bytes, set_octets
from neologue.masking.roster import SIGNATURE_BYTES
from neologue.masking.terms import MaskingGroup

_SHARED: Final = b"neologue masking v2 shared\0"
_SURVIVORS: Final = b"neologue masking v2 survivors\0"


def signed_shared(roster: bytes, group: MaskingGroup, shared: frozenset[int]) -> bytes:
    """What a device signs about who has shared, under the digest of the roster."""
    return _SHARED + roster + set_octets(shared, group.size)


def signed_survivors(roster: bytes, group: MaskingGroup, shared: frozenset[int], survivors: frozenset[int]) -> bytes:
    """What a device signs about who survives, under the digest of the roster."""
    return _SURVIVORS + roster + set_octets(shared, group.size) + set_octets(survivors, group.size)


@dataclass(frozen=True)
class Survivors:
    """Whose vectors have arrived, and that all of them were told the same about who has shared."""

    number: ClassVar[int] = 6

    index: int
    signatures: Mapping[int, bytes]
    """By survivor, ascending."""

    @classmethod
    def parse(cls, body: bytes, group: MaskingGroup) -> Self:
        """What the server has sent; or a MaskingError."""
        return cls(*_parse_signed_set(cls.number, body, group))

    def body(self, group: MaskingGroup) -> bytes:
        """The message."""
        return _signed_set(self.number, self.index, self.signatures, group)


@dataclass(frozen=True)
class Confirmation:
    """A device's signature of the survivors."""

    number: ClassVar[int] = 7

    index: int
    signature: bytes

    @classmethod
    def parse(cls, body: bytes, group: MaskingGroup) -> Self:
        """What a device has sent; or a MaskingError."""
        reader = Reader(cls.number, body, group.terms, INDEX_BYTES + SIGNATURE_BYTES)
        confirmation = cls(reader.index(group), reader.take(SIGNATURE_BYTES))
        reader.end()
        return confirmation

    def body(self, group: MaskingGroup) -> bytes:
        """The message."""
        return header(self.number, group.terms) + index_bytes(self.index) + self.signature


@dataclass(frozen=True)
class ShareRequest:
    """Who has confirmed the survivors: with enough of them a device gives its shares away."""

    number: ClassVar[int] = 8

    index: int
    signatures: Mapping[int, bytes]
    """By device, ascending."""

    @classmethod
    def parse(cls, body: bytes, group: MaskingGroup) -> Self:
        """What the server has sent; or a MaskingError."""
        return cls(*_parse_signed_set(cls.number, body, group))

    def body(self, group: MaskingGroup) -> bytes:
        """The message."""
        return _signed_set(self.number, self.index, self.signatures, group)


def _parse_signed_set(number: int, body: bytes, group: MaskingGroup) -> tuple[int, dict[int, bytes]]:
    most = INDEX_BYTES + set_bytes(group.size) + group.size * SIGNATURE_BYTES
    reader = Reader(number, body, group.terms, most)
    index, devices = reader.index(group), reader.devices(group)
    signatures = {device: reader.take(SIGNATURE_BYTES) for device in sorted(devices)}
    reader.end()
    return index, signatures


def _signed_set(number: int, index: int, signatures: Mapping[int, bytes], group: MaskingGroup) -> bytes:
    return (
        header(number, group.terms)
        + index_bytes(index)
        + set_octets(signatures.keys(), group.size)
        + b"".join(signatures[device] for device in sorted(signatures))
    )
