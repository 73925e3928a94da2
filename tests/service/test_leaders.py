"""Leaders: one worker at a time moves a campaign on, and whoever comes too late changes nothing."""

import itertools
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from neologue.aggregation.kernels import Votes
from neologue.device.contribution import contribute
from neologue.errors import CampaignError
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import Layer
from neologue.protocol.report import read_report
from neologue.release.certification.certificate import certify
from neologue.release.codec import decode_release
from neologue.release.layer_archive import by_digest
from neologue.service.campaigns import campaign_store, layer_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.campaigns.coordinator import LEASE
from neologue.service.collect.stored_layers import documents_of
from neologue.service.storage.database import Database
from neologue.service.storage.database_address import open_database
from neologue.service.storage.states import CampaignState, LayerState
from service.campaigns import WORDS, Town, definition

LATER = LEASE + 1.0
MADE: dict[bytes, list[Votes]] = {}
"""Votes on layers, by their digests."""
HELD = """
import sys
from neologue.service.campaigns import campaign_store, layer_store
from neologue.service.campaigns.coordinator import LEASE, Coordinator
from neologue.service.storage.database_address import open_database
from neologue.service.ops.service_keys import load_keys
from neologue.service.storage.report_store import ReportStore

database = open_database(sys.argv[1])
Coordinator(ReportStore(database), load_keys(database), None, "worker").turn(0.0)
with database.transaction() as db:
    (entry,) = campaign_store.all_campaigns(db)
    assert campaign_store.lead(db, entry.id, "worker", 1.0, 1e9)
    layer_store.close_layer(db, entry.id, 0)
    print("holds", flush=True)
    sys.stdin.read()
"""
"""A worker that leads a campaign, and is about to close its layer and to lead it for years."""


@pytest.fixture
def first(database: Database) -> Town:
    return Town(database)


@pytest.fixture
def second(first: Town, url: str) -> Iterator[Town]:
    """Another worker, with connections of its own."""
    other = open_database(url)
    yield Town(other)
    other.close()


def started(town: Town, name: str = "small") -> CampaignRow:
    """A small campaign that has begun, at time 0."""
    town.coordinator.create(definition(name=name, devices=80, too_few="end", parameters={"depth": 3}), 0.0)
    return town.coordinator.start(name, 0.0)


def record(town: Town, entry: CampaignRow) -> tuple[Any, ...]:
    """All that moving a campaign on changes."""
    with town.database.reading() as db:
        now = campaign_store.campaign_named(db, entry.name)
        layers = [
            (layer.layer_index, layer.digest, layer.state, layer.round) for layer in layer_store.layers_of(db, entry.id)
        ]
        sums = db.execute("SELECT id, reports FROM sums WHERE campaign = ? ORDER BY id", (entry.id,))
        decided = [decision.reports for decision in layer_store.decisions(db, entry.id)]
        return now.state, now.changed, layers, sums, decided, campaign_store.release_of(db, entry.id)


def votes_on(layer: Layer | ClosedLayer) -> list[Votes]:
    """What its devices answer: the same in all campaigns, so that they go the same way and nothing is made twice."""
    if layer.digest not in MADE:
        MADE[layer.digest] = [
            read_report(layer, contribute(WORDS, layer)).astype("uint32") for _ in range(layer.layer_size)
        ]
    return MADE[layer.digest]


def fill(town: Town, entry: CampaignRow) -> None:
    """Answer the layer that is open, until it is full."""
    asked = town.layer(entry.id)
    assert asked
    layer, layer_index = asked
    reports = {os.urandom(16): votes for votes in votes_on(layer)}
    assert town.storage.commit_batch(entry.id, layer_index, reports, entry.definition.batch).counted == layer.layer_size


def run(town: Town, entry: CampaignRow, now: float) -> None:
    """Move a campaign on until it is over."""
    while record(town, entry)[0] == CampaignState.RUNNING:
        town.coordinator.turn(now)
        if town.layer(entry.id):
            fill(town, entry)
        now += 1.0


def begun(town: Town, entry: CampaignRow) -> float:
    return 1.0


def lagging(town: Town, entry: CampaignRow) -> float:
    town.coordinator.turn(1.0)
    return 51.0


def full(town: Town, entry: CampaignRow) -> float:
    town.coordinator.turn(1.0)
    fill(town, entry)
    return 2.0


def ending(town: Town, entry: CampaignRow) -> float:
    for now in itertools.count(1.0):
        town.coordinator.turn(now)
        if record(town, entry)[2][-1][2] == LayerState.DECIDED:
            return now + 1.0
        fill(town, entry)
    raise AssertionError


def abort(town: Town, entry: CampaignRow, now: float) -> None:
    town.coordinator.abort(entry.name, now)


def pause(town: Town, entry: CampaignRow, now: float) -> None:
    town.coordinator.pause(entry.name, now)


def start(town: Town, entry: CampaignRow, now: float) -> None:
    town.coordinator.start(entry.name, now)


def take_over(town: Town, entry: CampaignRow, now: float) -> None:
    town.coordinator.turn(now + LATER)


