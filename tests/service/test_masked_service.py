"""Secure campaigns over real HTTP: the tally is the sum of what was confirmed, bit for bit, whatever happens."""

import os
import random
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from neologue.discovery.state import DiscoveryState
from neologue.discovery.tally import Tally
from neologue.masking.rules import GroupRules
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import Layer
from neologue.protocol.report import read_report
from neologue.service.campaigns import campaign_store
from neologue.service.review.released import read_release
from neologue.service.storage.database_address import open_database
from neologue.service.storage.migrations import migrate
from neologue.service.storage.report_store import ReportStore
from service.campaigns import Town, definition
from service.masked_crowd import (
    CONFIRMATION,
    SECURE,
    SHARING,
    UNMASKING,
    VECTOR,
    Crowd,
    invited,
    policy_of,
    started,
)
from service.serving import Process, Served, fetch_layer, free_port, served, wait_until
from service.stores import same, spent_serials, void_serials

DEVICES = 90
RESERVE = 0.3
LASTING = {"devices": 100_000, "layer_seconds": 1e5}
"""A layer that takes more devices than there are, so that its votes stay."""
FEWEST_TO_BEGIN = 8
"""A group that loses a quarter of so many devices, which is two, has the smallest number left."""


def leaving(share: float, devices: int) -> dict[int, int]:
    dice = random.Random(7)
    return {
        device: dice.choice((SHARING, VECTOR, CONFIRMATION, UNMASKING))
        for device in range(devices)
        if dice.random() < share
    }


def counted_serials(url: str, crowd: Crowd) -> set[bytes]:
    """Who is counted: all who were told so, and some who fell silent behind their votes."""
    with closing(open_database(url)) as database:
        spent = spent_serials(database)
    assert crowd.told("final") <= spent <= crowd.told("final") | crowd.told("silent")
    return spent


def layer_of(service: Served, crowd: Crowd, digest: bytes) -> Layer | ClosedLayer:
    return fetch_layer(service, crowd.library, digest)


def words_of_reports(path: Path, tallies: list[Tally], contributed: list[set[bytes]]) -> list[str]:
    """The words of a campaign without masks whose devices send the reports that others masked, with the same sums."""
    with closing(open_database(f"sqlite:///{path}")) as database:
        migrate(database)
        town = Town(database)
        plain = {**SECURE, "aggregation": "ephemeral", "devices": DEVICES, "reserve": RESERVE}
        entry = town.coordinator.create(definition(**plain), 0.0)
        town.coordinator.start(entry.name, 0.0)
        now = 0.0
        town.coordinator.turn(now)
        for tally in tallies:
            asked = town.layer(entry.id)
            assert asked
            layer, layer_index = asked
            reports = {
                os.urandom(16): read_report(layer, report).astype("uint32")
                for (report,) in contributed
                if report[1:9] == layer.digest[:8]
            }
            assert town.storage.commit_batch(entry.id, layer_index, reports, 1).counted == len(reports)
            assert same(town.storage.tally(entry.id, layer_index), tally)
            now += 1e6
            town.coordinator.turn(now)
        town.coordinator.turn(now)
        with database.reading() as db:
            released = campaign_store.campaign_named(db, entry.name)
        return [word.word for word in read_release(database, released).words]


