"""Places: who is invited is counted, however many come at once, and to whichever worker."""

import asyncio
import random
from collections import Counter
from contextlib import AsyncExitStack

import pytest

from neologue.aggregation.ephemeral import IntakeLayer
from neologue.protocol.credential import issue
from neologue.protocol.slot import SLOTS
from neologue.protocol.ticket import block_of, is_ticket, ticket
from neologue.service.campaigns.rounds import Round
from neologue.service.collect.check_ins import CheckIns
from neologue.service.collect.intake import Intake, IntakeLimits, Receipt
from neologue.service.collect.layer_cache import ServedLayer
from neologue.service.collect.places import Places
from neologue.service.collect.replies import Invited, Wait
from neologue.service.masked.groups import MaskingGroups
from neologue.service.ops.concurrency import Threads
from neologue.service.storage.database import Database
from neologue.service.storage.database_address import open_database
from neologue.service.storage.place_store import Block, PlaceStore, choose, kept_places
from neologue.service.storage.report_store import ReportStore
from service.campaigns import Town, definition
from service.stores import CAMPAIGN, LAYER, add_layer, report_of, serial_of, spent_serials

SIZE = 60
MINIMUM = 10
COLLECTING = IntakeLayer(layer_index=0, asks=LAYER, minimum=MINIMUM)
SECONDS = 0.5
"""For how long a place is kept after its block is at hand, which lasts as long; the deadline of the layer is at 1."""
HASTY = IntakeLimits(patience=0.05, interval=0.005)
SERVED = ServedLayer(
    CAMPAIGN,
    definition(answer_seconds=SECONDS),
    0,
    LAYER.digest,
    Round(SIZE, 0, SLOTS, 0.0, 1.0),
    operator=b"",
    signature=b"",
    succession=None,
    promise=None,
    collecting=COLLECTING,
)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class ServingWorker:
    """As much of a worker as takes reports and gives places."""

    def __init__(self, database: Database, threads: Threads, clock: Clock) -> None:
        self.intake = Intake(ReportStore(database), HASTY, clock=clock)
        self.places = Places(PlaceStore(database), self.intake, threads, clock)

    async def invite(self, device: int) -> int | None:
        return await self.places.reserve(SERVED, serial_of(device))

    async def send(self, device: int, block: int) -> Receipt:
        return await self.intake.receive(CAMPAIGN, COLLECTING, serial_of(device), report_of(device), block)


class Crowd:
    """Two workers of one database, between which devices choose at random each time."""

    def __init__(self, url: str, clock: Clock) -> None:
        self.databases = [open_database(url), open_database(url)]
        self._clock, self._dice = clock, random.Random(7)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "Crowd":
        self._threads = Threads("service", 2)
        self.workers = [ServingWorker(database, self._threads, self._clock) for database in self.databases]
        for worker in self.workers:
            await self._stack.enter_async_context(worker.intake)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()
        await self._threads.stop()
        for database in self.databases:
            database.close()

    def any_worker(self) -> ServingWorker:
        return self._dice.choice(self.workers)

    async def invite(self, devices: range) -> dict[int, int]:
        """All check in at once; the blocks of those that are invited."""
        blocks = await asyncio.gather(*(self.any_worker().invite(device) for device in devices))
        return {device: block for device, block in zip(devices, blocks, strict=True) if block is not None}

    async def answer(self, invited: dict[int, int]) -> Counter[Receipt]:
        """All send until they are told what became of their reports."""
        return Counter(await asyncio.gather(*(self._sent(*each) for each in invited.items())))

    async def _sent(self, device: int, block: int) -> Receipt:
        async with asyncio.timeout(60):
            while (told := await self.any_worker().send(device, block)) is Receipt.RECEIVED:
                pass
        return told


def test_of_a_crowd_at_two_workers_as_many_are_invited_as_are_counted(url: str, database: Database) -> None:
    add_layer(database, layer_size=SIZE)

    async def scene() -> None:
        async with Crowd(url, Clock()) as crowd:
            invited = await crowd.invite(range(200))
            assert len(invited) == SIZE
            assert not await crowd.invite(range(200, 220)), "the others wait"
            assert await crowd.answer(invited) == {Receipt.FINAL: SIZE}

    asyncio.run(scene())
    assert len(spent_serials(database)) == SIZE


