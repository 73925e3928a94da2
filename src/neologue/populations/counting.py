"""Counting over many users, piece by piece, in memory that does not grow with the number of users."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from neologue.populations.holdings import Holdings

FULL = 2**32 - 1

Advance = Callable[[int], None]
"""Called with the number of users that have just been done."""


class Users(Protocol):
    """A source of users, in pieces."""

    def draw(self, start: int, stop: int, *, counted: bool = True) -> Holdings:
        """The holdings of the users of a piece."""


class Counters:
    """32-bit counters, which fit better into the cache, emptied into 64-bit totals before one could overflow."""

    def __init__(self, size: int, full: int = FULL) -> None:
        self._counts = np.zeros(size, np.uint32)
        self._totals: NDArray[np.int64] | None = None
        self._full = full
        self._room = full

    def room_for(self, votes: int) -> NDArray[np.uint32]:
        """The counters, each with room for this many more votes."""
        if votes > self._full:
            raise ValueError(f"{votes} votes at once are more than a counter can hold")
        if votes > self._room:
            self._totals = self.totals()
            self._counts[:] = 0
            self._room = self._full
        self._room -= votes
        return self._counts

    def totals(self) -> NDArray[np.int64]:
        """Everything counted so far."""
        return self._counts.astype(np.int64) if self._totals is None else self._totals + self._counts


class Work(Protocol):
    """Something to count; the counts of a piece depend on that piece alone, wherever it is counted."""

    @property
    def size(self) -> int:
        """The number of counters."""

    def add(self, users: Users, start: int, stop: int, counters: Counters) -> Iterator[None]:
        """Count a piece of the users, in short steps."""


def count_pieces(
    work: Work,
    users: Users,
    pieces: Iterable[tuple[int, int]],
    advance: Advance = lambda users: None,
    stopped: Callable[[], bool] = lambda: False,
) -> NDArray[np.int64]:
    """Count some pieces one after the other; incomplete if `stopped` becomes true between two steps."""
    counters = Counters(work.size)
    for start, stop in pieces:
        for _ in work.add(users, start, stop, counters):
            if stopped():
                return counters.totals()
        advance(stop - start)
    return counters.totals()
