"""Workers that are killed at every step of closing and deciding layers whose missing reports are made up.

In tests/, and in a process of its own, for it forks:

    python -m service.planned_kills DATABASE
"""

import sys
from itertools import count

import numpy as np

from neologue.discovery.state import DiscoveryState
from neologue.discovery.tally import Tally
from neologue.service.campaigns import layer_store
from neologue.service.storage.migrations import migrate
from neologue.service.storage.sqlite_database import SqliteDatabase
from service.campaigns import Town
from service.charge_kills import is_killed, state_of, take_turn
from service.test_planned_layers import LAYERS, come, layers_of, planned


def endure(path: str) -> int:
    """Run a campaign, killing a worker at each moment there is; how many were killed.

    Once a layer is closed, its votes are the same until it is decided, and the decision is the one of these votes: what
    was made up is never drawn again.
    """
    database = SqliteDatabase(path)
    migrate(database)
    town, kills, now = Town(database), 0, 1.0
    described = planned(devices=450)
    entry = town.coordinator.create(described, 0.0)
    town.coordinator.start(entry.name, now)
    undisturbed = DiscoveryState(described.campaign)
    while state_of(database, entry) != "released":
        asked = town.layer(entry.id)
        if asked:
            come(town, entry, 110)
        first: Tally | None = None
        now += 1000.0
        for moment in count(1):
            database.close()  # a connection must not be inherited
            now += 60.0
            killed = is_killed(path, moment, take_turn, now)
            kills += killed
            last = layers_of(town, entry)[asked[1]] if asked else None
            if last and last.state == "closed":
                tally = town.storage.tally(entry.id, last.layer_index)
                first = first or tally
                np.testing.assert_array_equal(tally.votes, first.votes)
                assert tally.reports == first.reports == last.round.layer_size
            if not killed:
                break
        if asked:
            assert first is not None, "nobody was killed between closing and deciding"
            decision = undisturbed.decide(first)
            undisturbed.take(decision)
            with database.reading() as db:
                kept = layer_store.decisions(db, entry.id)[asked[1]]
            np.testing.assert_array_equal(kept.index, decision.index)
            np.testing.assert_array_equal(kept.votes, decision.votes)
    assert len(undisturbed.release.layers) == LAYERS
    return kills


if __name__ == "__main__":
    print(endure(sys.argv[1]))
