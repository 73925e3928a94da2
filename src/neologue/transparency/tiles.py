"""The files of a log (c2sp.org/tlog-tiles): where the hashes and the entries of a tree lie, and how they are read.

    checkpoint               the signed state of the log
    tile/L/N[.p/W]           tile N of level L: 256 hashes of complete subtrees of 256^L leaves, or W of them
    tile/entries/N[.p/W]     256 entries, or W, each behind its length in 2 bytes

A number has three digits in a path, and further ones before it in folders: 1234067 is x001/x234/067. All files but the
checkpoint never change.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self

from neologue.errors import LogError
from neologue.transparency.merkle import HASH_BYTES, Subtrees, leaf_hash, node_hash

CHECKPOINT: Final = "checkpoint"
TILE_LEVELS: Final = 8
TILE_WIDTH: Final = 1 << TILE_LEVELS
MOST_LEVEL: Final = 63
MOST_ENTRY_BYTES: Final = (1 << 16) - 1
MOST_TILE_BYTES: Final = TILE_WIDTH * HASH_BYTES
MOST_FILE_BYTES: Final = TILE_WIDTH * (2 + MOST_ENTRY_BYTES)
MOST_READ_ENTRIES: Final = 1 << 22
MOST_READ_BYTES: Final = 1 << 29
"""The most of a log that is read as a whole: whoever serves one may give entries without an end."""

Fetch = Callable[[str], bytes]
"""Gives the file of a log at a path below it; raises a LogError or a LaterError if it can't."""

NUMBER: Final = r"(?:x[0-9]{3}/){0,4}[0-9]{3}"
"""The number of a tile in a path: below 10^15, which no log reaches and which every database can look up."""
_PATH: Final = re.compile(rf"tile/(entries|[0-9]|[1-5][0-9]|6[0-3])/({NUMBER})(?:\.p/([1-9][0-9]{{0,2}}))?")
_ENTRIES: Final = "entries"


@dataclass(frozen=True)
class Tile:
    """A tile of hashes, or of entries if it has no level."""

    level: int | None
    index: int
    width: int = TILE_WIDTH

    @classmethod
    def parse(cls, path: str) -> Self | None:
        """The tile at a path, if it is one in its canonical spelling."""
        match = _PATH.fullmatch(path)
        if not match:
            return None
        level = None if match[1] == _ENTRIES else int(match[1])
        tile = cls(level, int(match[2].replace("x", "").replace("/", "")), int(match[3] or TILE_WIDTH))
        return tile if tile.path == path else None

    @property
    def path(self) -> str:
        """Where it lies."""
        digits = str(self.index)
        digits = digits.zfill(-(-len(digits) // 3) * 3)
        *above, last = (digits[start : start + 3] for start in range(0, len(digits), 3))
        number = "".join(f"x{part}/" for part in above) + last
        partial = "" if self.width == TILE_WIDTH else f".p/{self.width}"
        return f"tile/{_ENTRIES if self.level is None else self.level}/{number}{partial}"


def tile_in(level: int, index: int, size: int) -> Tile:
    """The tile with this number in a tree of this size, partial or full; a LogError if the tree has none."""
    width = min(TILE_WIDTH, (size >> (TILE_LEVELS * level)) - index * TILE_WIDTH)
    if width < 1:
        raise LogError(f"a log of {size:,} entries has no tile {index:,} at level {level}; get its newest checkpoint")
    return Tile(level, index, width)


def tiles_of(size: int) -> Iterator[Tile]:
    """All tiles of a tree of this size, of hashes and of entries."""
    level = 0
    while size >> (TILE_LEVELS * level):
        for index in range(-(-(size >> (TILE_LEVELS * level)) // TILE_WIDTH)):
            tile = tile_in(level, index, size)
            yield tile
            if not level:
                yield Tile(None, index, tile.width)
        level += 1


def pack_entries(entries: Sequence[bytes]) -> bytes:
    """A bundle of entries."""
    return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)


def unpack_entries(content: bytes, width: int) -> list[bytes]:
    """The entries of a bundle of this width; a LogError if it is cut or longer."""
    entries = []
    for _ in range(width):
        length = int.from_bytes(content[:2], "big")
        if len(content) < 2 + length:
            raise LogError("a bundle of the log's entries is cut; get it anew")
        entries.append(content[2 : 2 + length])
        content = content[2 + length :]
    if content:
        raise LogError("a bundle of the log's entries is longer than it may be; get it anew")
    return entries


def subtrees_of_tiles(size: int, fetch: Fetch) -> Subtrees:
    """The complete subtrees of a tree of this size, from its files, each of which is fetched once.

    Nothing proves that they are right: compare the root that they give.
    """
    files: dict[tuple[int, int], bytes] = {}

    def subtree(level: int, index: int) -> bytes:
        tile_level, above = divmod(level, TILE_LEVELS)
        number, first = divmod(index << above, TILE_WIDTH)
        if (tile_level, number) not in files:
            tile = tile_in(tile_level, number, size)
            content = fetch(tile.path)
            if len(content) != tile.width * HASH_BYTES:
                raise LogError(f"the log's file {tile.path} has {len(content):,} bytes; get it anew")
            files[tile_level, number] = content
        content = files[tile_level, number][first * HASH_BYTES :][: HASH_BYTES << above]
        hashes = [content[start : start + HASH_BYTES] for start in range(0, len(content), HASH_BYTES)]
        while len(hashes) > 1:
            hashes = [node_hash(left, right) for left, right in zip(hashes[::2], hashes[1::2], strict=True)]
        return hashes[0]

    return subtree


def read_entries(size: int, fetch: Fetch) -> list[bytes]:
    """All entries of a log of this size, not verified; a LogError if they are more than are read."""
    if size > MOST_READ_ENTRIES:
        raise LogError(f"a log of {size:,} entries is longer than the {MOST_READ_ENTRIES:,} that are read")
    entries: list[bytes] = []
    left = MOST_READ_BYTES
    for index in range(-(-size // TILE_WIDTH)):
        width = min(TILE_WIDTH, size - index * TILE_WIDTH)
        content = fetch(Tile(None, index, width).path)
        left -= len(content)
        if left < 0:
            raise LogError(f"the entries of the log have more than the {MOST_READ_BYTES >> 20:,} MiB that are read")
        entries += unpack_entries(content, width)
    return entries


def subtrees_of_leaves(leaves: Sequence[bytes]) -> Subtrees:
    """The complete subtrees above leaves with these hashes, computed once each."""
    levels = [list(leaves)]

    def subtree(level: int, index: int) -> bytes:
        while len(levels) <= level:
            below = levels[-1]
            levels.append([node_hash(*below[start : start + 2]) for start in range(0, len(below) - 1, 2)])
        return levels[level][index]

    return subtree


def subtrees_of_entries(entries: Sequence[bytes]) -> Subtrees:
    """The complete subtrees above these entries."""
    return subtrees_of_leaves([leaf_hash(entry) for entry in entries])
