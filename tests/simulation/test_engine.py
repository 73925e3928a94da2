"""The cores of this machine count whatever they are given, and can be interrupted."""

import time
from collections.abc import Iterator

import numpy as np
import pytest

from neologue.populations import population as populations
from neologue.populations.counting import Counters, Users, Work
from neologue.populations.population import Population
from neologue.simulation.engines.engine import LocalEngine


class Starts:
    """Counts where pieces start."""

    size = 100

    def add(self, users: Users, start: int, stop: int, counters: Counters) -> Iterator[None]:
        counters.room_for(1)[start] += np.uint32(1)
        yield


class Slow:
    """Takes long over every piece but the first, in which it is interrupted."""

    size = 1

    def __init__(self) -> None:
        self.steps = 0

    def add(self, users: Users, start: int, stop: int, counters: Counters) -> Iterator[None]:
        if start == 0:
            raise KeyboardInterrupt
        for _ in range(10_000):
            time.sleep(0.001)
            self.steps += 1
            yield


@pytest.fixture
def population(monkeypatch: pytest.MonkeyPatch) -> Population:
    """Users in pieces of ten."""
    monkeypatch.setattr(populations, "CHUNK", 10)
    return Population.from_words({str(user): {"word": 1} for user in range(35)})


@pytest.mark.parametrize("threads", [1, 2, 7, None])
def test_every_piece_is_counted_once(population: Population, threads: int | None) -> None:
    told: list[int] = []
    work: Work = Starts()
    counts = LocalEngine(threads).count(work, population, 5, 33, told.append)
    assert np.flatnonzero(counts).tolist() == [5, 10, 20, 30]
    assert counts.sum() == 4
    assert sorted(told) == [3, 5, 10, 10]


def test_nobody_is_nothing(population: Population) -> None:
    assert LocalEngine().count(Starts(), population, 7, 7).sum() == 0


def test_an_interruption_does_not_wait_for_the_rest_of_a_piece(population: Population) -> None:
    slow = Slow()
    with pytest.raises(KeyboardInterrupt):
        LocalEngine(2).count(slow, population, 0, 20)
    assert slow.steps < 1_000
