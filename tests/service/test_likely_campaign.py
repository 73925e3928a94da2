"""Live campaigns that ask about what is likely: the words of plain votes, and no vote kept longer than it is needed."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from neologue.aggregation.packed_sum import pack_sum
from neologue.discovery.state import DiscoveryState
from neologue.ledger.budget import Budget
from neologue.release.certification.certificate import certify
from neologue.release.codec import ReleaseDocument, decode_release
from neologue.release.layer_archive import by_digest
from neologue.service.campaigns import campaign_store, layer_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.campaigns.charging import collected
from neologue.service.collect.stored_layers import documents_of
from neologue.service.storage.database import Database
from neologue.service.storage.sqlite_database import SqliteDatabase

from .campaigns import WORDS, Town, definition

LAYERS = 3
LIKELY = {"layers": LAYERS, "candidates": 20_000}


def started(town: Town, **changes: object) -> CampaignRow:
    """A campaign that has begun, at time 0."""
    entry = town.coordinator.create(definition(parameters=LIKELY, **changes), 0.0)
    return town.coordinator.start(entry.name, 0.0)


def certified(town: Town, entry: CampaignRow) -> ReleaseDocument:
    """The release, which anyone can certify."""
    with town.database.reading() as db:
        text = campaign_store.release_of(db, entry.id)
    assert text
    document = decode_release(text.encode(), "release.json")
    found = certify(document, by_digest(documents_of(town.database, entry.id)), town.keys.operator.public_key())
    assert found.passed, found.objections
    return document


def run_beside(entry: CampaignRow, next_worker: Callable[[], Town]) -> DiscoveryState:
    """Run a campaign to its end, and decide each of its layers from its plain votes as well."""
    beside = DiscoveryState(entry.definition.campaign, entry.definition.measuring)
    now = 0.0
    while True:
        now += 60.0
        worker = next_worker()
        worker.coordinator.turn(now)
        with worker.database.reading() as db:
            if campaign_store.campaign_named(db, entry.name).state != "running":
                return beside
        asked = worker.layer(entry.id)
        if asked:
            assert beside.layer
            assert asked[0].digest == beside.layer.digest
            assert worker.answer(entry.id, asked[0].layer_size) >= 100
            beside.take(beside.decide(worker.storage.tally(entry.id, asked[1])))


def test_a_campaign_releases_what_its_plain_votes_decide_and_measures_it(database: Database) -> None:
    town = Town(database)
    entry = started(town, devices=1200, measure_devices=300)
    beside = run_beside(entry, lambda: town)
    document = certified(town, entry)
    assert set(WORDS) == {word.word for word in document.words}
    assert [(word.word, word.votes) for word in document.words] == [
        (word.word, word.votes) for word in beside.release.words
    ]
    assert len(document.layers) == LAYERS
    assert document.measurement
    assert document.measurement.decided


def test_each_layer_by_another_worker_carries_the_same_votes_over(database: Database) -> None:
    entry = started(Town(database))
    beside = run_beside(entry, lambda: Town(database))
    document = certified(Town(database), entry)
    assert {word.word for word in document.words} == set(WORDS)
    assert [(word.word, word.votes, word.since) for word in document.words] == [
        (word.word, word.votes, word.since) for word in beside.release.words
    ]


def test_killed_workers_lose_no_vote_that_is_carried_over(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "service.likely_kills", str(tmp_path / "service.db")]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 30


def carried(town: Town) -> list[bytes]:
    with town.database.reading() as db:
        return [bytes(votes) for (votes,) in db.execute("SELECT votes FROM carried_votes")]


def decide_first(town: Town, entry: CampaignRow) -> bytes:
    """Have the first layer answered and decided; the votes that are carried over."""
    town.coordinator.turn(1.0)
    asked = town.layer(entry.id)
    assert asked
    town.answer(entry.id, asked[0].layer_size)
    tally = town.storage.tally(entry.id, 0)
    town.coordinator.turn(2.0)
    (votes,) = carried(town)
    beside = DiscoveryState(entry.definition.campaign).decide(tally)
    assert len(beside.carried) > 500
    assert votes == pack_sum(beside.carried.astype(np.uint32))
    with town.database.reading() as db:
        assert not db.execute("SELECT 1 FROM sums")
    return votes


def decide_next(town: Town, entry: CampaignRow) -> None:
    asked = town.layer(entry.id)
    assert asked
    town.answer(entry.id, asked[0].layer_size)
    town.coordinator.turn(3.0)


def abort(town: Town, entry: CampaignRow) -> None:
    town.coordinator.abort(entry.name, 3.0)
    assert not carried(town)


def release(town: Town, entry: CampaignRow) -> None:
    town.run(entry.id, 3.0)
    assert not carried(town)


@pytest.mark.parametrize("end", [decide_next, abort, release])
def test_votes_that_are_carried_over_are_erased_when_they_are_not_needed_any_more(
    database: Database, end: Callable[[Town, CampaignRow], None]
) -> None:
    town = Town(database)
    entry = started(town)
    before = decide_first(town, entry)
    end(town, entry)
    assert before not in carried(town)
    if isinstance(database, SqliteDatabase):
        disk = b"".join(file.read_bytes() for file in database.file.parent.iterdir())
        windows = [before[start : start + 200] for start in range(1, len(before) - 200, 100)]
        assert not any(window in disk for window in windows if len(set(window)) > 3)


def test_votes_that_are_carried_over_are_found_on_the_disk_until_then(database: Database) -> None:
    town = Town(database)
    before = decide_first(town, started(town))
    if isinstance(database, SqliteDatabase):
        disk = b"".join(file.read_bytes() for file in database.file.parent.iterdir())
        assert before[1:201] in disk


def test_the_population_pays_for_every_layer_before_it_is_asked(database: Database) -> None:
    town = Town(database)
    described = definition(parameters=LIKELY, population="people")
    town.ledger.add_population("people", Budget("item", 10.0, 1e-6))
    entry = town.coordinator.create(described, 0.0)
    town.coordinator.start(entry.name, 0.0)
    town.coordinator.turn(1.0)
    (charge,) = town.ledger.snapshot("people").charges
    # The three that are foreseen, each with as many candidates as there may be, and the first as it is.
    assert len(charge.collection.batches) == LAYERS + 1
    town.run(entry.id, 2.0)
    (charge,) = town.ledger.snapshot("people").charges
    with database.reading() as db:
        layers = layer_store.layers_of(db, entry.id)
    assert charge.state == "settled"
    assert charge.collection == collected(described, layers)
    assert len(layers) == LAYERS


def test_a_budget_that_covers_nothing_more_ends_the_campaign_and_erases_what_was_carried_over(
    database: Database,
) -> None:
    town = Town(database)
    town.ledger.add_population("people", Budget("item", 10.0, 1e-6))
    entry = town.coordinator.create(definition(parameters=LIKELY, population="people"), 0.0)
    town.coordinator.start(entry.name, 0.0)
    decide_first(town, entry)
    town.coordinator.charging.set_budget("people", Budget("item", 0.01, 1e-6), 2.5, "operator")
    decide_next(town, entry)
    with database.reading() as db:
        assert campaign_store.campaign_named(db, entry.name).state == "refused"
    assert not carried(town)
