"""What is left on disk: no report, no sum of one, no sum of a layer that was decided."""

import asyncio
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from layers import small_layer
from neologue.aggregation.decoding import Decoder
from neologue.aggregation.ephemeral import IntakeLayer, sum_of
from neologue.aggregation.kernels import Votes
from neologue.aggregation.packed_sum import pack_sum
from neologue.entropy import SeededEntropy
from neologue.errors import StorageError
from neologue.protocol.report import HEADER_BYTES, make_report
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.collect.intake import Intake, IntakeLimits
from neologue.service.storage.migrations import migrate
from neologue.service.storage.report_store import ReportStore
from neologue.service.storage.sqlite_database import SqliteDatabase
from service.campaigns import Town, definition
from service.stores import CAMPAIGN, add_layer

LAYER = small_layer(["a", "b", "c"], extension=6, epsilon=2.0)
"""About 2,000 candidates, so that what a report says is long enough to be looked for."""
MINIMUM = 10
WINDOW = 48
"""So many bytes in a row are never there by chance, though most of them are small numbers."""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    database = SqliteDatabase(str(tmp_path / "service.db"))
    migrate(database)
    yield database
    database.close()


def on_disk(database: SqliteDatabase) -> bytes:
    """All that is in the file and in whatever SQLite has beside it."""
    return b"".join(file.read_bytes() for file in sorted(database.file.parent.iterdir()))


def windows(data: bytes) -> set[bytes]:
    """The pieces of some bytes that say something."""
    pieces = (data[start : start + WINDOW] for start in range(len(data) - WINDOW + 1))
    return {piece for piece in pieces if len(set(piece)) > 3}


def is_found(wanted: Iterable[bytes], disk: bytes) -> bool:
    found = windows(disk)
    return any(windows(data) & found for data in wanted)


def send_all(storage: ReportStore, reports: dict[bytes, bytes]) -> None:
    """Send reports to an intake that writes whenever it may, and stop it."""

    async def scene() -> None:
        async with Intake(storage, IntakeLimits(patience=0.1, interval=0.01, most_reports=25)) as intake:
            layer = IntakeLayer(0, LAYER, MINIMUM)
            await asyncio.gather(
                *(intake.receive(CAMPAIGN, layer, serial, report) for serial, report in reports.items())
            )

    asyncio.run(scene())


def some_reports(count: int) -> dict[bytes, bytes]:
    return {
        secrets.token_bytes(16): make_report(LAYER, np.array([7, 100]), SeededEntropy(number))
        for number in range(count)
    }


def test_no_report_is_on_disk_nor_a_sum_of_one(database: SqliteDatabase) -> None:
    add_layer(database, layer=LAYER)
    storage = ReportStore(database)
    reports = some_reports(107)
    send_all(storage, reports)
    disk = on_disk(database)
    assert storage.tally(CAMPAIGN, 0).reports == 100, "the last seven were too few"
    decoder = Decoder(LAYER)
    votes = [decoder.votes(report) for report in reports.values()]
    assert not is_found((report[HEADER_BYTES + 4 :] for report in reports.values()), disk)
    assert not is_found((pack_sum(sum_of(decoder.candidates, [cast]))[1:] for cast in votes), disk)
    for width in (np.uint16, np.uint32, np.int64):
        assert not is_found((cast.astype(width).tobytes() for cast in votes), disk)
    assert [serial in disk for serial in reports] == [storage.is_spent(CAMPAIGN, serial) for serial in reports]


def test_the_search_finds_what_is_there(database: SqliteDatabase) -> None:
    """A single report, written as a batch of one would be, is found by the same search."""
    add_layer(database, layer=LAYER)
    ((serial, report),) = some_reports(1).items()
    votes = Decoder(LAYER).votes(report)
    ReportStore(database).commit_batch(CAMPAIGN, 0, {serial: votes}, minimum=1)
    assert is_found([pack_sum(sum_of(LAYER.randomizer.candidates, [votes]))[1:]], on_disk(database))


@pytest.mark.parametrize("others", [0, 3])
def test_the_sums_of_a_decided_layer_are_gone(database: SqliteDatabase, others: int) -> None:
    """Whether or not the sums of another layer stay."""
    for layer_index in (0, 1):
        add_layer(database, layer=LAYER, layer_index=layer_index)
    storage = ReportStore(database)
    decoder = Decoder(LAYER)
    packed = []
    for layer_index in [0, 1] * others + [0] * 5:
        batch = {secrets.token_bytes(16): random_votes(decoder.candidates) for _ in range(20)}
        storage.commit_batch(CAMPAIGN, layer_index, batch, MINIMUM)
        if layer_index == 0:
            packed.append(pack_sum(sum_of(decoder.candidates, batch.values()))[1:])
    storage.merge_sums(CAMPAIGN, 0, most=2)
    packed.append(pack_sum(storage.tally(CAMPAIGN, 0).votes.astype(np.uint32))[1:])
    assert is_found(packed, on_disk(database))
    with database.transaction() as db:
        db.execute("DELETE FROM sums WHERE campaign = ? AND layer_index = ?", (CAMPAIGN, 0))
    assert storage.scrub()
    assert not is_found(packed, on_disk(database))
    assert storage.tally(CAMPAIGN, 1).reports == 20 * others


def random_votes(candidates: int) -> Votes:
    return np.random.default_rng(secrets.randbits(64)).integers(0, candidates, 200).astype(np.uint32)