def test_without_places_some_of_the_same_crowd_answer_in_vain(url: str, database: Database) -> None:
    """What the test before this one would have seen of a service that invites everybody."""
    add_layer(database, layer_size=SIZE)

    async def scene() -> None:
        async with Crowd(url, Clock()) as crowd:
            told = await crowd.answer(dict.fromkeys(range(100), 0))
            assert told[Receipt.CLOSED] >= 100 - SIZE

    asyncio.run(scene())


def test_a_place_that_nobody_uses_is_given_to_somebody_else(url: str, database: Database) -> None:
    add_layer(database, layer_size=SIZE)
    clock = Clock()

    async def scene() -> None:
        async with Crowd(url, clock) as crowd:
            first = await crowd.invite(range(200))
            assert len(first) == SIZE
            silent = dict(list(first.items())[:25])
            assert await crowd.answer({device: first[device] for device in first.keys() - silent.keys()}) == {
                Receipt.FINAL: SIZE - 25
            }
            assert not await crowd.invite(range(200, 300))
            clock.now = 0.9
            for worker in crowd.workers:
                await worker.places.refresh()
            assert not await crowd.invite(range(200, 300)), "their time is not over"
            # Behind the deadline of these, and before the layer's.
            with database.transaction() as db:
                db.execute("UPDATE layers SET deadline = 10.0")
            clock.now = 2.0
            second = await crowd.invite(range(200, 300))
            assert len(second) == 25
            # One who comes late takes nobody's place, and is told to ask again for as long as the layer is open.
            late = next(iter(silent))
            assert await crowd.any_worker().send(late, silent[late]) is Receipt.RECEIVED
            assert await crowd.answer(second) == {Receipt.FINAL: 25}
            assert await crowd.answer({late: silent[late]}) == {Receipt.CLOSED: 1}

    asyncio.run(scene())


def test_one_who_comes_late_is_counted_if_there_is_room(url: str, database: Database) -> None:
    add_layer(database, layer_size=SIZE)
    clock = Clock()

    async def scene() -> None:
        async with Crowd(url, clock) as crowd:
            invited = await crowd.invite(range(MINIMUM))
            assert len(invited) == MINIMUM
            clock.now = 5.0
            assert await crowd.answer(invited) == {Receipt.FINAL: MINIMUM}

    asyncio.run(scene())


def test_a_device_that_checks_in_again_keeps_its_place(database: Database) -> None:
    add_layer(database, layer_size=SIZE)
    clock = Clock()

    async def scene() -> None:
        threads = Threads("service", 1)
        worker = ServingWorker(database, threads, clock)
        first = await worker.invite(0)
        for device in range(1, SIZE):
            assert await worker.invite(device)
        assert await worker.invite(0) == first
        assert await worker.invite(SIZE) is None
        await threads.stop()

    asyncio.run(scene())
    with database.reading() as db:
        assert sum(kept_places(db, CAMPAIGN, 0, 0.0).values()) == SIZE


def test_what_nobody_asks_for_is_given_back(database: Database) -> None:
    add_layer(database, layer_size=SIZE)
    clock = Clock()

    async def scene() -> None:
        threads = Threads("service", 1)
        worker = ServingWorker(database, threads, clock)
        assert await worker.invite(0)
        with database.reading() as db:
            assert sum(kept_places(db, CAMPAIGN, 0, clock.now).values()) == SIZE // 4
        clock.now = SECONDS
        await worker.places.refresh()
        with database.reading() as db:
            assert sum(kept_places(db, CAMPAIGN, 0, clock.now).values()) == 1
        assert await worker.invite(1)
        await worker.places.stop()
        with database.reading() as db:
            assert sum(kept_places(db, CAMPAIGN, 0, clock.now).values()) == 2
        await threads.stop()

    asyncio.run(scene())


def test_reports_that_wait_without_places_are_left_room(database: Database) -> None:
    add_layer(database, layer_size=SIZE)
    store = PlaceStore(database)
    assert store.take_block(CAMPAIGN, 0, {0: SIZE}, 0.0, 1.0) is None
    assert store.take_block(CAMPAIGN, 0, {0: SIZE - 4}, 0.0, 1.0) == Block(1, 1, 1.0)
    assert store.take_block(CAMPAIGN, 0, {0: SIZE - 4, 1: 2}, 0.0, 1.0) == Block(2, 1, 1.0), "one of two has a place"


