"""One interface over two databases: all or nothing, waits for others, comes back, and says nothing of what it holds."""

import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib.resources import files
from pathlib import Path

import psycopg
import pytest

from neologue.aggregation.kernels import Counts
from neologue.errors import InputError, StorageError
from neologue.service.storage import report_store
from neologue.service.storage.database import Connection, Database
from neologue.service.storage.database_address import open_database
from neologue.service.storage.migrations import migrate
from neologue.service.storage.postgres_database import PostgresDatabase
from neologue.service.storage.report_store import ReportStore
from neologue.service.storage.sqlite_database import SqliteDatabase
from service.stores import CAMPAIGN, add_layer, batch_of, same, spent_serials, tally_of

WRITTEN = [file for file in files("neologue.service.storage.migrations").iterdir() if file.name.endswith(".sql")]
STEPS = [(number,) for number in range(1, 1 + len(WRITTEN))]
"""All steps: they are numbered without a gap."""


def add_note(database: Database, name: str, value: bytes = b"value") -> None:
    with database.transaction() as db:
        db.execute("INSERT INTO notes (name, value) VALUES (?, ?)", (name, value))


def notes_of(database: Database) -> dict[str, bytes]:
    with database.reading() as db:
        return dict(db.execute("SELECT name, value FROM notes ORDER BY name"))


def with_notes(database: Database) -> Database:
    """The database with one more table, for whatever a test writes."""
    with database.transaction() as db:
        kind = "BLOB" if db.dialect == "sqlite" else "BYTEA"
        db.execute(f"CREATE TABLE notes (name TEXT PRIMARY KEY NOT NULL, value {kind} NOT NULL)")
    return database


@pytest.fixture
def database(database: Database) -> Database:
    return with_notes(database)


@pytest.fixture
def file_database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    database = SqliteDatabase(str(tmp_path / "service.db"), patience=0.05)
    migrate(database)
    with_notes(database)
    yield database
    database.close()


@pytest.fixture
def server_database(postgres: Callable[[], str]) -> Iterator[PostgresDatabase]:
    database = PostgresDatabase(postgres())
    migrate(database)
    with_notes(database)
    yield database
    database.close()


def test_values_come_back_as_they_were(database: Database) -> None:
    everything = bytes(range(256))
    with database.transaction() as db:
        (row,) = db.execute(
            "INSERT INTO tokens (hash, name, role, created) VALUES (?, ?, ?, ?) RETURNING hash, name, created",
            (everything, "50 % of “ä”", "operator", 0.1),
        )
        db.executemany("INSERT INTO notes VALUES (?, ?)", [("one", b"1"), ("two", b"")])
    assert row == (everything, "50 % of “ä”", 0.1)
    assert notes_of(database) == {"one": b"1", "two": b""}


def test_a_transaction_that_fails_changes_nothing(database: Database) -> None:
    def fail(how: Callable[[Connection], object]) -> None:
        with database.transaction() as db:
            db.execute("INSERT INTO notes VALUES (?, ?)", ("half", b""))
            how(db)

    with pytest.raises(KeyError):
        fail(lambda db: dict[str, int]()["missing"])
    with pytest.raises(StorageError):
        fail(lambda db: db.execute("INSERT INTO notes VALUES (?, ?)", ("half", b"")))
    assert notes_of(database) == {}


def test_an_error_quotes_no_row(database: Database) -> None:
    secret = "dangerous"
    add_note(database, secret)
    with pytest.raises(StorageError) as caught:
        add_note(database, secret)
    error: BaseException | None = caught.value
    while error is not None:
        assert secret not in f"{error!s}{error!r}"
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def test_a_mistake_in_a_statement_is_no_damage(database: Database) -> None:
    with pytest.raises(StorageError) as caught, database.transaction() as db:
        db.execute("SELECT * FROM nowhere")
    assert "refused" in str(caught.value)
    assert "damaged" not in str(caught.value)


def test_whoever_reads_writes_nothing_on_a_server(server_database: Database) -> None:
    with pytest.raises(StorageError), server_database.reading() as db:
        db.execute("INSERT INTO notes VALUES (?, ?)", ("no", b""))


