"""Counting over all users of a range, on all cores, in memory that does not grow with the range."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from neologue.simulation import kernels

FULL = 2**32 - 1


class Spans(Protocol):
    """Whatever cuts a range of users into pieces."""

    def spans(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """The pieces of a range."""


class Counters:
    """Counters of 32 bits, which stay in the cache longer, emptied into 64-bit totals before one could overflow."""

    def __init__(self, size: int, full: int = FULL) -> None:
        self._counts = np.zeros(size, np.uint32)
        self._totals: NDArray[np.int64] | None = None
        self._full = full
        self._room = full

    def room_for(self, votes: int) -> NDArray[np.uint32]:
        """The counters, each of which can take so many votes more."""
        if votes > self._full:
            raise ValueError(f"{votes} votes at once are more than a counter can hold")
        if votes > self._room:
            self._totals = self.totals()
            self._counts[:] = 0
            self._room = self._full
        self._room -= votes
        return self._counts

    def totals(self) -> NDArray[np.int64]:
        """All that was counted."""
        return self._counts.astype(np.int64) if self._totals is None else self._totals + self._counts


def count(
    add: Callable[[int, int, Counters], Iterator[None]],
    users: Spans,
    start: int,
    stop: int,
    size: int,
    advance: Callable[[int], None] = lambda users: None,
) -> NDArray[np.int64]:
    """What is counted when each piece of a range of users adds to the counters of its thread, step by step.

    `advance` hears how many users each finished piece had. An interruption ends the count after the steps under way.
    """
    pieces = list(users.spans(start, stop))
    threads = max(1, min(len(pieces), os.cpu_count() or 1))
    stopped, speaking = Event(), Lock()

    def share(thread: int) -> NDArray[np.int64]:
        counters = Counters(size)
        for first, last in pieces[thread::threads]:
            for _ in add(first, last, counters):
                if stopped.is_set():
                    return counters.totals()
            with speaking:
                advance(last - first)
        return counters.totals()

    with ThreadPoolExecutor(threads) as pool:
        try:
            return sum(pool.map(share, range(threads)), np.zeros(size, np.int64))
        finally:
            stopped.set()


def count_ids(
    ids_of: Callable[[int, int], NDArray[np.int32]],
    users: Spans,
    start: int,
    stop: int,
    size: int,
    advance: Callable[[int], None] = lambda users: None,
) -> NDArray[np.int64]:
    """How often each id below `size` occurs among the ids of all pieces of a range of users."""

    def add(first: int, last: int, counters: Counters) -> Iterator[None]:
        ids = ids_of(first, last)
        kernels.add_counts(ids, counters.room_for(len(ids)))
        yield

    return count(add, users, start, stop, size, advance)
