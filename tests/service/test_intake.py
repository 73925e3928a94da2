"""The intake: confirmed when durable and not before, never fewer than the minimum, and never without bound."""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from neologue.aggregation.ephemeral import IntakeLayer
from neologue.aggregation.kernels import Votes
from neologue.entropy import SeededEntropy
from neologue.errors import ReportError, StorageError
from neologue.protocol.report import make_report
from neologue.service.collect.intake import Intake, IntakeLimits, Receipt
from neologue.service.ops import concurrency
from neologue.service.storage.database import Database
from neologue.service.storage.database_address import open_database
from neologue.service.storage.report_store import BatchOutcome, ReportStore
from service.stores import (
    CAMPAIGN,
    LAYER,
    add_layer,
    batch_of,
    close_layer,
    devices_by_serial,
    report_of,
    same,
    serial_of,
    spent_serials,
    tally_of,
)

SERVED = IntakeLayer(layer_index=0, asks=LAYER, minimum=10)
PATIENT = IntakeLimits(patience=300.0, interval=0.01)
"""Only what is decided answers a sender, never the time."""
HASTY = IntakeLimits(patience=0.05, interval=0.01)


@pytest.fixture
def storage(database: Database) -> ReportStore:
    add_layer(database)
    return ReportStore(database)


def send(intake: Intake, device: int) -> Awaitable[Receipt]:
    return asyncio.create_task(intake.receive(CAMPAIGN, SERVED, serial_of(device), report_of(device)))


async def send_all(intake: Intake, devices: Iterable[int]) -> list[Receipt]:
    return await asyncio.wait_for(asyncio.gather(*(send(intake, device) for device in devices)), 300)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(300):
        while not condition():
            await asyncio.sleep(0.002)


class Hindered(ReportStore):
    """A storage that fails for a while."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.away = True
        self.tries = 0

    def commit_batch(
        self,
        campaign: bytes,
        layer_index: int,
        reports: Mapping[bytes, Votes],
        minimum: int,
        *rest: Any,  # noqa: ANN401
    ) -> BatchOutcome:
        self.tries += 1
        if self.away:
            raise StorageError("the database is away")
        return super().commit_batch(campaign, layer_index, reports, minimum, *rest)


def test_reports_are_final_once_they_are_enough(storage: ReportStore) -> None:
    async def scene() -> None:
        async with Intake(storage, PATIENT) as intake:
            early = [send(intake, device) for device in range(9)]
            await until(lambda: intake.waiting == 9)
            assert not spent_serials(storage.database)
            assert await send(intake, 9) == Receipt.FINAL
            assert await asyncio.gather(*early) == [Receipt.FINAL] * 9
            assert (intake.waiting, intake.held_bytes) == (0, 0)
        assert same(storage.tally(CAMPAIGN, 0), tally_of(range(10)))

    asyncio.run(scene())


def test_too_few_are_told_to_ask_again_and_wait_for_others(storage: ReportStore) -> None:
    async def scene() -> None:
        async with Intake(storage, HASTY) as intake:
            assert await send_all(intake, range(9)) == [Receipt.RECEIVED] * 9
            assert intake.waiting == 9
            assert not spent_serials(storage.database)
            # Two of them send again, with one who is new: each of them is counted once.
            while (told := await send_all(intake, [0, 1, 9])) != [Receipt.FINAL] * 3:
                assert Receipt.CLOSED not in told
        assert same(storage.tally(CAMPAIGN, 0), tally_of(range(10)))

    asyncio.run(scene())


def test_one_who_sends_twice_at_once_is_one(storage: ReportStore) -> None:
    async def scene() -> None:
        async with Intake(storage, PATIENT) as intake:
            twice = [send(intake, device) for device in [*range(9), *range(9)]]
            await until(lambda: intake.waiting == 9)
            # The same serial with another report changes nothing.
            other = make_report(LAYER, np.array([3]), SeededEntropy(99))
            twice.append(asyncio.create_task(intake.receive(CAMPAIGN, SERVED, serial_of(0), other)))
            assert await send(intake, 9) == Receipt.FINAL
            assert set(await asyncio.gather(*twice)) == {Receipt.FINAL}
        assert same(storage.tally(CAMPAIGN, 0), tally_of(range(10)))

    asyncio.run(scene())


def test_a_batch_that_took_long_makes_nobody_ask_again(storage: ReportStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pause after it, which spares the database, ends before the patience of who sends meanwhile."""
    took, pauses = [0.0], list[float]()

    class Slow(ReportStore):
        def commit_batch(
            self,
            campaign: bytes,
            layer_index: int,
            reports: Mapping[bytes, Votes],
            minimum: int,
            *rest: Any,  # noqa: ANN401
        ) -> BatchOutcome:
            if len(reports) == 10:
                took[0] += 10_000.0
            return super().commit_batch(campaign, layer_index, reports, minimum, *rest)

    async def pause(seconds: float, *, unless: asyncio.Event) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0)

    monkeypatch.setattr(concurrency, "_wait", pause)
    monkeypatch.setattr(concurrency, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + took[0]))

    async def scene() -> None:
        async with Intake(Slow(storage.database), IntakeLimits(patience=600.0, interval=0.01)) as intake:
            assert set(await send_all(intake, range(10))) == {Receipt.FINAL}
            assert await send(intake, 4) == Receipt.FINAL

    asyncio.run(scene())
    assert max(pauses) == 300.0, "which is half of the patience, and would be hours"


