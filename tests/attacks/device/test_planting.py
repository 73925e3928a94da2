"""Devices that plant words: no report has more votes than an honest one, copies are refused, and the rest is told."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from attacks.stranger.wire import attacked
from neologue.aggregation.ephemeral import IntakeLayer
from neologue.device.contribution import contribute
from neologue.protocol.layer import Layer
from neologue.protocol.report import TAG_BYTES, header
from neologue.randomizers.unary import Ones, Unary
from neologue.release.codec import decode_release
from neologue.service.campaigns import campaign_store, layer_store
from neologue.service.ops.settings import SHORTEST_PATIENCE
from neologue.service.storage.migrations import migrate
from neologue.service.storage.sqlite_database import SqliteDatabase
from neologue.service.worker import Worker
from service.campaigns import WORDS, Town, definition
from service.serving import Reply, Served, wait_until
from service.test_worker import Opened, sent

COPIES = 25
BATCH = 10


@pytest.fixture(scope="module")
def attack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Worker]]:
    limits: dict[str, Any] = {"failures_per_minute": 1e6, "patience": SHORTEST_PATIENCE}
    with attacked(tmp_path_factory.mktemp("attacked"), **limits) as running:
        yield running


@pytest.fixture
def service(attack: tuple[Served, Worker]) -> Served:
    return attack[0]


@pytest.fixture
def worker(attack: tuple[Served, Worker]) -> Worker:
    return attack[1]


def started(service: Served, name: str, epsilon: float) -> Opened:
    """A campaign whose first layer is open; the smaller ε is, the more noise a report has."""
    drawn = definition(
        name=name, devices=400, layer_seconds=1e6, answer_seconds=3600.0, parameters={"epsilon": epsilon}
    )
    assert service.ask("POST", "/v1/campaigns", msgspec.to_builtins(drawn)).status == 201
    service.ask("POST", f"/v1/campaigns/{name}/start")
    wait_until(lambda: service.ask("GET", f"/v1/campaigns/{name}/layers").json)
    return Opened(service, name)


def with_ones(layer: Layer, count: int) -> bytes:
    """A report with so many ones."""
    return header(layer) + layer.randomizer.encode(Ones(np.arange(count)))


def counted(opened: Opened) -> int:
    (view,) = opened.service.ask("GET", f"/v1/campaigns/{opened.name}/layers").json
    return int(view["reports"])


def test_a_report_has_no_more_votes_than_an_honest_device_sends(service: Served) -> None:
    opened = started(service, "overfull", 4.0)
    credential, told = opened.invited()
    layer = opened.layer(told)
    assert isinstance(layer.randomizer, Unary)
    most, usual = layer.randomizer.most_votes, len(contribute(WORDS, layer))
    for count in (most + 1, 4 * most, 8 * most):
        report = with_ones(layer, min(count, layer.candidates.size))
        refused = sent(opened, credential, told["ticket"], report)
        assert (refused.status, refused.code) == (400, "overfull")
    assert len(report) >= 4 * usual, "reports of several times the usual length were read once"
    assert sent(opened, credential, told["ticket"], with_ones(layer, most)).status == 202
    assert counted(opened) == 0
    assert 'neologue_reports_total{outcome="overfull"} 3.0' in service.ask("GET", "/metrics").body.decode()


def test_copies_of_one_report_are_counted_once(service: Served) -> None:
    opened = started(service, "copied", 4.0)
    devices = [opened.invited() for _ in range(COPIES)]
    layer = opened.layer(devices[0][1])
    assert layer.randomizer.is_unrepeatable
    report = contribute(WORDS, layer)
    answers = [sent(opened, credential, told["ticket"], report) for credential, told in devices]
    assert [(reply.status, reply.code) for reply in answers[1:]] == [(409, "repeated")] * (COPIES - 1)
    # The device that was first sends the same bytes again, before and after it is counted.
    others = [(*device, contribute(WORDS, layer)) for device in devices[1:BATCH]]

    def send_all() -> list[Reply]:
        first = sent(opened, devices[0][0], devices[0][1]["ticket"], report)
        return [first, *(sent(opened, credential, told["ticket"], own) for credential, told, own in others)]

    wait_until(lambda: {reply.status for reply in send_all()} == {200})
    assert counted(opened) == BATCH
    assert {reply.status for reply in send_all()} == {200}
    late, told = devices[-1]
    assert sent(opened, late, told["ticket"], report).code == "repeated"


def test_a_device_that_sends_report_after_report_takes_no_memory(service: Served, worker: Worker) -> None:
    opened = started(service, "different", 4.0)
    credential, told = opened.invited()
    layer = opened.layer(told)
    statuses = {sent(opened, credential, told["ticket"], contribute(WORDS, layer)).status for _ in range(5)}
    assert statuses == {202}, "the first one waits for others"
    others = [opened.invited() for _ in range(BATCH - 1)]

    def all_counted() -> bool:
        replies = [sent(opened, other, its["ticket"], own) for (other, its), own in zip(others, reports, strict=True)]
        return {reply.status for reply in replies} == {200}

    reports = [contribute(WORDS, layer) for _ in others]
    wait_until(all_counted)
    again = [sent(opened, credential, told["ticket"], contribute(WORDS, layer)) for _ in range(20)]
    assert {reply.json["state"] for reply in again} == {"final"}, "it is counted, whatever it sends now"
    served = worker.layer_cache.open_layer_for(credential.campaign_id, layer.digest[:TAG_BYTES])
    assert served
    assert isinstance(served.collecting, IntakeLayer)
    assert served.collecting.sent_before
    assert len(served.collecting.sent_before._recent) == 2 * (1 + len(others))


def test_equal_reports_are_honest_where_there_is_little_noise(service: Served) -> None:
    """Most reports of such a layer on nothing are empty, so that equal ones prove nothing."""
    opened = started(service, "quiet", 10.0)
    devices = [opened.invited() for _ in range(BATCH)]
    layer = opened.layer(devices[0][1])
    assert not layer.randomizer.is_unrepeatable
    empty = with_ones(layer, 0)

    def all_counted() -> bool:
        return {sent(opened, credential, told["ticket"], empty).status for credential, told in devices} == {200}

    wait_until(all_counted)
    assert counted(opened) == BATCH


# What is left: votes within all limits


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    database = SqliteDatabase(str(tmp_path / "service.db"))
    migrate(database)
    yield Town(database)
    database.close()


def run(town: Town, hostile: int) -> tuple[bytes, list[str], list[str]]:
    """A campaign in whose layers so many devices send together, each with as many votes for the same as are read."""
    entry = town.coordinator.create(definition(devices=2400, layer_seconds=1e6, parameters={"epsilon": 6.0}), 0.0)
    town.coordinator.start(entry.name, 0.0)
    now, events = 0.0, []
    while True:
        now += 1.0
        town.coordinator.turn(now, lambda what, _: events.append(what))
        town.layer_cache.refresh()
        cached = town.layer_cache.campaign(entry.id)
        assert cached
        if cached.entry.state != "running":
            break
        if cached.layer is None:
            continue
        asked = town.layer(entry.id)
        assert asked
        layer, layer_index = asked
        if hostile and isinstance(layer, Layer):
            votes = np.arange(layer.randomizer.most_votes, dtype=np.uint32)
            together = {os.urandom(16): votes for _ in range(hostile)}
            town.storage.commit_batch(entry.id, layer_index, together, BATCH)
        town.answer(entry.id, cached.layer.round.missing - hostile)
    with town.database.reading() as db:
        outcomes = [row.facts for row in layer_store.layers_of(db, entry.id) if row.facts]
        text = campaign_store.release_of(db, entry.id)
    assert text is not None
    return text.encode(), [warning for facts in outcomes for warning in facts.gathered], events


def test_devices_that_plant_words_together_are_told_to_the_operator(town: Town) -> None:
    text, gathered, events = run(town, hostile=40)
    assert gathered
    assert all("came together" in warning for warning in gathered)
    assert "votes of a layer are implausible" in events
    release = decode_release(text, "the release")
    assert not any("came together" in warning for warning in release.warnings), "a release tells of whole layers alone"


def test_honest_devices_are_not(town: Town) -> None:
    text, gathered, events = run(town, hostile=0)
    assert not gathered
    assert "votes of a layer are implausible" not in events
    release = decode_release(text, "the release")
    assert release.warnings == ()
    assert release.planting
