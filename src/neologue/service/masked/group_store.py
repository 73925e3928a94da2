"""Groups of secure aggregation in the database: enough to count each once, and to say what became of it.

A group is recorded before anybody masks votes for it, and goes

    masking ──► unmasking ──► summed     the sum, the spending of its serials and this are one transaction
       │             ├──────► nothing    its worker knows that the shares were too few
       │             └──────► lost       nobody can tell any more, or the sum came too late to be counted
       └────────────────────► nothing    nobody was asked for a share, so there can't be a sum

Each step is taken by one statement that asks for the state before it, so that of two workers one takes it. While
devices confirm who survives, a group is `masking` still. A worker asks devices for shares only once `unmasking` is on
record; so whoever finds a group of a worker that is gone in `masking` knows that no sum of it was or will be known,
and of one in `unmasking` nobody can say so.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from neologue.aggregation.kernels import Votes
from neologue.masking.rules import MOST_GROUPS
from neologue.masking.terms import Terms
from neologue.service.storage.database import Connection, Database
from neologue.service.storage.report_store import add_sum
from neologue.service.storage.spent_serials import spend, spent_among
from neologue.service.storage.states import LayerState


class GroupState(StrEnum):
    """How far a group has come."""

    UNFORMED = "unformed"
    """It never was in the database."""
    MASKING = "masking"
    UNMASKING = "unmasking"
    SUMMED = "summed"
    NOTHING = "nothing"
    LOST = "lost"


_LAYER: Final = "campaign = ? AND layer_index = ?"


@dataclass(frozen=True)
class Room:
    """How many more devices a layer has room for."""

    free: int
    """Those that no group under way can fill."""
    taken: int
    """Those that groups under way may fill, or leave."""


class GroupStore:
    """The groups in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def room(self, campaign: bytes, layer_index: int, now: float) -> Room:
        """The room of a layer; none if it is closed, or its time is over."""
        with self._database.reading() as db:
            return _room(db, db.execute(_OF_LAYER, (campaign, layer_index)), campaign, layer_index, now)

    def form(
        self,
        campaign: bytes,
        layer_index: int,
        terms: Terms,
        devices: int,
        now: float,
        until: float,
        most_groups: int = MOST_GROUPS,
    ) -> bool:
        """Record a group of so many devices, before they mask votes for it.

        False if the layer has no room for them, or the campaign has formed as many groups as its risk was shared among.
        """
        with self._database.transaction() as db:
            layer = db.select_for_update(_OF_LAYER, (campaign, layer_index))
            if _state(db, terms.group_id):
                return True  # written before, and the answer was lost
            if _room(db, layer, campaign, layer_index, now).free < devices:
                return False
            # The groups of decided layers are deleted, so that they are counted beside their layers.
            ((formed,),) = db.execute("SELECT SUM(groups_formed) FROM layers WHERE campaign = ?", (campaign,))
            if int(formed) >= most_groups:
                return False
            db.execute(f"UPDATE layers SET groups_formed = groups_formed + 1 WHERE {_LAYER}", (campaign, layer_index))
            db.execute(
                "INSERT INTO masking_groups (id, campaign, layer_index, terms, devices, until, state)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (terms.group_id, campaign, layer_index, bytes(terms), devices, until, GroupState.MASKING),
            )
        return True

    def ask_for_shares(self, group_id: bytes, now: float) -> bool:
        """Record that devices will be asked for shares; False, and none may be asked, if its time is over."""
        with self._database.transaction() as db:
            return (
                _move(db, group_id, (GroupState.MASKING,), GroupState.UNMASKING, now)
                or _state(db, group_id) == GroupState.UNMASKING
            )

    def count(self, group_id: bytes, votes: Votes, serials: Collection[bytes]) -> bool:
        """Count a sum, and spend its serials; False if it can't be counted any more, which is then on record.

        It may be counted again at any time: what was counted before is found so.
        """
        with self._database.transaction() as db:
            of_group = db.execute("SELECT campaign, layer_index FROM masking_groups WHERE id = ?", (group_id,))
            if not of_group:
                return False
            ((campaign, layer_index),) = of_group
            # The layer first, as everywhere, so that nobody waits for each other.
            ((layer, group, counted),) = db.select_for_update(
                f"SELECT state, layer_size, reports FROM layers WHERE {_LAYER}", (campaign, layer_index)
            )
            if (state := _state(db, group_id)) != GroupState.UNMASKING:
                return state == GroupState.SUMMED
            fits = layer == LayerState.OPEN and counted + len(serials) <= group
            # The sum can't be taken apart, so that somebody who is counted already costs all of it.
            if not fits or spent_among(db, campaign, list(serials)):
                _move(db, group_id, (GroupState.UNMASKING,), GroupState.LOST)
                return False
            _move(db, group_id, (GroupState.UNMASKING,), GroupState.SUMMED)
            spend(db, campaign, layer_index, sorted(serials))
            add_sum(db, campaign, layer_index, len(serials), votes)
            db.execute(f"UPDATE layers SET reports = reports + ? WHERE {_LAYER}", (len(serials), campaign, layer_index))
        # Only here, behind the commit.
        return True

    def give_up(self, group_id: bytes, *, certain: bool) -> GroupState:
        """Record that a group yields nothing, or, if that is not certain, that it is lost; the state on record then.

        For the worker that has the group in its memory, and no other.
        """
        with self._database.transaction() as db:
            _move(
                db,
                group_id,
                (GroupState.MASKING, GroupState.UNMASKING),
                GroupState.NOTHING if certain else GroupState.LOST,
            )
            return _state(db, group_id) or GroupState.LOST

    def look_up(self, campaign: bytes, group_id: bytes, now: float) -> GroupState | None:
        """The state of a group; one whose time is over is ended first."""
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT state, until FROM masking_groups WHERE id = ? AND campaign = ?", (group_id, campaign)
            )
        if not rows:
            return None
        ((stored, until),) = rows
        state = GroupState(stored)
        if state in (GroupState.MASKING, GroupState.UNMASKING) and until <= now:
            with self._database.transaction() as db:
                _move(db, group_id, (GroupState.MASKING,), GroupState.NOTHING)
                _move(db, group_id, (GroupState.UNMASKING,), GroupState.LOST)
                state = _state(db, group_id) or GroupState.LOST
        return state


