"""A membership: which campaign a device has joined, what it has answered there, and the receipts of what it sent.

One SQLite file that holds no words. What was spent is in the spending record, which nothing erases.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from neologue.errors import MembershipError
from neologue.sqlite_file import FileKind, VersionedFile


class End(StrEnum):
    """How a campaign came to its end for this device."""

    FINAL = "final"
    CLOSED = "closed"
    OVER = "over"


_PATIENCE: Final = 10.0

_KIND: Final = FileKind(
    name="membership",
    error=MembershipError,
    version=2,
    schema=(
        """
        CREATE TABLE consent (
            withdrawn INTEGER NOT NULL      -- whether the owner has opted out
        )
        """,
        """
        CREATE TABLE campaign (             -- at most one row
            credential TEXT NOT NULL,
            layer      BLOB,                -- what was answered, once it was sent: the digest of the layer,
            operator   BLOB,                -- who asked, and their signature
            signature  BLOB,
            ticket     BLOB,                -- empty if the one there was is not accepted
            ended      TEXT,                -- final, closed or over
            masked     BLOB                 -- what is promised of groups, if votes are masked
        )
        """,
        """
        CREATE TABLE receipts (
            id       INTEGER PRIMARY KEY,
            sentence TEXT NOT NULL
        )
        """,
        "INSERT INTO consent VALUES (0)",
    ),
    migrations={1: ("ALTER TABLE campaign ADD COLUMN masked BLOB",)},
    pragmas=("PRAGMA secure_delete = ON", "PRAGMA synchronous = FULL"),
    damaged="is damaged or not a membership: delete it and join again; what was spent is in the spending record",
    foreign="name another folder",
)


@dataclass(frozen=True)
class AnsweredInvitation:
    """What a check-in replied: who asks this device, and about which layer."""

    layer: bytes
    """The digest."""
    operator: bytes
    signature: bytes
    ticket: bytes
    masked: bytes | None = None
    """What is promised of groups, if votes are masked."""
    proof: bytes | None = None
    """What came beside the invitation; it is checked before the answer and not stored."""


@dataclass(frozen=True)
class Joined:
    """The campaign that a device has joined."""

    credential: str
    answered: AnsweredInvitation | None
    """What it has sent an answer to, or tried to."""
    ended: End | None


class Membership:
    """The file; every change is on the disk when its method returns."""

    def __init__(self, path: Path | str) -> None:
        self._file = VersionedFile(_KIND, path, _PATIENCE)
        self._db = self._file.connect()
        try:
            with self._transaction() as db:
                self._file.prepare(db)
        except BaseException:
            self._db.close()
            raise

    @property
    def withdrawn(self) -> bool:
        """Whether the owner has opted out."""
        with self._file.explain_errors():
            return bool(self._db.execute("SELECT withdrawn FROM consent").fetchone()[0])

    def withdraw(self, withdrawn: bool) -> None:
        """Remember whether the owner has opted out."""
        with self._transaction() as db:
            db.execute("UPDATE consent SET withdrawn = ?", (withdrawn,))

    def joined(self) -> Joined | None:
        """The campaign, if one was joined."""
        with self._transaction() as db:
            row = db.execute("SELECT * FROM campaign").fetchone()
        if row is None:
            return None
        credential, layer, operator, signature, ticket, ended, masked = row
        answered = None if layer is None else AnsweredInvitation(layer, operator, signature, ticket, masked)
        return Joined(credential, answered, None if ended is None else End(ended))

    def join(self, credential: str) -> None:
        """Join a campaign, and leave any other."""
        with self._transaction() as db:
            db.execute("DELETE FROM campaign")
            db.execute("INSERT INTO campaign (credential) VALUES (?)", (credential,))

    def leave(self, sentence: str | None) -> None:
        """Forget the campaign, with a receipt if a report is given up."""
        with self._transaction() as db:
            db.execute("DELETE FROM campaign")
            _file(db, sentence)

    def send(self, asked: AnsweredInvitation, sentence: str) -> None:
        """Remember what is answered, with the receipt: the bytes may leave the device as soon as this returns."""
        with self._transaction() as db:
            answer = (asked.layer, asked.operator, asked.signature, asked.ticket, asked.masked)
            new = db.execute(
                "UPDATE campaign SET layer = ?, operator = ?, signature = ?, ticket = ?, masked = ?"
                " WHERE layer IS NULL",
                answer,
            ).rowcount
            # Another process may have been here before, with the same bytes.
            _file(db, sentence if new else None)

    def renew(self, asked: AnsweredInvitation) -> None:
        """Remember another invitation to what is answered already, perhaps with an empty ticket."""
        with self._transaction() as db:
            db.execute(
                "UPDATE campaign SET operator = ?, signature = ?, ticket = ? WHERE layer = ?",
                (asked.operator, asked.signature, asked.ticket, asked.layer),
            )

    def drop_ticket(self) -> None:
        """Remember that the ticket is not accepted."""
        with self._transaction() as db:
            db.execute("UPDATE campaign SET ticket = ?", (b"",))

    def file(self, sentence: str) -> None:
        """Keep another receipt."""
        with self._transaction() as db:
            _file(db, sentence)

    def end(self, how: End, sentence: str | None = None) -> None:
        """Remember that nothing more is to be sent, with a receipt if something was."""
        with self._transaction() as db:
            db.execute("UPDATE campaign SET ended = ?", (how,))
            _file(db, sentence)

    def receipts(self) -> list[str]:
        """All sentences, the oldest first."""
        with self._transaction() as db:
            return [sentence for (sentence,) in db.execute("SELECT sentence FROM receipts ORDER BY id")]

    def erase(self) -> None:
        """Forget the campaign and the receipts; whether the owner has opted out stays."""
        with self._transaction() as db:
            db.execute("DELETE FROM campaign")
            db.execute("DELETE FROM receipts")

    def close(self) -> None:
        """Close the file; closing twice is fine."""
        self._db.close()

    def __repr__(self) -> str:
        return f"Membership({self._file.path!r})"

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._file.transaction_on(self._db):
            yield self._db


def _file(db: sqlite3.Connection, sentence: str | None) -> None:
    """Add a receipt, if there is one."""
    if sentence is not None:
        db.execute("INSERT INTO receipts (sentence) VALUES (?)", (sentence,))
