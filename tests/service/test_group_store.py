"""What is on record of groups: one way to its end each, and no sum that could be counted twice or be unsaid."""

import numpy as np
import pytest

from layers import small_layer
from neologue.aggregation.masked_aggregator import terms_for
from neologue.discovery.decision import Decision
from neologue.service.campaigns import campaign_store, layer_store
from neologue.service.campaigns.layer_store import LayerOutcome
from neologue.service.masked.group_store import RULES, GroupState, GroupStore, Serials, SerialState
from neologue.service.storage.database import Database
from neologue.service.storage.report_store import ReportStore
from neologue.service.storage.states import CampaignState
from service.stores import CAMPAIGN, LAYER, add_layer, close_layer, serial_of, spent_serials, void_serials

NOW = 0.5
UNTIL = 10.0
TERMS = [terms_for(LAYER, bytes([number]) * 16, 3, 20, 0) for number in range(3)]
VOTES = np.arange(LAYER.randomizer.candidates, dtype=np.uint32) % 4
SERIALS = [serial_of(device) for device in range(4)]


@pytest.fixture
def store(database: Database) -> GroupStore:
    add_layer(database, layer_size=10)
    return GroupStore(database)


def formed(store: GroupStore, number: int = 0, devices: int = 4) -> bytes:
    assert store.form(CAMPAIGN, 0, TERMS[number], devices, NOW, UNTIL)
    return TERMS[number].group_id


def state(store: GroupStore, group: bytes, now: float = NOW) -> str | None:
    return store.look_up(CAMPAIGN, group, now)


def test_a_sum_is_counted_once_with_its_serials(store: GroupStore, database: Database) -> None:
    group = formed(store)
    assert store.ask_for_shares(group, SERIALS, NOW)
    assert store.count(group, VOTES, SERIALS)
    assert store.count(group, VOTES, SERIALS), "the answer of the first may have been lost"
    tally = ReportStore(database).tally(CAMPAIGN, 0)
    assert (tally.reports, tally.votes.tolist()) == (4, VOTES.tolist())
    assert spent_serials(database) == set(SERIALS)
    assert not void_serials(database)
    assert state(store, group) == "summed"
    assert store.give_up(group) == "summed", "what is counted can't be unsaid"


def test_nothing_is_for_ever(store: GroupStore, database: Database) -> None:
    group = formed(store)
    assert store.give_up(group) == "nothing"
    assert not store.ask_for_shares(group, SERIALS, NOW)
    assert not store.count(group, VOTES, SERIALS)
    assert state(store, group) == "nothing"
    assert not spent_serials(database)


def test_a_sum_can_only_be_counted_once_shares_were_asked_for(store: GroupStore) -> None:
    group = formed(store)
    assert not store.count(group, VOTES, SERIALS)
    assert state(store, group) == "masking"


def test_of_a_worker_that_is_gone_only_what_nobody_can_know_is_nothing(store: GroupStore) -> None:
    masking, unmasking = formed(store, 0), formed(store, 1)
    assert store.ask_for_shares(unmasking, SERIALS, NOW)
    assert (state(store, masking), state(store, unmasking)) == ("masking", "unmasking")
    assert (state(store, masking, UNTIL), state(store, unmasking, UNTIL)) == ("nothing", "lost")
    assert not store.ask_for_shares(masking, SERIALS, NOW), "its worker may be back"
    assert not store.count(unmasking, VOTES, SERIALS)
    assert (state(store, masking), state(store, unmasking)) == ("nothing", "lost")


def test_shares_are_not_asked_for_when_the_time_is_over(store: GroupStore) -> None:
    assert not store.ask_for_shares(formed(store), SERIALS, UNTIL)


def test_groups_under_way_take_the_room_that_they_may_need(store: GroupStore) -> None:
    formed(store, 0, 4)
    room = store.room(CAMPAIGN, 0, NOW)
    assert (room.free, room.taken) == (6, 4)
    assert not store.form(CAMPAIGN, 0, TERMS[1], 7, NOW, UNTIL)
    formed(store, 1, 6)
    formed(store, 1, 6)  # the answer of the first may have been lost
    assert store.room(CAMPAIGN, 0, NOW).free == 0
    assert store.room(CAMPAIGN, 0, 0.9).taken == 10
    assert store.room(CAMPAIGN, 0, 1.0).free == 0, "the deadline of the layer"


def test_no_more_groups_are_formed_than_share_the_risk(store: GroupStore) -> None:
    """The corrupt devices that a group withstands were derived for so many, whatever became of them."""
    store.give_up(formed(store))
    assert not store.form(CAMPAIGN, 0, TERMS[1], 4, NOW, UNTIL, most_groups=1)
    assert store.form(CAMPAIGN, 0, TERMS[0], 4, NOW, UNTIL, most_groups=1), "this one was formed before"
    assert store.form(CAMPAIGN, 0, TERMS[1], 4, NOW, UNTIL, most_groups=2)


def test_groups_of_decided_layers_share_the_risk_too(store: GroupStore, database: Database) -> None:
    """What is on record of them is deleted with the votes, and their number stays."""
    formed(store)
    nothing = np.empty(0, np.int64)
    with database.transaction() as db:
        layer_store.close_layer(db, CAMPAIGN, 0)
        decision = Decision(10, True, nothing, nothing, nothing)
        assert layer_store.settle_layer(db, CAMPAIGN, 0, decision, LayerOutcome(None, []))
    add_layer(database, layer_size=10, layer_index=1, layer=small_layer(["a", "b"], extension=3))
    assert state(store, TERMS[0].group_id) is None
    assert not store.form(CAMPAIGN, 1, TERMS[1], 4, NOW, UNTIL, most_groups=1)
    assert store.form(CAMPAIGN, 1, TERMS[1], 4, NOW, UNTIL, most_groups=2)
    assert store.form(CAMPAIGN, 1, TERMS[1], 4, NOW, UNTIL, most_groups=2), "the answer of the first may have been lost"
    assert not store.form(CAMPAIGN, 1, TERMS[2], 4, NOW, UNTIL, most_groups=2)


