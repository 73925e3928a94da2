"""Votes in b bits each, one after the other, the most significant bit first, padded with zeros to a whole byte.

Eight entries are b bytes, whatever b is. So the first entries of all groups of eight are packed at once, then the
second ones, and so on, which is fast without a compiled loop.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neologue.errors import MaskingError

Entries = NDArray[np.unsignedinteger[Any]]
"""One number of 8, 16 or 32 bits for each entry of a vector; sums of them wrap around."""

GROUP = 8


def entry_dtype(bits: int) -> np.dtype[np.unsignedinteger[Any]]:
    """The smallest type that has so many bits, little-endian as masks are."""
    return np.dtype("<u1" if bits <= 8 else "<u2" if bits <= 16 else "<u4")


def packed_bytes(count: int, bits: int) -> int:
    """The length of so many packed entries."""
    return -(-count * bits // 8)


def pack(entries: Entries, bits: int) -> bytes:
    """The low `bits` bits of every entry."""
    groups = -(-len(entries) // GROUP)
    columns = np.zeros((GROUP, groups), entries.dtype)
    filled = np.zeros(groups * GROUP, entries.dtype)
    np.bitwise_and(entries, entries.dtype.type((1 << bits) - 1), out=filled[: len(entries)])
    columns[:] = filled.reshape(groups, GROUP).T
    planes = np.zeros((bits, groups), np.uint8)
    for entry, plane, shift in _overlaps(bits):
        column = columns[entry]
        # Bits shifted out at the top belong to planes of other iterations.
        moved = column << column.dtype.type(shift) if shift >= 0 else column >> column.dtype.type(-shift)
        planes[plane] |= moved.astype(np.uint8)
    return planes.T.tobytes()[: packed_bytes(len(entries), bits)]


def unpack(packed: bytes | memoryview, bits: int, count: int) -> Entries:
    """The entries in just as many bytes as they take; or a MaskingError."""
    if len(packed) != packed_bytes(count, bits):
        raise MaskingError(f"{len(packed):,} bytes are not {count:,} entries of {bits} bits")
    if packed and packed[-1] & ((1 << (8 * len(packed) - count * bits)) - 1):
        raise MaskingError("the bits after the last entry are not zero")
    groups = -(-count // GROUP)
    filled = np.zeros(groups * bits, np.uint8)
    filled[: len(packed)] = np.frombuffer(packed, np.uint8)
    kind = entry_dtype(bits)
    planes = filled.reshape(groups, bits).T.astype(kind, order="C")
    columns = np.zeros((GROUP, groups), kind)
    for entry, plane, shift in _overlaps(bits):
        octets = planes[plane]
        columns[entry] |= octets >> kind.type(shift) if shift >= 0 else octets << kind.type(-shift)
    columns &= kind.type((1 << bits) - 1)
    entries: Entries = np.ascontiguousarray(columns.T).reshape(-1)[:count]
    return entries


def _overlaps(bits: int) -> Iterator[tuple[int, int, int]]:
    """Which entry of a group has bits in which byte of it, and how far left the entry is moved to get there."""
    for entry in range(GROUP):
        for plane in range(entry * bits // 8, ((entry + 1) * bits - 1) // 8 + 1):
            yield entry, plane, 8 * (plane + 1) - (entry + 1) * bits
