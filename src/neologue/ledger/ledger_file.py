"""The file of a ledger: SQLite, durable, and for its owner alone."""

import sqlite3
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from neologue.clock import Clock, system_days
from neologue.errors import LedgerError
from neologue.ledger.ledger import Ledger
from neologue.sqlite_file import FileKind, VersionedFile

PATIENCE: Final = 60.0
"""Seconds to wait for another process that has the ledger."""

_POPULATIONS: Final = """
CREATE TABLE ledger_populations (
    name    TEXT PRIMARY KEY CHECK (name <> ''),  -- nobody is in two of them
    version INTEGER NOT NULL                      -- grows with every change of its budget or charges
) STRICT
"""
_BUDGETS: Final = """
CREATE TABLE ledger_budgets (
    number        INTEGER PRIMARY KEY,                                 -- of a population's, the last one counts
    population    TEXT NOT NULL REFERENCES ledger_populations (name),
    unit          TEXT NOT NULL CHECK (unit IN ('item', 'user')),
    epsilon       REAL NOT NULL CHECK (epsilon > 0),                    -- central, over all campaigns
    delta         REAL NOT NULL CHECK (delta > 0 AND delta < 1),        -- over all campaigns
    local_epsilon REAL CHECK (local_epsilon > 0),                       -- of a word, added up; NULL for any
    day           INTEGER NOT NULL                                      -- since 1970-01-01, when it was set
) STRICT
"""
_CHARGES: Final = """
CREATE TABLE ledger_charges (
    number      INTEGER PRIMARY KEY,                                 -- in the order of planning
    campaign    TEXT NOT NULL UNIQUE CHECK (campaign <> ''),            -- its identity, never used twice
    population  TEXT NOT NULL REFERENCES ledger_populations (name),
    state       TEXT NOT NULL CHECK (state IN ('planned', 'collecting', 'settled', 'abandoned')),
    planned     TEXT NOT NULL,                                          -- the collection that was planned, as JSON
    charged     TEXT NOT NULL,                                          -- the one that is charged for, as JSON
    planned_day INTEGER NOT NULL,                                       -- since 1970-01-01
    ended_day   INTEGER,                                                -- when it was settled or abandoned
    reference   TEXT,                                                   -- of whoever planned it; NULL for none
    told        INTEGER NOT NULL CHECK (told IN (0, 1)),                -- whether anything decided may have been told
    -- The chances of what it shows of few people; NULL if nobody knows what it promised.
    k               INTEGER CHECK (k >= 0),                             -- of its k-anonymity, 0 for none
    chance          REAL CHECK (chance > 0 AND chance <= 1),            -- that k does not hold for a word
    unique_chance   REAL CHECK (unique_chance > 0 AND unique_chance <= 1),  -- that a word of one user is shown
    hostile_devices INTEGER CHECK (hostile_devices >= 0),               -- of a layer that unique_chance allows for
    CHECK ((k IS NULL) = (chance IS NULL)),
    CHECK ((k IS NULL) = (unique_chance IS NULL)),
    CHECK ((k IS NULL) = (hostile_devices IS NULL)),
    CHECK ((state IN ('settled', 'abandoned')) = (ended_day IS NOT NULL))
) STRICT
"""

_KIND: Final = FileKind(
    name="ledger",
    error=LedgerError,
    version=3,
    application=0x6E6C6567,  # "nleg"
    schema=(_POPULATIONS, _BUDGETS, _CHARGES),
    migrations={
        1: ("ALTER TABLE campaigns ADD COLUMN reference TEXT",),
        # From here on the tables are those of a service. Of what was settled with reports, something may be released.
        2: (
            _POPULATIONS,
            "INSERT INTO ledger_populations SELECT name, 0 FROM populations",
            _BUDGETS,
            "INSERT INTO ledger_budgets"
            " SELECT number, population, unit, epsilon, delta, local_epsilon, day FROM budgets",
            _CHARGES,
            "INSERT INTO ledger_charges SELECT rowid, campaign, population, state, planned, coalesce(settled, planned),"
            " planned_day, ended_day, reference, state = 'settled', NULL, NULL, NULL, NULL FROM campaigns",
            "DROP TABLE campaigns",
            "DROP TABLE budgets",
            "DROP TABLE populations",
        ),
    },
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


class LedgerFile:
    """The rows of a ledger in a file, which several processes may share."""

    def __init__(self, file: VersionedFile) -> None:
        self.file = file

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return f"the ledger {self.file.path}"

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """One exclusive transaction."""
        return self.file.transaction()

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """The same: who reads waits for who writes."""
        return self.file.transaction()


def create_ledger(path: Path | str, clock: Clock = system_days, patience: float = PATIENCE) -> Ledger:
    """A new ledger with no population yet; a file that exists is refused."""
    exists = LedgerError(f"{path} is there already: choose another name, or go on with it if it is a ledger")
    # An empty file is what is left when a power cut broke off an earlier attempt.
    if Path(path).exists() and Path(path).stat().st_size:
        raise exists
    file = VersionedFile(_KIND, path, patience)
    with file.transaction() as db:
        if not file.is_empty(db):
            raise exists
        file.write_schema(db)
    return Ledger(LedgerFile(file), clock)


def open_ledger(path: Path | str, clock: Clock = system_days, patience: float = PATIENCE) -> Ledger:
    """The ledger in a file, up to date and whole; anything else is refused."""
    if not Path(path).exists():
        raise LedgerError(f"there is no ledger {path}: create one with `neologue ledger create {path}`")
    file = VersionedFile(_KIND, path, patience)
    with file.transaction() as db:
        file.upgrade(db)
    return Ledger(LedgerFile(file), clock)
