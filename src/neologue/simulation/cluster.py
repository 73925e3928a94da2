"""An engine that counts on a Ray cluster.

The pieces and their counts are the same as on one machine, so the sums are the same to the last bit, whatever the
number of workers and however often one dies: a piece that was lost with its worker is counted again.
"""

import os
import secrets
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neologue import __version__
from neologue.errors import EngineError, NeologueError
from neologue.populations.counting import Advance, Users, Work, count_pieces
from neologue.populations.holdings import Holdings
from neologue.populations.population import Population, describe_records, file_label, recorded_digest
from neologue.populations.record_table import Columns
from neologue.populations.records import Extent, Records, read_records, summarise
from neologue.populations.shards import FilePart, Shard, Window, common_words, gather, split_by_shard
from neologue.populations.table_files import check_parts, find_files

if TYPE_CHECKING:
    from ray import ObjectRef

    Ref = ObjectRef[Any]

Pieces = Sequence[tuple[int, int]]

TASKS_PER_CORE = 4
"""Tasks per core in a layer: enough to even out slow ones, few enough to transfer their sums."""
FAN_IN = 8
"""How many partial sums are added in one task."""
MOST_SHARDS = 256
MOST_RETRIES = 10
"""How often a task is restarted if its worker dies."""
TASK = {"num_cpus": 1, "max_retries": MOST_RETRIES}
SECONDS_TO_ANSWER = 10.0
"""The time in which an address must answer."""
SECONDS_TO_BEGIN = 300.0
"""The time in which each machine must have begun a task."""
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""The beginning of an HTTP/2 connection, which a cluster answers with settings, a frame of type 4.

