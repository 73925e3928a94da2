"""Workers that are killed between any two steps of charging a campaign and taking its next step.

In tests/, and in a process of its own, for it forks:

    python -m service.charge_kills DATABASE
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any

from neologue.ledger.budget import Budget
from neologue.ledger.composition import composed_epsilon
from neologue.privacy.collection import Batch
from neologue.release.foreseen import foreseen_charge
from neologue.service.campaigns import campaign_store, layer_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.campaigns.charging import collected
from neologue.service.campaigns.definition import Definition
from neologue.service.campaigns.service_ledger import service_ledger
from neologue.service.storage.database import Connection, Database
from neologue.service.storage.migrations import migrate
from neologue.service.storage.sqlite_database import SqliteDatabase
from service.campaigns import Town, definition

DELTA = 1e-6


class _CountedConnection(Connection):
    def __init__(self, db: Connection, step: Callable[[], None]) -> None:
        self._db, self._step, self.dialect = db, step, db.dialect

    def execute(self, sql: str, parameters: Any = ()) -> list[Any]:  # noqa: ANN401 - as in every connection
        self._step()
        return self._db.execute(sql, parameters)

    def executemany(self, sql: str, rows: Any) -> None:  # noqa: ANN401
        self._step()
        self._db.executemany(sql, rows)

    def select_for_update(self, sql: str, parameters: Any = ()) -> list[Any]:  # noqa: ANN401
        self._step()
        return self._db.select_for_update(sql, parameters)

    def table_of(self, column: str, values: Any) -> Any:  # noqa: ANN401
        return self._db.table_of(column, values)

    def lock_alone(self) -> None:
        self._db.lock_alone()

    def lock_table(self, table: str) -> None:
        self._db.lock_table(table)

    def share_table(self, table: str) -> None:
        self._db.share_table(table)

    def empty_table(self, table: str) -> None:
        self._step()
        self._db.empty_table(table)


class MortalDatabase(SqliteDatabase):
    """A database whose process kills itself before the n-th statement that it writes with, or around a commit."""

    left: int | None = None

    def step(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        with super().transaction() as db:
            yield _CountedConnection(db, self.step)
            self.step()
        self.step()


def endure(path: str) -> int:
    """Run a campaign, killing a worker at each moment there is, and another one goes on; how many were killed."""
    database = SqliteDatabase(path)
    migrate(database)
    described = definition(population="people", devices=300, parameters={"depth": 2})
    foreseen = composed_epsilon([foreseen_charge(described.campaign, described.measuring)], DELTA, "item")
    service_ledger(database).add_population("people", Budget("item", 1.2 * foreseen, DELTA))
    town, clock, kills = Town(database), count(60.0, 60.0), 0
    entry = town.coordinator.create(described, 0.0)
    act: Callable[[Town, float], object] = partial(_start, entry.name)
    while state_of(database, entry) != "released":
        for moment in count(1):
            before = state_of(database, entry)
            database.close()  # a connection must not be inherited
            killed = is_killed(path, moment, act, next(clock))
            check_paid(database, described)
            kills += killed
            if not killed or (before == "draft" != state_of(database, entry)):
                break
        act = take_turn
        asked = town.layer(entry.id) if state_of(database, entry) == "running" else None
        if asked:
            town.answer(entry.id, asked[0].layer_size)
    (charge,) = service_ledger(database).snapshot("people").charges
    assert charge.state == "settled", charge.state
    return kills


def _start(name: str, worker: Town, now: float) -> None:
    worker.coordinator.start(name, now)


def take_turn(worker: Town, now: float) -> None:
    worker.coordinator.turn(now)


def is_killed(path: str, moment: int, act: Callable[[Town, float], object], now: float) -> bool:
    """Let a worker act in a process of its own, which is killed at a moment; False if it ended before that."""
    worker = os.fork()
    if worker == 0:
        status = 1
        try:
            database = MortalDatabase(path)
            town = Town(database)
            database.left = moment
            act(town, now)
            status = 0
        finally:
            os._exit(status)
    _, ended = os.waitpid(worker, 0)
    assert ended in (0, signal.SIGKILL), f"a worker ended by itself: {ended}"
    return bool(ended)


def state_of(database: Database, entry: CampaignRow) -> str:
    """The state of the campaign."""
    with database.reading() as db:
        return str(campaign_store.campaign_named(db, entry.name).state)


def check_paid(database: Database, described: Definition) -> None:
    """Neither a layer or a release without a charge, nor a charge without a campaign that it pays for."""
    with database.reading() as db:
        entry = campaign_store.campaign_named(db, described.name)
        layers = layer_store.layers_of(db, entry.id)
        release = campaign_store.release_of(db, entry.id)
    charges = service_ledger(database).snapshot("people").charges
    if entry.state == "draft":
        assert not charges
        return
    (charge,) = charges
    assert charge.reference == entry.id.hex()
    if entry.state == "released":
        assert release
        assert (charge.state, charge.collection, charge.told) == ("settled", collected(described, layers), True)
        return
    assert entry.state == "running"
    assert release is None
    assert charge.state == ("collecting" if layers else "planned")
    for layer in layers:
        paid_for = layer.round.reports if layer.state == "decided" else layer.round.layer_size
        assert Batch(paid_for, layer.candidates) in charge.collection.batches
    assert charge.told == any(layer.state == "decided" for layer in layers)


if __name__ == "__main__":
    print(endure(sys.argv[1]))
