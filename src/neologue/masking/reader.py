"""What all messages of a group have in common: how they begin, and how their bytes are read.

Each begins with 18 bytes: the version, 2; the number of the message; the identity of the group. Numbers are
big-endian. A set of devices is one bit for each index of the group, from the most significant bit of the first byte on,
and zeros to a whole byte.
"""

from collections.abc import Collection
from typing import Final

from neologue.errors import MaskingError
from neologue.masking.keys import INDEX_BYTES
from neologue.masking.terms import GROUP_BYTES, VERSION, MaskingGroup, Terms

HEADER_BYTES: Final = 2 + GROUP_BYTES


class Reader:
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
        """So many bytes."""
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
        """A number of devices."""
        return int.from_bytes(self.take(INDEX_BYTES), "big")

    def index(self, group: MaskingGroup) -> int:
        """The index of a device."""
        index = self.count()
        if index >= group.size:
            raise MaskingError(f"device {index} in a group of {group.size:,}")
        return index

    def devices(self, group: MaskingGroup) -> frozenset[int]:
        """A set of devices."""
        octets = self.take(set_bytes(group.size))
        devices = frozenset(
            8 * place + bit for place, octet in enumerate(octets) for bit in range(8) if octet & 128 >> bit
        )
        if max(devices, default=0) >= group.size:
            raise MaskingError(f"a set of devices names one beyond the {group.size:,} of the group")
        return devices

    def end(self) -> None:
        """Refuse a message that goes on."""
        if len(self._rest):
            raise MaskingError(f"message {self._number} is too long")


def header(number: int, terms: Terms) -> bytes:
    """How a message begins."""
    return bytes([VERSION, number]) + terms.group_id


def set_bytes(size: int) -> int:
    """The length of a set of devices in a group of this size."""
    return -(-size // 8)


def set_octets(devices: Collection[int], size: int) -> bytes:
    """A set of devices as bytes."""
    octets = bytearray(set_bytes(size))
    for index in devices:
        octets[index // 8] |= 128 >> index % 8
    return bytes(octets)
