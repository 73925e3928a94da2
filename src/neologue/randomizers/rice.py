"""Sorted positions as Rice-coded gaps, in a length that says nothing.

Layout: the number of positions (32 bits, big-endian); for every position the low r bits of its gap; for every
position the rest of its gap in unary, that many ones and a zero; zeros up to the length. A gap is the
number of places passed over since the position before. Everything is integer arithmetic, so that every
language arrives at the same bytes.

Theorem (length). With n places set with probability q = k/2^64, plus at most B more, the number of positions
exceeds μ + B + t, μ = ⌈nq⌉, with probability below 2^-40 for t = L/3 + √(L²/9 + 2Lμ) and L = 28 > 40·ln 2
(Bernstein). Gaps sum to less than n, so m positions need at most 32 + m(r+1) + ⌊n/2^r⌋ bits. A longer report
takes the next doubling of the length; nothing is ever cut off. It is not read: whoever decodes says how many positions
there can be, no more than the usual length has room for.
"""

from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from neologue.entropy import ONE
from neologue.errors import OverfullError, ReportError
from neologue.randomizers.bit_fields import field_bits, field_values

COUNT_BITS = 32
TAIL = 28
LN2_NUMERATOR, LN2_DENOMINATOR = 45_426, 65_536


@dataclass(frozen=True)
class RiceCode:
    """The code for sorted subsets of {0, …, size-1}."""

    size: int
    remainder_bits: int
    usual_bytes: int

    @classmethod
    def of(cls, size: int, numerator: int, extra: int) -> "RiceCode":
        """The code for positions set with probability numerator / 2^64, and at most `extra` more."""
        # The best parameter for geometric gaps of mean 1/q is log2(ln 2 / q), rounded down.
        remainder_bits = max(0, (ONE * LN2_NUMERATOR // (numerator * LN2_DENOMINATOR)).bit_length() - 1)
        mean = -(-size * numerator // ONE)
        slack = -(-TAIL // 3) + isqrt(TAIL * TAIL // 9 + 2 * TAIL * mean) + 1
        usual = min(size, mean + slack + extra)
        bits = COUNT_BITS + usual * (remainder_bits + 1) + (size >> remainder_bits)
        return cls(size, remainder_bits, -(-bits // 8))

    def encode(self, positions: NDArray[np.int64]) -> bytes:
        """The bytes of sorted distinct positions."""
        gaps = np.diff(positions, prepend=-1) - 1
        remainders = field_bits(gaps & ((1 << self.remainder_bits) - 1), self.remainder_bits)
        stops = np.cumsum((gaps >> self.remainder_bits) + 1) - 1
        quotients = np.ones(int(stops[-1]) + 1 if len(stops) else 0, np.uint8)
        quotients[stops] = 0
        count = field_bits(np.array([len(positions)]), COUNT_BITS)
        packed = np.packbits(np.concatenate([count, remainders, quotients])).tobytes()
        return packed.ljust(self._length(len(packed)), b"\0")

    def decode(self, payload: bytes, most: int) -> NDArray[np.int64]:
        """The at most `most` positions in a payload; a ReportError unless these are the bytes that encode gives them.

        Nothing but the count is read of a payload that has more: an OverfullError.
        """
        count = _count(payload)
        if count > most and len(payload) >= self.usual_bytes:
            raise OverfullError(f"{count} votes are more than an honest device sends, which is at most {most}")
        if len(payload) != self.usual_bytes:
            raise ReportError(f"{len(payload)} bytes are no length of this layer's reports")
        return self.decode_any(payload)

    def decode_any(self, payload: bytes) -> NDArray[np.int64]:
        """The positions in a payload, however many they are, with the same ReportError otherwise."""
        count = _count(payload)
        bits = np.unpackbits(np.frombuffer(payload, np.uint8))[COUNT_BITS:]
        if count * (self.remainder_bits + 1) > len(bits):
            raise ReportError(f"{count} positions do not fit into {len(payload)} bytes")
        split = count * self.remainder_bits
        stops = np.flatnonzero(bits[split:] == 0)[:count]
        if len(stops) < count:
            raise ReportError("a report ends in the middle of a gap")
        gaps = (np.diff(stops, prepend=-1) - 1) << self.remainder_bits
        if self.remainder_bits:
            gaps += field_values(bits[:split], self.remainder_bits)
        positions = np.cumsum(gaps + 1) - 1
        if count and positions[-1] >= self.size:
            raise ReportError("a position lies outside the layer")
        if self.encode(positions) != payload:
            raise ReportError("the padding or the length of a report is not the one of its positions")
        return positions

    def _length(self, needed: int) -> int:
        length = self.usual_bytes
        while length < needed:
            length *= 2
        return length


def _count(payload: bytes) -> int:
    """The number of positions that a payload claims to have."""
    return int.from_bytes(payload[: COUNT_BITS // 8], "big")
