"""Whoever reads the database row by row, and byte by byte: which serials were counted together is not in it any more.

PostgreSQL says of each row which transaction wrote it and where it lies; SQLite puts rows where there is room. Before a
layer is over, both tell the batches apart. Afterwards neither does.
"""

import re
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from neologue.service.storage.database import Database
from neologue.service.storage.database_address import open_database
from neologue.service.storage.migrations import migrate
from neologue.service.storage.report_store import ReportStore
from neologue.service.storage.spent_serials import put_in_order
from neologue.service.storage.sqlite_database import SqliteDatabase
from service.campaigns import Town, definition
from service.conftest import postgres, url
from service.stores import CAMPAIGN, add_layer, batch_of, close_layer, serial_of, spent_serials

__all__ = ["postgres", "url"]

BATCHES = [range(start, start + 30) for start in range(0, 300, 30)]
SHUFFLED = [range(start, 300, 10) for start in range(10)]
"""The same devices in other batches."""
OTHER = b"the other of them"[:16]
LOOK = "SELECT xmin::text, ctid::text, serial FROM {} WHERE campaign = %s"


@pytest.fixture
def server(postgres: Callable[[], str]) -> Iterator[tuple[Database, psycopg.Connection]]:
    address = postgres()
    database = open_database(address)
    migrate(database)
    with psycopg.connect(address, autocommit=True) as connection:
        yield database, connection
    database.close()


def by_transaction(connection: psycopg.Connection, table: str, campaign: bytes = CAMPAIGN) -> list[set[bytes]]:
    """What the attacker's query tells: who was written together."""
    together: defaultdict[str, set[bytes]] = defaultdict(set)
    for transaction, _, serial in connection.execute(LOOK.format(table).encode(), (campaign,)):
        together[transaction].add(serial)
    return list(together.values())


def in_place(connection: psycopg.Connection, table: str, campaign: bytes = CAMPAIGN) -> list[bytes]:
    """The serials in the order in which they lie in the file."""
    rows = connection.execute(LOOK.format(table).encode(), (campaign,)).fetchall()
    return [serial for _, _, serial in sorted(rows, key=lambda row: [int(part) for part in re.findall(r"\d+", row[1])])]


def count_batches(database: Database, batches: list[range] = BATCHES) -> ReportStore:
    storage = ReportStore(database)
    add_layer(database)
    for batch in batches:
        storage.commit_batch(CAMPAIGN, 0, batch_of(batch), minimum=10)
    return storage


def test_xmin_and_ctid_tell_batches_apart_only_while_a_layer_is_open(
    server: tuple[Database, psycopg.Connection],
) -> None:
    database, connection = server
    storage = count_batches(database)
    batches = [{serial_of(device) for device in batch} for batch in BATCHES]
    assert sorted(map(sorted, by_transaction(connection, "newly_spent"))) == sorted(map(sorted, batches))
    assert not by_transaction(connection, "spent")

    assert storage.scrub()
    assert not by_transaction(connection, "spent"), "the layer is still open"

    close_layer(database)
    assert storage.scrub()
    everybody = {serial_of(device) for device in range(300)}
    assert by_transaction(connection, "spent") == [everybody]
    assert in_place(connection, "spent") == sorted(everybody)
    assert not by_transaction(connection, "newly_spent")
    ((size,),) = connection.execute("SELECT pg_relation_size('newly_spent')").fetchall()
    assert size == 0, "not even dead rows"
    assert all(storage.is_spent(CAMPAIGN, serial) for serial in everybody)


def test_the_files_of_the_tables_keep_no_copy_of_a_row_as_it_was(
    server: tuple[Database, psycopg.Connection],
) -> None:
    """All that the server has for this database, except its log, which the documents speak of."""
    database, connection = server
    storage = count_batches(database)
    close_layer(database)
    storage.scrub()
    connection.execute("CHECKPOINT")  # which deletes the files that are given up, and writes the others
    ((folder,),) = connection.execute("SHOW data_directory").fetchall()
    ((number,),) = connection.execute("SELECT oid FROM pg_database WHERE datname = current_database()").fetchall()
    ((heap, index),) = connection.execute(
        "SELECT pg_relation_filepath('spent'), pg_relation_filepath('spent_pkey')"
    ).fetchall()
    holding = {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in (Path(folder) / "base" / str(number)).iterdir()
        if serial_of(0) in file.read_bytes()
    }
    assert set(holding) == {heap, index}
    assert all(holding[heap].count(serial_of(device)) == 1 for device in range(300))


def test_of_a_whole_campaign_one_transaction_a_layer_is_left(server: tuple[Database, psycopg.Connection]) -> None:
    database, connection = server
    town = Town(database)
    entry = town.coordinator.create(definition(), 0.0)
    town.coordinator.start(entry.name, 0.0)
    town.run(entry.id)
    layers = connection.execute("SELECT reports FROM layers WHERE campaign = %s", (entry.id,)).fetchall()
    assert len(layers) > 1
    told = sorted(map(len, by_transaction(connection, "spent", entry.id)))
    assert told == sorted(reports for (reports,) in layers if reports)
    assert not by_transaction(connection, "newly_spent", entry.id)