This is checked because Ray ends the whole process if something else answers.
"""


class RayEngine:
    """Counts on a Ray cluster: a running one at an address, or a temporary one on this machine."""

    def __init__(self, address: str | None = None, *, cores: int | None = None) -> None:
        self._ray = _import_ray(guarded=address is None)
        self._address = address
        if address is not None:
            _check_address(_find_cluster() if address == "auto" else address)
        if self._ray.is_initialized():
            raise EngineError("this process has joined a cluster already; leave it first")
        if address is None:
            self._start(cores)
        else:
            self._join(address)
        try:
            with self._translate_errors():
                self._check_workers()
                self._cores = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        except BaseException:
            self._ray.shutdown()
            raise
        self._sent: tuple[Population, Ref] | None = None

    @property
    def threads(self) -> int:
        """The number of sets of counters on this machine: one for the sum if others do the work."""
        return self._cores if self._address is None else 1

    def __enter__(self) -> "RayEngine":
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the cluster; one that was started here is stopped."""
        self._ray.shutdown()

    def read(
        self,
        path: Path,
        columns: Columns | None = None,
        *,
        days: int = 60,
        users: int | None = None,
        seed: int = 0,
    ) -> Population:
        """Read the users of a file or of many Parquet files; workers read each file under the same path."""
        files = find_files(path)
        part, named = files != [path], columns or Columns()
        with self._translate_errors():
            summaries = self._ray.get([self._run(summarise, file, named, part=part) for file in files])
            check_parts(path, files, summaries)
            newest = max((summary.newest for summary in summaries if summary.newest is not None), default=0)
            records = [self._run(read_records, file, named, days=days, newest=newest, part=part) for file in files]
            extents = self._ray.get([self._run(_extent, one) for one in records])
            lexicon = self._tree(_common, [self._run(_words, one) for one in records])
            words: list[str] = self._ray.get(lexicon)
            number = min(MOST_SHARDS, TASKS_PER_CORE * self._cores)
            parts = [self._run_for_many(split_by_shard, number, one, lexicon, seed, number) for one in records]
            shards = [
                self._run(_gather, max(1, len(words)), seed, *(row[shard] for row in parts)) for shard in range(number)
            ]
            sizes = self._ray.get([self._run(_size, shard) for shard in shards])
        extent = Extent(
            users=sum(size for size, _ in sizes),
            words=len(words),
            rows=sum(one.rows for one in extents),
            dropped=sum(one.dropped for one in extents),
        )
        fingerprint = sum(number for _, number in sizes) % 2**64
        ends = np.cumsum([size for size, _ in sizes])
        return ShardedPopulation(words, extent, file_label(path), users, fingerprint, shards, ends, self._fetch)

    def count(
        self, work: Work, population: Population, start: int, stop: int, advance: Advance = lambda users: None
    ) -> NDArray[np.int64]:
        """Count over a range of users; workers add the partial sums in a tree."""
        pieces = list(population.spans(start, stop))
        if not pieces:
            return np.zeros(work.size, np.int64)
        with self._translate_errors():
            sent = self._ray.put(work)
            share = -(-len(pieces) // (TASKS_PER_CORE * self._cores))
            groups = [pieces[first : first + share] for first in range(0, len(pieces), share)]
            sums = {self._task(sent, population, group): group[-1][1] - group[0][0] for group in groups}
            waiting = list(sums)
            try:
                while waiting:
                    done, waiting = self._ray.wait(waiting, fetch_local=False)
                    for task in done:
                        advance(sums[task])
                return np.array(self._ray.get(self._tree(_add, list(sums))))
            except KeyboardInterrupt:
                # A temporary cluster ends with the run; on another one, cancel the work that nobody waits for.
                if self._address is not None:
                    for task in waiting:
                        self._ray.cancel(task)
                raise

    def _task(self, work: "Ref", population: Population, pieces: Pieces) -> "Ref":
        """Start a task that counts some consecutive pieces, with the data of their users."""
        if isinstance(population, ShardedPopulation):
            first, shards = population.overlapping(pieces[0][0], pieces[-1][1])
            return self._run(_count_window, work, pieces, first, *shards)
        if self._sent is None or self._sent[0] is not population:
            self._sent = population, self._ray.put(population.source)
        return self._run(_count, work, pieces, self._sent[1])

    def _tree(self, combine: Callable[..., Any], results: "list[Ref]") -> "Ref":
        """Combine many results into one, some at a time."""
        while len(results) > 1:
            results = [self._run(combine, *results[i : i + FAN_IN]) for i in range(0, len(results), FAN_IN)]
        return results[0]

    def _run(self, function: Callable[..., Any], *arguments: object, **named: object) -> "Ref":
        """Start a task, which is restarted if its worker dies."""
        found: Ref = self._ray.remote(**TASK)(function).remote(*arguments, **named)
        return found

    def _run_for_many(self, function: Callable[..., Any], results: int, *arguments: object) -> "Sequence[Ref]":
        """Start a task with several results, which can be fetched one by one."""
        found: Sequence[Ref] = self._ray.remote(num_returns=results, **TASK)(function).remote(*arguments)
        return found

    def _fetch(self, shards: "Sequence[Ref]") -> list[Shard]:
        with self._translate_errors():
            return list(self._ray.get(list(shards)))

    def _start(self, cores: int | None) -> None:
        """Start a temporary cluster on this machine."""
        # Without an address Ray would join any cluster that it finds.
        self._ray.init(
            address="local",
            num_cpus=cores,
            include_dashboard=False,
            log_to_driver=False,
            configure_logging=False,
            # Otherwise objects that do not fit into memory would be written to disk, with what somebody typed.
            _system_config={"automatic_object_spilling_enabled": False},
        )

    def _join(self, address: str) -> None:
        try:
            self._ray.init(address=address, log_to_driver=False, configure_logging=False)
        except (ConnectionError, ValueError, RuntimeError) as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise EngineError(
                f"the cluster at {address} can't be joined ({reason}); check that `ray status` works there, "
                "or leave out --address to use this machine"
            ) from None

    def _check_workers(self) -> None:
        """Check that every machine has this version of neologue: another one could count differently."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        nodes = [node for node in self._ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        if not nodes:
            raise EngineError(f"the cluster at {self._address} has no machine with a core; add one")
        for node in nodes:
            there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            task = self._ray.remote(num_cpus=1, max_retries=0, scheduling_strategy=there)(_version).remote()
            try:
                found = self._ray.get(task, timeout=SECONDS_TO_BEGIN)
            except self._ray.exceptions.GetTimeoutError:
                raise EngineError(
                    f"no core of {node['NodeManagerAddress']} became free in {SECONDS_TO_BEGIN:.0f} seconds; "
                    "try again when the cluster is less busy"
                ) from None
            except self._ray.exceptions.RayError:
                found = None
            if found != __version__:
                has = "can't import neologue" if found is None else f"has neologue {found}"
                raise EngineError(
                    f"a worker on {node['NodeManagerAddress']} {has}; "
                    f'install "neologue[cluster]=={__version__}" on every machine of the cluster'
                )

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Translate Ray's exceptions into neologue's."""
        errors = self._ray.exceptions
        try:
            yield
        except errors.RayTaskError as error:
            if isinstance(error.cause, NeologueError):
                raise error.cause from None
            if isinstance(error.cause, MemoryError):
                raise EngineError("a worker of the cluster has too little memory; give it fewer candidates") from None
            raise
        except (errors.OutOfMemoryError, errors.ObjectStoreFullError):
            raise EngineError("the cluster has too little memory for its tasks; add some, or use fewer cores") from None
        except errors.RayError as error:
            raise EngineError(
                f"the cluster lost a task {MOST_RETRIES} times or failed ({type(error).__name__}); "
                "look at its logs, then continue with --resume"
            ) from None


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
        fetch: "Callable[[Sequence[Ref]], list[Shard]]",
    ) -> None:
        self.users, self.description = describe_records(extent, name, users)
        self.words = words
        self._fingerprint = fingerprint
        self._shards, self._ends, self._fetch = shards, ends, fetch

    def overlapping(self, start: int, stop: int) -> "tuple[int, Sequence[Ref]]":
        """The first user of the shards that overlap a range of users, and these shards."""
        first, last = np.searchsorted(self._ends, [start, stop - 1], side="right").tolist()
        return int(self._ends[first - 1]) if first else 0, self._shards[first : last + 1]

    def draw(self, start: int, stop: int, *, counted: bool = True) -> Holdings:
        """Fetch the holdings of these users; counting is better done where the users are."""
        if start >= stop:
            return Holdings.concatenate([])
        first, shards = self.overlapping(start, stop)
        return _window(first, self._fetch(shards)).draw(start, stop)

    @property
    def digest(self) -> str:
        """SHA-256 of what the users hold, and of their order: the same as on one machine."""
        return recorded_digest(self.words, self.users, self._fingerprint)


