"""One small interface over the databases of the service: SQLite in a file, or a PostgreSQL server.

SQL is written once, with `?` for parameters and nowhere else. A transaction is all or nothing. One that fails, with a
StorageError, may be tried again; but if the connection was lost during the commit, it may have been done nevertheless,
so whoever tries again must first look.

**What is deleted** is overwritten with zeros in the file of SQLite, and `scrub` empties the log beside it, in which it
would stay for a while. PostgreSQL has no such promise: after `scrub`, which vacuums, a deleted sum is out of reach of
every query, but its bytes stay in free space and in the server's log until these are used again, and in backups.
"""

import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from neologue.errors import InputError, StorageError
from neologue.sqlite_file import explain_errors, make_private

if TYPE_CHECKING:
    import psycopg

Row = tuple[Any, ...]
Parameters = Sequence[Any]

PATIENCE: Final = 10.0
"""For how many seconds another transaction, or a server that does not answer, is waited for."""
_SCRUBBING: Final = 0.5
"""The same while a log is emptied, for everybody who wants to write has to wait for that."""
_IDLE: Final = 4
"""How many connections are kept for later."""
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

_SETTINGS: Final = (
    f"SET lock_timeout = '{PATIENCE:.0f}s'",
    f"SET idle_in_transaction_session_timeout = '{10 * PATIENCE:.0f}s'",
    # A server that confirms before it writes would let us confirm to devices what a loss of power undoes.
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
)
_ADDRESS: Final[dict[str, Any]] = {
    "connect_timeout": int(PATIENCE),
    "keepalives_idle": int(PATIENCE),
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": int(1000 * PATIENCE),
}
_HARMLESS: Final = ("08", "28", "3D", "42", "53", "55", "57", "58")
"""The classes of PostgreSQL's errors whose messages are about connections, rights, names and room, never about rows."""
_ALONE: Final = 0x6E656F6C6F677565
"""The advisory lock of neologue: "neologue"."""


