"""Groups of secure aggregation in the database: enough to count each once, and to say what became of it.

A group is recorded before anybody masks votes for it, and goes

    masking ──► unmasking ──► summed     the sum, the spending of its serials and this are one transaction
       │             ├──────► refused    no honest devices have such a sum; it was seen, and is erased
       │             └──────► lost       a sum may have been seen, and is not counted
       └────────────────────► nothing    nobody was asked for a share, so there can't be a sum

Each step is taken by one statement that asks for the state before it, so that of two workers one takes it. While
devices confirm who survives, a group is `masking` still. A worker asks devices for shares only once `unmasking` is on
record, and in the same transaction the serials whose votes are in the sum become void. So whatever happens to the
worker, nobody whose votes may have been seen in one sum is ever in another; and whoever finds a group of a worker that
is gone in `masking` knows that no sum of it was or will be known.

`RULES` is that in one table. A serial whose votes are in no such sum is free, but every group that misses its device in
a stage gives it a strike, and with too many of them it finds no other group.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from neologue.aggregation.kernels import Votes
from neologue.errors import StorageError
from neologue.masking.rules import MOST_GROUPS
from neologue.masking.terms import Terms
from neologue.service.storage.database import Connection, Database
from neologue.service.storage.report_store import add_sum
from neologue.service.storage.serial_lists import delete_serials, insert_serials, serials_among
from neologue.service.storage.spent_serials import spend, spent_among
from neologue.service.storage.states import LayerState


class GroupState(StrEnum):
    """How far a group has come."""

    UNFORMED = "unformed"
    """It never was in the database."""
    MASKING = "masking"
    UNMASKING = "unmasking"
    SUMMED = "summed"
    REFUSED = "refused"
    NOTHING = "nothing"
    LOST = "lost"


class Serials(StrEnum):
    """What becomes of the serials whose votes are in the sum of a group."""

    FREE = "free"
    """Another group may take votes of them. An honest device that has masked its votes never gives any."""
    VOID = "void"
    """No group takes votes of them any more, and they are not counted."""
    SPENT = "spent"
    """They are counted."""


@dataclass(frozen=True)
class StateRule:
    """What holds in a state of a group."""

    seen: bool
    """Whether somebody may know its sum, or come to know it."""
    serials: Serials
    next: frozenset[GroupState] = frozenset()
    """The states that may follow; none is the end."""


RULES: Final[Mapping[GroupState, StateRule]] = {
    GroupState.UNFORMED: StateRule(False, Serials.FREE, frozenset({GroupState.MASKING})),
    GroupState.MASKING: StateRule(False, Serials.FREE, frozenset({GroupState.UNMASKING, GroupState.NOTHING})),
    GroupState.NOTHING: StateRule(False, Serials.FREE),
    GroupState.UNMASKING: StateRule(
        True, Serials.VOID, frozenset({GroupState.SUMMED, GroupState.REFUSED, GroupState.LOST})
    ),
    GroupState.REFUSED: StateRule(True, Serials.VOID),
    GroupState.LOST: StateRule(True, Serials.VOID),
    GroupState.SUMMED: StateRule(True, Serials.SPENT),
}
"""By state. Where a sum may be seen, no serial is free: there are never two sums with votes of the same device."""

_VOID: Final = "void_serials"
_ENDS: Final = {GroupState.MASKING: GroupState.NOTHING, GroupState.UNMASKING: GroupState.LOST}
"""How a group ends that yields nothing, by how far it had come."""


class SerialState(StrEnum):
    """What a campaign has of a device before it joins a group."""

    FREE = "free"
    VOID = "void"
    SPENT = "spent"
    BARRED = "barred"
    """Too many groups have missed it."""


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

    def standing(self, campaign: bytes, serial: bytes, most_strikes: int) -> SerialState:
        """Whether a device may join a group: it has votes nowhere, and fewer groups than `most_strikes` missed it."""
        with self._database.reading() as db:
            if spent_among(db, campaign, [serial]):
                return SerialState.SPENT
            if serials_among(db, _VOID, campaign, [serial]):
                return SerialState.VOID
            strikes = db.execute(
                "SELECT strikes FROM group_strikes WHERE campaign = ? AND serial = ?", (campaign, serial)
            )
        return SerialState.BARRED if strikes and int(strikes[0][0]) >= most_strikes else SerialState.FREE

    def strike(self, campaign: bytes, serials: Collection[bytes]) -> None:
        """Record that a group has missed these devices."""
        with self._database.transaction() as db:
            for serial in sorted(serials):
                db.execute(
                    "INSERT INTO group_strikes (campaign, serial, strikes) VALUES (?, ?, 1) ON CONFLICT"
                    " (campaign, serial) DO UPDATE SET strikes = group_strikes.strikes + 1",
                    (campaign, serial),
                )

    def ask_for_shares(self, group_id: bytes, serials: Collection[bytes], now: float) -> bool:
        """Record that devices will be asked for shares, and that these serials, whose votes are in the sum, are void.

        False, and none may be asked, if its time is over or one of them is void or spent already.
        """
        with self._database.transaction() as db:
            if _state(db, group_id) == GroupState.UNMASKING:
                return True  # written before, and the answer was lost
            campaigns = db.execute("SELECT campaign FROM masking_groups WHERE id = ?", (group_id,))
            chosen = sorted(serials)
            for (campaign,) in campaigns:
                if spent_among(db, campaign, chosen) or serials_among(db, _VOID, campaign, chosen):
                    return False
                if _move(db, group_id, GroupState.MASKING, GroupState.UNMASKING, now):
                    insert_serials(db, _VOID, campaign, chosen)
                    return True
        return False

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
                _move(db, group_id, GroupState.UNMASKING, GroupState.LOST)
                return False
            _move(db, group_id, GroupState.UNMASKING, GroupState.SUMMED)
            delete_serials(db, _VOID, campaign, sorted(serials))
            spend(db, campaign, layer_index, sorted(serials))
            add_sum(db, campaign, layer_index, len(serials), votes)
            db.execute(f"UPDATE layers SET reports = reports + ? WHERE {_LAYER}", (len(serials), campaign, layer_index))
        # Only here, behind the commit.
        return True

    def refuse(self, group_id: bytes) -> GroupState:
        """Record that no honest devices have the sum of a group; the state on record then."""
        with self._database.transaction() as db:
            of_group = db.execute("SELECT campaign, layer_index FROM masking_groups WHERE id = ?", (group_id,))
            for campaign, layer_index in of_group:
                db.select_for_update(_OF_LAYER, (campaign, layer_index))
                if _move(db, group_id, GroupState.UNMASKING, GroupState.REFUSED):
                    db.execute(
                        f"UPDATE layers SET groups_refused = groups_refused + 1 WHERE {_LAYER}", (campaign, layer_index)
                    )
            return _state(db, group_id) or GroupState.LOST

    def give_up(self, group_id: bytes, false: Collection[bytes] = ()) -> GroupState:
        """Record that a group yields nothing, or, if shares were asked for, that it is lost; the state on record then.

        `false` are the serials of devices that have shared something else than their secrets, and are void for it. For
        the worker that has the group in its memory, and no other.
        """
        with self._database.transaction() as db:
            for (campaign,) in db.execute("SELECT campaign FROM masking_groups WHERE id = ?", (group_id,)):
                void = serials_among(db, _VOID, campaign, list(false))
                insert_serials(db, _VOID, campaign, sorted(set(false) - void))
            return _end(db, group_id)

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
        if RULES[state].next and until <= now:
            with self._database.transaction() as db:
                state = _end(db, group_id)
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


def _end(db: Connection, group_id: bytes) -> GroupState:
    """End a group that yields no sum, unless it has ended; the state on record then."""
    for before, after in _ENDS.items():
        _move(db, group_id, before, after)
    return _state(db, group_id) or GroupState.LOST


def _move(db: Connection, group_id: bytes, before: GroupState, after: GroupState, now: float | None = None) -> bool:
    """Bring a group from one state into another, unless its time is over by now; whether it was done."""
    if after not in RULES[before].next:
        raise StorageError(f"a group that is {before} does not become {after}")
    in_time, times = ("", ()) if now is None else (" AND until > ?", (now,))
    moved = db.execute(
        f"UPDATE masking_groups SET state = ? WHERE id = ? AND state = ?{in_time} RETURNING 1",
        (after, group_id, before, *times),
    )
    return bool(moved)
