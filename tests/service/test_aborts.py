"""Campaigns that are broken off: what was collected stays charged, votes are erased, and no more are counted."""

import asyncio
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import psycopg
import pytest

from neologue.aggregation.ephemeral import IntakeLayer
from neologue.aggregation.kernels import Counts
from neologue.aggregation.packed_sum import pack_sum
from neologue.device.contribution import contribute
from neologue.errors import CampaignError, LedgerError
from neologue.ledger.budget import Budget
from neologue.ledger.composition import composed_epsilon
from neologue.ledger.ledger import Ledger
from neologue.ledger.snapshot import PopulationSnapshot
from neologue.protocol.layer import Layer
from neologue.release.codec import release_document
from neologue.release.foreseen import foreseen_charge
from neologue.service.campaigns import campaign_release, campaign_store, layer_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.campaigns.service_ledger import service_ledger
from neologue.service.collect.intake import Intake, IntakeLimits, Receipt
from neologue.service.storage import report_store
from neologue.service.storage.database import Connection, Database
from neologue.service.storage.database_address import open_database
from neologue.service.storage.migrations import migrate
from service.campaigns import WORDS, Town, definition
from service.serving import wait_until
from service.stores import spent_serials

PATIENT = IntakeLimits(patience=300.0, interval=0.01)
"""Only what is decided answers a sender, never the time."""


@pytest.fixture
def ledger(database: Database) -> Ledger:
    return budgeted(database)


@pytest.fixture
def town(database: Database, ledger: Ledger) -> Town:
    return Town(database)


@pytest.fixture
def other(town: Town, url: str) -> Iterator[Town]:
    """Another worker, with connections of its own."""
    database = open_database(url)
    yield Town(database)
    database.close()


def budgeted(database: Database) -> Ledger:
    ledger = service_ledger(database)
    ledger.add_population("people", Budget("item", 100.0, 1e-6))
    return ledger


def opened(town: Town, **changes: Any) -> CampaignRow:  # noqa: ANN401 - checked by the definition itself
    """A campaign whose first layer is open."""
    described = definition(population="people", **changes)
    town.coordinator.create(described, 0.0)
    entry = town.coordinator.start(described.name, 0.0)
    town.coordinator.turn(0.0)
    return entry


def counts(town: Town, entry: CampaignRow) -> tuple[str, list[int], list[int], str | None]:
    """The campaign's state, the reports of its layers and of the sums of them, and its release."""
    with town.database.reading() as db:
        state = campaign_store.campaign_named(db, entry.name).state
        layers = [layer.round.reports for layer in layer_store.layers_of(db, entry.id)]
        sums = [reports for (reports,) in db.execute("SELECT reports FROM sums")]
        return state, layers, sums, campaign_store.release_of(db, entry.id)


def charged(ledger: Ledger) -> tuple[str, list[int]]:
    (only,) = ledger.snapshot("people").charges
    return only.state, [batch.reports for batch in only.collection.batches]


async def sent(
    intake: Intake, town: Town, entry: CampaignRow, serials: Iterable[bytes]
) -> "asyncio.Future[list[Receipt]]":
    """Reports under way to an intake that knows the layer from before."""
    cached = town.layer_cache.campaign(entry.id)
    assert cached
    assert cached.layer
    asked = cached.layer.collecting
    assert isinstance(asked, IntakeLayer)
    assert isinstance(asked.asks, Layer)
    report = contribute(WORDS, asked.asks)
    return asyncio.gather(*(intake.receive(entry.id, asked, serial, report) for serial in serials))


def test_reports_that_come_later_are_told_so_and_change_nothing(town: Town, other: Town, ledger: Ledger) -> None:
    """Some wait for a batch when the campaign is aborted; others come to a worker that has not heard of it."""
    entry = opened(town)
    for each in (town, other):
        each.layer_cache.refresh()
    early, waiting, late = ([os.urandom(16) for _ in range(count)] for count in (20, 5, 30))

    async def scene() -> None:
        async with Intake(town.storage, PATIENT) as here, Intake(other.storage, PATIENT) as there:
            assert set(await (await sent(here, town, entry, early))) == {Receipt.FINAL}
            under_way = await sent(here, town, entry, waiting)
            while here.waiting < len(waiting):
                await asyncio.sleep(0)
            town.coordinator.abort(entry.name, 1.0)
            here.close(entry.id, 0)
            assert set(await under_way) == {Receipt.CLOSED}
            assert set(await (await sent(there, other, entry, late))) == {Receipt.CLOSED}
            assert set(await (await sent(there, other, entry, early))) == {Receipt.FINAL}, "they were counted in time"
            assert (here.waiting, there.waiting) == (0, 0)

    asyncio.run(scene())
    assert counts(town, entry) == ("aborted", [20], [], None)
    assert spent_serials(town.database) == set(early)
    assert charged(ledger) == ("settled", [20])


