"""Engines read users and count over them; this one uses the cores of this machine."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Lock
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from neologue.language.word_form import AS_TYPED, WordForm
from neologue.populations.counting import Advance, Work, count_pieces
from neologue.populations.population import Population
from neologue.populations.record_table import Columns


class Engine(Protocol):
    """Reads users and counts over them; all engines give the same result."""

    @property
    def threads(self) -> int:
        """The number of sets of counters in the memory of this machine."""

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
        """Read the users of one or more files, or draw `users` of them at random."""

    def count(
        self, work: Work, population: Population, start: int, stop: int, advance: Advance = lambda users: None
    ) -> NDArray[np.int64]:
        """Count over a range of the population's users; `advance` is called after every piece."""


class LocalEngine:
    """Counts in threads, each with its own counters; compiled loops release the GIL."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or usable_cores()

    def __enter__(self) -> "LocalEngine":
        return self

    def __exit__(self, *error: object) -> None:
        """There is nothing to clean up."""

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
        """Read the users of files into the memory of this machine."""
        return Population.from_file(paths, columns, days=days, users=users, seed=seed, form=form)

    def count(
        self, work: Work, population: Population, start: int, stop: int, advance: Advance = lambda users: None
    ) -> NDArray[np.int64]:
        """Count over a range of users; an interruption ends the count after the current steps."""
        pieces = list(population.spans(start, stop))
        threads = max(1, min(len(pieces), self.threads))
        stopped, lock = Event(), Lock()

        def done(users: int) -> None:
            with lock:
                advance(users)

        def share(thread: int) -> NDArray[np.int64]:
            return count_pieces(work, population, pieces[thread::threads], done, stopped.is_set)

        with ThreadPoolExecutor(threads) as pool:
            try:
                return sum(pool.map(share, range(threads)), np.zeros(work.size, np.int64))
            finally:
                stopped.set()


def usable_cores() -> int:
    """The number of cores that this process may use, possibly fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
