"""Measuring in rounds in which everyone takes a turn, so that a busy machine slows all of them alike."""

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

Round = Callable[[], float]
"""Does something once, and returns the seconds it took."""


@dataclass(frozen=True)
class Work:
    """Something to measure, and how much of it one round does."""

    what: str
    amount: float
    unit: str
    round: Round
    note: str = ""


@dataclass(frozen=True)
class Measured:
    """The seconds of all rounds of a work."""

    what: str
    amount: float
    unit: str
    seconds: tuple[float, ...]
    note: str = ""

    @property
    def shortest(self) -> float:
        """The round that was disturbed least."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """The round in the middle."""
        return statistics.median(self.seconds)

    @property
    def rate(self) -> float:
        """Units per second, by the shortest round."""
        return self.amount / self.shortest


@dataclass(frozen=True)
class Ratio:
    """How many times as fast one is as the other, unit for unit."""

    name: str
    times: float
    """By the shortest round of each."""
    middle: float
    """Of the ratios of the rounds, each of one turn."""
    lowest: float
    highest: float
    goal: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without a goal."""
        return None if self.goal is None else self.times >= self.goal


@dataclass(frozen=True)
class Curve:
    """How a cost grows with one parameter while all others stay fixed."""

    what: str
    against: str
    unit: str
    sizes: tuple[float, ...]
    costs: tuple[float, ...]

    @property
    def exponent(self) -> float | None:
        """The slope on logarithmic axes: 1 for a cost that is proportional, 0 for one that stays."""
        if len(self.sizes) < 2:
            return None
        return float(np.polyfit(np.log(self.sizes), np.log(self.costs), 1)[0])


@dataclass(frozen=True)
class Part:
    """One part of the benchmark's report."""

    title: str
    measured: Sequence[Measured] = ()
    ratios: Sequence[Ratio] = ()
    curves: Sequence[Curve] = ()
    notes: Sequence[str] = ()


def cpu_seconds(action: Callable[[], object]) -> Round:
    """A round by the CPU time of all threads of this process."""
    return _by(time.process_time, action)


def elapsed_seconds(action: Callable[[], object]) -> Round:
    """A round by elapsed time."""
    return _by(time.perf_counter, action)


def _by(clock: Callable[[], float], action: Callable[[], object]) -> Round:
    def timed() -> float:
        before = clock()
        action()
        return clock() - before

    return timed


def measure_in_turn(works: Iterable[Work], rounds: int) -> dict[str, Measured]:
    """Measure all works, a round of each in turn, after a first one that compiles and warms up."""
    entered = list(works)
    seconds: dict[str, list[float]] = {work.what: [] for work in entered}
    for work in entered:
        work.round()
    for _ in range(rounds):
        for work in entered:
            seconds[work.what].append(work.round())
    return {
        work.what: Measured(work.what, work.amount, work.unit, tuple(seconds[work.what]), work.note) for work in entered
    }


def ratio(faster: Measured, slower: Measured, goal: float | None = None) -> Ratio:
    """How many times as fast one is as the other."""
    rounds = [
        (faster.amount / mine) / (slower.amount / theirs)
        for mine, theirs in zip(faster.seconds, slower.seconds, strict=True)
    ]
    return Ratio(
        f"{faster.what} / {slower.what}",
        faster.rate / slower.rate,
        statistics.median(rounds),
        min(rounds),
        max(rounds),
        goal,
    )