class Connection(ABC):
    """What can be done in a transaction."""

    dialect: str
    """Which database it is: sqlite or postgresql."""

    @abstractmethod
    def execute(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Run one statement; the rows that it gives, if it gives any."""

    @abstractmethod
    def executemany(self, sql: str, rows: Iterable[Parameters]) -> None:
        """Run one statement that gives no rows, once for each of some parameters."""

    @abstractmethod
    def select_for_update(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """The rows of a SELECT from one table, which nobody else can change until the transaction ends."""

    @abstractmethod
    def lock_alone(self) -> None:
        """Wait until no other transaction that has called this is under way."""

    @abstractmethod
    def lock_table(self, table: str) -> None:
        """Wait until nobody uses a table; nobody else can until the transaction ends."""

    @abstractmethod
    def share_table(self, table: str) -> None:
        """Wait until nobody has locked a table, and let nobody do so; before anything is read in the transaction."""

    @abstractmethod
    def empty_table(self, table: str) -> None:
        """Delete all rows of a table that this transaction has locked, so that nothing of them stays in its file."""


class Database(ABC):
    """A database that any thread may use, each transaction on a connection of its own."""

    name: str
    """What to call it in messages, without anything secret."""

    def __init__(self) -> None:
        self._idle: list[Any] = []
        self._lock = threading.Lock()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One transaction: committed at the end, undone if anything is raised in it."""
        with self._transact(self._begin_writing) as db:
            yield db

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One transaction that only reads: it sees one state of the database, and nobody has to wait for it."""
        with self._transact(self._begin_reading) as db:
            yield db

    @abstractmethod
    def scrub(self) -> bool:
        """Remove what deleted rows have left behind; False if somebody else is still reading, so try again later."""

    def close(self) -> None:
        """Close the connections that are not in use; the database can still be used."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    _begin_writing: str
    _begin_reading: str

    @abstractmethod
    def _connect(self) -> Any:  # noqa: ANN401 - sqlite3's or psycopg's, which have in common what is used here
        """A new connection, outside any transaction."""

    @abstractmethod
    def _lost(self, connection: Any) -> bool:  # noqa: ANN401
        """Whether a connection has failed for good."""

    @abstractmethod
    def _wrap(self, connection: Any) -> Connection:  # noqa: ANN401
        """The transaction on a connection."""

    @abstractmethod
    def _explain_errors(self) -> AbstractContextManager[None]:
        """Turns the driver's errors into StorageErrors."""

    @contextmanager
    def _transact(self, begin: str) -> Iterator[Connection]:
        with self._explain_errors():
            connection = self._begin(begin)
            try:
                yield self._wrap(connection)
                connection.execute("COMMIT")
            except BaseException:
                with suppress(Exception):
                    connection.rollback()
                connection.close()
                raise
            with self._lock:
                if len(self._idle) < _IDLE:
                    self._idle.append(connection)
                    return
            connection.close()

    def _begin(self, begin: str) -> Any:  # noqa: ANN401
        """A connection in a new transaction; idle ones may have been lost long ago, and are then replaced."""
        while True:
            with self._lock:
                idle = self._idle.pop() if self._idle else None
            connection = idle or self._connect()
            try:
                connection.execute(begin)
            except BaseException:
                lost = self._lost(connection)
                connection.close()
                if not (idle and lost):
                    raise
            else:
                return connection


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


class _PostgresConnection(Connection):
    dialect = "postgresql"

    def __init__(self, connection: "psycopg.Connection[Row]") -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        cursor = self._connection.execute(_psycopg_statement(sql), parameters, binary=True)
        return cursor.fetchall() if cursor.description else []

    def executemany(self, sql: str, rows: Iterable[Parameters]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(_psycopg_statement(sql), rows)

    def select_for_update(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        return self.execute(f"{sql} FOR UPDATE", parameters)

    def lock_alone(self) -> None:
        self.execute("SELECT pg_advisory_xact_lock(?)", (_ALONE,))

    def lock_table(self, table: str) -> None:
        self.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")

    def share_table(self, table: str) -> None:
        self.execute(f"LOCK TABLE {table} IN ACCESS SHARE MODE")

    def empty_table(self, table: str) -> None:
        # The table gets a new file, and the server deletes the old one.
        self.execute(f"TRUNCATE {table}")


@lru_cache(maxsize=1024)
def _psycopg_statement(sql: str) -> bytes:
    """The statement with parameters as psycopg writes them."""
    return sql.replace("%", "%%").replace("?", "%s").encode()


class PostgresDatabase(Database):
    """A database of a PostgreSQL server, for neologue alone."""

    # What was committed before a lock was got must be seen behind it, whatever the server's default.
    _begin_writing = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
    _begin_reading = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

    def __init__(self, url: str) -> None:
        super().__init__()
        try:
            import psycopg
        except ImportError as error:
            raise InputError("PostgreSQL needs a driver: install neologue[postgres]") from error
        self._driver = psycopg
        self._url = url
        address = urlsplit(url)
        self.name = f"postgresql://{address.hostname or ''}{address.path}"

    def scrub(self) -> bool:
        """Vacuum the tables in which rows are deleted or changed that somebody should not find again."""
        with self._explain_errors(), closing(self._connect()) as connection:
            connection.execute("VACUUM sums, service_keys")
            return True

    def _connect(self) -> "psycopg.Connection[Row]":
        connection = self._driver.connect(self._url, autocommit=True, **_ADDRESS)
        try:
            for setting in _SETTINGS:
                connection.execute(setting)
        except BaseException:
            connection.close()
            raise
        return connection

    def _lost(self, connection: "psycopg.Connection[Row]") -> bool:
        return connection.closed

    def _wrap(self, connection: "psycopg.Connection[Row]") -> Connection:
        return _PostgresConnection(connection)

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        try:
            yield
        except self._driver.Error as error:
            state = error.sqlstate or "08"
            # Neither chained nor quoted where it may quote a row.
            told = f": {str(error).splitlines()[0]}" if state[:2] in _HARMLESS and str(error) else ""
            raise StorageError(
                f"the database {self.name} is away or refused ({type(error).__name__}){told}: see that it runs and has "
                "room, and try again"
            ) from None


def read_address(given: str) -> str:
    """The address of a database; `@path` stands for the file that it is in, so that no environment has its password."""
    if not given.startswith("@"):
        return given
    file = Path(given[1:])
    try:
        address = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise InputError(f"{file} can't be read ({reason}): name a file with the address of the database") from None
    if not address or len(address.splitlines()) > 1 or address.startswith("@"):
        raise InputError(f"{file} must have the address of the database, and nothing else: a path or postgresql://…")
    return address


def open_database(given: str) -> Database:
    """The database of a path, `sqlite:///path`, `postgresql://…` or `@file`; connected to when it is first used."""
    url = read_address(given)
    scheme, found, rest = url.partition("://")
    if not found:
        return SqliteDatabase(url)
    if scheme in ("postgresql", "postgres"):
        return PostgresDatabase(url)
    if scheme == "sqlite" and rest.removeprefix("/"):
        return SqliteDatabase(rest.removeprefix("/"))
    raise InputError(f"{scheme}://… names no database: give a path, sqlite:///path or postgresql://…")
