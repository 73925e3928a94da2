"""Compiled loops of the server: decode a report, add votes up, pack their sum.

Each releases the GIL and is compiled once, then kept on disk.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neologue.compiled import compiled

Bytes = NDArray[np.uint8]
Votes = NDArray[np.uint32]
"""The candidates that a report votes for, with repetition; or for every candidate its number of votes."""
Counts = NDArray[np.unsignedinteger[Any]]
"""For every candidate its number of votes, in as few bytes as the largest one takes."""
Positions = NDArray[np.int64]

_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
ZEROS = np.argsort(_BITS, axis=1, kind="stable").astype(np.uint32)
"""For each byte where its zeros are, the most significant bit being the first; then where its ones are."""
ZEROS_IN = 8 - _BITS.sum(axis=1)
"""For each byte how many zeros it has."""

BLOCK = 1 << 18
"""How many candidates are counted at a time: few enough for the cache, if a count is one byte."""
STEP = 255
"""The farthest that one pair of a sparse sum can go on."""


@compiled
def decode_rice(report: Bytes, start: int, count: int, size: int, remainder_bits: int, positions: Votes) -> bool:
    """Write the positions of a Rice-coded payload of the usual length, and say whether it is the one that encodes them.

    The payload begins at `start` of the report, 3 or more, with `count`. `positions` has room for so many and 8 more.
    """
    first = 8 * start + 32
    split = first + count * remainder_bits
    if split > 8 * len(report) or not _find_zeros(report, split, count, positions):
        return False
    ones = int(positions[count - 1]) + 1 - count if count else 0
    # The quotients alone must not lead outside, before they are shifted and could overflow.
    if ones > size >> remainder_bits or not _is_padded(report, split + count + ones):
        return False
    mask = np.uint64((1 << remainder_bits) - 1)
    width = np.uint64(remainder_bits)
    bit = np.uint64(first)
    remainders = np.uint64(0)
    last = np.uint64(0)
    for number in range(np.uint64(count)):
        bit += width
        remainders += _bits_before(report, bit) & mask
        last = number + ((np.uint64(positions[number]) - number) << width) + remainders
        positions[number] = np.uint32(last)
    return bool(count == 0 or last < np.uint64(size))


@compiled
def _bits_before(report: Bytes, bit: np.uint64) -> np.uint64:
    """The bits before one, 56 or more; it is at least 56 bits behind the start. The compiler makes it one load."""
    byte = (bit >> np.uint64(3)) - np.uint64(7)
    word = np.uint64(0)
    for number in range(8):
        word = (word << np.uint64(8)) | np.uint64(report[byte + np.uint64(number)])
    return word >> (np.uint64(8) - (bit & np.uint64(7)))


@compiled
def _find_zeros(report: Bytes, split: int, count: int, positions: Votes) -> bool:
    """Write how many bits behind the split each of the next zeros is, and say whether there are so many.

    Eight are written for every byte, and those that it does not have are overwritten by the next one: without a branch
    nothing is mispredicted.
    """
    found = np.uint64(0)
    wanted = np.uint64(count)
    byte = np.uint64(split >> 3)
    # The bits of the first byte that are before the split count as ones.
    before = np.uint8(0xFF00 >> (split & 7) & 0xFF)
    base = np.uint32(0) - np.uint32(split & 7)
    while found < wanted:
        if byte >= np.uint64(len(report)):
            return False
        value = report[byte] | before
        for number in range(np.uint64(8)):
            positions[found + number] = base + ZEROS[value, number]
        found += np.uint64(ZEROS_IN[value])
        byte += np.uint64(1)
        base += np.uint32(8)
        before = np.uint8(0)
    return True


@compiled
def _is_padded(report: Bytes, stop: int) -> bool:
    """Whether a payload whose last bit is before `stop` ends there, and zeros follow."""
    rest = np.uint8(0)
    if stop & 7:
        rest |= report[stop >> 3] & np.uint8(0xFF >> (stop & 7))
    for byte in range((stop + 7) >> 3, len(report)):
        rest |= report[byte]
    return bool(rest == 0)


@compiled
def add_votes(votes: Votes, ends: Positions, counts: Counts) -> bool:
    """Count the votes of some reports, written one after the other; False if one is for no candidate.

    `ends` are the positions behind each report's votes. Candidates are counted a block at a time, so that their counts
    stay in the cache; of votes that are not in order some are counted later than their block, but all are. A count that
    is too large for its bytes starts again at 0, which `total` tells.
    """
    nexts = np.empty_like(ends)
    nexts[0] = 0
    nexts[1:] = ends[:-1]
    last = 0
    while last < len(counts):
        last = min(last + BLOCK, len(counts))
        for report in range(len(ends)):
            vote = nexts[report]
            while vote < ends[report] and votes[vote] < last:
                counts[votes[vote]] += np.uint32(1)
                vote += 1
            nexts[report] = vote
    return bool(np.all(nexts == ends))


@compiled
def total(counts: Counts) -> int:
    """All votes together."""
    votes = np.uint64(0)
    for candidate in range(len(counts)):
        votes += np.uint64(counts[candidate])
    return int(votes)


@compiled
def write_pairs(counts: Counts, steps: Bytes, votes: Counts) -> int:
    """Write a sum as pairs, and say how many: how much farther a candidate is, and how many votes it has.

    Candidates without votes are passed over, but for one where a step could not be longer. Every candidate is written
    to the next pair, which one that is passed over leaves to the one after it. There is room for all, and one more.
    """
    pair, last = np.uint64(0), np.uint64(0)
    for candidate in range(np.uint64(len(counts))):
        step = candidate - last
        steps[pair] = step
        votes[pair] = counts[candidate]
        written = np.uint64((counts[candidate] != 0) | (step == np.uint64(STEP)))
        pair += written
        last += written * step
    return int(pair)


@compiled
def add_pairs(steps: Bytes, votes: Counts, counts: Votes) -> bool:
    """Add a sum that was written as pairs; False if it leads outside."""
    candidate = 0
    for pair in range(len(steps)):
        candidate += int(steps[pair])
        if candidate >= len(counts):
            return False
        counts[candidate] += np.uint32(votes[pair])
    return True


@compiled
def write_halves(counts: Counts, halves: Bytes) -> None:
    """Write numbers below 16, two to a byte, the first one in its low half."""
    for byte in range(len(counts) >> 1):
        halves[byte] = counts[2 * byte] | counts[2 * byte + 1] << 4
    if len(counts) & 1:
        halves[-1] = counts[-1]


@compiled
def add_halves(halves: Bytes, counts: Votes) -> None:
    """Add numbers that were written two to a byte."""
    for byte in range(len(counts) >> 1):
        counts[2 * byte] += np.uint32(halves[byte] & 15)
        counts[2 * byte + 1] += np.uint32(halves[byte] >> 4)
    if len(counts) & 1:
        counts[-1] += np.uint32(halves[-1] & 15)
