"""What does the counting: the cores of this machine."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Lock
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from neologue.populations.counting import Advance, Work, count_pieces
from neologue.populations.population import Population
from neologue.populations.records import Columns


class Engine(Protocol):
    """Whatever can read users and count over them; what is found is the same whoever does it."""

    @property
    def threads(self) -> int:
        """How many sets of counters there are at once on this machine."""

    def read(
        self,
        path: Path,
        columns: Columns | None = None,
        *,
        days: int = 60,
        users: int | None = None,
        seed: int = 0,
    ) -> Population:
        """The users of a file, or so many of them drawn at random."""

    def count(
        self, work: Work, population: Population, start: int, stop: int, advance: Advance = lambda users: None
    ) -> NDArray[np.int64]:
        """What work counts over a range of the population's users; `advance` hears of every piece that is done."""


class LocalEngine:
    """The cores of this machine: threads, as compiled loops hold no lock, each with counters of its own."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or usable_cores()

    def __enter__(self) -> "LocalEngine":
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is left behind."""

    def read(
        self,
        path: Path,
        columns: Columns | None = None,
        *,
        days: int = 60,
        users: int | None = None,
        seed: int = 0,
    ) -> Population:
        """The users of a file, all in the memory of this machine."""
        return Population.from_file(path, columns, days=days, users=users, seed=seed)

    def count(
        self, work: Work, population: Population, start: int, stop: int, advance: Advance = lambda users: None
    ) -> NDArray[np.int64]:
        """An interruption ends the count after the steps under way."""
        pieces = list(population.spans(start, stop))
        threads = max(1, min(len(pieces), self.threads))
        stopped, speaking = Event(), Lock()

        def done(users: int) -> None:
            with speaking:
                advance(users)

        def share(thread: int) -> NDArray[np.int64]:
            return count_pieces(work, population, pieces[thread::threads], done, stopped.is_set)

        with ThreadPoolExecutor(threads) as pool:
            try:
                return sum(pool.map(share, range(threads)), np.zeros(work.size, np.int64))
            finally:
                stopped.set()


def usable_cores() -> int:
    """The cores that this process may use, which can be fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