def interrupt(database: Database, use: int, act: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Do something just before a database is used for the so-manieth time from now on."""
    really, uses = database._begin, itertools.count()

    def begin(how: str) -> Any:  # noqa: ANN401 - a connection
        if next(uses) == use:
            act()
        return really(how)

    monkeypatch.setattr(database, "_begin", begin)


@pytest.mark.parametrize("act", [abort, pause, take_over])
@pytest.mark.parametrize("stage", [begun, lagging, full, ending])
def test_who_is_overtaken_in_the_middle_of_a_turn_changes_nothing(
    first: Town,
    second: Town,
    stage: Callable[[Town, CampaignRow], float],
    act: Callable[[Town, CampaignRow, float], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Between any two steps of a worker somebody aborts or pauses the campaign, or another worker thinks it dead."""
    for use in itertools.count():
        entry = started(first, f"campaign {use}")
        now = stage(first, entry)
        then: list[tuple[Any, ...]] = []
        too_late: list[bool] = []

        def somebody_else() -> None:
            try:
                act(second, entry, now)  # noqa: B023 - called in this round of the loop, or not at all
            except CampaignError:
                too_late.append(True)  # noqa: B023
            then.append(record(second, entry))  # noqa: B023

        with monkeypatch.context() as patch:
            interrupt(first.database, use, somebody_else, patch)
            first.coordinator.turn(now)
            patch.undo()
        if not then:
            assert use >= 4, "it was interrupted"
            return
        assert record(first, entry) == then[0]
        if too_late:
            assert then[0][0] == CampaignState.RELEASED
        elif act is abort:
            assert not [layer for layer in then[0][2] if layer[2] == LayerState.OPEN]
            assert (then[0][0], then[0][3], then[0][5]) == (CampaignState.ABORTED, [], None)
        else:
            if act is pause:
                start(first, entry, now)
            run(first, entry, now + 2 * LATER)
            state, _, layers, sums, decided, release = record(first, entry)
            assert (state, sums) == (CampaignState.RELEASED, [])
            assert release
            assert decided == [round_.reports for *_, round_ in layers]
            assert all(before[3].high <= after[3].low for before, after in pairwise(layers))


def test_of_workers_that_take_turns_at_once_one_moves_a_campaign_on(first: Town, second: Town) -> None:
    """At every turn the lease of whoever led before is over, so that both want to."""
    entry = started(first)
    said: list[str] = []
    failures: list[Exception] = []

    def turn(town: Town, now: float, start: threading.Barrier) -> None:
        start.wait(timeout=300)
        try:
            town.coordinator.turn(now, lambda what, entry: said.append(what))
        except Exception as error:
            failures.append(error)

    for now in itertools.count(1.0, LATER):
        start = threading.Barrier(2)
        threads = [threading.Thread(target=turn, args=(town, now, start)) for town in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=300)
        assert not failures
        assert len(first.coordinator.leading | second.coordinator.leading) <= 1
        assert not first.coordinator.leading & second.coordinator.leading
        state, _, layers, *_ = record(first, entry)
        if state != CampaignState.RUNNING:
            break
        if layers[-1][2] == LayerState.OPEN:
            fill(first, entry)
    _, _, layers, sums, decided, release = record(first, entry)
    assert Counter(said) == {"layer opened": 1, "layer decided": len(layers), "campaign ended": 1}
    assert decided == [round_.reports for *_, round_ in layers]
    assert not sums
    assert release
    documents = by_digest(documents_of(first.database, entry.id))
    read = decode_release(release.encode(), "release.json")
    assert certify(read, documents, first.keys.operator.public_key()).passed


def test_a_worker_that_died_is_waited_for_as_long_as_its_lease(first: Town, second: Town, url: str) -> None:
    """It is killed while it leads, in the middle of a transaction that would have let it lead for ever."""
    entry = started(first)
    with subprocess.Popen(
        [sys.executable, "-c", HELD, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as worker:
        try:
            assert worker.stdout
            assert worker.stdout.readline() == "holds\n"
        finally:
            worker.kill()
    (asked,) = record(first, entry)[2]
    assert asked[2] == LayerState.OPEN
    fill(first, entry)
    before = record(first, entry)
    for now in (1.0, LEASE):
        second.coordinator.turn(now)
        assert record(first, entry) == before
    second.coordinator.turn(LEASE + 0.1)
    assert [layer[2] for layer in record(first, entry)[2]] == [LayerState.DECIDED, LayerState.OPEN]
    assert second.coordinator.leading == {entry.id}


def test_who_rests_leaves_its_campaigns_to_others_at_once(first: Town, second: Town) -> None:
    entry = started(first)
    first.coordinator.turn(1.0)
    second.coordinator.rest()
    second.coordinator.turn(1.0)
    assert not second.coordinator.leading, "only who leads can leave"
    first.coordinator.rest()
    second.coordinator.turn(1.0)
    assert second.coordinator.leading == {entry.id}
    first.coordinator.turn(2.0)
    assert not first.coordinator.leading


def test_of_two_who_start_a_held_campaign_at_once_one_does(
    first: Town, second: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pause of a hundred seconds is given back once."""
    entry = started(first)
    first.coordinator.turn(1.0)
    ((*_, round_),) = record(first, entry)[2]
    first.coordinator.pause(entry.name, 50.0)
    interrupt(first.database, 1, lambda: start(second, entry, 150.0), monkeypatch)
    with pytest.raises(CampaignError, match="is running, and can't become running"):
        start(first, entry, 150.0)
    ((*_, later),) = record(first, entry)[2]
    assert later.deadline == round_.deadline + 100.0
