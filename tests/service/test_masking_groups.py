"""Who finds a place in a group, and who is asked again because there was none."""

import asyncio
import threading

import numpy as np
import pytest

from groups import ISSUER, ISSUERS, identity
from neologue.aggregation.masked_aggregator import GatheringLayer, terms_for
from neologue.aggregation.masked_group import GroupServer
from neologue.device.masked import Ballot, Identity, Member
from neologue.masking.rules import GroupRules
from neologue.masking.terms import Terms
from neologue.masking.voucher import Issuers, vouch
from neologue.protocol.credential import issue
from neologue.protocol.slot import SLOTS
from neologue.service.collect.layer_cache import ServedLayer
from neologue.service.collect.replies import Over, Wait
from neologue.service.masked.group_answer import GroupAnswer, GroupReply
from neologue.service.masked.group_store import GroupStore
from neologue.service.masked.groups import MaskingGroups
from neologue.service.storage.database import Database
from neologue.service.storage.report_store import ReportStore
from service.campaigns import Town, definition
from service.masked_crowd import SECURE
from service.stores import CAMPAIGN, LAYER, add_layer, serial_of

NOW = 0.5
RULES = GroupRules(size=6, smallest=4, dropout=20, corruption=0)


def advertisement(terms: Terms, device: int) -> bytes:
    votes = Ballot.of_votes(terms.layer, np.zeros(terms.entries, int), terms.votes)
    signer = identity(device).signer
    who = Identity(CAMPAIGN, signer, vouch(CAMPAIGN, signer.public_key().public_bytes_raw(), ISSUER))
    return Member(terms, votes, RULES.promise(ISSUERS.keys), who).advertise()


def gathering() -> GatheringLayer:
    issuers = Issuers(CAMPAIGN, ISSUERS.keys)
    return GatheringLayer(CAMPAIGN, 0, LAYER, issuers, RULES, gather_seconds=60.0, stage_seconds=60.0)


def test_a_group_takes_no_more_devices_than_it_gathers(database: Database) -> None:
    """However many have its terms and come at the same time: the layer has no room for them."""
    add_layer(database, layer_size=10)
    layer = gathering()

    async def come() -> tuple[list[GroupReply], bytes | GroupAnswer]:
        async with MaskingGroups(
            ReportStore(database), leads=lambda campaign: True, patience=0.01, clock=lambda: NOW
        ) as groups:
            given = [await groups.join(layer, serial_of(device)) for device in range(9)]
            assert isinstance(given[0], bytes)
            assert set(given) == {given[0]}
            terms = Terms.parse(given[0])
            messages = (
                groups.receive(CAMPAIGN, serial_of(device), terms.group_id, advertisement(terms, device))
                for device in range(9)
            )
            return await asyncio.gather(*messages), await groups.join(layer, serial_of(9))

    told, later = asyncio.run(come())
    assert told.count(GroupAnswer.OUT) == 3
    assert later is GroupAnswer.BUSY, "4 places are left, and no group begins with so few"
    with database.reading() as db:
        assert db.execute("SELECT devices FROM masking_groups") == [(6,)]


def test_a_service_that_stops_leaves_a_group_alone_until_its_thread_is_done(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two threads that take masks off one sum at once would leave another sum."""
    add_layer(database, layer_size=10)
    layer = gathering()
    begun, allowed, happened = threading.Event(), threading.Event(), list[str]()
    advance, abandon = GroupServer.advance, GroupServer.abandon

    def slowly(group: GroupServer) -> None:
        happened.append("begun")
        begun.set()
        assert allowed.wait(300)
        advance(group)
        happened.append("done")

    def noted(group: GroupServer, reason: str) -> None:
        happened.append("abandoned")
        abandon(group, reason)

    monkeypatch.setattr(GroupServer, "advance", slowly)
    monkeypatch.setattr(GroupServer, "abandon", noted)

    async def scene() -> None:
        async with MaskingGroups(
            ReportStore(database), leads=lambda campaign: True, patience=0.01, clock=lambda: NOW
        ) as groups:
            given = await groups.join(layer, serial_of(0))
            assert isinstance(given, bytes)
            terms = Terms.parse(given)
            for device in range(RULES.size):
                await groups.receive(CAMPAIGN, serial_of(device), terms.group_id, advertisement(terms, device))
            await asyncio.to_thread(begun.wait, 300)
            stopping = asyncio.create_task(groups.stop())
            for _ in range(100):
                await asyncio.sleep(0)
            assert happened == ["begun"]
            allowed.set()
            await stopping

    asyncio.run(scene())
    assert happened == ["begun", "done", "abandoned"]


@pytest.mark.parametrize(("aggregation", "told"), [("secure", ServedLayer), ("ephemeral", Over)])
def test_who_was_asked_before_is_asked_again_only_where_votes_are_made_late(
    database: Database, aggregation: str, told: type
) -> None:
    town = Town(database)
    entry = town.coordinator.create(definition(**{**SECURE, "aggregation": aggregation}), 0.0)
    town.coordinator.start(entry.name, 0.0)
    town.coordinator.turn(0.0)
    with database.transaction() as db:
        db.execute("UPDATE layers SET low = ?, high = ?", (SLOTS, SLOTS))
    town.layer_cache.refresh()
    assert isinstance(town.layer_cache.layer_for(issue(entry.id, town.keys.issuer)), told)


def test_a_layer_that_groups_under_way_fill_invites_nobody(database: Database) -> None:
    town = Town(database)
    entry = town.coordinator.create(definition(**SECURE), 0.0)
    town.coordinator.start(entry.name, 0.0)
    town.coordinator.turn(0.0)
    with database.transaction() as db:
        db.execute("UPDATE layers SET high = ?", (SLOTS,))
    asked = town.layer(entry.id)
    assert asked
    layer, layer_index = asked
    credential = issue(entry.id, town.keys.issuer)
    assert isinstance(town.layer_cache.layer_for(credential), ServedLayer)
    terms = terms_for(layer, bytes(16), 6, 25, 0)
    store = GroupStore(database)
    assert store.form(entry.id, layer_index, terms, layer.layer_size - 7, NOW, until=1e12)
    town.layer_cache.refresh()
    assert isinstance(town.layer_cache.layer_for(credential), Wait)
    store.give_up(terms.group_id)
    town.layer_cache.refresh()
    assert isinstance(town.layer_cache.layer_for(credential), ServedLayer)