def test_a_reader_sees_one_state(database: Database) -> None:
    add_note(database, "one")
    with database.reading() as db:
        before = db.execute("SELECT name FROM notes")
        add_note(database, "two")
        assert db.execute("SELECT name FROM notes") == before == [("one",)]
    assert list(notes_of(database)) == ["one", "two"]


def test_locked_rows_are_changed_by_one_at_a_time(database: Database) -> None:
    """Eight threads add up, each reading before it writes; without a lock additions would be lost."""
    add_note(database, "count", b"0")

    def count() -> None:
        for _ in range(10):
            with database.transaction() as db:
                ((value,),) = db.select_for_update("SELECT value FROM notes WHERE name = ?", ("count",))
                db.execute("UPDATE notes SET value = ? WHERE name = ?", (b"%d" % (int(value) + 1), "count"))

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
    assert notes_of(database) == {"count": b"80"}


# SQLite


def test_the_file_is_for_its_owner_alone(file_database: SqliteDatabase) -> None:
    add_note(file_database, "one")
    files = list(file_database.file.parent.iterdir())
    assert len(files) >= 2, "the log is beside it"
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


def test_a_database_in_use_says_so(file_database: SqliteDatabase) -> None:
    with file_database.transaction(), pytest.raises(StorageError, match="in use by another process"):
        add_note(file_database, "one")
    add_note(file_database, "one")


def test_a_full_disk_loses_nothing_that_was_confirmed(file_database: SqliteDatabase) -> None:
    """SQLite is told that the file may not grow: the error and all behind it are those of a full disk."""
    add_layer(file_database)
    storage = ReportStore(file_database)
    storage.commit_batch(CAMPAIGN, 0, batch_of(range(10)), minimum=10)
    with file_database.transaction() as db:
        ((pages,),) = db.execute("PRAGMA page_count")
        db.execute(f"PRAGMA max_page_count = {pages}")
    counted = range(10)

    def fill() -> None:
        nonlocal counted
        while True:
            more = range(counted.stop, counted.stop + 100)
            storage.commit_batch(CAMPAIGN, 0, batch_of(more), minimum=10)
            counted = range(more.stop)

    with pytest.raises(StorageError, match=r"SQLITE_FULL.*room on the disk"):
        fill()
    assert spent_serials(file_database) == set(batch_of(counted))
    assert same(storage.tally(CAMPAIGN, 0), tally_of(counted))
    # The connection that failed is gone, and with it the limit.
    last = range(counted.stop, counted.stop + 100)
    assert storage.commit_batch(CAMPAIGN, 0, batch_of(last), minimum=10).counted == 100
    assert same(storage.tally(CAMPAIGN, 0), tally_of(range(last.stop)))


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database, but long enough to be taken for one" * 100)
    with pytest.raises(StorageError, match="damaged or not a database"):
        migrate(open_database(str(tmp_path / "notes.txt")))


def test_a_database_that_vanished_is_not_made_anew(file_database: SqliteDatabase) -> None:
    file_database.close()
    file_database.file.unlink()
    with pytest.raises(StorageError, match="CANTOPEN"):
        add_note(file_database, "one")


@pytest.mark.parametrize("url", ["mysql://host/db", "sqlite://", "sqlite:///", "redis://"])
def test_an_address_of_something_else_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="names no database"):
        open_database(url)


# PostgreSQL


