"""Integers in fields of equal width, the most significant bit first."""

import numpy as np
from numpy.typing import NDArray

from neologue.errors import ReportError


def field_bits(values: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    """The bits of the values, `width` each."""
    shifts = np.arange(width - 1, -1, -1)
    return ((values[:, None] >> shifts) & 1).astype(np.uint8).ravel()


def field_values(bits: NDArray[np.uint8], width: int) -> NDArray[np.int64]:
    """The values whose bits these are, `width` each."""
    if width == 0:
        return np.zeros(0, np.int64)
    weights = np.int64(1) << np.arange(width - 1, -1, -1)
    return bits.reshape(-1, width).astype(np.int64) @ weights


def pack(values: NDArray[np.int64], width: int) -> bytes:
    """The values in `width` bits each, filled up with zeros to whole bytes."""
    return np.packbits(field_bits(values, width)).tobytes()


def unpack(packed: bytes, width: int, count: int) -> NDArray[np.int64]:
    """`count` values of `width` bits; whatever follows them must be zeros."""
    bits = np.unpackbits(np.frombuffer(packed, np.uint8))
    if bits[count * width :].any():
        raise ReportError("the padding of a report is not zero")
    return field_values(bits[: count * width], width)