def test_a_batch_that_is_just_being_written_is_charged_and_erased(
    town: Town, other: Town, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = opened(town)
    town.answer(entry.id, 50)
    abort = threading.Thread(target=other.coordinator.abort, args=(entry.name, 1.0))

    really = report_store.add_sum

    def meanwhile(db: Connection, campaign: bytes, layer_index: int, reports: int, votes: Counts) -> None:
        abort.start()
        really(db, campaign, layer_index, reports, votes)

    monkeypatch.setattr(report_store, "add_sum", meanwhile)
    assert town.answer(entry.id, 30) == 30
    abort.join(timeout=300)
    assert counts(town, entry) == ("aborted", [80], [], None)
    assert charged(ledger) == ("settled", [80])


def test_sums_that_are_just_being_merged_are_erased(
    postgres: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those of a layer that is closed: a worker may have been slow to cached."""
    url = postgres()
    database, second = open_database(url), open_database(url)
    migrate(database)
    budgeted(database)
    town, other = Town(database), Town(second)
    entry = opened(town)
    town.answer(entry.id, 100)
    with database.transaction() as db:
        layer_store.close_layer(db, entry.id, 0)
    abort = threading.Thread(target=other.coordinator.abort, args=(entry.name, 1.0))
    really, looks = report_store._sizes, 0

    def meanwhile(db: Connection, campaign: bytes, layer_index: int) -> dict[int, int]:
        nonlocal looks
        looks += 1
        sizes = really(db, campaign, layer_index)
        if looks == 3:  # what is to be merged, that it is still there, and the same under the lock
            abort.start()
            with psycopg.connect(url, autocommit=True) as watch:
                wait_until(lambda: watch.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchall())
        return sizes

    monkeypatch.setattr(report_store, "_sizes", meanwhile)
    town.storage.merge_sums(entry.id, 0, most=1)
    abort.join(timeout=300)
    assert counts(town, entry) == ("aborted", [100], [], None)
    for each in (database, second):
        each.close()


def test_sums_that_were_erased_while_they_were_added_up_stay_so(
    town: Town, other: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = opened(town)
    town.answer(entry.id, 100)
    really = pack_sum

    def meanwhile(votes: Counts) -> bytes:
        other.coordinator.abort(entry.name, 1.0)
        return really(votes)

    monkeypatch.setattr("neologue.service.storage.report_store.pack_sum", meanwhile)
    town.storage.merge_sums(entry.id, 0, most=1)
    assert counts(town, entry) == ("aborted", [100], [], None)


def test_a_campaign_over_budget_can_be_aborted(town: Town, ledger: Ledger) -> None:
    entry = opened(town)
    town.answer(entry.id, 50)
    ledger.set_budget("people", Budget("item", 0.01, 1e-6))
    assert town.coordinator.abort(entry.name, 1.0).state == "aborted"
    assert charged(ledger) == ("settled", [50])


def test_a_campaign_that_is_held_can_be_aborted(town: Town, ledger: Ledger) -> None:
    entry = opened(town)
    town.answer(entry.id, 50)
    town.coordinator.pause(entry.name, 1.0)
    town.coordinator.abort(entry.name, 2.0)
    assert counts(town, entry) == ("aborted", [50], [], None)
    assert charged(ledger) == ("settled", [50])


def test_a_campaign_that_was_about_to_be_released_is_charged_once(
    town: Town, other: Town, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of its passes had too few reports, of which nothing would have been published."""
    entry = opened(town, devices=2000, too_few="end", parameters={"passes": 2})
    town.answer(entry.id, 15)
    town.coordinator.turn(101.0)

    def meanwhile(*given: Any, **named: Any) -> dict[str, object]:  # noqa: ANN401 - whatever it takes
        assert charged(ledger)[0] == "collecting"
        other.coordinator.abort(entry.name, 1000.0)
        return release_document(*given, **named)

    monkeypatch.setattr(campaign_release, "release_document", meanwhile)
    town.run(entry.id, 102.0)
    state, layers, sums, release = counts(town, entry)
    assert (state, sums, release) == ("aborted", [], None)
    assert layers[0] == 15
    assert len(layers) > 1
    assert charged(ledger) == ("settled", layers)


def test_a_layer_that_is_just_being_decided_does_not_go_on(
    town: Town, other: Town, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the very transaction, so that whoever aborts has to wait: the next layer is closed as soon as it is open."""
    entry = opened(town)
    asked = town.layer(entry.id)
    assert asked
    counted = town.answer(entry.id, asked[0].layer_size)
    abort = threading.Thread(target=other.coordinator.abort, args=(entry.name, 3.0))
    really = layer_store.settle_layer

    def meanwhile(*given: Any) -> bool:  # noqa: ANN401 - whatever it takes
        abort.start()
        return really(*given)

    monkeypatch.setattr(layer_store, "settle_layer", meanwhile)
    town.coordinator.turn(2.0)
    abort.join(timeout=300)
    assert counts(town, entry) == ("aborted", [counted, 0], [], None)
    assert charged(ledger) == ("settled", [counted, 0])
    for each in (town, other):
        each.coordinator.turn(1000.0)
        assert counts(town, entry) == ("aborted", [counted, 0], [], None)
    assert not town.storage.open_layers()


def test_a_draft_that_is_aborted_while_it_is_started_costs_nothing(
    town: Town, other: Town, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = town.coordinator.create(definition(population="people"), 0.0)
    really = PopulationSnapshot.check_plan

    def meanwhile(*given: Any) -> None:  # noqa: ANN401 - whatever it takes
        other.coordinator.abort(entry.name, 1.0)
        really(*given)

    monkeypatch.setattr(PopulationSnapshot, "check_plan", meanwhile)
    with pytest.raises(CampaignError, match="is aborted"):
        town.coordinator.start(entry.name, 1.0)
    assert ledger.snapshot("people").charges == ()


def test_a_campaign_that_is_aborted_before_anybody_was_invited_costs_nothing(town: Town, ledger: Ledger) -> None:
    entry = town.coordinator.create(definition(population="people"), 0.0)
    town.coordinator.start(entry.name, 0.0)
    town.coordinator.abort(entry.name, 1.0)
    assert charged(ledger) == ("settled", [])
    assert ledger.snapshot("people").spent.local_epsilon == 0


def test_a_draft_that_is_aborted_leaves_the_charge_of_somebody_else_with_its_name_alone(
    town: Town, ledger: Ledger
) -> None:
    entry = town.coordinator.create(definition(population="people"), 0.0)
    theirs = foreseen_charge(entry.definition.campaign, entry.definition.measuring)
    ledger.plan("people", entry.name, theirs)
    town.coordinator.abort(entry.name, 1.0)
    town.coordinator.turn(2.0)
    (known,) = ledger.snapshot("people").charges
    assert (known.state, known.collection) == ("planned", theirs)


def test_a_campaign_that_was_charged_before_there_were_references_is_settled(town: Town, ledger: Ledger) -> None:
    entry = opened(town)
    town.answer(entry.id, 30)
    with town.database.transaction() as db:
        db.execute("UPDATE ledger_charges SET reference = NULL")
    town.coordinator.abort(entry.name, 1.0)
    assert charged(ledger) == ("settled", [30])


def test_whoever_was_invited_has_spent_whatever_became_of_the_reports(town: Town, ledger: Ledger) -> None:
    """Three campaigns are aborted: one that nobody answered, one with fewer reports than a batch, one with some."""
    for number, reports in enumerate((0, 9, 30), 1):
        entry = opened(town, name=f"campaign {number}")
        with pytest.raises(LedgerError, match="abort it instead"):
            town.coordinator.charging.abandon(entry.name, 0.5, "ada")
        with pytest.raises(LedgerError, match="has invited devices"):
            ledger.abandon(entry.name)
        assert town.answer(entry.id, reports) == (reports if reports >= 10 else 0)
        before = ledger.snapshot("people").spent.local_epsilon
        town.coordinator.abort(entry.name, 1.0)
        assert ledger.snapshot("people").spent.local_epsilon == before == number * 10
    spent = ledger.snapshot("people").spent
    assert (spent.open, spent.settled) == (0, 3)
    assert [[batch.reports for batch in each.collection.batches] for each in ledger.snapshot("people").charges] == [
        [0],
        [0],
        [30],
    ]
    (counted,) = (each.collection for each in ledger.snapshot("people").charges if each.campaign == "campaign 3")
    assert spent.epsilon == composed_epsilon([counted], 1e-6, "item"), "what was not counted is in no sum"


def test_what_workers_know_of_a_campaign_is_gone_when_it_is_over(town: Town, other: Town) -> None:
    """Of all workers that ever led it, whoever has ended it: the next turn forgets it."""
    entry = opened(town)
    asked = town.layer(entry.id)
    assert asked
    town.answer(entry.id, asked[0].layer_size)
    other.coordinator.turn(100.0)
    for each in (town, other):
        assert set(each.coordinator._progress._known) == {entry.id}
    town.coordinator.abort(entry.name, 101.0)
    for each in (town, other):
        each.coordinator.turn(102.0)
        assert not each.coordinator._progress._known
