"""An engine that counts on a Ray cluster.

The pieces and their counts are the same as on one machine, so the sums are the same to the last bit, whatever the
number of workers and however often one dies: a piece that was lost with its worker is counted again.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neologue.language.word_form import AS_TYPED, WordForm
from neologue.populations.counting import Advance, Users, Work, count_pieces
from neologue.populations.holdings import Holdings
from neologue.populations.population import Population, describe_records, files_label, recorded_digest
from neologue.populations.record_checks import oldest_of_parts, summarise
from neologue.populations.record_table import Columns
from neologue.populations.records import Extent, Records, read_records
from neologue.populations.shards import FilePart, Shard, Window, common_words, gather, split_by_shard
from neologue.populations.streams import SecretSeed
from neologue.populations.table_files import check_parts, find_files
from neologue.simulation.engines.cluster import Cluster

if TYPE_CHECKING:
    from ray import ObjectRef

    Ref = ObjectRef[Any]

Pieces = Sequence[tuple[int, int]]

TASKS_PER_CORE = 4
"""Tasks per core in a layer: enough to even out slow ones, few enough to transfer their sums."""
MOST_SHARDS = 256


class RayEngine:
    """Counts on a Ray cluster: a running one at an address, or a temporary one on this machine."""

    def __init__(self, address: str | None = None, *, cores: int | None = None) -> None:
        self._cluster = Cluster(address, cores)
        self._sent: tuple[Population, Ref] | None = None

    @property
    def threads(self) -> int:
        """The number of sets of counters on this machine: one for the sum if others do the work."""
        return self._cluster.cores if self._cluster.is_temporary else 1

    def __enter__(self) -> "RayEngine":
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the cluster; one that was started here is stopped."""
        self._cluster.close()

    def read(
        self,
        paths: Sequence[Path],
        columns: Columns | None = None,
        *,
        days: int = 60,
        users: int | None = None,
        seed: int = 0,
        form: WordForm = AS_TYPED,
    ) -> Population:
        """Read the users of one or more files; workers read each file under the same path."""
        cluster = self._cluster
        table = find_files(paths)
        files, part, named = table.files, not table.is_lone, columns or Columns()
        with cluster.translate_errors():
            summaries = cluster.get([cluster.run(summarise, file, named, part=part) for file in files])
            check_parts(table, summaries)
            newest = oldest_of_parts(files, summaries, named, days) + days - 1
            records = [
                cluster.run(read_records, file, named, days=days, newest=newest, part=part, form=form) for file in files
            ]
            extents = cluster.get([cluster.run(_extent, one) for one in records])
            lexicon = cluster.combine(_common, [cluster.run(_words, one) for one in records])
            words: list[str] = cluster.get(lexicon)
            number = min(MOST_SHARDS, TASKS_PER_CORE * cluster.cores)
            parts = [cluster.run_for_many(split_by_shard, number, one, lexicon, seed, number) for one in records]
            shards = [
                cluster.run(_gather, max(1, len(words)), seed, *(row[shard] for row in parts))
                for shard in range(number)
            ]
            sizes = cluster.get([cluster.run(_size, shard) for shard in shards])
        extent = Extent(
            users=sum(size for size, _ in sizes),
            words=len(words),
            rows=sum(one.rows for one in extents),
            dropped=sum(one.dropped for one in extents),
        )
        fingerprint = sum(number for _, number in sizes) % 2**64
        ends = np.cumsum([size for size, _ in sizes])
        name, secret = files_label(paths), isinstance(seed, SecretSeed)
        return ShardedPopulation(words, extent, name, users, fingerprint, shards, ends, self._cluster, secret)

    def count(
        self, work: Work, population: Population, start: int, stop: int, advance: Advance = lambda users: None
    ) -> NDArray[np.int64]:
        """Count over a range of users; workers add the partial sums in a tree."""
        cluster = self._cluster
        pieces = list(population.spans(start, stop))
        if not pieces:
            return np.zeros(work.size, np.int64)
        with cluster.translate_errors():
            sent = cluster.put(work)
            share = -(-len(pieces) // (TASKS_PER_CORE * cluster.cores))
            groups = [pieces[first : first + share] for first in range(0, len(pieces), share)]
            sums = {self._task(sent, population, group): group[-1][1] - group[0][0] for group in groups}
            waiting = list(sums)
            try:
                while waiting:
                    done, waiting = cluster.wait(waiting)
                    for task in done:
                        advance(sums[task])
                return np.array(cluster.get(cluster.combine(_add, list(sums))))
            except KeyboardInterrupt:
                cluster.cancel(waiting)
                raise

    def _task(self, work: "Ref", population: Population, pieces: Pieces) -> "Ref":
        """Start a task that counts some consecutive pieces, with the data of their users."""
        cluster = self._cluster
        if isinstance(population, ShardedPopulation):
            first, shards = population.overlapping(pieces[0][0], pieces[-1][1])
            return cluster.run(_count_window, work, pieces, first, *shards)
        if self._sent is None or self._sent[0] is not population:
            self._sent = population, cluster.put(population.source)
        return cluster.run(_count, work, pieces, self._sent[1])


class ShardedPopulation(Population):
    """Recorded users whose words are in the memory of a cluster, in the random order of the seed."""

    def __init__(
        self,
        words: list[str],
        extent: Extent,
        name: str,
        users: int | None,
        fingerprint: int,
        shards: "Sequence[Ref]",
        ends: NDArray[np.int64],
        cluster: Cluster,
        secretly_ordered: bool,
    ) -> None:
        self.users, self.public_description, self.description = describe_records(extent, name, users)
        self.words = words
        self.rows, self.old_rows = extent.rows, extent.dropped
        self._fingerprint = fingerprint
        self._shards, self._ends, self._cluster = shards, ends, cluster
        self._secretly_ordered = secretly_ordered

    def secretly_ordered(self, seed: SecretSeed) -> Population:
        """The same users, if a secret seed ordered them; workers are not told another one."""
        return self if self._secretly_ordered else super().secretly_ordered(seed)

    def overlapping(self, start: int, stop: int) -> "tuple[int, Sequence[Ref]]":
        """The first user of the shards that overlap a range of users, and these shards."""
        first, last = np.searchsorted(self._ends, [start, stop - 1], side="right").tolist()
        return int(self._ends[first - 1]) if first else 0, self._shards[first : last + 1]

    def draw(self, start: int, stop: int, *, counted: bool = True) -> Holdings:
        """Fetch the holdings of these users; counting is better done where the users are."""
        if start >= stop:
            return Holdings.concatenate([])
        first, shards = self.overlapping(start, stop)
        with self._cluster.translate_errors():
            held = self._cluster.get(list(shards))
        return _window(first, held).draw(start, stop)

    @property
    def digest(self) -> str:
        """SHA-256 of what the users hold, and of their order: the same as on one machine."""
        return recorded_digest(self.words, self.users, self._fingerprint)


def _extent(records: Records) -> Extent:
    return records.extent


def _words(records: Records) -> list[str]:
    return records.words


def _common(*lexicons: list[str]) -> list[str]:
    return common_words(lexicons)


def _gather(words: int, seed: int, *parts: FilePart) -> Shard:
    return gather(parts, words, seed)


def _size(shard: Shard) -> tuple[int, int]:
    return shard.holdings.users, shard.fingerprint


def _window(first: int, shards: Sequence[Shard]) -> Window:
    held = [shard.holdings for shard in shards]
    return Window(first, held[0] if len(held) == 1 else Holdings.concatenate(held))


def _count(work: Work, pieces: Pieces, users: Users) -> NDArray[np.int64]:
    return count_pieces(work, users, pieces)


def _count_window(work: Work, pieces: Pieces, first: int, *shards: Shard) -> NDArray[np.int64]:
    return count_pieces(work, _window(first, shards), pieces)


def _add(*counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return sum(counts[1:], counts[0])
