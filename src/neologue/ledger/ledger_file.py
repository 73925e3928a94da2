"""The file of a ledger: SQLite, durable, for its owner alone, and its errors in plain words."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from neologue.errors import LedgerError
from neologue.sqlite_file import explained

_VERSION: Final = 2
_APPLICATION: Final = 0x6E6C6567
"""What tells a ledger from any other SQLite file: "nleg"."""

_SCHEMA: Final = (
    """
    CREATE TABLE populations (
        name TEXT PRIMARY KEY CHECK (name <> '')  -- nobody is in two of them
    ) STRICT
    """,
    """
    CREATE TABLE budgets (
        number        INTEGER PRIMARY KEY,                                  -- of a population's, the last one counts
        population    TEXT NOT NULL REFERENCES populations (name),
        unit          TEXT NOT NULL CHECK (unit IN ('item', 'user')),
        epsilon       REAL NOT NULL CHECK (epsilon > 0),                    -- central, over all campaigns
        delta         REAL NOT NULL CHECK (delta > 0 AND delta < 1),        -- over all campaigns
        local_epsilon REAL CHECK (local_epsilon > 0),                       -- of a word, added up; NULL for any
        day           INTEGER NOT NULL                                      -- since 1970-01-01, when it was set
    ) STRICT
    """,
    """
    CREATE TABLE campaigns (
        campaign    TEXT PRIMARY KEY CHECK (campaign <> ''),                -- its identity, never used twice
        population  TEXT NOT NULL REFERENCES populations (name),
        state       TEXT NOT NULL CHECK (state IN ('planned', 'settled', 'abandoned')),
        planned     TEXT NOT NULL,                                          -- the collection that was planned, as JSON
        settled     TEXT,                                                   -- the collection that happened, as JSON
        planned_day INTEGER NOT NULL,                                       -- since 1970-01-01
        ended_day   INTEGER,                                                -- when it was settled or abandoned
        reference   TEXT,                                                   -- of whoever planned it; NULL for none
        CHECK ((state = 'settled') = (settled IS NOT NULL)),
        CHECK ((state = 'planned') = (ended_day IS NULL))
    ) STRICT
    """,
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {_VERSION}",
)

_SINCE_1: Final = (
    "ALTER TABLE campaigns ADD COLUMN reference TEXT",
    f"PRAGMA user_version = {_VERSION}",
)

_PRAGMAS: Final = (
    "PRAGMA journal_mode = DELETE",
    # After a loss of power, FULL may undo the last commit; what was collected by then would be forgotten.
    "PRAGMA synchronous = EXTRA",
    "PRAGMA foreign_keys = ON",
)


_DAMAGED: Final = (
    "is damaged or not a ledger, and what was spent can't be told: restore it from a copy; a new ledger would start "
    "from nothing and let everything be spent again"
)


class LedgerFile:
    """One ledger on disk, which several processes may share."""

    def __init__(self, path: Path | str, patience: float) -> None:
        self.path = str(path)
        # Resolved, so that SQLite does not take a name such as "file:…" for an address.
        self._file = Path(path).resolve()
        self._patience = patience

    def create(self) -> None:
        """Make the file, if there is none."""
        try:
            os.close(os.open(self._file, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode=0o600))
        except FileExistsError:
            # An empty file is what is left when a power cut broke off an earlier attempt.
            if self._file.stat().st_size:
                raise self._exists() from None
        except OSError as error:
            raise LedgerError(f"can't create the ledger {self.path}: {error.strerror}; check its folder") from error
        with self.turn() as db:
            if db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone() != (0,):
                raise self._exists()
            for statement in _SCHEMA:
                db.execute(statement)

    def check(self) -> None:
        """Refuse what is no ledger or damaged; bring one of an earlier version up to date."""
        if not self._file.exists():
            raise LedgerError(f"there is no ledger {self.path}: create one with `neologue ledger create {self.path}`")
        with self.turn() as db:
            (application,) = db.execute("PRAGMA application_id").fetchone()
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if application != _APPLICATION:
                raise LedgerError(f"{self.path} is not a ledger: name one that `neologue ledger create` made")
            if version == 1:
                for statement in _SINCE_1:
                    db.execute(statement)
            elif version != _VERSION:
                raise LedgerError(
                    f"the ledger {self.path} has the schema version {version}, and this neologue reads {_VERSION}: "
                    "use the neologue that wrote it"
                )
            if db.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
                raise self.damaged()

    def damaged(self) -> LedgerError:
        """What to say of a file that can't be read."""
        return LedgerError(f"{self.path} {_DAMAGED}")

    @contextmanager
    def turn(self) -> Iterator[sqlite3.Connection]:
        """One exclusive transaction on a connection of its own; what fails in it leaves everything as it was."""
        # Never creates the file: one that vanished has taken the record of what was spent with it.
        address = f"{self._file.as_uri()}?mode=rw"
        with (
            explained(LedgerError, "ledger", self.path, _DAMAGED),
            closing(sqlite3.connect(address, timeout=self._patience, isolation_level=None, uri=True)) as db,
        ):
            for pragma in _PRAGMAS:
                db.execute(pragma)
            with db:
                db.execute("BEGIN IMMEDIATE")
                yield db

    def _exists(self) -> LedgerError:
        return LedgerError(f"{self.path} is there already: choose another name, or go on with it if it is a ledger")