def test_nothing_can_be_scrubbed_while_somebody_reads(tmp_path: Path) -> None:
    database = SqliteDatabase(str(tmp_path / "service.db"), patience=0.05)
    migrate(database)
    with database.reading() as db:
        db.execute("SELECT * FROM spent")
        with database.transaction() as other:
            other.execute("INSERT INTO known VALUES (?, ?)", (b"one", b""))
        assert not database.scrub()
    assert database.scrub()
    database.close()


def test_whoever_writes_does_not_wait_long_for_a_log_that_somebody_reads(tmp_path: Path) -> None:
    """To empty a log keeps everybody from writing, so that it is given up soon, however patient the database is."""
    database = SqliteDatabase(str(tmp_path / "service.db"), patience=3600.0)
    migrate(database)
    scrubbed: list[bool] = []
    thread = threading.Thread(target=lambda: scrubbed.append(database.scrub()), daemon=True)
    with database.reading() as db:
        db.execute("SELECT * FROM spent")
        with database.transaction() as other:
            other.execute("INSERT INTO known VALUES (?, ?)", (b"one", b""))
        thread.start()
        thread.join(timeout=300)
        assert scrubbed == [False]
    database.close()


# What the coordinator leaves


def decide(town: Town, entry: CampaignRow) -> None:
    town.coordinator.turn(2.0)


def abort(town: Town, entry: CampaignRow) -> None:
    town.coordinator.abort(entry.name, 2.0)


@dataclass(frozen=True)
class Voted:
    """A campaign whose first layer is full, and all sums of it that are on disk."""

    town: Town
    entry: CampaignRow
    sums: list[bytes]

    def is_on_disk(self) -> bool:
        assert isinstance(self.town.database, SqliteDatabase)
        return is_found(self.sums, on_disk(self.town.database))

    def is_in_a_table(self) -> bool:
        with self.town.database.reading() as db:
            return bool(db.execute("SELECT 1 FROM sums"))


@pytest.fixture
def voted(database: SqliteDatabase) -> Voted:
    town = Town(database)
    # Long sums, so that there is something to look for.
    described = definition(devices=500, parameters={"epsilon": 2.0})
    town.coordinator.create(described, 0.0)
    entry = town.coordinator.start(described.name, 0.0)
    town.coordinator.turn(1.0)
    asked = town.layer(entry.id)
    assert asked
    assert town.answer(entry.id, asked[0].layer_size) > 100
    with database.reading() as db:
        sums = [bytes(votes)[1:] for (votes,) in db.execute("SELECT votes FROM sums")]
    town.storage.merge_sums(entry.id, 0, most=1)
    sums.append(pack_sum(town.storage.tally(entry.id, 0).votes.astype(np.uint32))[1:])
    voted = Voted(town, entry, sums)
    assert voted.is_on_disk()
    return voted


@pytest.mark.parametrize("end", [decide, abort])
def test_the_votes_of_a_layer_are_off_the_disk_when_it_is_over(
    voted: Voted, end: Callable[[Town, CampaignRow], None]
) -> None:
    end(voted.town, voted.entry)
    assert not voted.is_on_disk()


@pytest.mark.parametrize("end", [decide, abort])
def test_while_somebody_reads_every_turn_tries_to_get_votes_off_the_disk(
    voted: Voted, database: SqliteDatabase, end: Callable[[Town, CampaignRow], None]
) -> None:
    with closing(sqlite3.connect(database.file, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM sums").fetchone() == (1,)
        end(voted.town, voted.entry)
        assert not voted.is_in_a_table()
        assert voted.is_on_disk(), "whoever reads could still ask for them"
        voted.town.coordinator.turn(3.0)
        assert voted.is_on_disk()
    voted.town.coordinator.turn(4.0)
    assert not voted.is_on_disk()


@pytest.mark.parametrize("end", [decide, abort])
def test_what_a_worker_that_died_has_left_on_the_disk_the_next_removes(
    voted: Voted, end: Callable[[Town, CampaignRow], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no matter whether a campaign is running then."""
    with monkeypatch.context() as patch:
        patch.setattr(SqliteDatabase, "scrub", lambda database: False)
        end(voted.town, voted.entry)
        if end is decide:
            voted.town.coordinator.pause(voted.entry.name, 2.0)
    assert voted.is_on_disk()
    Town(voted.town.database).coordinator.turn(3.0)
    assert not voted.is_on_disk()


def test_a_log_is_emptied_until_that_is_done_and_not_at_every_turn(
    voted: Voted, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []
    really = SqliteDatabase.scrub

    def third_time(database: SqliteDatabase) -> bool:
        tries.append(len(tries))
        return len(tries) >= 3 and really(database)

    monkeypatch.setattr(SqliteDatabase, "scrub", third_time)
    decide(voted.town, voted.entry)
    assert len(tries) == 1
    for now, count in ((3.0, 2), (4.0, 3), (5.0, 3), (6.0, 3)):
        voted.town.coordinator.turn(now)
        assert len(tries) == count
    assert not voted.is_on_disk()


def test_a_disk_that_fails_keeps_no_campaign_from_ending_and_is_told_at_the_next_turn(
    voted: Voted, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(database: SqliteDatabase) -> bool:
        raise StorageError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(SqliteDatabase, "scrub", fail)
        abort(voted.town, voted.entry)
        assert not voted.is_in_a_table()
        with pytest.raises(StorageError, match="the disk is full"):
            voted.town.coordinator.turn(3.0)
    voted.town.coordinator.turn(4.0)
    assert not voted.is_on_disk()
