"""Batches: exactly once, never too small, never too many, and nothing beside who was counted."""

import threading
from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neologue.aggregation.ephemeral import sum_of
from neologue.aggregation.kernels import Counts, Votes
from neologue.aggregation.packed_sum import pack_sum
from neologue.errors import StorageError
from neologue.service.storage.database import Database
from neologue.service.storage.database_address import open_database
from neologue.service.storage.migrations import migrate
from neologue.service.storage.report_store import ReportStore
from service.stores import (
    CAMPAIGN,
    LAYER,
    add_layer,
    batch_of,
    close_layer,
    devices_by_serial,
    same,
    serial_of,
    spent_serials,
    tally_of,
)


@pytest.fixture
def storage(database: Database) -> ReportStore:
    add_layer(database)
    return ReportStore(database)


def sums(database: Database) -> list[int]:
    """How many reports each stored sum is of."""
    with database.reading() as db:
        return [reports for (reports,) in db.execute("SELECT reports FROM sums ORDER BY id")]


def test_a_batch_is_counted(storage: ReportStore) -> None:
    outcome = storage.commit_batch(CAMPAIGN, 0, batch_of(range(12)), minimum=10)
    assert (outcome.final, outcome.counted, outcome.over) == (frozenset(batch_of(range(12))), 12, False)
    assert same(storage.tally(CAMPAIGN, 0), tally_of(range(12)))
    assert all(storage.is_spent(CAMPAIGN, serial_of(device)) for device in range(12))
    assert not storage.is_spent(CAMPAIGN, serial_of(12))
    assert not storage.is_spent(b"another campaign", serial_of(0))


def test_fewer_than_the_minimum_are_never_written(storage: ReportStore) -> None:
    outcome = storage.commit_batch(CAMPAIGN, 0, batch_of(range(9)), minimum=10)
    assert (outcome.final, outcome.counted, outcome.over) == (frozenset(), 0, False)
    assert same(storage.tally(CAMPAIGN, 0), tally_of([]))
    assert not spent_serials(storage.database)


def test_what_was_counted_is_final_and_not_counted_again(storage: ReportStore) -> None:
    storage.commit_batch(CAMPAIGN, 0, batch_of(range(10)), minimum=10)
    again = storage.commit_batch(CAMPAIGN, 0, batch_of(range(10)), minimum=10)
    assert (again.final, again.counted) == (frozenset(batch_of(range(10))), 0)
    mixed = storage.commit_batch(CAMPAIGN, 0, batch_of(range(5, 20)), minimum=10)
    assert (mixed.final, mixed.counted) == (frozenset(batch_of(range(5, 20))), 10)
    assert same(storage.tally(CAMPAIGN, 0), tally_of(range(20)))


def test_only_new_reports_count_towards_the_minimum(storage: ReportStore) -> None:
    storage.commit_batch(CAMPAIGN, 0, batch_of(range(10)), minimum=10)
    outcome = storage.commit_batch(CAMPAIGN, 0, batch_of(range(19)), minimum=10)
    assert (outcome.final, outcome.counted) == (frozenset(batch_of(range(10))), 0), "nine new ones would stand out"
    assert sums(storage.database) == [10]
    assert same(storage.tally(CAMPAIGN, 0), tally_of(range(10)))


def test_at_most_the_group_is_counted(database: Database) -> None:
    add_layer(database, layer_size=25)
    storage = ReportStore(database)
    assert not storage.commit_batch(CAMPAIGN, 0, batch_of(range(10)), minimum=10).over
    outcome = storage.commit_batch(CAMPAIGN, 0, batch_of(range(10, 30)), minimum=10)
    assert (outcome.final, outcome.counted, outcome.over) == (frozenset(batch_of(range(10, 25))), 15, True)
    later = storage.commit_batch(CAMPAIGN, 0, batch_of(range(20, 40)), minimum=10)
    assert (later.final, later.counted, later.over) == (frozenset(batch_of(range(20, 25))), 0, True)
    assert same(storage.tally(CAMPAIGN, 0), tally_of(range(25)))


def test_a_layer_is_over_when_less_than_a_batch_is_missing(database: Database) -> None:
    add_layer(database, layer_size=25)
    storage = ReportStore(database)
    outcome = storage.commit_batch(CAMPAIGN, 0, batch_of(range(16)), minimum=10)
    assert (outcome.counted, outcome.over) == (16, True)
    assert storage.commit_batch(CAMPAIGN, 0, batch_of(range(16, 40)), minimum=10).counted == 0


def test_a_closed_layer_counts_nothing_and_still_knows_who_was_counted(storage: ReportStore) -> None:
    storage.commit_batch(CAMPAIGN, 0, batch_of(range(10)), minimum=10)
    close_layer(storage.database)
    outcome = storage.commit_batch(CAMPAIGN, 0, batch_of(range(30)), minimum=10)
    assert (outcome.final, outcome.counted, outcome.over) == (frozenset(batch_of(range(10))), 0, True)
    assert same(storage.tally(CAMPAIGN, 0), tally_of(range(10)))