def test_an_aborted_campaign_is_put_in_order_too(server: tuple[Database, psycopg.Connection]) -> None:
    database, connection = server
    town = Town(database)
    entry = town.coordinator.create(definition(), 0.0)
    town.coordinator.start(entry.name, 0.0)
    town.coordinator.turn(1.0)
    town.answer(entry.id, 30)
    assert len(by_transaction(connection, "newly_spent", entry.id)) == 1
    town.answer(entry.id, 30)
    town.coordinator.abort(entry.name, 2.0)
    assert [len(serials) for serials in by_transaction(connection, "spent", entry.id)] == [60]
    assert not by_transaction(connection, "newly_spent", entry.id)


def test_an_open_layer_of_another_campaign_loses_nothing(url: str) -> None:
    database = open_database(url)
    migrate(database)
    storage = count_batches(database)
    add_layer(database, campaign=OTHER)
    storage.commit_batch(OTHER, 0, batch_of(range(500, 540)), minimum=10)
    close_layer(database)
    assert storage.scrub()
    with database.reading() as db:
        left = db.execute("SELECT campaign, serial, layer_index FROM newly_spent ORDER BY serial")
    assert left == [(OTHER, serial, 0) for serial in sorted(map(serial_of, range(500, 540)))]
    again = storage.commit_batch(OTHER, 0, batch_of(range(500, 560)), minimum=10)
    assert again.counted == 20
    database.close()


KILLED = """
import os, signal, sys
from neologue.service.storage import spent_serials
from neologue.service.storage.database_address import open_database
from neologue.service.storage.database import Connection

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

url, moment = sys.argv[1:]
database = open_database(url)
if moment == "between the transactions":
    spent_serials._keep_others = die
else:
    with database.transaction() as db:
        kind = type(db)
    emptied = kind.empty_table
    kind.empty_table = lambda *given: (emptied(*given), die())
spent_serials.put_in_order(database)
"""


@pytest.mark.parametrize("moment", ["between the transactions", "when the table is empty"])
def test_kill_9_at_the_worst_moments_loses_nothing(url: str, moment: str) -> None:
    database = open_database(url)
    migrate(database)
    storage = count_batches(database)
    close_layer(database)
    killed = subprocess.run([sys.executable, "-c", KILLED, url, moment], capture_output=True, timeout=300)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    everybody = {serial_of(device) for device in range(300)}
    assert spent_serials(database) == everybody
    add_layer(database, layer_index=1)
    assert storage.commit_batch(CAMPAIGN, 1, batch_of(range(300)), minimum=10).counted == 0, "nobody counts twice"
    put_in_order(database)
    with database.reading() as db:
        assert {serial for (serial,) in db.execute("SELECT serial FROM spent")} == everybody
        assert db.execute("SELECT COUNT(*) FROM newly_spent") == [(0,)]
    database.close()


# SQLite, byte by byte


def laid_out(folder: Path, batches: list[range], *, over: bool) -> list[bytes]:
    """The serials in the order in which they lie in the file of SQLite."""
    database = SqliteDatabase(str(folder / "service.db"))
    migrate(database)
    storage = count_batches(database, batches)
    if over:
        close_layer(database)
    assert storage.scrub()
    database.close()
    content = database.file.read_bytes()
    assert all(content.count(serial_of(device)) == 1 for device in range(300)) or not over
    return sorted((serial_of(device) for device in range(300)), key=content.index)


def test_the_bytes_of_sqlite_are_the_same_whoever_was_counted_together(tmp_path: Path) -> None:
    orders = {}
    for over in (False, True):
        for name, batches in (("one", BATCHES), ("other", SHUFFLED)):
            folder = tmp_path / f"{name}-{over}"
            folder.mkdir()
            orders[name, over] = laid_out(folder, batches, over=over)
    assert orders["one", False] != orders["other", False], "while the layer is open, the order tells"
    assert orders["one", True] == orders["other", True]


def test_rows_of_an_earlier_version_are_written_anew(
    postgres: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from neologue.service.storage import migrations

    address = postgres()
    database = open_database(address)
    steps = migrations._steps()
    monkeypatch.setattr(migrations, "_steps", lambda: {number: text for number, text in steps.items() if number < 9})
    migrate(database)
    serials = [serial_of(device) for device in range(40)]
    for serial in serials:
        with database.transaction() as db:
            db.execute("INSERT INTO spent (campaign, serial) VALUES (?, ?)", (CAMPAIGN, serial))
    with psycopg.connect(address, autocommit=True) as connection:
        assert len(by_transaction(connection, "spent")) == 40
        monkeypatch.undo()
        migrate(database)
        assert by_transaction(connection, "spent") == [set(serials)]
        assert in_place(connection, "spent") == sorted(serials)
    database.close()