def test_a_campaign_with_dropouts_finds_the_words_that_the_plain_votes_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tallies: list[Tally] = []
    counted = ReportStore.tally

    def tally(storage: ReportStore, campaign: bytes, layer_index: int) -> Tally:
        tallies.append(counted(storage, campaign, layer_index))
        return tallies[-1]

    monkeypatch.setattr(ReportStore, "tally", tally)
    with served(f"sqlite:///{tmp_path}/service.db", failures_per_minute=1e6) as service:
        started(service, devices=DEVICES, reserve=RESERVE, layer_seconds=40.0)
        credentials = service.ask("POST", "/v1/campaigns/small/credentials", {"count": DEVICES}).body.decode().split()
        crowd = Crowd(service.address, tmp_path, policy_of(service), leaving(0.1, DEVICES))
        crowd.over = lambda: service.ask("GET", "/v1/campaigns/small").json["state"] != "running"
        crowd.run(credentials)
        wait_until(crowd.over)
        words = [word["word"] for word in service.ask("GET", "/v1/campaigns/small/words").json]
        release = service.ask("GET", "/v1/campaigns/small/release").json
    spent = counted_serials(f"{tmp_path}/service.db", crowd)
    course = DiscoveryState(definition(**{**SECURE, "devices": DEVICES, "reserve": RESERVE}).campaign)
    for tally_ in tallies:
        layer = course.layer
        assert layer
        mine = {serial for serial in spent if next(iter(crowd.contributed[serial]))[1:9] == layer.digest[:8]}
        assert same(tally_, crowd.sum_of(layer, mine))
        course.take(course.decide(tally_))
    assert [word.word for word in course.release.words] == words
    monkeypatch.undo()
    assert words == words_of_reports(tmp_path / "plain.db", tallies, [crowd.contributed[each] for each in spent])
    assert "lol" in words
    assert crowd.told("silent")
    rules = {"size": 12, "smallest": 6, "dropout": 25, "corruption": 0, "risk": 1e-6, "groups": 2 * -(-DEVICES // 6)}
    rules |= {"limited": True}
    assert release["exposure"]["masked"] == rules
    assert GroupRules(size=12, smallest=6, dropout=25, corruption=0).honest == 6


def test_two_workers_and_postgresql_count_every_vote_once(postgres: Callable[[], str], tmp_path: Path) -> None:
    url, devices = postgres(), 28
    process = Process(url, tmp_path, free_port(), "--workers", "2", "--requests-per-second", "100000")
    process.start()
    try:
        service = Served(process.address, process.token)
        campaign = started(service, **LASTING)
        credentials, digest = invited(service, devices)
        # As many as any group survives: more of them might meet in one, which need not have a sum then.
        leaving = {7: VECTOR, 11: UNMASKING}
        crowd = Crowd(process.address, tmp_path, policy_of(service), leaving)
        # With fewer left than a group begins with, they wait for ever.
        crowd.over = lambda: devices - len(crowd.ended) <= FEWEST_TO_BEGIN - 1
        crowd.run(credentials)
        layer = layer_of(service, crowd, digest)
    finally:
        assert process.stop() == 0
    with closing(open_database(url)) as database:
        spent = spent_serials(database)
        assert crowd.told("final") <= spent
        assert same(ReportStore(database).tally(campaign, 0), crowd.sum_of(layer, spent))
    assert len(crowd.told("final")) >= devices - len(leaving) - (FEWEST_TO_BEGIN - 1)


@pytest.mark.parametrize(("killed_at", "state"), [(VECTOR, "nothing"), (UNMASKING, "lost")])
def test_a_group_of_a_service_that_is_killed_yields_nothing_that_could_be_known(
    tmp_path: Path, killed_at: int, state: str
) -> None:
    """Killed while votes come, there is no sum; killed while shares come, nobody can tell. No vote is masked again."""
    url, devices = f"sqlite:///{tmp_path}/service.db", 12
    process = Process(url, tmp_path, free_port(), "--requests-per-second", "100000")
    process.start()
    try:
        service = Served(process.address, process.token)
        campaign = started(service, **LASTING)
        credentials, digest = invited(service, devices)
        crowd = Crowd(process.address, tmp_path, policy_of(service))
        sent: set[bytes] = set()
        turn = threading.Lock()

        def sends(serial: bytes, number: int) -> None:
            with turn:
                if number == killed_at and len(sent) < 4:
                    sent.add(serial)
                    if len(sent) == 4:
                        process.kill()
                        process.start()

        crowd.sends = sends
        crowd.run(credentials)
        layer = layer_of(service, crowd, digest)
    finally:
        assert process.stop() == 0
    with closing(open_database(url)) as database:
        spent = spent_serials(database)
        assert crowd.told("final") == spent
        assert same(ReportStore(database).tally(campaign, 0), crowd.sum_of(layer, spent))
        with database.reading() as db:
            states = [found for (found,) in db.execute("SELECT state FROM masking_groups")]
        void = void_serials(database)
    assert states == [state]
    assert crowd.told("closed") == set(crowd.ended)
    assert not spent
    # Whoever may have been seen in a sum is in no other, and was on record before the worker died.
    assert void == (set(crowd.ended) if state == "lost" else set())
