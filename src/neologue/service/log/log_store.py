"""The log as rows of the database: entries, the hashes above them, checkpoints and their co-signatures.

There is one tree for the operator, which has every entry, and one for each campaign, whose leaf i opens layer i. Every
function takes a connection: an entry is written in the transaction of the deed that it tells of.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from neologue.service.storage.database import Connection
from neologue.transparency.checkpoint import Checkpoint
from neologue.transparency.log_entry import Deed, LogEntry
from neologue.transparency.merkle import Subtrees, completed_by, leaf_hash
from neologue.transparency.signed_note import Note, parse_signatures

OPERATOR_TREE = b""
"""By what the operator's tree is known among those of the campaigns."""


@dataclass(frozen=True)
class StoredCheckpoint:
    """A checkpoint as the log has signed it, with the co-signatures that there are."""

    tree: bytes
    size: int
    note: Note

    @property
    def root(self) -> bytes:
        """The root of the tree."""
        return Checkpoint.parse(self.note.text).root


def append(db: Connection, entry: LogEntry) -> None:
    """Write an entry; nobody has to wait for anybody, and it gets its place in the tree later."""
    # A layer is opened in both trees, by the same bytes.
    trees = [OPERATOR_TREE] if entry.deed is not Deed.OPENED else [OPERATOR_TREE, entry.campaign]
    db.executemany("INSERT INTO log_entries (tree, entry) VALUES (?, ?)", [(tree, bytes(entry)) for tree in trees])


def keep_document(db: Connection, digest: bytes, document: bytes) -> None:
    """Keep a document that an entry names."""
    db.execute("INSERT INTO log_documents VALUES (?, ?) ON CONFLICT DO NOTHING", (digest, document))


def document_of(db: Connection, digest: bytes) -> bytes | None:
    """A document that an entry names."""
    rows = db.execute("SELECT document FROM log_documents WHERE digest = ?", (digest,))
    return bytes(rows[0][0]) if rows else None


def place_entries(db: Connection) -> dict[bytes, int]:
    """Give new entries their places, in the order in which they were written; the new size of each tree that grew."""
    sizes: dict[bytes, int] = {}
    rows = db.execute("SELECT number, tree, entry FROM log_entries WHERE position IS NULL ORDER BY number")
    for number, tree, entry in rows:
        tree = bytes(tree)
        position = sizes.get(tree, size_of(db, tree))
        for level, found in enumerate(completed_by(position, leaf_hash(bytes(entry)), stored_subtrees(db, tree))):
            db.execute("INSERT INTO log_hashes VALUES (?, ?, ?, ?)", (tree, level, position >> level, found))
        db.execute("UPDATE log_entries SET position = ? WHERE number = ?", (position, number))
        sizes[tree] = position + 1
    return sizes


def has_new_entries(db: Connection) -> bool:
    """Whether there are entries without a place."""
    return bool(db.execute("SELECT 1 FROM log_entries WHERE position IS NULL LIMIT 1"))


def size_of(db: Connection, tree: bytes) -> int:
    """How many entries a tree has."""
    ((last,),) = db.execute("SELECT MAX(position) FROM log_entries WHERE tree = ?", (tree,))
    return 0 if last is None else int(last) + 1


def entries_of(db: Connection, tree: bytes, start: int, end: int) -> list[bytes]:
    """The entries from one place to below another."""
    rows = db.execute(
        "SELECT entry FROM log_entries WHERE tree = ? AND position >= ? AND position < ? ORDER BY position",
        (tree, start, end),
    )
    return [bytes(entry) for (entry,) in rows]


def all_entries(db: Connection) -> list[LogEntry]:
    """All entries of the operator's tree, also those without a place yet, the oldest first."""
    rows = db.execute("SELECT entry FROM log_entries WHERE tree = ? ORDER BY number", (OPERATOR_TREE,))
    return [LogEntry.parse(bytes(entry)) for (entry,) in rows]


def position_of(db: Connection, entry: LogEntry) -> int | None:
    """The place of an entry in the operator's tree, the first if it has several."""
    rows = db.execute(
        "SELECT MIN(position) FROM log_entries WHERE tree = ? AND entry = ?", (OPERATOR_TREE, bytes(entry))
    )
    return None if rows[0][0] is None else int(rows[0][0])


