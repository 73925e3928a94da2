"""One small interface over the databases of the service; `database_address` opens the one that an address names.

SQL is written once, with `?` for parameters and nowhere else. A transaction is all or nothing. One that fails, with a
StorageError, may be tried again; but if the connection was lost during the commit, it may have been done nevertheless,
so whoever tries again must first look.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Final

Row = tuple[Any, ...]
Parameters = Sequence[Any]

PATIENCE: Final = 10.0
"""For how many seconds another transaction, or a server that does not answer, is waited for."""
_IDLE: Final = 4
"""How many connections are kept for later."""


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
    def table_of(self, column: str, values: Sequence[bytes]) -> tuple[str, list[Any]]:
        """A table of one column with some values, as it stands behind FROM, and its parameters."""

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


def stored_bytes(value: object) -> bytes:
    """The bytes of a column, as either database gives them."""
    assert isinstance(value, bytes | memoryview)
    return bytes(value)