def end_connections(database: PostgresDatabase) -> None:
    """Let the server end all connections to a database."""
    with psycopg.connect(database._url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_connections_that_were_lost_meanwhile_are_replaced(server_database: PostgresDatabase) -> None:
    add_layer(server_database)
    storage = ReportStore(server_database)
    with server_database.reading(), server_database.reading():
        pass  # two connections wait to be used again
    end_connections(server_database)
    storage.commit_batch(CAMPAIGN, 0, batch_of(range(10)), minimum=10)
    assert same(storage.tally(CAMPAIGN, 0), tally_of(range(10)))


def test_a_batch_whose_connection_is_lost_counts_nothing_and_can_be_repeated(
    server_database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_layer(server_database)
    storage = ReportStore(server_database)
    storage.commit_batch(CAMPAIGN, 0, batch_of(range(10)), minimum=10)

    really = report_store.add_sum

    def lose_it(db: Connection, campaign: bytes, layer_index: int, reports: int, votes: Counts) -> None:
        end_connections(server_database)
        really(db, campaign, layer_index, reports, votes)

    monkeypatch.setattr(report_store, "add_sum", lose_it)
    with pytest.raises(StorageError, match="away or refused"):
        storage.commit_batch(CAMPAIGN, 0, batch_of(range(20)), minimum=10)
    assert spent_serials(server_database) == set(batch_of(range(10)))
    assert same(storage.tally(CAMPAIGN, 0), tally_of(range(10)))
    monkeypatch.undo()
    assert storage.commit_batch(CAMPAIGN, 0, batch_of(range(20)), minimum=10).counted == 10
    assert same(storage.tally(CAMPAIGN, 0), tally_of(range(20)))


def test_a_server_that_is_away_is_named_without_its_password() -> None:
    database = open_database("postgresql://somebody:hunter2@127.0.0.1:1/words?application_name=hunter3")
    with pytest.raises(StorageError, match=r"postgresql://127.0.0.1/words is away") as caught:
        migrate(database)
    assert "hunter" not in f"{caught.value!s}{database!r}"


def test_a_missing_driver_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InputError, match=r"install neologue\[postgres\]"):
        open_database("postgresql://localhost/words")


# Migrations


def test_migrations_run_once(database: Database) -> None:
    add_note(database, "kept")
    migrate(database)
    assert list(notes_of(database)) == ["kept"]


def test_workers_that_start_together_migrate_once(url: str) -> None:
    databases = [open_database(url) for _ in range(4)]
    start = threading.Barrier(len(databases))
    failures: list[Exception] = []

    def begin(database: Database) -> None:
        start.wait(timeout=300)
        try:
            migrate(database)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=begin, args=(database,)) for database in databases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
    assert not failures
    with databases[0].reading() as db:
        assert db.execute("SELECT number FROM neologue_migrations ORDER BY number") == STEPS
    for database in databases:
        database.close()


def test_a_database_of_a_later_version_is_refused(database: Database) -> None:
    with database.transaction() as db:
        db.execute("INSERT INTO neologue_migrations (number) VALUES (9999)")
    with pytest.raises(InputError, match="later neologue"):
        migrate(database)


def test_a_database_of_something_else_is_refused(url: str) -> None:
    database = open_database(url)
    with database.transaction() as db:
        db.execute("CREATE TABLE recipes (name TEXT)")
    with pytest.raises(InputError, match="tables of something else"):
        migrate(database)
    with database.reading() as db:
        assert db.execute("SELECT * FROM recipes") == []
    database.close()


def test_a_migration_that_fails_leaves_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from neologue.service.storage import migrations

    steps = migrations._steps()
    monkeypatch.setattr(migrations, "_steps", lambda: {**steps, 99: "CREATE TABLE half (x TEXT);\nCREATE NONSENSE;\n"})
    database = open_database(url)
    with pytest.raises(StorageError):
        migrate(database)
    monkeypatch.undo()
    migrate(database)
    with database.reading() as db:
        assert db.execute("SELECT number FROM neologue_migrations ORDER BY number") == STEPS
    with pytest.raises(StorageError), database.reading() as db:
        db.execute("SELECT * FROM half")
    database.close()


def test_the_file_keeps_its_promises(file_database: SqliteDatabase) -> None:
    with file_database.transaction() as db:
        settings = [db.execute(f"PRAGMA {name}") for name in ("journal_mode", "synchronous", "secure_delete")]
    assert settings == [[("wal",)], [(2,)], [(1,)]]
    with closing(sqlite3.connect(file_database.file)) as plain:
        assert plain.execute("PRAGMA integrity_check").fetchone() == ("ok",)