def test_a_layer_that_is_not_there_counts_nothing(storage: ReportStore) -> None:
    assert storage.commit_batch(CAMPAIGN, 7, batch_of(range(30)), minimum=10).over
    with pytest.raises(StorageError, match="no layer 7"):
        storage.tally(CAMPAIGN, 7)


def test_layers_are_told_apart(storage: ReportStore) -> None:
    add_layer(storage.database, layer_index=1)
    storage.commit_batch(CAMPAIGN, 0, batch_of(range(10)), minimum=10)
    storage.commit_batch(CAMPAIGN, 1, batch_of(range(10, 30)), minimum=10)
    assert same(storage.tally(CAMPAIGN, 0), tally_of(range(10)))
    assert same(storage.tally(CAMPAIGN, 1), tally_of(range(10, 30)))
    close_layer(storage.database, layer_index=0)
    assert [(layer.layer_index, layer.digest, layer.reports) for layer in storage.open_layers()] == [
        (1, LAYER.digest, 20)
    ]


def test_a_batch_of_many_is_counted(storage: ReportStore) -> None:
    outcome = storage.commit_batch(CAMPAIGN, 0, batch_of(range(1203)), minimum=10)
    assert outcome.counted == 1203
    assert storage.commit_batch(CAMPAIGN, 0, batch_of(range(1210)), minimum=5).final == set(batch_of(range(1210)))
    assert same(storage.tally(CAMPAIGN, 0), tally_of(range(1210)))


def test_sums_are_merged_without_a_trace_in_the_tally(storage: ReportStore) -> None:
    add_layer(storage.database, layer_index=1)
    for start in range(0, 50, 10):
        storage.commit_batch(CAMPAIGN, 0, batch_of(range(start, start + 10)), minimum=10)
    storage.commit_batch(CAMPAIGN, 1, batch_of(range(50, 60)), minimum=10)
    storage.merge_sums(CAMPAIGN, 0, most=5)
    assert sums(storage.database) == [10] * 6
    storage.merge_sums(CAMPAIGN, 0, most=4)
    assert sorted(sums(storage.database)) == [10, 20, 30], "neighbours together"
    assert [part.reports for part in storage.parts(CAMPAIGN, 0, LAYER.randomizer.candidates)] == [30, 20]
    assert same(next(storage.parts(CAMPAIGN, 0, LAYER.randomizer.candidates)), tally_of(range(30)))
    assert same(storage.tally(CAMPAIGN, 0), tally_of(range(50)))
    assert same(storage.tally(CAMPAIGN, 1), tally_of(range(50, 60)))


