"""The sum of a batch's votes as bytes: all candidates, or only those with votes where that is far shorter.

byte 0   how many bytes a number of votes has: 1, 2 or 4; plus 16 if the sum is sparse
dense    the votes of every candidate, in order, little-endian
sparse   pairs, first all steps of one byte, then all votes: a candidate is one step farther than the one of the
         pair before, the first one counted from candidate 0; a pair may have no votes
"""

from typing import Any, Final

import numpy as np

from neologue.aggregation.kernels import STEP, Counts, Votes, add_pairs, write_pairs
from neologue.errors import StorageError

_SPARSE: Final = 16
_WIDTHS: Final = (1, 2, 4)
_WORTH: Final = 2
"""To find and to skip candidates without votes takes longer than to write them, unless most have none."""


def pack_sum(counts: Counts) -> bytes:
    """The bytes of the votes of all candidates."""
    width = next(width for width in _WIDTHS if int(counts.max()) < 1 << 8 * width)
    pairs = int(np.count_nonzero(counts)) + len(counts) // STEP
    if _WORTH * pairs * (1 + width) > len(counts) * width:
        return b"".join((bytes([width]), counts.astype(_kind(width), copy=False).data))
    steps, votes = np.empty(len(counts) + 1, np.uint8), np.empty(len(counts) + 1, _kind(width))
    pairs = write_pairs(counts, steps, votes)
    return bytes([_SPARSE + width]) + steps[:pairs].tobytes() + votes[:pairs].tobytes()


def add_packed(packed: bytes, counts: Votes) -> None:
    """Add a packed sum to the votes of all candidates."""
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
