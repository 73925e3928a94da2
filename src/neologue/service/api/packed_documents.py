"""Documents as they are stored, by zlib, and as they are sent: as gzip, or unpacked while they are read.

Who asks for a document unpacked holds a piece of it in the service's memory, and never all of it: strangers choose how
many documents they read at once, and how slowly.
"""

import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Final

_PIECE: Final = 1 << 16
_HEADER: Final = bytes((0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF))
"""Of gzip: compressed by deflate, at no time, on no system."""
_BEFORE, _BEHIND = 2, 4
"""The bytes around the deflated content by zlib: what it is, and a check of another kind than that of gzip."""


def as_gzip(packed: bytes) -> bytes:
    """The same document by gzip, without compressing it anew."""
    check = length = 0
    for piece in _pieces(packed):
        check, length = zlib.crc32(piece, check), length + len(piece)
    content = packed[_BEFORE:-_BEHIND]
    return _HEADER + content + check.to_bytes(4, "little") + (length & 0xFFFFFFFF).to_bytes(4, "little")


async def unpacked(packed: bytes) -> AsyncIterator[bytes]:
    """The document in pieces, each when the one before is written."""
    for piece in _pieces(packed):
        yield piece


def _pieces(packed: bytes) -> Iterator[bytes]:
    unpacking, left = zlib.decompressobj(), packed
    while not unpacking.eof:
        piece = unpacking.decompress(left, _PIECE)
        left = unpacking.unconsumed_tail
        if not piece and not left and not unpacking.eof:
            raise zlib.error("a stored document is cut")
        yield piece