def test_one_who_was_counted_is_told_so_whoever_else_is_there(storage: ReportStore) -> None:
    storage.commit_batch(CAMPAIGN, 0, batch_of(range(10)), minimum=10)

    async def scene() -> None:
        async with Intake(storage, PATIENT) as intake:
            assert await send(intake, 4) == Receipt.FINAL
            assert intake.waiting == 0

    asyncio.run(scene())
    assert same(storage.tally(CAMPAIGN, 0), tally_of(range(10)))


def test_a_sender_who_hangs_up_takes_nobody_along(storage: ReportStore) -> None:
    async def scene() -> None:
        async with Intake(storage, PATIENT) as intake:
            tasks = [asyncio.create_task(intake.receive(CAMPAIGN, SERVED, serial_of(0), report_of(0)))]
            others = [send(intake, device) for device in range(9)]
            await until(lambda: intake.waiting == 9)
            tasks[0].cancel()
            assert await send(intake, 9) == Receipt.FINAL
            assert await asyncio.gather(*others) == [Receipt.FINAL] * 9

    asyncio.run(scene())


def test_what_is_no_report_is_refused_at_once(storage: ReportStore) -> None:
    async def scene() -> None:
        async with Intake(storage, PATIENT) as intake:
            with pytest.raises(ReportError):
                await intake.receive(CAMPAIGN, SERVED, serial_of(0), report_of(0)[:-1])
            assert intake.waiting == 0

    asyncio.run(scene())


def test_what_waits_when_a_layer_closes_is_told_and_dropped(storage: ReportStore) -> None:
    storage.commit_batch(CAMPAIGN, 0, batch_of(range(10)), minimum=10)

    async def scene() -> None:
        async with Intake(storage, PATIENT) as intake:
            waiting = [send(intake, device) for device in range(20, 25)]
            await until(lambda: intake.waiting == 5)
            close_layer(storage.database)
            intake.close(CAMPAIGN, 0)
            assert set(await asyncio.gather(*waiting)) == {Receipt.CLOSED}
            assert (intake.waiting, intake.held_bytes) == (0, 0)
            # Later, who was counted and who was not are told apart.
            assert await send_all(intake, [3, 22]) == [Receipt.FINAL, Receipt.CLOSED]
            intake.close(CAMPAIGN, 0)

    asyncio.run(scene())
    assert same(storage.tally(CAMPAIGN, 0), tally_of(range(10)))


def test_a_group_that_is_full_closes_to_the_rest(database: Database) -> None:
    add_layer(database, layer_size=25)

    async def scene() -> None:
        async with Intake(ReportStore(database), PATIENT) as intake:
            told = await send_all(intake, range(40))
            assert (told.count(Receipt.FINAL), told.count(Receipt.CLOSED)) == (25, 15)
            assert told[:25] == [Receipt.FINAL] * 25

    asyncio.run(scene())


def test_more_than_a_batch_is_written_in_several(storage: ReportStore) -> None:
    async def scene() -> None:
        async with Intake(storage, IntakeLimits(patience=30.0, interval=0.01, most_reports=40)) as intake:
            assert set(await send_all(intake, range(215))) == {Receipt.FINAL}
        assert same(storage.tally(CAMPAIGN, 0), tally_of(range(215)))

    asyncio.run(scene())


def test_a_database_that_is_away_confirms_nothing_and_loses_nothing(
    storage: ReportStore, caplog: pytest.LogCaptureFixture
) -> None:
    hindered = Hindered(storage.database)

    async def scene() -> None:
        async with Intake(hindered, HASTY) as intake:
            with caplog.at_level(logging.ERROR):
                assert await send_all(intake, range(20)) == [Receipt.RECEIVED] * 20
                await until(lambda: hindered.tries >= 3)
            assert intake.waiting == 20
            hindered.away = False
            await until(lambda: intake.waiting == 0)

    asyncio.run(scene())
    assert same(storage.tally(CAMPAIGN, 0), tally_of(range(20)))
    assert "the database is away" in caplog.text
    assert not any(
        serial_of(device).hex() in caplog.text or repr(serial_of(device)) in caplog.text for device in range(20)
    )