def test_a_sum_that_came_while_others_were_merged_stays_behind_them(
    storage: ReportStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for start in range(0, 30, 10):
        storage.commit_batch(CAMPAIGN, 0, batch_of(range(start, start + 10)), minimum=10)
    really, came = pack_sum, [range(30, 50)]

    def meanwhile(votes: Counts) -> bytes:
        while came:
            storage.commit_batch(CAMPAIGN, 0, batch_of(came.pop()), minimum=10)
        return really(votes)

    monkeypatch.setattr("neologue.service.storage.report_store.pack_sum", meanwhile)
    storage.merge_sums(CAMPAIGN, 0, most=2)
    assert [part.reports for part in storage.parts(CAMPAIGN, 0, LAYER.randomizer.candidates)] == [30, 20]
    assert same(storage.tally(CAMPAIGN, 0), tally_of(range(50)))


def test_two_workers_that_merge_at_once_lose_no_votes(storage: ReportStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for start in range(0, 50, 10):
        storage.commit_batch(CAMPAIGN, 0, batch_of(range(start, start + 10)), minimum=10)
    really, others = pack_sum, [4]

    def meanwhile(votes: Counts) -> bytes:
        while others:
            storage.merge_sums(CAMPAIGN, 0, most=others.pop())
        return really(votes)

    monkeypatch.setattr("neologue.service.storage.report_store.pack_sum", meanwhile)
    storage.merge_sums(CAMPAIGN, 0, most=2)
    assert same(storage.tally(CAMPAIGN, 0), tally_of(range(50)))
    assert not others


def test_a_sum_that_another_worker_has_merged_others_into_is_not_written_over(
    storage: ReportStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for start in range(0, 60, 10):
        storage.commit_batch(CAMPAIGN, 0, batch_of(range(start, start + 10)), minimum=10)
    with storage.database.reading() as db:
        numbers = [number for (number,) in db.execute("SELECT id FROM sums WHERE layer_index = 0 ORDER BY id")]
    really, others = pack_sum, [numbers[3:]]

    def meanwhile(votes: Counts) -> bytes:
        while others:
            storage._merge(CAMPAIGN, 0, others.pop())
        return really(votes)

    monkeypatch.setattr("neologue.service.storage.report_store.pack_sum", meanwhile)
    storage._merge(CAMPAIGN, 0, numbers[2:4])  # the other one merges the fourth with those behind it
    assert same(storage.tally(CAMPAIGN, 0), tally_of(range(60)))
    assert sums(storage.database) == [10, 10, 10, 30]


def test_reports_that_turn_out_to_be_counted_are_taken_out_of_a_sum_that_was_made_ahead(
    storage: ReportStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if they are most of it."""
    really = sum_of
    pending = [range(3), range(40, 75)]

    def meanwhile(candidates: int, reports: Iterable[Votes]) -> Counts:
        made = really(candidates, reports)
        while pending:
            storage.commit_batch(CAMPAIGN, 0, batch_of(pending.pop()), minimum=3)
        return made

    monkeypatch.setattr("neologue.service.storage.report_store.sum_of", meanwhile)
    assert storage.commit_batch(CAMPAIGN, 0, batch_of(range(40)), minimum=3).counted == 37
    assert storage.commit_batch(CAMPAIGN, 0, batch_of(range(40, 80)), minimum=3).counted == 5
    assert same(storage.tally(CAMPAIGN, 0), tally_of(range(80)))


def test_a_sum_that_is_missing_is_noticed(storage: ReportStore) -> None:
    storage.commit_batch(CAMPAIGN, 0, batch_of(range(10)), minimum=10)
    with storage.database.transaction() as db:
        db.execute("DELETE FROM sums")
    with pytest.raises(StorageError, match="0 reports where 10 were counted"):
        storage.tally(CAMPAIGN, 0)


def test_who_was_counted_is_stored_beside_nothing(storage: ReportStore) -> None:
    storage.commit_batch(CAMPAIGN, 0, batch_of(range(10)), minimum=10)
    with storage.database.reading() as db:
        rows = db.execute("SELECT * FROM newly_spent")
    assert sorted(rows) == sorted((CAMPAIGN, serial_of(device), 0) for device in range(10))
    close_layer(storage.database)
    storage.scrub()
    with storage.database.reading() as db:
        rows = db.execute("SELECT * FROM spent")
    assert sorted(rows) == sorted((CAMPAIGN, serial_of(device)) for device in range(10))


def test_the_order_in_which_reports_came_is_not_stored(storage: ReportStore) -> None:
    storage.commit_batch(CAMPAIGN, 0, batch_of(range(40)), minimum=10)
    with storage.database.reading() as db:
        stored = [serial for (serial,) in db.execute("SELECT serial FROM newly_spent")]
    assert stored == sorted(stored)


def test_two_workers_count_each_report_once(storage: ReportStore, url: str) -> None:
    """Both commit the same reports in batches that overlap, each on connections of its own."""
    workers = [storage, ReportStore(open_database(url))]
    start = threading.Barrier(len(workers))
    counted: list[int] = []

    def work(worker: ReportStore, step: int) -> None:
        start.wait(timeout=300)
        for first in range(0, 600, step):
            outcome = worker.commit_batch(CAMPAIGN, 0, batch_of(range(first, first + 60)), minimum=5)
            counted.append(outcome.counted)

    threads = [threading.Thread(target=work, args=case) for case in zip(workers, (20, 30), strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
    workers[1].database.close()
    spent = devices_by_serial(range(700))
    devices = {spent[serial] for serial in spent_serials(storage.database)}
    assert sum(counted) == len(devices) >= 600
    assert same(storage.tally(CAMPAIGN, 0), tally_of(devices))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(1, 8),
    st.integers(5, 40),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 20)), min_size=1, max_size=8),
)
def test_whatever_comes_the_tally_is_the_sum_of_what_is_final(
    tmp_path_factory: pytest.TempPathFactory, minimum: int, layer_size: int, batches: list[tuple[int, int]]
) -> None:
    database = open_database(str(tmp_path_factory.mktemp("store") / "service.db"))
    migrate(database)
    add_layer(database, layer_size=layer_size)
    storage = ReportStore(database)
    final: set[bytes] = set()
    for first, length in batches:
        outcome = storage.commit_batch(CAMPAIGN, 0, batch_of(range(first, first + length)), minimum)
        assert outcome.counted == 0 or outcome.counted >= minimum
        assert outcome.counted == len(outcome.final - final)
        final |= outcome.final
    assert len(final) <= layer_size
    assert final == spent_serials(database)
    devices = devices_by_serial(range(60))
    assert same(storage.tally(CAMPAIGN, 0), tally_of(devices[serial] for serial in final))
    database.close()
