"""Ephemeral aggregation: reports wait for others, apart from each other, in memory alone, until they are added up.

No single report may reach a disk, so a report waits until it can be written as part of a sum of many. Until then it is
kept apart, for it may turn out to be counted already.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import ClassVar

import numpy as np

from neologue.aggregation.aggregator import AggregationSettings, Aggregator
from neologue.aggregation.decoding import Decoder
from neologue.aggregation.kernels import Counts, Votes, add_votes, total
from neologue.aggregation.sent_before import SentBefore
from neologue.privacy.statement import Exposure
from neologue.protocol.report import Asks

_BESIDES = 512
"""The bytes that a waiting report takes beside its votes, about."""
_TOGETHER = 1 << 24
"""How many votes are added at once, about; until then they are in memory twice."""
_KINDS = (np.uint8, np.uint16, np.uint32)


@dataclass(frozen=True, eq=False)
class IntakeLayer:
    """A layer that takes reports as they are."""

    layer_index: int
    asks: Asks
    minimum: int
    """The fewest reports that are written together."""
    planned: bool = False
    """Whether slots are drawn, so that everybody is counted who comes in time; it keeps no places."""

    @cached_property
    def decoder(self) -> Decoder:
        """Reads its reports."""
        return Decoder(self.asks)

    @cached_property
    def sent_before(self) -> SentBefore | None:
        """What tells a report that another device has sent; None where honest ones may be equal."""
        return SentBefore() if self.asks.randomizer.is_unrepeatable else None

    @property
    def longest(self) -> int:
        """The most bytes of a report."""
        return self.decoder.longest


@dataclass(frozen=True)
class EphemeralAggregator(Aggregator):
    """Batches of reports."""

    batch: int

    unit: ClassVar[str] = "batch"
    parameter: ClassVar[str] = "batch"
    invites_again: ClassVar[bool] = False
    keeps_places: ClassVar[bool] = True

    @classmethod
    def of(cls, settings: AggregationSettings) -> "EphemeralAggregator":
        """The mode with the settings of a campaign."""
        return cls(settings.batch)

    @property
    def fewest(self) -> int:
        """A batch."""
        return self.batch

    @property
    def smallest_sum(self) -> int:
        """A batch."""
        return self.batch

    @property
    def spoilt_by_one(self) -> int:
        """Its own report."""
        return 1

    def promise(self, issuers: tuple[bytes, ...]) -> None:
        """There are no groups."""

    @property
    def exposure(self) -> Exposure:
        """Batches on a disk, single reports in memory."""
        return Exposure(disk=self.batch)

    def collecting(self, campaign: bytes, layer_index: int, layer: Asks, issuers: tuple[bytes, ...]) -> IntakeLayer:
        """A layer that takes reports as they are."""
        return IntakeLayer(layer_index, layer, self.batch)

    def has_room(self, missing: int, under_way: int) -> bool:
        """Always: each device that is invited has a place of its own."""
        return True


class Pending:
    """The reports of one layer that wait, by the serial of who sent them, the earliest first."""

    def __init__(self) -> None:
        self._reports: dict[bytes, Votes] = {}
        self.held_bytes = 0
        """About how much memory they take."""

    def add(self, serial: bytes, votes: Votes) -> None:
        """Keep a report; of two with the same serial the first one counts."""
        if serial not in self._reports:
            self._reports[serial] = votes
            self.held_bytes += _size(votes)

    def first(self, most: int) -> dict[bytes, Votes]:
        """The earliest reports, which are kept nevertheless."""
        return dict(islice(self._reports.items(), most))

    def drop(self, serial: bytes) -> None:
        """Forget a report, if it is there."""
        votes = self._reports.pop(serial, None)
        if votes is not None:
            self.held_bytes -= _size(votes)

    def __len__(self) -> int:
        return len(self._reports)

    def __contains__(self, serial: bytes) -> bool:
        return serial in self._reports

    def __repr__(self) -> str:
        return f"Pending({len(self)} reports)"


def _size(votes: Votes) -> int:
    return votes.nbytes + _BESIDES


def sum_of(candidates: int, reports: Iterable[Votes]) -> Counts:
    """The votes of each candidate in some reports together; as bytes, if all of them fit."""
    parts = list(_parts(reports))
    cast = sum(len(votes) for part in parts for votes in part)
    # A batch has few votes for most candidates: a byte each is the least to write, and to find in the cache.
    return next(counts for kind in _KINDS if total(counts := _count(parts, np.zeros(candidates, kind))) == cast)


def _count(parts: Iterable[Sequence[Votes]], counts: Counts) -> Counts:
    for part in parts:
        ends = np.cumsum([len(votes) for votes in part])
        if not add_votes(np.concatenate(part), ends, counts):
            raise ValueError("a report votes for a candidate outside its layer: decode it with the layer's own decoder")
    return counts


def _parts(reports: Iterable[Votes]) -> Iterator[list[Votes]]:
    """The reports, as many at a time as are added at once."""
    part: list[Votes] = []
    held = 0
    for votes in reports:
        part.append(votes)
        held += len(votes)
        if held >= _TOGETHER:
            yield part
            part, held = [], 0
    if part:
        yield part
