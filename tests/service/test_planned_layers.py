"""Live campaigns whose slots are drawn: everybody is counted, and the layers are what was planned, whoever came."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from neologue.aggregation.made_up import made_up_votes
from neologue.device.client import Client
from neologue.device.contribution import contribute
from neologue.device.library import Library
from neologue.device.tick import State
from neologue.discovery import foretold
from neologue.discovery.decision import Decision
from neologue.discovery.state import DiscoveryState
from neologue.errors import ParameterError
from neologue.fleet.fleet import simulated_policy
from neologue.ledger.budget import Budget
from neologue.privacy.allocation.planned_layers import FEWEST_TOP_UPS, planned_in_batches, planned_reports
from neologue.protocol.report import read_report
from neologue.protocol.slot import SLOTS
from neologue.release.certification.certificate import Certification, certify
from neologue.release.codec import ReleaseDocument, decode_release
from neologue.release.layer_archive import by_digest
from neologue.service.campaigns import campaign_store, layer_store, layer_warnings
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.campaigns.definition import Definition
from neologue.service.campaigns.layer_store import LayerRow
from neologue.service.campaigns.planned_rounds import GRACE
from neologue.service.collect.stored_layers import documents_of
from neologue.service.ops.settings import Settings
from neologue.service.storage.database import Database
from neologue.service.storage.database_address import open_database
from neologue.service.worker import Worker
from sending import AT_ONCE

from .campaigns import WORDS, Town, definition
from .serving import served, wait_until

LAYERS = 3
BATCH = 10
PLANNED: dict[str, Any] = {
    "layers": LAYERS,
    "candidates": 20_000,
    "allocation": "drawn",
    "epsilon": 8.0,
    "delta": 1e-6,
}


def planned(**changes: Any) -> Definition:  # noqa: ANN401
    parameters = PLANNED | changes.pop("parameters", {})
    return definition(parameters=parameters, **{"devices": 1200, **changes})


def started(town: Town, **changes: Any) -> CampaignRow:  # noqa: ANN401
    entry = town.coordinator.create(planned(**changes), 0.0)
    return town.coordinator.start(entry.name, 0.0)


def layers_of(town: Town, entry: CampaignRow) -> list[LayerRow]:
    with town.database.reading() as db:
        return layer_store.layers_of(db, entry.id)


def come(town: Town, entry: CampaignRow, devices: int) -> None:
    """So many devices of the open layer send, whatever their number is."""
    asked = town.layer(entry.id)
    assert asked
    layer, index = asked
    reports = {os.urandom(16): read_report(layer, contribute(WORDS, layer)).astype(np.uint32) for _ in range(devices)}
    assert town.storage.commit_planned(entry.id, index, reports, BATCH).counted == devices


def run(town: Town, entry: CampaignRow, came: list[int]) -> None:
    """Run a campaign to whose layers so many devices come, by its deadlines alone."""
    now = 1.0
    for devices in came:
        town.coordinator.turn(now)
        come(town, entry, devices)
        over = layers_of(town, entry)[-1].round.deadline + entry.definition.answer_seconds + GRACE
        town.coordinator.turn(over - 0.1)
        assert layers_of(town, entry)[-1].state == "open"
        now = over
    town.coordinator.turn(now)
    town.coordinator.turn(now + 1)


def certified(town: Town, entry: CampaignRow) -> tuple[ReleaseDocument, Certification]:
    with town.database.reading() as db:
        text = campaign_store.release_of(db, entry.id)
    assert text
    document = decode_release(text.encode(), "release.json")
    found = certify(document, by_digest(documents_of(town.database, entry.id)), town.keys.operator.public_key())
    assert found.passed, found.objections
    return document, found


def _user_central(document: ReleaseDocument) -> dict[str, Any]:
    statement: Any = document.whole["privacy"]
    central: dict[str, Any] = statement["user_central"]
    return central


REPORTS = planned_in_batches(planned_reports(400, 1e-6), 400, BATCH)
"""Of each layer of 1,200 devices."""


def test_layers_count_what_was_planned_whoever_comes_and_the_release_claims_it(database: Database) -> None:
    town = Town(database)
    entry = started(town)
    run(town, entry, [400, 250, 300])
    document, _ = certified(town, entry)
    assert [layer.reports for layer in document.layers] == [REPORTS] * LAYERS
    assert {word.word for word in document.words} == set(WORDS)
    central = _user_central(document)
    assert central["best"] == central["allocation"] < central["joint"]
    rows = layers_of(town, entry)
    assert [row.made_up for row in rows] == [REPORTS - came for came in (400, 250, 300)]
    # All slots, each once, fixed by the definition.
    assert [row.round.low for row in rows] == [index * SLOTS // 3 for index in range(3)]
    assert [row.round.high for row in rows] == [(index + 1) * SLOTS // 3 for index in range(3)]


def test_warnings_that_follow_from_who_came_are_for_the_operator_alone(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, ...]] = []
    really = foretold.find_unforetold

    def listening(state: DiscoveryState, decision: Decision, answered: Sequence[int] | None) -> list[str]:
        assert answered is not None
        told.append(tuple(answered))
        return really(state, decision, answered)

    monkeypatch.setattr(layer_warnings, "find_unforetold", listening)
    monkeypatch.setattr(foretold, "SAMPLED_MORE", 0.0)
    town = Town(database)
    entry = started(town)
    run(town, entry, [400, 250, 300])
    assert told == [(400,), (400, 250), (400, 250, 300)]
    outcomes = [row.facts for row in layers_of(town, entry)]
    assert any("no earlier layer foretold them" in said for facts in outcomes if facts for said in facts.gathered)
    document, _ = certified(town, entry)
    assert document.warnings == ()


def test_whoever_measures_has_planned_slots_too(database: Database) -> None:
    town = Town(database)
    entry = started(town, devices=1500, measure_devices=300)
    run(town, entry, [400, 250, 300, 200])
    document, _ = certified(town, entry)
    assert document.measurement
    assert document.measurement.reports == planned_in_batches(planned_reports(300, 1e-6), 300, BATCH)
    assert _user_central(document)["allocation"] is not None
    assert layers_of(town, entry)[-1].round.high == SLOTS


def test_a_layer_with_too_many_counts_all_of_them_and_claims_nothing(database: Database) -> None:
    town = Town(database)
    entry = started(town)
    run(town, entry, [REPORTS + 30, 250, 300])
    document, _ = certified(town, entry)
    assert [layer.reports for layer in document.layers] == [REPORTS + 30, REPORTS, REPORTS]
    central = _user_central(document)
    assert central["allocation"] is None
    assert "were planned" in central["reasons"]["allocation"]


def test_a_promise_that_rests_on_planned_numbers_ends_with_them(database: Database) -> None:
    town = Town(database)
    entry = started(town, parameters={"promised_epsilon": 11.5, "promised_unit": "user"})
    town.coordinator.turn(1.0)
    come(town, entry, REPORTS + 1)
    town.coordinator.turn(500.0)
    with database.reading() as db:
        ended = campaign_store.campaign_named(db, entry.name)
    assert (ended.state, "more reports than were planned" in ended.note) == ("refused", True)


def test_a_population_is_charged_what_was_planned_and_not_who_came(database: Database) -> None:
    town = Town(database)
    town.ledger.add_population("people", Budget("user", 30.0, 1e-6))
    entry = started(town, population="people")
    run(town, entry, [400, 250, 300])
    document, found = certified(town, entry)
    (charge,) = town.ledger.snapshot("people").charges
    assert charge.state == "settled"
    assert found.facts
    assert charge.collection == found.facts.charged
    assert charge.collection.allocation.layers
    assert {batch.reports for batch in charge.collection.batches} == {REPORTS}
    assert document.users == 1200


def test_too_few_for_a_batch_are_filled_up_when_the_time_is_over(database: Database) -> None:
    town = Town(database)
    entry = started(town)
    town.coordinator.turn(1.0)
    asked = town.layer(entry.id)
    assert asked
    layer, index = asked
    few = {os.urandom(16): read_report(layer, contribute(WORDS, layer)).astype(np.uint32) for _ in range(3)}
    waiting = town.storage.commit_planned(entry.id, index, few, BATCH)
    assert (waiting.counted, waiting.over) == (0, False)
    done = town.storage.commit_planned(entry.id, index, few, BATCH, lambda reports: made_up_votes(layer, reports))
    assert (done.counted, done.final) == (3, frozenset(few))
    with database.reading() as db:
        assert db.execute("SELECT reports, made_up FROM sums") == [(BATCH, BATCH - 3)]
    again = town.storage.commit_planned(entry.id, index, few, BATCH, lambda reports: made_up_votes(layer, reports))
    assert (again.counted, again.final) == (0, frozenset(few))


def test_more_workers_than_there_is_room_for_claim_nothing(database: Database) -> None:
    town = Town(database)
    entry = started(town)
    town.coordinator.turn(1.0)
    asked = town.layer(entry.id)
    assert asked
    layer, index = asked
    for _ in range(FEWEST_TOP_UPS + 1):
        one = {os.urandom(16): read_report(layer, contribute(WORDS, layer)).astype(np.uint32)}
        town.storage.commit_planned(entry.id, index, one, BATCH, lambda reports: made_up_votes(layer, reports))
    town.coordinator.turn(500.0)
    assert layers_of(town, entry)[0].round.layer_size == REPORTS + 1


def test_killed_workers_never_draw_again_what_was_made_up(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "service.planned_kills", str(tmp_path / "service.db")]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"layer_seconds": None}, "say how long it waits"),
        ({"aggregation": "secure"}, "take aggregation ephemeral"),
        ({"parameters": {"layers": None}}, "give a number of layers"),
        ({"parameters": {"randomizer": "subset-selection"}}, "take the randomizer unary"),
        (
            {"issuers": ["d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"]},
            "instead of naming issuers",
        ),
    ],
)
def test_planned_layers_are_refused_where_their_proof_does_not_hold(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        planned(rehearsal=True, **changes).check()


def test_layers_close_by_count_unless_it_is_asked_for() -> None:
    assert not definition(parameters={"layers": 3}).drawn


def test_a_campaign_with_drawn_slots_over_http(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    time_now = [1000.0]
    url, came = f"sqlite:///{tmp_path}/service.db", [0, 0]
    body = msgspec.to_builtins(
        planned(devices=160, rehearsal=True, parameters={"layers": 2, "epsilon": 10.0}, layer_seconds=1000.0)
    )
    workers: list[Worker] = []

    def make(settings: Settings) -> Worker:
        workers.append(Worker(settings, lambda: time_now[0]))
        return workers[0]

    def is_served(campaign: bytes, index: int) -> bool:
        cached = workers[0].layer_cache.campaign(campaign)
        return bool(cached and cached.layer and cached.layer.layer_index == index)

    with served(url, make) as service:

        def layers() -> list[dict[str, Any]]:
            told: list[dict[str, Any]] = service.ask("GET", "/v1/campaigns/small/layers").json
            return told

        def real_reports(index: int) -> int:
            return int(layers()[index]["reports"] - layers()[index]["made_up"])

        assert service.ask("POST", "/v1/campaigns", body).status == 201
        service.ask("POST", "/v1/campaigns/small/start")
        issued = service.ask("POST", "/v1/campaigns/small/credentials", {"count": 160}).body.decode().split()
        more = service.ask("POST", "/v1/campaigns/small/credentials", {"count": 1})
        assert (more.status, "at most 0 more" in more.json["error"]["message"]) == (409, True)
        campaign_id = bytes.fromhex(service.ask("GET", "/v1/campaigns/small").json["id"])
        operator = bytes.fromhex(service.ask("GET", "/v1/key").json["operator"])
        policy = replace(simulated_policy(operator), smallest_layer_size=1)
        library = Library()
        clients = []
        sent: set[Client] = set()
        for number, credential in enumerate(issued[:120]):  # the others never come
            client = Client(tmp_path / str(number), service.address, policy, library=library, sending_time=AT_ONCE)
            client.typed_all(WORDS)
            client.join(credential)
            clients.append(client)
        for index in range(2):
            wait_until(partial(is_served, campaign_id, index))
            now = {client for client in clients if client.tick().state is State.RECEIVED} - sent
            sent |= now
            # Some wait in memory, too few for a batch; when nobody can send any more, they are filled up.
            time_now[0] = layers()[index]["deadline"] + 3
            wait_until(partial(lambda place, count: real_reports(place) == count, index, len(now)))
            wait_until(lambda: "neologue_waiting_reports 0.0" in service.ask("GET", "/metrics").body.decode())
            told = {client.tick().state for client in clients}
            time_now[0] += GRACE
            wait_until(partial(lambda place: layers()[place]["state"] == "decided", index))
            came[index] = real_reports(index)
        wait_until(lambda: service.ask("GET", "/v1/campaigns/small").json["state"] == "released")
        assert sum(came) == 120
        assert min(came) > 0
        assert told <= {State.OVER, State.WAIT, State.FINAL}
        metrics = service.ask("GET", "/metrics", token="nobody").body.decode()
        release = service.ask("GET", "/v1/campaigns/small/release").body
        assert "neologue_reports_total" in service.ask("GET", "/metrics").body.decode()
        for client in clients:
            client.close()
    database = open_database(url)
    with database.reading() as db:
        entry = campaign_store.campaign_named(db, "small")
    documents = documents_of(database, entry.id)
    document = decode_release(release, "release.json")
    found = certify(document, by_digest(documents), Ed25519PublicKey.from_public_bytes(operator))
    assert found.passed, found.objections
    assert _user_central(document)["allocation"] is not None
    assert {layer.reports for layer in document.layers} == {planned_in_batches(planned_reports(80, 1e-6), 80, BATCH)}
    # No page, line or document for others has a word of who came.
    assert not re.search("neologue_(reports|check_ins|requests|waiting|connections)", metrics)
    assert "made_up" not in release.decode()
    logged = capfd.readouterr().err
    numbers = {str(number) for number in came} - {"80"}
    assert not numbers & set(re.findall("[0-9]+", re.sub("[0-9T:.+-]{19,}Z?", "", logged)))
    assert not numbers & set(re.findall('"reports": ([0-9]+)', release.decode()))
