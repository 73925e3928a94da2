"""A database of the service on a PostgreSQL server.

PostgreSQL does not promise to overwrite what is deleted: after `scrub`, which vacuums, a deleted sum is out of reach of
every query, but its bytes stay in free space and in the server's log until these are used again, and in backups.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from neologue.errors import InputError, StorageError
from neologue.service.storage.database import PATIENCE, Connection, Database, Parameters, Row

if TYPE_CHECKING:
    import psycopg

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

    def table_of(self, column: str, values: Sequence[bytes]) -> tuple[str, list[Any]]:
        # As one parameter: the driver reads a statement with many more slowly than the server.
        return f"unnest(?::bytea[]) AS given ({column})", [list(values)]

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