def test_when_too_much_waits_the_intake_is_busy(storage: ReportStore) -> None:
    hindered = Hindered(storage.database)
    limits = IntakeLimits(patience=0.05, interval=0.01, most_bytes=20_000)

    async def scene() -> None:
        async with Intake(hindered, limits) as intake:
            told = await send_all(intake, range(200))
            taken = told.count(Receipt.RECEIVED)
            assert told == [Receipt.RECEIVED] * taken + [Receipt.BUSY] * (200 - taken)
            assert 10 <= taken < 60
            assert 20_000 <= intake.held_bytes < 25_000
            hindered.away = False
            await until(lambda: intake.waiting == 0)
            assert set(await send_all(intake, range(taken, taken + 10))) <= {Receipt.FINAL, Receipt.RECEIVED}

    asyncio.run(scene())


def test_an_error_nobody_thought_of_does_not_end_the_intake(
    storage: ReportStore, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Hindered):
        def commit_batch(
            self,
            campaign: bytes,
            layer_index: int,
            reports: Mapping[bytes, Votes],
            minimum: int,
            *rest: Any,  # noqa: ANN401
        ) -> BatchOutcome:
            if self.away:
                self.tries += 1
                raise ValueError(f"{list(reports)}")
            return super().commit_batch(campaign, layer_index, reports, minimum, *rest)

    broken = Broken(storage.database)

    async def scene() -> None:
        async with Intake(broken, PATIENT) as intake:
            sent = [send(intake, device) for device in range(10)]
            await until(lambda: broken.tries >= 1)
            broken.away = False
            assert await asyncio.gather(*sent) == [Receipt.FINAL] * 10

    asyncio.run(scene())
    assert re.search(r"tried again: ValueError in commit_batch \(test_intake.py:\d+\)$", caplog.messages[0]), (
        "and nothing that it quotes"
    )


def test_stopping_writes_what_is_enough_and_confirms_nothing_else(storage: ReportStore) -> None:
    add_layer(storage.database, layer_index=1)
    other = IntakeLayer(layer_index=1, asks=LAYER, minimum=10)

    async def scene() -> None:
        intake = Intake(storage, IntakeLimits(patience=30.0, interval=30.0))
        async with intake:
            enough = [send(intake, device) for device in range(12)]
            few = [
                asyncio.create_task(intake.receive(CAMPAIGN, other, serial_of(device), report_of(device)))
                for device in range(20, 25)
            ]
            await until(lambda: intake.waiting == 17)
        assert await asyncio.gather(*enough) == [Receipt.FINAL] * 12
        assert await asyncio.gather(*few) == [Receipt.RECEIVED] * 5
        assert intake.waiting == 0
        assert await send(intake, 30) == Receipt.BUSY

    asyncio.run(scene())
    assert same(storage.tally(CAMPAIGN, 0), tally_of(range(12)))
    assert same(storage.tally(CAMPAIGN, 1), tally_of([]))


def test_stopping_does_not_wait_for_a_database_that_is_away(storage: ReportStore) -> None:
    hindered = Hindered(storage.database)

    async def scene() -> None:
        async with Intake(hindered, PATIENT) as intake:
            sent = [send(intake, device) for device in range(12)]
            await until(lambda: hindered.tries >= 2)
        assert await asyncio.gather(*sent) == [Receipt.RECEIVED] * 12

    asyncio.run(scene())
    assert not spent_serials(storage.database)


def test_two_workers_with_the_same_devices_count_each_once(storage: ReportStore, url: str) -> None:
    """Every device sends to one worker, and as long as it is not final, to the other."""
    devices, more = range(150), range(150, 150 + SERVED.minimum)
    final: set[int] = set()

    async def device(intakes: list[Intake], number: int) -> None:
        turn = number
        # If fewer are left, neither worker may ever have enough of them at once.
        while len(final) <= len(devices) - 2 * SERVED.minimum:
            if await send(intakes[turn % 2], number) == Receipt.FINAL:
                final.add(number)
                return
            turn += 1

    async def scene() -> None:
        second = ReportStore(open_database(url))
        async with Intake(storage, HASTY) as one, Intake(second, HASTY) as two:
            await asyncio.wait_for(asyncio.gather(*(device([one, two], number) for number in devices)), 300)
        second.database.close()
        async with Intake(storage, PATIENT) as one:
            assert set(await send_all(one, [*(set(devices) - final), *more])) == {Receipt.FINAL}

    asyncio.run(scene())
    everybody = [*devices, *more]
    assert spent_serials(storage.database) == set(devices_by_serial(everybody))
    assert same(storage.tally(CAMPAIGN, 0), tally_of(everybody))
