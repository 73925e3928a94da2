"""Hostile devices in groups of secure aggregation: what one can do to others, how often, and who notices."""

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacks.device.masked_devices import GROUP, Device, MaskedCampaign, statuses
from attacks.stranger.wire import attacked
from neologue.masking import shamir
from neologue.service.storage.database_address import open_database
from neologue.service.storage.report_store import ReportStore
from neologue.service.worker import Worker
from service.serving import Process, Served, free_port, wait_until
from service.stores import spent_serials, void_serials

SHARING, VECTOR, UNMASKING = 3, 5, 9


@pytest.fixture(scope="module")
def attack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Worker]]:
    limits: dict[str, Any] = {"failures_per_minute": 1e6, "requests_per_second": 1e6, "group_patience": 0.5}
    with attacked(tmp_path_factory.mktemp("attacked"), **limits) as running:
        yield running


def serials(devices: list[Device]) -> set[bytes]:
    return {device.serial for device in devices}


def counted(worker: Worker, campaign: MaskedCampaign) -> int:
    return ReportStore(worker.database).tally(campaign.id, 0).reports


@pytest.mark.parametrize(("added", "everywhere"), [(25, True), (4, True), (6, False)], ids=["25", "in range", "some"])
def test_one_credential_kills_one_group_and_no_second(
    attack: tuple[Served, Worker], added: int, everywhere: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Too many votes for all candidates or for some: the group is refused, and all in it have had their turn."""
    service, worker = attack
    campaign = MaskedCampaign(service, f"killed-{added}")
    devices = campaign.devices(GROUP)
    hostile = devices[3]
    hostile.votes = np.zeros(campaign.entries, np.int64)
    hostile.votes[: None if everywhere else 20] = added
    before = void_serials(worker.database)
    with caplog.at_level(logging.WARNING):
        assert statuses(campaign.group(devices)) == [410] * GROUP
    assert void_serials(worker.database) - before == serials(devices), "their sum was seen"
    assert not spent_serials(worker.database) & serials(devices)
    assert counted(worker, campaign) == 0
    # Nobody of them is in another sum, whatever they say.
    for device in devices:
        assert campaign.join(device).code == "closed"
    # An operator is told, in the log, the metrics and the layers of the campaign.
    assert f"campaign {campaign.id.hex()}: the votes of a group were refused" in caplog.text
    metrics = service.ask("GET", "/metrics").body.decode()
    assert f'neologue_alarms_total{{campaign="{campaign.id.hex()}",kind="refused_sum"}} 1.0' in metrics
    assert 'neologue_cohorts_total{outcome="refused"}' in metrics
    (warning,) = campaign.warnings()
    assert warning.startswith("The votes of 1 group were refused")
    # Others go on as if nothing had been.
    assert statuses(campaign.group(campaign.devices(GROUP))) == [200] * GROUP
    assert counted(worker, campaign) == GROUP


def test_a_device_in_two_rosters_spoils_no_second_sum(attack: tuple[Served, Worker]) -> None:
    """Counted in one group, it sends votes to another that it had joined before: they are not taken."""
    service, worker = attack
    campaign = MaskedCampaign(service, "twofold")
    devices = campaign.devices(2 * GROUP - 1)
    first, hostile, second = devices[: GROUP - 1], devices[GROUP - 1], devices[GROUP:]
    terms = [campaign.joined(device) for device in first]
    keys = campaign.member(hostile, campaign.joined(hostile))
    path = "/v1/cohorts/" + terms[0].group_id.hex()
    with ThreadPoolExecutor(2 * GROUP) as pool:
        running = [pool.submit(campaign.take_part, device, each) for device, each in zip(first, terms, strict=True)]
        roster = campaign.send(hostile, path, keys.advertise())
        # Its first group is complete; it joins the next one, too.
        shared = keys.share(roster.body)
        later = [campaign.joined(device) for device in [hostile, *second]]
        assert later[0].group_id != terms[0].group_id
        again = campaign.member(hostile, later[0])
        running += [pool.submit(campaign.take_part, *each) for each in zip(second, later[1:], strict=True)]
        other = "/v1/cohorts/" + later[0].group_id.hex()
        shared_again = again.share(campaign.send(hostile, other, again.advertise()).body)
        delivered = campaign.send(hostile, other, shared_again).body
        # The first group has its sum before the second has its vector.
        confirm = keys.confirm(campaign.send(hostile, path, keys.mask(campaign.send(hostile, path, shared).body)).body)
        assert campaign.send(hostile, path, keys.unmask(campaign.send(hostile, path, confirm).body)).status == 200
        twice = campaign.send(hostile, other, again.mask(delivered))
        told = [each.result() for each in running]
    assert twice.code == "malformed"
    assert statuses(told) == [200] * (2 * GROUP - 2)
    assert counted(worker, campaign) == 2 * GROUP - 1


@pytest.mark.parametrize("leaves", [SHARING, VECTOR])
def test_who_leaves_group_after_group_is_invited_to_no_other(attack: tuple[Served, Worker], leaves: int) -> None:
    """It makes the others wait as often as it may be missed; they are counted."""
    service, worker = attack
    campaign = MaskedCampaign(service, f"left-{leaves}", {"strikes": 2, "stage_seconds": 1.0})
    (hostile,) = campaign.devices(1)
    hostile.leaves = leaves
    for turn in (1, 2):
        assert campaign.check_in(hostile.credential)["state"] == "invited"
        others = campaign.devices(GROUP - 1)
        assert statuses(campaign.group([*others, hostile])) == [*[200] * (GROUP - 1), None]
        assert counted(worker, campaign) == turn * (GROUP - 1)
    assert campaign.check_in(hostile.credential) == {"state": "over"}
    assert campaign.join(hostile).code == "closed"


def test_those_whom_others_left_return_without_a_strike(attack: tuple[Served, Worker]) -> None:
    """Too many leave before anybody has masked votes: nothing was spent, and who stayed is invited again."""
    service, worker = attack
    campaign = MaskedCampaign(service, "deserted", {"strikes": 1, "stage_seconds": 1.0})
    devices = campaign.devices(GROUP)
    leaving = devices[:7]
    for device in leaving:
        device.leaves = SHARING
    told = campaign.group(devices)
    assert statuses(told) == [*[None] * 7, *[410] * 5]
    for device in leaving:
        assert campaign.check_in(device.credential) == {"state": "over"}
        device.leaves = None
    for device in devices[7:]:
        assert campaign.check_in(device.credential)["state"] == "invited"
    assert statuses(campaign.group([*devices[7:], *campaign.devices(7)])) == [200] * GROUP
    assert spent_serials(worker.database) >= serials(devices[7:])


@pytest.mark.parametrize("leaves", [VECTOR, None], ids=["and leaves", "and stays"])
def test_who_shares_false_secrets_is_found_and_does_it_once(
    attack: tuple[Served, Worker], leaves: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, worker = attack
    campaign = MaskedCampaign(service, f"false-{leaves or 0}", {"stage_seconds": 1.0})
    devices = campaign.devices(GROUP)
    hostile = devices[0]
    hostile.leaves = leaves
    terms = [campaign.joined(device) for device in devices]
    hostile.member = campaign.member(hostile, terms[0])
    secrets, honest = set(hostile.member._secrets.values()), shamir.shares
    monkeypatch.setattr(shamir, "shares", lambda secret, *rest: honest(secret ^ (secret in secrets), *rest))
    told = campaign.group(devices, terms)
    assert statuses(told) == [None if leaves else 410, *[410] * (GROUP - 1)]
    assert hostile.serial in void_serials(worker.database)
    assert campaign.join(hostile).code == "closed"
    metrics = service.ask("GET", "/metrics").body.decode()
    assert f'neologue_alarms_total{{campaign="{campaign.id.hex()}",kind="false_secrets"}} 1.0' in metrics


@pytest.mark.parametrize(("leaves", "told"), [(VECTOR, None), (UNMASKING, "closed")], ids=["unseen", "seen"])
def test_a_killed_service_knows_whose_votes_may_have_been_seen(tmp_path: Path, leaves: int, told: str | None) -> None:
    """kill -9 while shares are asked for: nobody of the group is in another sum. Before that, all may return."""
    process = Process(f"sqlite:///{tmp_path}/service.db", tmp_path, free_port(), "--requests-per-second", "100000")
    process.start()
    try:
        campaign = MaskedCampaign(Served(process.address, process.token), "killed", {"stage_seconds": 600.0})
        devices = campaign.devices(GROUP)
        for device in devices:
            device.leaves = leaves
        assert statuses(campaign.group(devices)) == [None] * GROUP
        process.kill()
        process.start()
        wait_until(lambda: all(campaign.join(device).status != 503 for device in devices))
        answers = [campaign.join(device) for device in devices]
        if told:
            assert {reply.code for reply in answers} == {told}
        else:
            assert {reply.json["state"] for reply in answers} == {"cohort"}
    finally:
        assert process.stop() == 0
    with closing(open_database(f"sqlite:///{tmp_path}/service.db")) as database:
        assert void_serials(database) == (serials(devices) if told else set())
