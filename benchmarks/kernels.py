"""How fast Subset Selection is simulated: report by report, by the tree, and the limit that random increments set.

All are measured in turn in one process, by CPU time, so that their ratios hold on a busy machine too; the shortest of
some rounds counts, and the middle one is shown beside it. A layer of the paper has 500,000 users with 60 words each.

    python benchmarks/kernels.py --out kernels.json
"""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from neologue.randomizers.subset_selection import SubsetSelection
from neologue.simulation.lanes import lanes
from neologue.simulation.reports import add_by_marks, add_by_pairs, add_votes, repeats_are_rare
from neologue.simulation.streams import Stream
from neologue.simulation.tree import subset_votes


@dataclass(frozen=True)
class Speed:
    """How long some reports took."""

    what: str
    reports: int
    seconds: float
    middle_seconds: float

    @property
    def rate(self) -> float:
        """Reports per CPU-second."""
        return self.reports / self.seconds


def measured(works: dict[str, tuple[int, Callable[[], object]]], rounds: int) -> dict[str, Speed]:
    """The CPU time of each work, after a first call that compiles it."""
    times: dict[str, list[float]] = {what: [] for what in works}
    for _, work in works.values():
        work()
    for _ in range(rounds):
        for what, (_, work) in works.items():
            before = time.process_time()
            work()
            times[what].append(time.process_time() - before)
    return {what: Speed(what, works[what][0], min(taken), statistics.median(taken)) for what, taken in times.items()}


def kernels(randomizer: SubsetSelection, reports: int, layer: int, rounds: int) -> dict[str, Speed]:
    """Increments alone, the kernel, and the tree, for a million candidates or whatever the randomizer has."""
    domain, size, truth = randomizer.domain, randomizer.subset_size, np.uint64(randomizer.truth)
    rng = np.random.default_rng(0)
    places = rng.integers(0, domain, reports * size, dtype=np.uint32)
    words = rng.integers(0, domain, reports, dtype=np.int32)
    counts = np.zeros(domain, np.uint32)
    state = lanes(Stream.EXACT, 0, 0)
    draw = add_by_pairs if repeats_are_rare(size, domain) else add_by_marks
    holders = np.zeros(domain, np.int64)
    held = min(20_000, randomizer.candidates)
    holders[:held] = layer // 2 // held
    holders[-1] += layer - holders.sum()
    return measured(
        {
            "increments": (reports, lambda: add_votes(places, counts)),
            "exact": (reports, lambda: draw(state, words, domain, size, truth, counts)),
            "tree": (layer, lambda: subset_votes(holders, size, float(randomizer.channel.p), 0, 0)),
        },
        rounds,
    )


def show(speeds: dict[str, Speed], randomizer: SubsetSelection) -> None:
    """Print a table."""
    table = Table(title=f"Subset Selection, s = {randomizer.domain:,}, d = {randomizer.subset_size}")
    for heading in ("", "reports", "CPU seconds", "middle", "reports per CPU-second", "of increments", "times exact"):
        table.add_column(heading, justify="right" if heading else "left")
    limit, exact = speeds["increments"].rate, speeds["exact"].rate
    for speed in speeds.values():
        table.add_row(
            speed.what,
            f"{speed.reports:,}",
            f"{speed.seconds:.3f}",
            f"{speed.middle_seconds:.3f}",
            f"{speed.rate:,.0f}",
            f"{speed.rate / limit:.0%}",
            f"{speed.rate / exact:.2f}",
        )
    Console(width=120).print(table)


def main() -> None:
    """Measure, print, and write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=1_000_000)
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--reports", type=int, default=1 << 19, help="drawn one by one in each round")
    parser.add_argument("--layer", type=int, default=30_000_000, help="reports that the tree stands for")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    randomizer = SubsetSelection(options.candidates, options.epsilon, 60)
    speeds = kernels(randomizer, options.reports, options.layer, options.rounds)
    show(speeds, randomizer)
    if options.out:
        rates = {what: asdict(speed) | {"reports_per_cpu_second": speed.rate} for what, speed in speeds.items()}
        document = {
            "domain": randomizer.domain,
            "subset_size": randomizer.subset_size,
            "processor": platform.machine(),
            "speeds": rates,
            "exact_of_increments": speeds["exact"].rate / speeds["increments"].rate,
            "tree_times_exact": speeds["tree"].rate / speeds["exact"].rate,
        }
        options.out.write_text(json.dumps(document, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
