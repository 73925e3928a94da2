"""The log as files, which anyone may read, keep and serve again.

checkpoint, tile/…                    the operator's tree, as c2sp.org/tlog-tiles lays it out
campaigns/IDENTITY/checkpoint, …      the tree of a campaign, in the same way
documents/DIGEST                      what entries name by its digest, as long as it is kept
"""

import re
import zlib
from collections.abc import Iterator
from typing import Final

from neologue.service.log import log_store
from neologue.service.log.log_store import OPERATOR_TREE
from neologue.service.storage.database import Connection
from neologue.transparency.log_entry import DIGEST_BYTES, IDENTITY_BYTES
from neologue.transparency.log_source import CAMPAIGNS, DOCUMENTS
from neologue.transparency.tiles import CHECKPOINT, TILE_LEVELS, TILE_WIDTH, Tile, pack_entries, tiles_of

_OF_CAMPAIGN: Final = re.compile(rf"{CAMPAIGNS}/([0-9a-f]{{{2 * IDENTITY_BYTES}}})/(.+)", re.ASCII)
_DOCUMENT: Final = re.compile(rf"{DOCUMENTS}/([0-9a-f]{{{2 * DIGEST_BYTES}}})", re.ASCII)
_PACKED: Final = ("SELECT document FROM layers WHERE digest = ?", "SELECT words FROM known WHERE digest = ?")
"""Where the documents are that devices are given, by zlib."""


def document_digest(path: str) -> bytes | None:
    """The digest that a path below the log has, if it is one of a document."""
    match = _DOCUMENT.fullmatch(path)
    return bytes.fromhex(match[1]) if match else None


def may_have(path: str) -> bool:
    """Whether a log can have a file at a path below it; nothing is looked up."""
    inner = _tree_and_file(path)[1]
    return inner == CHECKPOINT or Tile.parse(inner) is not None or document_digest(path) is not None


def read_file(db: Connection, path: str, quorum: int = 0) -> bytes | None:
    """The file at a path below the log, if there is one; checkpoints are those that `quorum` witnesses co-signed."""
    digest = document_digest(path)
    if digest is not None:
        return _document(db, digest)
    tree, inner = _tree_and_file(path)
    if inner == CHECKPOINT:
        checkpoint = log_store.newest_checkpoint(db, tree, quorum)
        return None if checkpoint is None else bytes(checkpoint.note)
    tile = Tile.parse(inner)
    return None if tile is None else _tile(db, tree, tile)


def file_paths(db: Connection, quorum: int = 0) -> Iterator[str]:
    """The paths of all files of the log; checkpoints behind what they are about."""
    for tree in (OPERATOR_TREE, *log_store.campaign_trees(db)):
        prefix = f"{CAMPAIGNS}/{tree.hex()}/" if tree else ""
        checkpoint = log_store.newest_checkpoint(db, tree, quorum)
        if checkpoint is not None:
            yield from (prefix + tile.path for tile in tiles_of(checkpoint.size))
            yield prefix + CHECKPOINT
    digests = {entry.digest for entry in log_store.all_entries(db) if entry.digest is not None}
    yield from (f"{DOCUMENTS}/{digest.hex()}" for digest in sorted(digests) if _document(db, digest) is not None)


def _tile(db: Connection, tree: bytes, tile: Tile) -> bytes | None:
    start = tile.index * TILE_WIDTH
    if tile.level is None:
        parts = log_store.entries_of(db, tree, start, start + tile.width)
        content = pack_entries(parts)
    else:
        parts = log_store.hashes_of(db, tree, TILE_LEVELS * tile.level, start, start + tile.width)
        content = b"".join(parts)
    return content if len(parts) == tile.width else None


def _tree_and_file(path: str) -> tuple[bytes, str]:
    """Which tree a path is of, and what is behind that."""
    campaign = _OF_CAMPAIGN.fullmatch(path)
    return (bytes.fromhex(campaign[1]), campaign[2]) if campaign else (OPERATOR_TREE, path)


def _document(db: Connection, digest: bytes) -> bytes | None:
    packed = _packed(db, digest)
    return log_store.document_of(db, digest) if packed is None else zlib.decompress(packed)


def _packed(db: Connection, digest: bytes) -> bytes | None:
    for select in _PACKED:
        rows = db.execute(select, (digest,))
        if rows:
            return bytes(rows[0][0])
    return None
