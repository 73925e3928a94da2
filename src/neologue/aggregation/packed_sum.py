"""The sum of a batch's votes as bytes: all candidates, or only those with votes where that is far shorter.

byte 0   how many bytes a number of votes has: 1, 2 or 4; plus 16 if the sum is sparse. 8 if it has half a byte
dense    the votes of every candidate, in order, little-endian
halves   the same, two to a byte, the first one in its low half; 0 behind the last one if their number is odd
sparse   pairs, first all steps of one byte, then all votes: a candidate is one step farther than the one of the
         pair before, the first one counted from candidate 0; a pair may have no votes
"""

from typing import Any, Final

import numpy as np

from neologue.aggregation.kernels import (
    STEP,
    Counts,
    Votes,
    add_halves,
    add_pairs,
    write_halves,
    write_pairs,
)
from neologue.errors import StorageError

_SPARSE: Final = 16
_HALVES: Final = 8
_HALF: Final = 16
"""Numbers below this one take half a byte."""
_WIDTHS: Final = (1, 2, 4)
_WORTH: Final = 2
"""To find and to skip candidates without votes takes longer than to write them, unless most have none."""


def pack_sum(counts: Counts) -> bytes:
    """The bytes of the votes of all candidates."""
    most = int(counts.max())
    width = next(width for width in _WIDTHS if most < 1 << 8 * width)
    pairs = int(np.count_nonzero(counts)) + len(counts) // STEP
    dense = (len(counts) + 1) // 2 if most < _HALF else len(counts) * width
    if _WORTH * pairs * (1 + width) > dense:
        if most < _HALF:
            halves = np.empty(dense, np.uint8)
            write_halves(counts.astype(np.uint8, copy=False), halves)
            return b"".join((bytes([_HALVES]), halves.data))
        return b"".join((bytes([width]), counts.astype(_kind(width), copy=False).data))
    steps, votes = np.empty(len(counts) + 1, np.uint8), np.empty(len(counts) + 1, _kind(width))
    pairs = write_pairs(counts, steps, votes)
    return bytes([_SPARSE + width]) + steps[:pairs].tobytes() + votes[:pairs].tobytes()


def add_packed(packed: bytes, counts: Votes) -> None:
    """Add a packed sum to the votes of all candidates."""
    if packed and packed[0] == _HALVES:
        if len(packed) != 1 + (len(counts) + 1) // 2 or (len(counts) & 1 and packed[-1] >= _HALF):
            raise _damaged()
        add_halves(np.frombuffer(packed, np.uint8, offset=1), counts)
        return
    sparse, width = divmod(packed[0] if packed else 0, _SPARSE)
    if width not in _WIDTHS or sparse > 1:
        raise _damaged()
    if not sparse:
        if len(packed) != 1 + len(counts) * width:
            raise _damaged()
        counts += np.frombuffer(packed, _kind(width), offset=1)
        return
    pairs, rest = divmod(len(packed) - 1, 1 + width)
    steps = np.frombuffer(packed, np.uint8, pairs, offset=1)
    # Copied, for behind the steps the votes are aligned by chance only.
    votes = np.frombuffer(packed, _kind(width), pairs, offset=1 + pairs).copy()
    if rest or not add_pairs(steps, votes, counts):
        raise _damaged()


def _kind(width: int) -> np.dtype[np.unsignedinteger[Any]]:
    return np.dtype(f"<u{width}")


def _damaged() -> StorageError:
    return StorageError("a stored sum of votes is damaged or of another layer: restore the database from a copy")
