"""What the service stores of reports: the serials that were counted, and sums of many reports.

Exactly once: to spend the serials of a batch, to add its votes and to count its reports are one transaction, under a
lock of the layer. So a batch may be committed again at any time, by anyone: what was counted before is found spent.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np

from neologue.aggregation.ephemeral import sum_of
from neologue.aggregation.kernels import Counts, Votes
from neologue.aggregation.packed_sum import add_packed, pack_sum
from neologue.discovery.tally import Tally
from neologue.errors import StorageError
from neologue.service.storage.database import Connection, Database
from neologue.service.storage.place_store import choose, kept_places, use_places
from neologue.service.storage.spent_serials import put_in_order, spend, spent_among
from neologue.service.storage.states import LayerState

NO_BLOCKS: Final[Mapping[bytes, int]] = MappingProxyType({})


@dataclass(frozen=True)
class BatchOutcome:
    """What became of a batch."""

    final: frozenset[bytes]
    """The serials that are counted and durable, by this batch or one before."""
    counted: int
    """How many of them this batch has added."""
    over: bool
    """Whether the layer counts no more: what is not final never will be."""


@dataclass(frozen=True)
class OpenLayer:
    """A layer that takes reports."""

    campaign: bytes
    layer_index: int
    digest: bytes
    layer_size: int
    reports: int
    """How many are counted."""


class ReportStore:
    """The sums of reports, and who was counted, in a database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def commit_batch(
        self,
        campaign: bytes,
        layer_index: int,
        reports: Mapping[bytes, Votes],
        minimum: int,
        blocks: Mapping[bytes, int] = NO_BLOCKS,
        now: float = 0.0,
    ) -> BatchOutcome:
        """Count the reports of a batch, by serial, the earliest first, if at least `minimum` of them are new.

        At most the layer's size is counted; once less than `minimum` are missing to it, the layer is over. `blocks`
        says in which block a place is kept for the report of a serial; the others are counted if there is room beside
        the places that are kept `now`.
        """
        ahead = self._sum_ahead(campaign, layer_index, reports, minimum)
        with self.database.transaction() as db:
            layers = db.select_for_update(
                "SELECT state, layer_size, reports, candidates FROM layers WHERE campaign = ? AND layer_index = ?",
                (campaign, layer_index),
            )
            state, layer_size, counted, candidates = layers[0] if layers else (LayerState.CLOSED, 0, 0, 0)
            room = layer_size - counted
            over = state != LayerState.OPEN or room < minimum
            spent = spent_among(db, campaign, list(reports))
            new = [serial for serial in reports if serial not in spent]
            if over or len(new) < minimum:
                return BatchOutcome(spent, 0, over)
            kept = kept_places(db, campaign, layer_index, now)
            # In order, so that no two batches wait for each other, and the order in which they came is not stored.
            counting, used = choose(new, blocks, kept, room, minimum)
            if len(counting) < minimum:
                return BatchOutcome(spent, 0, over=False)
            chosen = sorted(counting)
            use_places(db, campaign, layer_index, used)
            spend(db, campaign, layer_index, chosen)
            add_sum(db, campaign, layer_index, len(chosen), _sum_of_chosen(candidates, reports, chosen, ahead))
            db.execute(
                "UPDATE layers SET reports = reports + ? WHERE campaign = ? AND layer_index = ?",
                (len(chosen), campaign, layer_index),
            )
        # Only here, behind the commit.
        return BatchOutcome(spent.union(chosen), len(chosen), over=room - len(chosen) < minimum)

    def commit_planned(
        self,
        campaign: bytes,
        layer_index: int,
        reports: Mapping[bytes, Votes],
        minimum: int,
        make_up: Callable[[int], Votes] | None = None,
    ) -> BatchOutcome:
        """Count a batch of a layer whose slots are drawn: everybody who came, however many others did.

        Fewer than `minimum` new reports wait for others; or, if nobody else can come any more, so many are added that
        `make_up` makes up. If more come than the layer has planned, it is as large as it has to be.
        """
        ahead = self._sum_ahead(campaign, layer_index, reports, 1 if make_up else minimum)
        with self.database.transaction() as db:
            layers = db.select_for_update(
                "SELECT state, layer_size, reports, candidates FROM layers WHERE campaign = ? AND layer_index = ?",
                (campaign, layer_index),
            )
            state, layer_size, counted, candidates = layers[0] if layers else (LayerState.CLOSED, 0, 0, 0)
            over = state != LayerState.OPEN
            spent = spent_among(db, campaign, list(reports))
            chosen = sorted(serial for serial in reports if serial not in spent)
            made_up = max(0, minimum - len(chosen))
            if over or not chosen or (made_up and make_up is None):
                return BatchOutcome(spent, 0, over)
            spend(db, campaign, layer_index, chosen)
            votes = _sum_of_chosen(candidates, reports, chosen, ahead)
            if made_up and make_up is not None:
                votes = votes + make_up(made_up)
            counted += len(chosen) + made_up
            add_sum(db, campaign, layer_index, len(chosen) + made_up, votes, made_up=made_up)
            db.execute(
                "UPDATE layers SET reports = ?, layer_size = ?, made_up = made_up + ?"
                " WHERE campaign = ? AND layer_index = ?",
                (counted, max(layer_size, counted), made_up, campaign, layer_index),
            )
        return BatchOutcome(spent.union(chosen), len(chosen), over=False)

    def _sum_ahead(
        self, campaign: bytes, layer_index: int, reports: Mapping[bytes, Votes], minimum: int
    ) -> Counts | None:
        """The votes of a whole batch, of which nearly all will be counted, before others have to wait for its lock."""
        if len(reports) < minimum:
            return None
        with self.database.reading() as db:
            layers = db.execute(
                "SELECT candidates FROM layers WHERE campaign = ? AND layer_index = ? AND state = ?",
                (campaign, layer_index, LayerState.OPEN),
            )
        return sum_of(layers[0][0], reports.values()) if layers else None

    def is_spent(self, campaign: bytes, serial: bytes) -> bool:
        """Whether the report with this serial was counted in the campaign."""
        with self.database.reading() as db:
            return bool(spent_among(db, campaign, [serial]))

    def open_layers(self) -> list[OpenLayer]:
        """The layers that take reports."""
        with self.database.reading() as db:
            rows = db.execute(
                "SELECT campaign, layer_index, digest, layer_size, reports FROM layers WHERE state = ?",
                (LayerState.OPEN,),
            )
        return [OpenLayer(*row) for row in rows]

    def tally(self, campaign: bytes, layer_index: int) -> Tally:
        """The votes of a layer so far."""
        with self.database.reading() as db:
            layers = db.execute(
                "SELECT candidates, reports FROM layers WHERE campaign = ? AND layer_index = ?", (campaign, layer_index)
            )
            if not layers:
                raise StorageError(f"the campaign {campaign.hex()} has no layer {layer_index} in {self.database.name}")
            ((candidates, counted),) = layers
            tally, _ = _add_up(db, _sizes(db, campaign, layer_index), candidates)
        if tally.reports != counted:
            raise StorageError(
                f"the database {self.database.name} has the votes of {tally.reports} reports where {counted} were "
                "counted: restore it from a copy"
            )
        return tally

    def parts(self, campaign: bytes, layer_index: int, candidates: int) -> Iterator[Tally]:
        """The sums that the votes of a layer are stored in, in the order in which reports came.

        Not those of made-up reports alone: nobody sent them.
        """
        with self.database.reading() as db:
            for number in _sizes(db, campaign, layer_index):
                tally, made_up = _add_up(db, [number], candidates)
                if tally.reports > made_up:
                    yield tally

    def came(self, campaign: bytes, layer_index: int, candidates: int) -> Tally:
        """The votes of a layer without those sums that are made up as a whole, and how many devices sent reports."""
        votes = np.zeros(candidates, np.int64)
        with self.database.reading() as db:
            ((devices,),) = db.execute(
                "SELECT reports - made_up FROM layers WHERE campaign = ? AND layer_index = ?", (campaign, layer_index)
            )
        for part in self.parts(campaign, layer_index, candidates):
            votes += part.votes
        return Tally(votes, devices)

    def merge_sums(self, campaign: bytes, layer_index: int, most: int) -> None:
        """Merge sums of a layer that were written one after the other, if there are more than so many, into half.

        What came at about the same time stays together: `parts` tells whether votes did.
        """
        of_layer = "campaign = ? AND layer_index = ?"
        with self.database.reading() as db:
            ((sums,),) = db.execute(f"SELECT COUNT(*) FROM sums WHERE {of_layer}", (campaign, layer_index))
            if sums <= most:
                return
            numbers = list(_sizes(db, campaign, layer_index))
        together = -(-len(numbers) // max(1, most // 2))
        for start in range(0, len(numbers), together):
            self._merge(campaign, layer_index, numbers[start : start + together])

    def _merge(self, campaign: bytes, layer_index: int, numbers: Sequence[int]) -> None:
        """Put one sum in the place of several, which is reckoned before others have to wait for the lock."""
        first, *others = numbers
        if not others:
            return
        of_layer = (campaign, layer_index)
        with self.database.reading() as db:
            layers = db.execute("SELECT candidates FROM layers WHERE campaign = ? AND layer_index = ?", of_layer)
            if not set(numbers) <= _sizes(db, *of_layer).keys():
                return
            merged, made_up = _add_up(db, numbers, layers[0][0])
        packed = pack_sum(merged.votes.astype(np.uint32))
        with self.database.transaction() as db:
            db.select_for_update("SELECT 1 FROM layers WHERE campaign = ? AND layer_index = ?", of_layer)
            present = _sizes(db, *of_layer)
            # Another worker has merged them, into one of these or others, or the layer was decided.
            if not set(numbers) <= present.keys() or sum(present[each] for each in numbers) != merged.reports:
                return
            for number in others:
                db.execute("DELETE FROM sums WHERE id = ?", (number,))
            # Where the first one was: newer sums may have come behind it.
            db.execute(
                "UPDATE sums SET reports = ?, votes = ?, made_up = ? WHERE id = ?",
                (merged.reports, packed, made_up, first),
            )

    def scrub(self) -> bool:
        """Remove what shows which reports were counted together: deleted sums, and the order in which serials came.

        Of layers that are over; False if somebody is still reading, so try again later.
        """
        put_in_order(self.database)
        return self.database.scrub()


def add_sum(
    db: Connection, campaign: bytes, layer_index: int, reports: int, votes: Counts, *, made_up: int = 0
) -> None:
    """Keep the votes of so many reports, some of them made up, as one sum."""
    db.execute(
        "INSERT INTO sums (campaign, layer_index, reports, votes, made_up) VALUES (?, ?, ?, ?, ?)",
        (campaign, layer_index, reports, pack_sum(votes), made_up),
    )


def _sum_of_chosen(
    candidates: int, reports: Mapping[bytes, Votes], chosen: Sequence[bytes], ahead: Counts | None
) -> Counts:
    """The votes of some reports of a batch: those of all, less the few that are not chosen.

    Nothing of the sum of all is ever in the database: two sums that differ by a few reports would show them.
    """
    if ahead is None or 2 * len(chosen) < len(reports):
        return sum_of(candidates, (reports[serial] for serial in chosen))
    left = reports.keys() - chosen
    if left:
        ahead -= sum_of(candidates, (reports[serial] for serial in left))
    return ahead


def _sizes(db: Connection, campaign: bytes, layer_index: int) -> dict[int, int]:
    """The sums of a layer, in the order in which they were written, each with its number of reports."""
    of_layer = (campaign, layer_index)
    return dict(db.execute("SELECT id, reports FROM sums WHERE campaign = ? AND layer_index = ? ORDER BY id", of_layer))


def _add_up(db: Connection, numbers: Iterable[int], candidates: int) -> tuple[Tally, int]:
    """The votes of some sums together, and how many of their reports are made up."""
    votes, reports, made_up = np.zeros(candidates, np.uint32), 0, 0
    # One at a time: together they may be larger than the memory.
    for number in numbers:
        ((some, none, packed),) = db.execute("SELECT reports, made_up, votes FROM sums WHERE id = ?", (number,))
        add_packed(packed, votes)
        reports += some
        made_up += none
    return Tally(votes.astype(np.int64), reports), made_up
