"""A database of the service in a file of SQLite.

What is deleted is overwritten with zeros in the file, and `scrub` empties the log beside it, in which it would stay for
a while.
"""

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from neologue.errors import InputError, StorageError
from neologue.service.storage.database import PATIENCE, Connection, Database, Parameters, Row
from neologue.sqlite_file import explain_errors, make_private

_SCRUBBING: Final = 0.5
"""The same while a log is emptied, for everybody who wants to write has to wait for that."""
_PAUSE: Final = 0.01

_SQLITE_SINCE: Final = (3, 37, 0)
"""The first one with STRICT tables."""
_PRAGMAS: Final = (
    # What was confirmed to a device must outlive a loss of power: every commit waits for the disk.
    "PRAGMA synchronous = FULL",
    # Sums that are deleted are overwritten with zeros.
    "PRAGMA secure_delete = ON",
    "PRAGMA foreign_keys = ON",
    # Nothing that is sorted goes through a file.
    "PRAGMA temp_store = MEMORY",
    # The log does not stay as long as it once had to be.
    "PRAGMA journal_size_limit = 67108864",
)
_DAMAGED: Final = "is damaged or not a database of neologue: restore it from a copy"


class _SqliteConnection(Connection):
    dialect = "sqlite"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        return self._connection.execute(sql, parameters).fetchall()

    def executemany(self, sql: str, rows: Iterable[Parameters]) -> None:
        self._connection.executemany(sql, rows)

    def select_for_update(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        return self.execute(sql, parameters)  # whoever writes is alone

    def table_of(self, column: str, values: Sequence[bytes]) -> tuple[str, list[Any]]:
        rows = ", ".join(["(?)"] * len(values))
        return f"(SELECT column1 AS {column} FROM (VALUES {rows}))", list(values)

    def lock_alone(self) -> None:
        pass

    def lock_table(self, table: str) -> None:
        pass

    def share_table(self, table: str) -> None:
        pass  # a transaction sees one state of all tables

    def empty_table(self, table: str) -> None:
        # As a whole: single rows that are deleted may leave a copy where SQLite once had them.
        self.execute(f"DELETE FROM {table}")


class SqliteDatabase(Database):
    """A file of SQLite."""

    _begin_writing = "BEGIN IMMEDIATE"
    _begin_reading = "BEGIN"

    def __init__(self, path: str, patience: float = PATIENCE) -> None:
        super().__init__()
        if sqlite3.sqlite_version_info < _SQLITE_SINCE:
            needed = ".".join(map(str, _SQLITE_SINCE))
            raise InputError(f"this Python has SQLite {sqlite3.sqlite_version}: use one with {needed} or later")
        self.name = path
        self._patience = patience
        self._file = make_private(StorageError, "database", path)

    @property
    def file(self) -> Path:
        """Where the database is; its log is beside it."""
        return self._file

    def scrub(self) -> bool:
        """Write the log into the file and empty it."""
        with self._explain_errors(), closing(self._connect()) as connection:
            connection.execute(f"PRAGMA busy_timeout = {1000 * min(self._patience, _SCRUBBING):.0f}")
            ((busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return not busy

    def _connect(self) -> sqlite3.Connection:
        # Never creates the file: one that vanished has taken the record of who was counted with it.
        address = f"{self._file.as_uri()}?mode=rw"
        connection = sqlite3.connect(
            address, timeout=self._patience, isolation_level=None, uri=True, check_same_thread=False
        )
        try:
            self._use_log(connection)
            for pragma in _PRAGMAS:
                connection.execute(pragma)
        except BaseException:
            connection.close()
            raise
        return connection

    def _use_log(self, connection: sqlite3.Connection) -> None:
        """Switch to a write-ahead log; two who do so at once get an error at once, whatever their patience."""
        deadline = time.monotonic() + self._patience
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(_PAUSE)
            else:
                return

    def _lost(self, connection: sqlite3.Connection) -> bool:
        return False

    def _wrap(self, connection: sqlite3.Connection) -> Connection:
        return _SqliteConnection(connection)

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        try:
            with explain_errors(StorageError, "database", self.name, _DAMAGED):
                yield
        except StorageError as error:
            cause = error.__cause__
            if isinstance(cause, sqlite3.Error) and _is_of_sql(cause):
                raise StorageError(
                    f"the database {self.name} refused a statement ({cause.sqlite_errorname})"
                ) from cause
            raise


def _is_of_sql(error: sqlite3.Error) -> bool:
    """Whether an error is about a statement, not about the file."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_MISMATCH,
    )
