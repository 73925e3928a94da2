"""How fast the reports of a layer are simulated: one by one, all at once, by peers, and by increments alone."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.measure import Measured, Part, Ratio, Work, cpu_seconds, measure_in_turn, ratio
from benchmarks.peers import Peer
from benchmarks.setting import Setting
from neologue.populations.count_kernel import count_ids
from neologue.populations.random64 import seed_generators
from neologue.populations.streams import Stream, generator
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.simulation.votes.report_kernels import add_by_marks, add_by_pairs, add_unary, repeats_are_rare
from neologue.simulation.votes.tree import subset_votes

INCREMENTS, EXACT, TREE = "increments alone", "exact kernel", "tree"
BATCHED, CHOICE = "NumPy, batched by hand", "NumPy, Generator.choice"
UNARY = "unary kernel"
PEER = "multi-freq-ldpy, subset-selection"
HELD = 20_000
"""How many candidates of a layer for the tree are held by someone."""
TIMES_UNARY = 8
"""A unary report has about this many times the votes of a Subset Selection report."""

GOALS = {INCREMENTS: 0.45, PEER: 100_000.0, EXACT: 10.0}
"""Goals: how many times as fast the exact kernel is as each of these, and the tree as the exact kernel."""


def measure(setting: Setting, peers: Mapping[str, Peer]) -> Part:
    """Measure all of them in turn, and compare."""
    measured = measure_in_turn([*_own(setting), *_of_peers(setting, peers)], setting.rounds)
    selection = setting.selection
    return Part(
        title=f"Reports, generated and tallied: s = {selection.domain:,}, d = {selection.subset_size}",
        measured=list(measured.values()),
        ratios=list(_ratios(measured, GOALS if setting.has_goals else {})),
        notes=[f"{peer.name}: {peer.state}" for peer in peers.values()],
    )


def layer_holders(selection: SubsetSelection, reports: int) -> NDArray[np.int64]:
    """How many reports are on each word: half of them on words that many users hold, the rest on γ."""
    holders = np.zeros(selection.domain, np.int64)
    held = min(HELD, selection.candidates)
    holders[:held] = reports // 2 // held
    holders[-1] += reports - holders.sum()
    return holders


def _own(setting: Setting) -> Iterator[Work]:
    selection, unary = setting.selection, setting.unary
    domain, size, truth = selection.domain, selection.subset_size, np.uint64(selection.truth)
    rng = np.random.default_rng(0)
    words = rng.integers(0, domain, setting.reports, dtype=np.int32)
    all_votes = rng.integers(0, domain, setting.reports * size, dtype=np.uint32)
    counts = np.zeros(domain, np.uint32)
    state = seed_generators(Stream.EXACT, 0, 0)
    draw = add_by_pairs if repeats_are_rare(size, domain) else add_by_marks
    holders = layer_holders(selection, setting.layer_reports)
    few = words[: setting.numpy_reports]

    def work(what: str, reports: int, action: object, note: str = "") -> Work:
        assert callable(action)
        return Work(what, reports, "reports", cpu_seconds(action), note)

    yield work(INCREMENTS, setting.reports, lambda: count_ids(all_votes, counts), "no randomness: the limit")
    yield work(EXACT, setting.reports, lambda: draw(state, words, domain, size, truth, counts))
    yield work(
        TREE,
        setting.layer_reports,
        lambda: subset_votes(holders, size, float(selection.channel.p), 0, 0),
        "a layer of the paper at once",
    )
    yield work(BATCHED, len(words) // 16, lambda: add_batched(rng, words[: len(words) // 16], selection, counts))
    yield work(CHOICE, len(few), lambda: add_by_choice(rng, few, selection, counts))

    users = max(1, setting.reports // TIMES_UNARY)
    starts = np.arange(users + 1)
    held = words[:users] % np.int32(unary.candidates)
    source, noise = generator(Stream.EXACT, 0, 0, 1), float(unary.channel.q)
    yield work(
        UNARY,
        users,
        lambda: add_unary(state, source, starts, held, unary.candidates, noise, counts),
        f"one word each, ε = {unary.epsilon:g}",
    )


def _of_peers(setting: Setting, peers: Mapping[str, Peer]) -> Iterator[Work]:
    works = (
        ("multi-freq-ldpy", "subset-selection", setting.selection.domain, setting.epsilon, "its tally not counted"),
        ("multi-freq-ldpy", "subset-selection-tallied", setting.selection.domain, setting.epsilon, "few reports"),
        ("multi-freq-ldpy", "unary", setting.candidates, setting.unary_epsilon, "its tally not counted"),
        ("pure-ldp", "unary", setting.candidates, setting.unary_epsilon, "its tally not counted"),
    )
    for name, what, domain, epsilon, note in works:
        if peers[name].version:
            turn = peers[name].round(what, domain, epsilon, setting.peer_reports)
            yield Work(f"{name}, {what}", setting.peer_reports, "reports", turn, note)


def _ratios(measured: Mapping[str, Measured], goals: Mapping[str, float]) -> Iterator[Ratio]:
    exact = measured[EXACT]
    yield ratio(exact, measured[INCREMENTS], goals.get(INCREMENTS))
    yield ratio(measured[TREE], exact, goals.get(EXACT))
    yield ratio(exact, measured[BATCHED])
    yield ratio(exact, measured[CHOICE])
    for what, other in measured.items():
        if what == PEER:
            yield ratio(exact, other, goals.get(PEER))
        elif what.endswith(", subset-selection-tallied"):
            yield ratio(exact, other)
        elif what.endswith(", unary"):
            yield ratio(measured[UNARY], other)


def add_by_choice(
    rng: Generator, words: NDArray[np.int32], selection: SubsetSelection, counts: NDArray[np.uint32]
) -> None:
    """Subset Selection as a first version in NumPy: a choice without replacement for each report."""
    truth = float(selection.channel.p)
    for word in words.tolist():
        subset = rng.choice(selection.domain - 1, selection.subset_size, replace=False)
        subset += subset >= word
        if rng.random() < truth:
            subset[-1] = word
        counts[subset] += np.uint32(1)


def add_batched(
    rng: Generator, words: NDArray[np.int32], selection: SubsetSelection, counts: NDArray[np.uint32]
) -> None:
    """Subset Selection as an expert's NumPy: all reports at once, those with repeats drawn again."""
    subsets = rng.integers(0, selection.domain - 1, (len(words), selection.subset_size), dtype=np.int32)
    again = np.arange(len(words))
    while True:
        ordered = np.sort(subsets[again], axis=1)
        again = again[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]
        if not len(again):
            break
        subsets[again] = rng.integers(0, selection.domain - 1, (len(again), selection.subset_size), dtype=np.int32)
    subsets += subsets >= words[:, None]
    true = rng.random(len(words)) < float(selection.channel.p)
    subsets[true, -1] = words[true]
    counts += np.bincount(subsets.ravel(), minlength=selection.domain).astype(np.uint32)