@pytest.mark.parametrize("spoilt", ["closed", "full", "spent"])
def test_a_sum_that_can_not_be_counted_is_lost_and_not_nothing(
    store: GroupStore, database: Database, spoilt: str
) -> None:
    group = formed(store)
    assert store.ask_for_shares(group, SERIALS, NOW)
    if spoilt == "closed":
        close_layer(database)
    elif spoilt == "full":
        with database.transaction() as db:
            db.execute("UPDATE layers SET reports = 7")
    else:
        with database.transaction() as db:
            db.execute("INSERT INTO spent (campaign, serial) VALUES (?, ?)", (CAMPAIGN, SERIALS[1]))
    before = spent_serials(database)
    assert not store.count(group, VOTES, SERIALS)
    assert state(store, group) == "lost"
    assert spent_serials(database) == before
    assert void_serials(database) == set(SERIALS), "their sum was seen"


def test_where_a_sum_may_be_seen_no_serial_is_free() -> None:
    """The whole table: two sums with votes of the same device would show the votes of somebody."""
    assert set(RULES) == set(GroupState)
    for rule in RULES.values():
        assert rule.seen == (rule.serials is not Serials.FREE)
        assert all(RULES[later].seen for later in rule.next) or not rule.seen, "what was seen stays so"
    ends = {state for state, rule in RULES.items() if not rule.next}
    assert ends == {GroupState.SUMMED, GroupState.REFUSED, GroupState.LOST, GroupState.NOTHING}


@pytest.mark.parametrize("end", ["refuse", "give_up", "count"])
def test_serials_are_void_from_the_moment_that_shares_are_asked_for(
    store: GroupStore, database: Database, end: str
) -> None:
    """Whoever takes the next step, or dies before it: no other group gets votes of theirs."""
    first, second = formed(store, 0), formed(store, 1)
    assert store.ask_for_shares(first, SERIALS, NOW)
    assert store.ask_for_shares(first, SERIALS, NOW), "the answer of the first may have been lost"
    assert void_serials(database) == set(SERIALS)
    assert {store.standing(CAMPAIGN, serial, 3) for serial in SERIALS} == {SerialState.VOID}
    overlapping = [SERIALS[0], *(serial_of(device) for device in range(10, 13))]
    assert not store.ask_for_shares(second, overlapping, NOW), "one device of two sums"
    assert state(store, second) == "masking"
    if end == "refuse":
        assert store.refuse(first) == store.refuse(first) == "refused"
    elif end == "give_up":
        assert store.give_up(first) == "lost"
    else:
        assert store.count(first, VOTES, SERIALS)
    assert not store.ask_for_shares(second, overlapping, NOW)
    told = SerialState.SPENT if end == "count" else SerialState.VOID
    assert {store.standing(CAMPAIGN, serial, 3) for serial in SERIALS} == {told}
    assert store.ask_for_shares(second, overlapping[1:], NOW)
    with database.reading() as db:
        ((refused,),) = db.execute("SELECT groups_refused FROM layers")
    assert refused == (end == "refuse")


def test_a_sum_that_was_refused_is_never_counted(store: GroupStore, database: Database) -> None:
    group = formed(store)
    assert store.refuse(group) == "masking", "nobody has seen a sum"
    assert store.ask_for_shares(group, SERIALS, NOW)
    assert store.refuse(group) == "refused"
    assert not store.count(group, VOTES, SERIALS)
    assert store.give_up(group) == state(store, group, UNTIL) == "refused"
    assert ReportStore(database).tally(CAMPAIGN, 0).reports == 0
    assert not spent_serials(database)


def test_who_is_missed_too_often_finds_no_other_group(store: GroupStore) -> None:
    missed, other = SERIALS[:2]
    for _ in range(2):
        store.strike(CAMPAIGN, {missed})
    store.strike(CAMPAIGN, {other})
    assert store.standing(CAMPAIGN, missed, 3) == "free"
    assert store.standing(CAMPAIGN, missed, 2) == "barred"
    assert store.standing(CAMPAIGN, other, 2) == "free"
    assert store.standing(bytes(16), missed, 1) == "free", "in another campaign"


def test_who_has_shared_false_secrets_is_void(store: GroupStore, database: Database) -> None:
    group, false = formed(store), serial_of(9)
    assert store.ask_for_shares(group, SERIALS, NOW)
    assert store.give_up(group, {false, SERIALS[0]}) == "lost"
    assert void_serials(database) == {false, *SERIALS}


def test_nothing_is_left_of_devices_in_groups_when_a_campaign_is_over(store: GroupStore, database: Database) -> None:
    assert store.ask_for_shares(formed(store), SERIALS, NOW)
    store.strike(CAMPAIGN, {SERIALS[0]})
    with database.transaction() as db:
        assert campaign_store.move(db, CAMPAIGN, (CampaignState.RUNNING,), CampaignState.ABORTED, NOW)
    assert not void_serials(database)
    assert store.standing(CAMPAIGN, SERIALS[0], 1) == "free"


def test_another_campaign_has_no_such_group(store: GroupStore) -> None:
    group = formed(store)
    assert store.look_up(bytes(16), group, NOW) is None
    assert store.look_up(CAMPAIGN, 16 * b"x", NOW) is None