def campaign_trees(db: Connection) -> list[bytes]:
    """The campaigns that have a tree."""
    rows = db.execute("SELECT DISTINCT tree FROM log_entries WHERE tree <> ? AND position = 0", (OPERATOR_TREE,))
    return [bytes(tree) for (tree,) in rows]


def hashes_of(db: Connection, tree: bytes, level: int, start: int, end: int) -> list[bytes]:
    """The hashes of complete subtrees at a level, from one to below another."""
    rows = db.execute(
        "SELECT hash FROM log_hashes WHERE tree = ? AND level = ? AND position >= ? AND position < ? ORDER BY position",
        (tree, level, start, end),
    )
    return [bytes(found) for (found,) in rows]


def stored_subtrees(db: Connection, tree: bytes) -> Subtrees:
    """The complete subtrees of a tree."""

    def subtree(level: int, index: int) -> bytes:
        (found,) = hashes_of(db, tree, level, index, index + 1)
        return found

    return subtree


def keep_checkpoint(db: Connection, tree: bytes, size: int, note: Note) -> None:
    """Keep a checkpoint that the log has signed."""
    db.execute("INSERT INTO log_checkpoints VALUES (?, ?, ?)", (tree, size, bytes(note)))


def keep_cosignature(db: Connection, tree: bytes, size: int, witness: bytes, line: str) -> None:
    """Keep the co-signature of a witness; another one of the same checkpoint changes nothing."""
    db.execute("INSERT INTO log_cosignatures VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", (tree, size, witness, line))


def newest_checkpoint(db: Connection, tree: bytes, quorum: int = 0) -> StoredCheckpoint | None:
    """The newest checkpoint of a tree that so many witnesses have co-signed, if there is one."""
    rows = db.execute(
        "SELECT size, note FROM log_checkpoints WHERE tree = ? AND (SELECT COUNT(*) FROM log_cosignatures"
        " WHERE log_cosignatures.tree = log_checkpoints.tree AND log_cosignatures.size = log_checkpoints.size) >= ?"
        " ORDER BY size DESC LIMIT 1",
        (tree, quorum),
    )
    if not rows:
        return None
    size, note = int(rows[0][0]), Note.parse(bytes(rows[0][1]))
    lines = "".join(line for _, line in cosignatures_of(db, tree, size))
    return StoredCheckpoint(tree, size, note.with_signatures(parse_signatures(lines)) if lines else note)


def cosignatures_of(db: Connection, tree: bytes, size: int) -> Iterator[tuple[bytes, str]]:
    """The co-signatures of a checkpoint, each with the witness's key."""
    rows = db.execute(
        "SELECT witness, line FROM log_cosignatures WHERE tree = ? AND size = ? ORDER BY witness", (tree, size)
    )
    return ((bytes(witness), str(line)) for witness, line in rows)


def not_cosigned(db: Connection, witness: bytes) -> list[StoredCheckpoint]:
    """The newest checkpoint of each tree that a witness has not co-signed yet."""
    rows = db.execute(
        "SELECT newest.tree, newest.size FROM (SELECT tree, MAX(size) AS size FROM log_checkpoints GROUP BY tree)"
        " AS newest LEFT JOIN log_cosignatures AS signed ON signed.tree = newest.tree AND signed.size = newest.size"
        " AND signed.witness = ? WHERE signed.witness IS NULL",
        (witness,),
    )
    found = (newest_checkpoint(db, bytes(tree)) for tree, _ in rows)
    return [checkpoint for checkpoint in found if checkpoint is not None]


def signed_trees(db: Connection) -> int:
    """How many trees have a checkpoint."""
    ((count,),) = db.execute("SELECT COUNT(DISTINCT tree) FROM log_checkpoints")
    return int(count)


def last_cosigned(db: Connection, tree: bytes, witness: bytes) -> int:
    """The size of the last checkpoint that a witness has co-signed, as far as this service knows; 0 if none."""
    ((size,),) = db.execute("SELECT MAX(size) FROM log_cosignatures WHERE tree = ? AND witness = ?", (tree, witness))
    return 0 if size is None else int(size)