@pytest.mark.parametrize(
    ("new", "kept", "room", "counted", "used"),
    [
        ("aaa", {}, 9, "aaa", {}),  # no places at all, as without blocks
        ("aab", {1: 2, 2: 1}, 3, "aab", {1: 2, 2: 1}),
        ("zza", {1: 1}, 2, "za", {1: 1}),  # the second stranger would take the place of the third
        ("zzz", {1: 6}, 9, "zzz", {}),
        ("zzz", {1: 7}, 9, "zz", {}),
        ("aaaa", {1: 2, 2: 2}, 6, "aaaa", {1: 2}),  # two are there, and two strangers take what is free
        ("aaaa", {1: 5}, 5, "aaa", {1: 3}),  # one left behind could not be a batch of two
        ("aaaa", {1: 4, 2: 1}, 5, "aaa", {1: 3}),
        ("aaa", {1: 4}, 4, "aa", {1: 2}),
        ("aaaa", {1: 4}, 5, "aaaa", {1: 4}),  # nobody else has a place
        ("aa", {1: 3}, 3, "a", {1: 1}),  # less than a batch: they wait for the third
    ],
)
def test_a_batch_takes_nobodys_place(
    new: str, kept: dict[int, int], room: int, counted: str, used: dict[int, int]
) -> None:
    blocks = {"a": 1, "b": 2, "z": 99}
    serials = [b"%d" % number for number in range(len(new))]
    by_serial = {serial: blocks[letter] for serial, letter in zip(serials, new, strict=True)}
    chosen, places = choose(serials, by_serial, kept, room, minimum=2)
    assert Counter(by_serial[serial] for serial in chosen) == Counter(blocks[letter] for letter in counted)
    assert places == used


def test_a_layer_waits_for_those_it_has_invited_and_no_longer(database: Database) -> None:
    town = Town(database)
    entry = town.coordinator.create(definition(answer_seconds=30.0), 0.0)
    town.coordinator.start(entry.name, 0.0)
    town.coordinator.turn(0.0)
    asked = town.layer(entry.id)
    assert asked
    layer, layer_index = asked
    town.answer(entry.id, layer.layer_size - 20)
    assert PlaceStore(database).take_block(entry.id, layer_index, {}, 99.0, 130.0)

    def states() -> list[str]:
        with database.reading() as db:
            return [state for (state,) in db.execute("SELECT state FROM layers ORDER BY layer_index")]

    town.coordinator.turn(101.0)
    assert states() == ["open"], "though its deadline was at 100"
    assert PlaceStore(database).take_block(entry.id, layer_index, {}, 101.0, 130.0) is None
    town.coordinator.turn(130.0)
    assert states()[0] == "decided"
    with database.reading() as db:
        assert not db.execute("SELECT 1 FROM place_blocks WHERE layer_index = ?", (layer_index,))


def test_a_ticket_names_the_place_and_cant_name_another(database: Database) -> None:
    town = Town(database)
    entry = town.coordinator.create(definition(), 0.0)
    town.coordinator.start(entry.name, 0.0)
    town.coordinator.turn(0.0)
    with database.transaction() as db:
        db.execute("UPDATE layers SET high = ?", (SLOTS,))
    town.layer_cache.refresh()
    credential = issue(entry.id, town.keys.issuer)

    async def scene() -> Invited | Wait:
        threads = Threads("service", 1)
        places = Places(PlaceStore(database), Intake(town.storage), threads, lambda: 0.0)
        groups = MaskingGroups(town.storage, leads=lambda campaign: True, patience=0.1)
        reply = await CheckIns(town.layer_cache, places, groups).reply(credential)
        await threads.stop()
        assert isinstance(reply, Invited | Wait)
        return reply

    reply = asyncio.run(scene())
    assert isinstance(reply, Invited)
    shown, digest = bytes.fromhex(reply.ticket), bytes.fromhex(reply.layer)
    secret = town.keys.ticket
    assert block_of(shown) == 1
    assert shown == ticket(secret, entry.id, digest, credential.serial, 1)
    assert is_ticket(shown, secret, entry.id, digest, credential.serial)
    assert not is_ticket(b"\0\0\0\2" + shown[4:], secret, entry.id, digest, credential.serial)
