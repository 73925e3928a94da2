"""Places: how many invited devices of a layer may still answer. A place is one of a number, and names no device.

Reports that are counted and places that are kept are never more than the layer's size, over all workers. A worker takes
a block of places in one transaction and gives them to devices from memory; a ticket names the block, so that any worker
can count the report in the place that was kept for it. Places whose time is over are free again.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from neologue.service.storage.database import Connection, Database
from neologue.service.storage.states import LayerState

SHARE: Final = 4
"""A block has one of so many parts of the places that are free, so that other workers find some too."""
_LAYER: Final = "campaign = ? AND layer_index = ?"


@dataclass(frozen=True)
class Block:
    """Some places of a layer."""

    number: int
    places: int
    until: float


class PlaceStore:
    """The places in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def take_block(
        self, campaign: bytes, layer_index: int, waiting: Mapping[int, int], now: float, until: float
    ) -> Block | None:
        """Keep a block of places until some time; None if no place is free.

        `waiting` says how many reports wait in the worker's memory, by the block that their tickets name: those whose
        places are free again would take them.
        """
        with self._database.transaction() as db:
            layers = db.select_for_update(
                f"SELECT layer_size - reports FROM layers WHERE {_LAYER} AND state = ? AND deadline > ?",
                (campaign, layer_index, LayerState.OPEN, now),
            )
            if not layers:
                return None
            kept = kept_places(db, campaign, layer_index, now)
            late = sum(max(0, reports - kept.get(block, 0)) for block, reports in waiting.items())
            free = layers[0][0] - sum(kept.values()) - late
            if free <= 0:
                return None
            ((last,),) = db.execute(
                f"SELECT COALESCE(MAX(number), 0) FROM place_blocks WHERE {_LAYER}", (campaign, layer_index)
            )
            block = Block(last + 1, -(-free // SHARE), until)
            db.execute(
                "INSERT INTO place_blocks (campaign, layer_index, number, places, until) VALUES (?, ?, ?, ?, ?)",
                (campaign, layer_index, block.number, block.places, until),
            )
        return block

    def give_back(self, campaign: bytes, layer_index: int, number: int, places: int) -> None:
        """Free places of a block that no device was given."""
        with self._database.transaction() as db:
            use_places(db, campaign, layer_index, {number: places})


def kept_places(db: Connection, campaign: bytes, layer_index: int, now: float) -> dict[int, int]:
    """How many places are kept, by block."""
    rows = db.execute(
        f"SELECT number, places FROM place_blocks WHERE {_LAYER} AND places > 0 AND until > ?",
        (campaign, layer_index, now),
    )
    return dict(rows)


def use_places(db: Connection, campaign: bytes, layer_index: int, used: Mapping[int, int]) -> None:
    """Take places off their blocks."""
    db.executemany(
        f"UPDATE place_blocks SET places = places - ? WHERE {_LAYER} AND number = ?",
        [(places, campaign, layer_index, number) for number, places in sorted(used.items())],
    )


def choose(
    new: Sequence[bytes], blocks: Mapping[bytes, int], kept: Mapping[int, int], room: int, minimum: int
) -> tuple[list[bytes], Counter[int]]:
    """Of new reports in the order in which they came, those to count, and the places that they take, by block.

    A report has the place that was kept for it, or else one that is free. If others still have places, enough room is
    left for them to be counted: none at all, or for at least the `minimum` of a batch.
    """
    free = room - sum(kept.values())
    chosen: list[bytes] = []
    used: Counter[int] = Counter()
    placed: list[int | None] = []
    for serial in new:
        block = blocks.get(serial, 0)
        if used[block] < kept.get(block, 0):
            used[block] += 1
            placed.append(block)
        elif free > 0:
            free -= 1
            placed.append(None)
        else:
            continue
        chosen.append(serial)
    others = sum(kept.values()) - used.total()
    if others and 0 < room - len(chosen) < minimum:
        most = max(0, room - minimum)
        chosen, used = chosen[:most], Counter(block for block in placed[:most] if block is not None)
    return chosen, +used
