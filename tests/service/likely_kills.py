"""Workers that are killed at every step of a campaign whose words are asked about again.

In tests/, and in a process of its own, for it forks:

    python -m service.likely_kills DATABASE
"""

import sys
from itertools import count

import numpy as np

from neologue.discovery.state import DiscoveryState
from neologue.service.campaigns import campaign_store, layer_store
from neologue.service.storage.migrations import migrate
from neologue.service.storage.sqlite_database import SqliteDatabase
from service.campaigns import Town, definition
from service.charge_kills import is_killed, state_of, take_turn

LAYERS = 3


def endure(path: str) -> int:
    """Run a campaign, killing a worker at each moment there is; how many were killed.

    Whatever happened, the votes that are carried over are those of the layers' sums, and the words are those of a
    discovery that nobody interrupted.
    """
    database = SqliteDatabase(path)
    migrate(database)
    town, clock, kills = Town(database), count(60.0, 60.0), 0
    described = definition(devices=400, parameters={"layers": LAYERS, "candidates": 20_000})
    entry = town.coordinator.create(described, 0.0)
    town.coordinator.start(entry.name, 1.0)
    undisturbed = DiscoveryState(described.campaign)
    while state_of(database, entry) != "released":
        asked = town.layer(entry.id)
        decision = None
        if asked:
            town.answer(entry.id, asked[0].layer_size)
            decision = undisturbed.decide(town.storage.tally(entry.id, asked[1]))
            undisturbed.take(decision)
        for moment in count(1):
            database.close()  # a connection must not be inherited
            if not is_killed(path, moment, take_turn, next(clock)):
                break
            kills += 1
        if decision is None:
            continue
        with database.reading() as db:
            kept = layer_store.decisions(db, entry.id)[-1]
            carried = db.execute("SELECT COUNT(*) FROM carried_votes")
        np.testing.assert_array_equal(kept.index, decision.index)
        np.testing.assert_array_equal(kept.carried, decision.carried)
        assert carried == [(int(len(decision.carried) > 0),)]
    with database.reading() as db:
        release = campaign_store.release_of(db, entry.id)
    assert release
    for word in undisturbed.release.words:
        assert f'"word": "{word.word}",\n   "votes": {word.votes},' in release, word
    assert release.count('"word": ') == len(undisturbed.release.words) > 0
    assert len(undisturbed.release.layers) == LAYERS
    return kills


if __name__ == "__main__":
    print(endure(sys.argv[1]))
