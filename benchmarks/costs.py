"""How the cost of simulated reports grows: with their number N, with s, d and B, and with threads."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from benchmarks.kernels import EXACT, TREE, layer_holders
from benchmarks.measure import Curve, Part, Work, cpu_seconds, elapsed_seconds, measure_in_turn
from benchmarks.setting import Setting, selection_of
from neologue.populations.counting import Counters
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.simulation.votes.report_kernels import SubsetReports
from neologue.simulation.votes.tree import subset_votes

Action = Callable[[], object]

SHARES = (0.1, 0.3, 1.0, 3.0, 10.0)
"""How many times the usual number of reports is drawn."""


def measure(setting: Setting) -> Part:
    """Vary one parameter after the other; all its values are measured in turn."""
    return Part(
        title="Costs of Subset Selection reports",
        curves=[
            *_against_reports(setting),
            *_against_domain(setting),
            *_against_size(setting),
            *_against_words(setting),
            *_against_threads(setting),
        ],
    )


def drawing_reports(selection: SubsetSelection, users: int, piece: int = 0) -> Action:
    """An action that draws all reports of users with B words each, as the exact simulation does."""
    starts = np.arange(users + 1) * selection.bound
    held = np.random.default_rng(piece).integers(0, selection.candidates, starts[-1], dtype=np.int32)
    counters = Counters(selection.domain)
    reports = SubsetReports(selection, seed=0)

    def draw() -> None:
        for _ in reports.add(piece, starts, held, counters):
            pass

    return draw


def drawing_votes(selection: SubsetSelection, reports: int) -> Action:
    """An action that draws the votes of a number of reports by the tree."""
    holders = layer_holders(selection, reports)
    return lambda: subset_votes(holders, selection.subset_size, float(selection.channel.p), 0, 0)


def _against_reports(setting: Setting) -> Iterator[Curve]:
    selection, users = setting.selection, setting.sweep_reports // setting.words
    drawn = [max(1, int(share * users)) for share in SHARES]
    at_once = [max(1, int(share * setting.layer_reports)) for share in SHARES]
    reports = [n * setting.words for n in drawn]
    yield _curve(EXACT, "N, reports", reports, [drawing_reports(selection, n) for n in drawn], setting)
    yield _curve(TREE, "N, reports", at_once, [drawing_votes(selection, n) for n in at_once], setting)


def _against_domain(setting: Setting) -> Iterator[Curve]:
    size = setting.selection.subset_size
    chosen = [selection_of(candidates, size, setting.words) for candidates in setting.sweep_candidates]
    yield from _curves("s, candidates", setting.sweep_candidates, chosen, setting)


def _against_size(setting: Setting) -> Iterator[Curve]:
    chosen = [selection_of(setting.candidates, size, setting.words) for size in setting.sweep_sizes]
    yield from _curves("d, size of a subset", setting.sweep_sizes, chosen, setting)


def _against_words(setting: Setting) -> Iterator[Curve]:
    size = setting.selection.subset_size
    chosen = [selection_of(setting.candidates, size, words) for words in setting.sweep_words]
    yield from _curves("B, words of a user", setting.sweep_words, chosen, setting)


def _curves(against: str, sizes: Sequence[int], chosen: Sequence[SubsetSelection], setting: Setting) -> Iterator[Curve]:
    """Both methods, each with a fixed number of users."""
    few, many = setting.sweep_reports // setting.words, setting.layer_size
    drawn, grown = (
        [drawing_reports(one, few) for one in chosen],
        [drawing_votes(one, many * one.bound) for one in chosen],
    )
    yield _curve(f"{EXACT}, {few:,} users", against, sizes, drawn, setting)
    yield _curve(f"{TREE}, {many:,} users", against, sizes, grown, setting)


def _against_threads(setting: Setting) -> Iterator[Curve]:
    """The same reports, split over the threads, each with its own counters."""
    selection, users = setting.selection, setting.sweep_reports // setting.words
    cores = os.cpu_count() or 1
    numbers = sorted({1 << power for power in range(cores.bit_length())} | {cores})

    def shared(threads: int) -> Action:
        pieces = [drawing_reports(selection, users // threads, piece) for piece in range(threads)]

        def draw() -> None:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(lambda piece: piece(), pieces))

        return draw

    for what, clock in ((f"{EXACT}, on the wall", elapsed_seconds), (f"{EXACT}, CPU", cpu_seconds)):
        works = [Work(str(n), users, "users", clock(shared(n))) for n in numbers]
        measured = measure_in_turn(works, setting.sweep_rounds)
        yield Curve(what, "threads", "seconds", tuple(numbers), tuple(each.shortest for each in measured.values()))


def _curve(what: str, against: str, sizes: Sequence[int], actions: Sequence[Action], setting: Setting) -> Curve:
    works = [Work(str(size), size, against, cpu_seconds(action)) for size, action in zip(sizes, actions, strict=True)]
    measured = measure_in_turn(works, setting.sweep_rounds)
    return Curve(what, against, "CPU seconds", tuple(sizes), tuple(each.shortest for each in measured.values()))
