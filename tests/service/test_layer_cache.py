"""The board: what a device is told that checks in, by where its slot lies."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from neologue.protocol.credential import Credential, issue
from neologue.protocol.slot import SLOTS, slot
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.collect.layer_cache import ServedLayer
from neologue.service.collect.replies import Over, Wait
from neologue.service.storage.database_address import open_database
from neologue.service.storage.migrations import migrate
from service.campaigns import Town, definition

SECONDS = 7
"""How long a device waits that need not wait longer."""
DEVICES = 3000


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    database = open_database(str(tmp_path_factory.mktemp("board") / "service.db"))
    migrate(database)
    yield Town(database)
    database.close()


@pytest.fixture(scope="module")
def entry(town: Town) -> CampaignRow:
    """A campaign whose first layer is open."""
    described = definition(devices=DEVICES, check_in_seconds=SECONDS, parameters={"passes": 3})
    town.coordinator.create(described, 0.0)
    running = town.coordinator.start(described.name, 0.0)
    town.coordinator.turn(0.0)
    return running


@pytest.fixture(scope="module")
def credential(town: Town, entry: CampaignRow) -> Credential:
    """One of a device with one of the last slots."""
    while True:
        credential = issue(entry.id, town.keys.issuer)
        if slot(entry.slot_secret, credential.serial) > SLOTS // 10 * 9:
            return credential


@pytest.fixture
def layer_index(entry: CampaignRow, credential: Credential) -> int:
    return slot(entry.slot_secret, credential.serial)


def invite_slots(town: Town, low: int, high: int) -> None:
    with town.database.transaction() as db:
        db.execute("UPDATE layers SET low = ?, high = ?", (low, high))
    town.layer_cache.refresh()


def group_of(town: Town) -> int:
    with town.database.reading() as db:
        ((size,),) = db.execute("SELECT layer_size FROM layers")
    return int(size)


def wait_behind(town: Town, credential: Credential, layer_index: int, devices: int) -> int:
    """How long a device waits that so many others lie before, behind the range that is open."""
    invite_slots(town, 0, layer_index - -(-devices * SLOTS // DEVICES))
    told = town.layer_cache.layer_for(credential)
    assert isinstance(told, Wait)
    return told.retry_after


def test_the_slots_of_the_range_are_invited_and_no_other(town: Town, credential: Credential, layer_index: int) -> None:
    for low, high, told in (
        (0, layer_index, Wait),
        (0, layer_index + 1, ServedLayer),
        (layer_index, layer_index + 1, ServedLayer),
        (layer_index, SLOTS, ServedLayer),
        (layer_index + 1, SLOTS, Over),
    ):
        invite_slots(town, low, high)
        assert isinstance(town.layer_cache.layer_for(credential), told)


def test_who_lies_just_behind_the_range_waits_no_longer_than_anybody(
    town: Town, credential: Credential, layer_index: int
) -> None:
    size = group_of(town)
    for devices in (0, 1, size, 2 * size, 4 * size - 1):
        assert wait_behind(town, credential, layer_index, devices) == SECONDS


def test_who_is_layers_away_waits_for_as_many_check_ins(town: Town, credential: Credential, layer_index: int) -> None:
    size = group_of(town)
    assert 10 * size < DEVICES * 9 // 10
    for layers in range(2, 6):
        assert wait_behind(town, credential, layer_index, 2 * layers * size) == layers * SECONDS
        assert wait_behind(town, credential, layer_index, 2 * layers * size - 1) == max(1, layers - 1) * SECONDS


def test_a_device_waits_the_longer_the_farther_away_it_is_and_never_less_than_a_check_in(
    town: Town, credential: Credential, layer_index: int
) -> None:
    waits = [wait_behind(town, credential, layer_index, devices) for devices in range(0, DEVICES * 9 // 10, 50)]
    assert all(before <= after for before, after in pairwise(waits))
    assert min(waits) == SECONDS
    assert max(waits) == 5 * SECONDS


def test_while_nobody_is_asked_everybody_waits_the_same(
    town: Town, entry: CampaignRow, credential: Credential, layer_index: int
) -> None:
    """How far away a slot is says nothing as long as no layer goes on."""
    assert wait_behind(town, credential, layer_index, DEVICES * 9 // 10) > SECONDS
    town.coordinator.pause(entry.name, 1.0)
    try:
        for low, high in ((0, SLOTS // 100), (0, SLOTS), (SLOTS, SLOTS)):
            invite_slots(town, low, high)
            assert town.layer_cache.layer_for(credential) == Wait(SECONDS)
    finally:
        town.coordinator.start(entry.name, 1.0)
