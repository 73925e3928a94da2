"""What is left on disk: no report, no sum of one, no sum of a layer that was decided."""

import asyncio
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

from layers import small_layer
from neologue.aggregation.decoding import Decoder
from neologue.aggregation.ephemeral import sum_of
from neologue.aggregation.kernels import Votes
from neologue.aggregation.packed_sum import pack_sum
from neologue.entropy import SeededEntropy
from neologue.protocol.report import HEADER_BYTES, make_report
from neologue.service.database import SqliteDatabase
from neologue.service.intake import Intake, Limits, ServedLayer
from neologue.service.migrations import migrate
from neologue.service.storage import Storage
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


def send_all(storage: Storage, reports: dict[bytes, bytes]) -> None:
    """Send reports to an intake that writes whenever it may, and stop it."""

    async def scene() -> None:
        async with Intake(storage, Limits(patience=0.1, interval=0.01, most_reports=25)) as intake:
            layer = ServedLayer(0, LAYER, MINIMUM)
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
    storage = Storage(database)
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
    assert [serial in disk for serial in reports] == [storage.spent(CAMPAIGN, serial) for serial in reports]


def test_the_search_finds_what_is_there(database: SqliteDatabase) -> None:
    """A single report, written as a batch of one would be, is found by the same search."""
    add_layer(database, layer=LAYER)
    ((serial, report),) = some_reports(1).items()
    votes = Decoder(LAYER).votes(report)
    Storage(database).commit_batch(CAMPAIGN, 0, {serial: votes}, minimum=1)
    assert is_found([pack_sum(sum_of(LAYER.randomizer.candidates, [votes]))[1:]], on_disk(database))


@pytest.mark.parametrize("others", [0, 3])
def test_the_sums_of_a_decided_layer_are_gone(database: SqliteDatabase, others: int) -> None:
    """Whether or not the sums of another layer stay."""
    for place in (0, 1):
        add_layer(database, layer=LAYER, place=place)
    storage = Storage(database)
    decoder = Decoder(LAYER)
    packed = []
    for place in [0, 1] * others + [0] * 5:
        batch = {secrets.token_bytes(16): random_votes(decoder.candidates) for _ in range(20)}
        storage.commit_batch(CAMPAIGN, place, batch, MINIMUM)
        if place == 0:
            packed.append(pack_sum(sum_of(decoder.candidates, batch.values()))[1:])
    storage.merge_sums(CAMPAIGN, 0, most=2)
    packed.append(pack_sum(storage.tally(CAMPAIGN, 0).votes.astype(np.uint32))[1:])
    assert is_found(packed, on_disk(database))
    with database.transaction() as db:
        db.execute("DELETE FROM sums WHERE campaign = ? AND place = ?", (CAMPAIGN, 0))
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
            other.execute("INSERT INTO secrets VALUES (?, ?)", ("one", b""))
        assert not database.scrub()
    assert database.scrub()
    database.close()
