"""What a witness keeps: its key, every checkpoint that it has co-signed, and the forks that it was shown."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.errors import LogError
from neologue.sqlite_file import FileKind, VersionedFile
from neologue.transparency.checkpoint import Checkpoint
from neologue.transparency.signed_note import COSIGNATURE, Note, NoteKey

_PATIENCE: Final = 10.0
_SECRET_BYTES: Final = 32

_KIND: Final = FileKind(
    name="file of a witness",
    error=LogError,
    version=1,
    schema=(
        """
        CREATE TABLE identity (            -- one row
            name   TEXT NOT NULL,
            secret BLOB NOT NULL           -- the private key
        )
        """,
        """
        CREATE TABLE checkpoints (         -- what was co-signed; nothing is ever deleted
            origin TEXT NOT NULL,
            size   INTEGER NOT NULL,
            root   BLOB NOT NULL,
            note   BLOB NOT NULL,          -- as the log has signed it
            PRIMARY KEY (origin, size)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE forks (               -- two checkpoints, both signed by the log, that no one log has
            origin TEXT NOT NULL,
            size   INTEGER NOT NULL,       -- how many entries the first of them has
            ours   BLOB NOT NULL,
            theirs BLOB NOT NULL,
            PRIMARY KEY (origin)
        ) WITHOUT ROWID
        """,
    ),
    pragmas=("PRAGMA synchronous = FULL",),
    application=0x6E657769,
    damaged="is damaged or not the file of a witness: restore it from a copy; a witness that forgets can be lied to",
    foreign="name another file",
)


@dataclass(frozen=True)
class Fork:
    """Two checkpoints that a log has signed and that contradict each other."""

    origin: str
    size: int
    ours: bytes
    theirs: bytes


class WitnessFile:
    """The file; made with a new key if there is none, for which a name must be given then."""

    def __init__(self, path: Path | str, name: str | None = None) -> None:
        if name is None and not Path(path).exists():
            raise LogError(f"there is no witness in {path}: give it a name, and it is made")
        if name is not None:
            NoteKey(name, COSIGNATURE, bytes(_SECRET_BYTES))  # refuses a name that keys can't have
        self._file = VersionedFile(_KIND, path, _PATIENCE)
        with self._file.transaction() as db:
            if self._file.is_empty(db):
                if name is None:
                    raise LogError(f"there is no witness in {path}: give it a name, and it is made")
                self._file.write_schema(db)
                db.execute("INSERT INTO identity VALUES (?, ?)", (name, os.urandom(_SECRET_BYTES)))
            else:
                self._file.upgrade(db)
            self.name, secret = db.execute("SELECT name, secret FROM identity").fetchone()
        if name not in (None, self.name):
            raise LogError(f"the witness in {path} is called {self.name}, not {name}: a name is never changed")
        self.private = Ed25519PrivateKey.from_private_bytes(secret)

    @property
    def key(self) -> NoteKey:
        """By what others know this witness."""
        return NoteKey(self.name, COSIGNATURE, self.private.public_key().public_bytes_raw())

    @contextmanager
    def transaction(self) -> Iterator["WitnessRows"]:
        """One exclusive transaction: what is checked in it can't change before what is written in it."""
        with self._file.transaction() as db:
            yield WitnessRows(db)

    @contextmanager
    def reading(self) -> Iterator["WitnessRows"]:
        """One transaction that only reads, however many strangers ask."""
        with self._file.reading() as db:
            yield WitnessRows(db)


class WitnessRows:
    """What can be read and written in a transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def newest(self, origin: str) -> tuple[Checkpoint, Note] | None:
        """The checkpoint of a log that was co-signed last."""
        row = self._db.execute(
            "SELECT note FROM checkpoints WHERE origin = ? ORDER BY size DESC LIMIT 1", (origin,)
        ).fetchone()
        return None if row is None else _read(row[0])

    def with_size(self, origin: str, size: int) -> tuple[Checkpoint, Note] | None:
        """The checkpoint with this size that was co-signed, if one was."""
        row = self._db.execute("SELECT note FROM checkpoints WHERE origin = ? AND size = ?", (origin, size)).fetchone()
        return None if row is None else _read(row[0])

    def keep(self, checkpoint: Checkpoint, note: Note) -> None:
        """Keep a checkpoint that is co-signed; the same one again changes nothing."""
        self._db.execute(
            "INSERT OR IGNORE INTO checkpoints VALUES (?, ?, ?, ?)",
            (checkpoint.origin, checkpoint.size, checkpoint.root, bytes(note)),
        )

    def keep_fork(self, fork: Fork) -> None:
        """Keep the proof that a log was forked; the first one stays."""
        self._db.execute(
            "INSERT OR IGNORE INTO forks VALUES (?, ?, ?, ?)", (fork.origin, fork.size, fork.ours, fork.theirs)
        )

    def forks(self) -> list[Fork]:
        """All forks that were seen."""
        return [Fork(*row) for row in self._db.execute("SELECT origin, size, ours, theirs FROM forks ORDER BY origin")]

    def origins(self) -> list[str]:
        """The logs of which anything was co-signed."""
        return [origin for (origin,) in self._db.execute("SELECT DISTINCT origin FROM checkpoints ORDER BY origin")]


def _read(content: bytes) -> tuple[Checkpoint, Note]:
    note = Note.parse(content)
    return Checkpoint.parse(note.text), note
