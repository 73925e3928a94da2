"""Workers that are killed at random moments, again and again, while devices go on sending.

A few times in a test, hundreds of times in a soak; in tests/, and in a process of its own, for it forks:

    python -m service.crashes DATABASE KILLS
"""

import asyncio
import multiprocessing
import random
import sys
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from typing import Final

from neologue.aggregation.ephemeral import IntakeLayer
from neologue.service.collect.intake import Intake, IntakeLimits, Receipt
from neologue.service.storage.database_address import open_database
from neologue.service.storage.migrations import migrate
from neologue.service.storage.report_store import ReportStore
from service.stores import (
    CAMPAIGN,
    LAYER,
    add_layer,
    batch_of,
    devices_by_serial,
    report_of,
    same,
    serial_of,
    spent_serials,
    tally_of,
)

WORKERS: Final = 2
MINIMUM: Final = 5
GROUP: Final = 40
"""How many devices send to a worker at once."""
LONGEST: Final = 0.1
"""Workers are killed within so many seconds after the first of them has confirmed something."""


def endure(url: str, kills: int, seed: int = 0) -> int:
    """Kill workers so many times; then check that what was confirmed is what was counted, bit for bit.

    Says how many reports that were. Every device sends its report again and again until it is confirmed, to whichever
    worker there is; some go on even then, as if they had not heard.
    """
    dice = random.Random(seed)
    database = open_database(url)
    migrate(database)
    add_layer(database)
    storage = ReportStore(database)
    # Compiles, before anybody is forked who would have to.
    storage.commit_batch(CAMPAIGN, 0, batch_of(range(MINIMUM)), MINIMUM)
    known = MINIMUM
    confirmed: set[int] = set(range(MINIMUM))
    reports: dict[int, bytes] = {}
    while kills > 0:
        reports |= {device: report_of(device) for device in range(known, known + GROUP)}
        known += GROUP
        database.close()  # a connection must not be inherited
        confirmed.update(_served_until_killed(url, list(reports.items()), dice))
        kills -= WORKERS
        reports = {
            device: report for device, report in reports.items() if device not in confirmed or dice.random() < 0.2
        }
    spent = spent_serials(database)
    counted = {device for serial, device in devices_by_serial(range(known)).items() if serial in spent}
    assert len(spent) == len(counted), "somebody was counted whom nobody knows"
    assert confirmed <= counted, f"{len(confirmed - counted)} reports were confirmed and then lost"
    assert same(storage.tally(CAMPAIGN, 0), tally_of(counted)), "the tally is not the sum of those counted"
    # At last nobody is killed any more, and everybody hears; with some more, lest those not yet counted are too few.
    known += GROUP
    confirmed.update(asyncio.run(_heard(storage, [(device, report_of(device)) for device in range(known)])))
    assert confirmed == set(range(known)), "somebody was not counted"
    assert same(storage.tally(CAMPAIGN, 0), tally_of(confirmed)), "the tally is not the sum of those confirmed"
    database.close()
    return len(confirmed)


def _served_until_killed(url: str, reports: list[tuple[int, bytes]], dice: random.Random) -> Iterator[int]:
    """The devices that heard that they are counted, before their workers were killed."""
    context = multiprocessing.get_context("fork")
    workers: list[tuple[ForkProcess, Connection]] = []
    for _ in range(WORKERS):
        hear, tell = context.Pipe(duplex=False)
        process = context.Process(target=_serve, args=(url, reports, dice.random(), tell))
        process.start()
        tell.close()
        workers.append((process, hear))
    workers[0][1].poll(300)
    for process, _ in workers:
        process.join(dice.uniform(0, LONGEST))
        process.kill()
    for process, hear in workers:
        with closing(hear):
            try:
                while True:
                    yield hear.recv()
            except (EOFError, OSError):  # the last message may be cut
                process.join(300)
                assert process.exitcode == -9, "a worker ended by itself"
                process.close()


def _serve(url: str, reports: list[tuple[int, bytes]], seed: float, tell: Connection) -> None:
    """Take reports from devices in any order until somebody ends it."""

    async def forever() -> None:
        dice = random.Random(seed)
        layer = IntakeLayer(0, LAYER, MINIMUM)

        async def send(intake: Intake, device: int, report: bytes) -> None:
            if await intake.receive(CAMPAIGN, layer, serial_of(device), report) == Receipt.FINAL:
                tell.send(device)

        async with Intake(ReportStore(open_database(url)), IntakeLimits(patience=0.05, interval=0.002)) as intake:
            while True:
                some = dice.sample(reports, min(GROUP, len(reports)))
                await asyncio.gather(*(send(intake, device, report) for device, report in some))

    asyncio.run(forever())


async def _heard(storage: ReportStore, reports: list[tuple[int, bytes]]) -> list[int]:
    """The devices that are counted, when all send until each is told so."""
    layer = IntakeLayer(0, LAYER, MINIMUM)
    async with Intake(storage, IntakeLimits(patience=60.0, interval=0.01)) as intake:
        told = await asyncio.gather(
            *(intake.receive(CAMPAIGN, layer, serial_of(device), report) for device, report in reports)
        )
    return [device for (device, _), receipt in zip(reports, told, strict=True) if receipt == Receipt.FINAL]


if __name__ == "__main__":
    print(endure(sys.argv[1], int(sys.argv[2])))