_OF_LAYER: Final = f"SELECT state, deadline, layer_size, reports FROM layers WHERE {_LAYER}"


def under_way(db: Connection, campaign: bytes, layer_index: int, now: float) -> int:
    """How many devices of a layer are in groups that may still yield a sum."""
    ((devices,),) = db.execute(
        f"SELECT CAST(COALESCE(SUM(devices), 0) AS INTEGER) FROM masking_groups WHERE {_LAYER} AND state IN (?, ?)"
        " AND until > ?",
        (campaign, layer_index, GroupState.MASKING, GroupState.UNMASKING, now),
    )
    return int(devices)


def _room(db: Connection, rows: list[tuple[object, ...]], campaign: bytes, layer_index: int, now: float) -> Room:
    taken = under_way(db, campaign, layer_index, now)
    for state, deadline, group, reports in rows:
        assert isinstance(group, int)
        assert isinstance(reports, int)
        assert isinstance(deadline, float)
        if state == LayerState.OPEN and now < deadline:
            return Room(group - reports - taken, taken)
    return Room(0, taken)


def _state(db: Connection, group_id: bytes) -> GroupState | None:
    rows = db.execute("SELECT state FROM masking_groups WHERE id = ?", (group_id,))
    return GroupState(rows[0][0]) if rows else None


def _move(
    db: Connection, group_id: bytes, states: tuple[GroupState, ...], state: GroupState, now: float | None = None
) -> bool:
    """Bring a group into a state from one of some others, unless its time is over by now; whether it was done."""
    marks = ", ".join("?" * len(states))
    in_time, times = ("", ()) if now is None else (" AND until > ?", (now,))
    moved = db.execute(
        f"UPDATE masking_groups SET state = ? WHERE id = ? AND state IN ({marks}){in_time} RETURNING 1",
        (state, group_id, *states, *times),
    )
    return bool(moved)