def _import_ray(*, guarded: bool) -> Any:  # noqa: ANN401 - Ray has no types
    """Import Ray without usage statistics; if `guarded`, a cluster that it starts requires a token.

    Ray listens on all interfaces and reads these settings when it is imported.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if guarded and "ray" not in sys.modules and "RAY_AUTH_MODE" not in os.environ:
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    try:
        import ray
    except ImportError:
        raise EngineError('the engine ray is not installed; get it with pip install "neologue[cluster]"') from None
    return ray


def _find_cluster() -> str:
    """The address of the cluster that runs on this machine."""
    from ray._private.services import canonicalize_bootstrap_address

    try:
        found = canonicalize_bootstrap_address("auto")
    except (ConnectionError, ValueError):
        found = None
    if not found:
        raise EngineError("no cluster runs on this machine; give its address, or leave out --address to start one")
    return str(found)


def _check_address(address: str) -> None:
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 1 <= int(port) <= 65535:
        raise EngineError(f"{address!r} is not the address of a cluster; write it like 10.0.0.7:6379, or auto")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), SECONDS_TO_ANSWER) as connection:
            connection.sendall(HELLO)
            answer = connection.recv(9)
    except TimeoutError:
        answer = b""
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise EngineError(
            f"nothing answers at {address} ({reason}); start the cluster with `ray start --head`, "
            "or leave out --address to use this machine"
        ) from None
    if answer[3:4] != HELLO[-6:-5]:
        raise EngineError(f"{address} is not a Ray cluster; give the address that `ray start` printed")


def _version() -> str:
    from neologue import __version__ as version

    return version


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
