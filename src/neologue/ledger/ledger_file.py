"""The file of a ledger: SQLite, durable, and for its owner alone."""

from pathlib import Path
from typing import Final

from neologue.errors import LedgerError
from neologue.sqlite_file import FileKind, VersionedFile

_KIND: Final = FileKind(
    name="ledger",
    error=LedgerError,
    version=2,
    application=0x6E6C6567,  # "nleg"
    schema=(
        """
        CREATE TABLE populations (
            name TEXT PRIMARY KEY CHECK (name <> '')  -- nobody is in two of them
        ) STRICT
        """,
        """
        CREATE TABLE budgets (
            number        INTEGER PRIMARY KEY,                                 -- of a population's, the last one counts
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
            planned     TEXT NOT NULL,                                       -- the collection that was planned, as JSON
            settled     TEXT,                                                   -- the collection that happened, as JSON
            planned_day INTEGER NOT NULL,                                       -- since 1970-01-01
            ended_day   INTEGER,                                                -- when it was settled or abandoned
            reference   TEXT,                                                   -- of whoever planned it; NULL for none
            CHECK ((state = 'settled') = (settled IS NOT NULL)),
            CHECK ((state = 'planned') = (ended_day IS NULL))
        ) STRICT
        """,
    ),
    migrations={1: ("ALTER TABLE campaigns ADD COLUMN reference TEXT",)},
    pragmas=(
        "PRAGMA journal_mode = DELETE",
        # After a loss of power, FULL may undo the last commit; what was collected by then would be forgotten.
        "PRAGMA synchronous = EXTRA",
        "PRAGMA foreign_keys = ON",
    ),
    damaged=(
        "is damaged or not a ledger, so it is unknown what was spent: restore it from a copy; a new ledger would start "
        "from zero and let everything be spent again"
    ),
    foreign="name one that `neologue ledger create` made",
)


def create_ledger_file(path: Path | str, patience: float) -> VersionedFile:
    """A new file; one that exists is refused."""
    exists = LedgerError(f"{path} is there already: choose another name, or go on with it if it is a ledger")
    # An empty file is what is left when a power cut broke off an earlier attempt.
    if Path(path).exists() and Path(path).stat().st_size:
        raise exists
    file = VersionedFile(_KIND, path, patience)
    with file.transaction() as db:
        if not file.is_empty(db):
            raise exists
        file.write_schema(db)
    return file


def open_ledger_file(path: Path | str, patience: float) -> VersionedFile:
    """The file of a ledger, up to date and whole; anything else is refused."""
    if not Path(path).exists():
        raise LedgerError(f"there is no ledger {path}: create one with `neologue ledger create {path}`")
    file = VersionedFile(_KIND, path, patience)
    with file.transaction() as db:
        file.upgrade(db)
    return file
