"""What several workers of a service cost a report, on one PostgreSQL, for layers of up to 16 million candidates.

Thousands of devices send at once, so that batches are as long as those of a large layer. How long the row of the layer
is locked, which is what workers share, is seen by looking again and again whether it is.
"""

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.device import layer_of
from benchmarks.ingest import ECHO, TICK, Target, echo, postgres, senders, service, write_reports
from benchmarks.measure import Measured, Part, Ratio, Work, measure_in_turn, ratio
from benchmarks.setting import Setting
from neologue.protocol.layer import ExtendingLayer
from neologue.randomizers.unary import Unary

GOAL = 1 / 3.5
"""Of a layer with the most candidates: a report costs at most so many echoes."""
GOAL_OF_TWO = 1 / 1.1
"""With two workers a report costs at most so many times as much as with one."""
PER_ADDRESS = 900
"""Connections of one address, of which a service allows a thousand."""
LOOK = 0.004
"""Seconds between two looks at the lock."""


@dataclass
class Looks:
    """What was seen of the row of the layer."""

    all: int = 0
    locked: int = 0
    counts: set[int] = field(default_factory=set)
    """The numbers of reports that it had: each batch makes another one."""
    processes: tuple[int, ...] = ()
    """Of the database server, which work for whoever looks."""

    def __sub__(self, before: "Looks") -> "Looks":
        return Looks(self.all - before.all, self.locked - before.locked, self.counts - before.counts)


@dataclass
class RoundFigures:
    """Figures of the rounds beside the CPU time of the workers."""

    rates: list[float] = field(default_factory=list)
    others: list[float] = field(default_factory=list)
    locked: list[float] = field(default_factory=list)
    """Seconds under the lock, per report."""
    shares: list[float] = field(default_factory=list)
    batches: list[float] = field(default_factory=list)


def measure(setting: Setting) -> Part:
    """Measure an echo and services with more and more workers in turn, for layers of each size."""
    measured: list[Measured] = []
    ratios: list[Ratio] = []
    notes: list[str] = []
    with postgres() as new_database, senders() as ask:
        if new_database is None:
            return Part("Several workers", notes=["not measured: there is no PostgreSQL server that could be started"])
        for candidates, epsilon in setting.workers_layers:
            layer = layer_of(Unary.name, epsilon, replace(setting, candidates=candidates))
            here, figures, size = _measure_services(layer, setting, new_database, ask)
            bare, *services = here
            goal = GOAL if setting.has_goals and candidates == setting.workers_layers[-1][0] else None
            goal_of_two = GOAL_OF_TWO if setting.has_goals else None
            ratios.extend(ratio(each, bare, goal) for each in services)
            ratios.extend(
                ratio(each, services[0], goal_of_two if each is services[1] else None) for each in services[1:]
            )
            measured.extend(here)
            notes.append(f"{layer.candidates.size:,} candidates: {size:,} bytes a report, unary, ε = {epsilon:g}")
            notes.extend(_note(each, bare, figures[each.what]) for each in services)
    return Part(
        title=f"Several workers on PostgreSQL: {setting.workers_connections:,} connections, CPU time of all workers",
        measured=measured,
        ratios=ratios,
        notes=notes,
    )


def _measure_services(
    layer: ExtendingLayer, setting: Setting, new_database: Callable[[], tuple[str, int]], ask: Callable[..., Any]
) -> tuple[list[Measured], dict[str, RoundFigures], int]:
    figures: dict[str, RoundFigures] = {}
    with TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name) / "reports"
        each = setting.workers_reports + 2 * setting.workers_connections
        size = write_reports(layer, folder, each * (setting.workers_rounds + 1))

        def work(what: str, target: Target, looks: Looks) -> Work:
            label = f"{what}, {layer.candidates.size:,} candidates"
            round_figures = figures[label] = RoundFigures()
            firsts = itertools.count(0, each)

            def round_() -> float:
                before = Looks(looks.all, looks.locked, set(looks.counts))
                took = ask(
                    **vars(target),
                    connections=setting.workers_connections,
                    addresses=-(-setting.workers_connections // PER_ADDRESS),
                    reports=setting.workers_reports,
                    folder=str(folder),
                    without=looks.processes,
                    first=next(firsts),
                )
                seen, final = looks - before, took["final"]
                share = seen.locked / max(1, seen.all)
                round_figures.rates.append(final / took["elapsed"])
                round_figures.others.append(took["others"] / final)
                round_figures.shares.append(share)
                round_figures.locked.append(share * took["elapsed"] / final)
                round_figures.batches.append(final / max(1, len(seen.counts)))
                return max(TICK, float(took["cpu"])) * setting.workers_reports / float(final)

            return Work(label, setting.workers_reports, "reports", round_)

        works = [work(ECHO, stack.enter_context(echo(layer)), Looks())]
        for workers in setting.workers:
            url, server = new_database()
            target = stack.enter_context(service(url, layer, (server,), workers, setting.workers_patience))
            what = f"{workers} workers" if workers > 1 else "1 worker"
            works.append(work(what, target, stack.enter_context(_watch(url))))
        return list(measure_in_turn(works, setting.workers_rounds).values()), figures, size


@contextmanager
def _watch(url: str) -> Iterator[Looks]:
    """Looks at the row of the layer until the end, whether a transaction has locked it."""
    import psycopg

    looks, over = Looks(), threading.Event()

    def look() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            looks.processes = (connection.info.backend_pid,)
            while not over.wait(LOOK):
                free = connection.execute("SELECT 1 FROM layers FOR UPDATE SKIP LOCKED").fetchall()
                ((reports,),) = connection.execute("SELECT reports FROM layers").fetchall()
                looks.all += 1
                looks.locked += not free
                looks.counts.add(reports)

    watching = threading.Thread(target=look)
    watching.start()
    try:
        yield looks
    finally:
        over.set()
        watching.join()


def _note(measured: Measured, bare: Measured, figures: RoundFigures) -> str:
    """A line about one service; the first round warmed up."""
    return (
        f"{measured.what}: {measured.shortest / bare.shortest * bare.amount / measured.amount:.2f} echoes a report, "
        f"{max(figures.rates[1:]):,.0f} reports per second on the clock, senders on the same machine; "
        f"{_middle(figures.batches):,.0f} reports a batch; "
        f"its row is locked for {1e6 * _middle(figures.locked):.0f} µs a report, {_middle(figures.shares):.0%} of "
        f"the time; "
        f"the database server took {1e6 * min(figures.others[1:]):.0f} µs a report besides"
    )


def _middle(values: list[float]) -> float:
    rounds = sorted(values[1:])
    return rounds[len(rounds) // 2]
