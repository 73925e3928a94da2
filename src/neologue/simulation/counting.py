"""Counting over all users of a range, on all cores, in memory that does not grow with the range."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from neologue.simulation import kernels


class Spans(Protocol):
    """Whatever cuts a range of users into pieces."""

    def spans(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """The pieces of a range."""


def count_ids(
    ids_of: Callable[[int, int], NDArray[np.int32]],
    users: Spans,
    start: int,
    stop: int,
    size: int,
    advance: Callable[[int], None] = lambda users: None,
) -> NDArray[np.int64]:
    """How often each id below `size` occurs among the ids of all pieces of a range of users.

    `advance` hears how many users each finished piece had. An interruption ends the count after the pieces
    under way.
    """
    pieces = list(users.spans(start, stop))
    threads = max(1, min(len(pieces), os.cpu_count() or 1))
    stopped, speaking = Event(), Lock()

    def share(thread: int) -> NDArray[np.int64]:
        totals = np.zeros(size, np.int64)
        for first, last in pieces[thread::threads]:
            if stopped.is_set():
                break
            kernels.add_counts(ids_of(first, last), totals)
            with speaking:
                advance(last - first)
        return totals

    with ThreadPoolExecutor(threads) as pool:
        try:
            return sum(pool.map(share, range(threads)), np.zeros(size, np.int64))
        finally:
            stopped.set()
