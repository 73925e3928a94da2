"""The sizes of the benchmark: those of the paper's production run, and small ones that only show that it works."""

import math
from dataclasses import dataclass

from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary

DELTA = 1e-10


@dataclass(frozen=True)
class Setting:
    """How much is done in a round, and how often."""

    name: str
    has_goals: bool
    """Whether the sizes are large enough to compare ratios with their goals."""
    rounds: int
    candidates: int
    """Of a layer; with γ they are the domain s."""
    epsilon: float
    """For subsets of 46."""
    unary_epsilon: float
    words: int
    """B, the words of a user."""
    layer_size: int
    """The users of a layer."""
    reports: int
    """Drawn one by one by compiled code."""
    numpy_reports: int
    peer_reports: int
    device_reports: int
    ingest_layers: tuple[tuple[int, float], ...]
    """Candidates and ε of the layers whose reports are taken over HTTP: 7 and 12 KB each."""
    ingest_connections: int
    ingest_reports: int
    ingest_rounds: int
    workers: tuple[int, ...]
    """How many workers share a database; the first number is one."""
    workers_layers: tuple[tuple[int, float], ...]
    """Candidates and ε of their layers: 7, 6 and 10 KB a report, which is the most that a campaign asks for."""
    workers_connections: int
    workers_patience: float
    """Seconds that a report waits for its batch: on a busy machine many would be sent again and again otherwise."""
    workers_reports: int
    workers_rounds: int
    masked_groups: tuple[tuple[int, int], ...]
    """Devices and candidates of the groups of secure aggregation."""
    masked_rounds: int
    log_entries: int
    """Of the operator's log that a proof is about."""
    sweep_rounds: int
    sweep_reports: int
    sweep_candidates: tuple[int, ...]
    sweep_sizes: tuple[int, ...]
    sweep_words: tuple[int, ...]
    memory_language: str
    memory_users: tuple[int, ...]
    memory_fidelities: tuple[str, ...]

    @property
    def selection(self) -> SubsetSelection:
        """The paper's randomizer for a layer."""
        return SubsetSelection(self.candidates, self.epsilon, self.words)

    @property
    def unary(self) -> Unary:
        """The randomizer of our own profile, for a layer of as many candidates."""
        return Unary(self.candidates, self.unary_epsilon, self.words)

    @property
    def layer_reports(self) -> int:
        """The reports of a layer of the paper: one for each word of each user."""
        return self.layer_size * self.words


def selection_of(candidates: int, size: int, words: int) -> SubsetSelection:
    """The randomizer with subsets of this size, whatever its ε."""
    return SubsetSelection(candidates, math.log((candidates + 1) / (size - 0.5) - 1), words)


FULL = Setting(
    name="full",
    has_goals=True,
    rounds=9,
    candidates=1_000_000,
    epsilon=10.0,
    unary_epsilon=7.0,
    words=60,
    layer_size=500_000,
    reports=1 << 19,
    numpy_reports=1 << 12,
    peer_reports=16,
    device_reports=200,
    ingest_layers=((1_000_000, 5.3), (8_000_000, 7.0)),
    ingest_connections=900,
    ingest_reports=10_000,
    ingest_rounds=4,
    workers=(1, 2, 4),
    workers_layers=((1_000_000, 5.3), (4_000_000, 7.0), (16_000_000, 8.0)),
    workers_connections=4_000,
    workers_patience=10.0,
    workers_reports=10_000,
    workers_rounds=3,
    masked_groups=((50, 100_000), (100, 10_000), (100, 100_000), (100, 1_000_000), (500, 100_000)),
    masked_rounds=3,
    log_entries=10_000,
    sweep_rounds=5,
    sweep_reports=600_000,
    sweep_candidates=(10_000, 100_000, 1_000_000, 4_000_000, 16_000_000),
    sweep_sizes=(6, 12, 23, 46, 92, 184, 368, 736),
    sweep_words=(1, 4, 15, 60, 240),
    memory_language="en",
    memory_users=(100_000, 300_000, 1_000_000),
    memory_fidelities=("exact", "fast"),
)

QUICK = Setting(
    name="quick",
    has_goals=False,
    rounds=2,
    candidates=10_000,
    epsilon=5.4,
    unary_epsilon=5.0,
    words=5,
    layer_size=2_000,
    reports=1 << 10,
    numpy_reports=1 << 6,
    peer_reports=2,
    device_reports=5,
    ingest_layers=((10_000, 5.0),),
    ingest_connections=120,
    ingest_reports=200,
    ingest_rounds=2,
    workers=(1,),
    workers_layers=((10_000, 5.0),),
    workers_connections=120,
    workers_patience=2.0,
    workers_reports=200,
    workers_rounds=2,
    masked_groups=((20, 1_000),),
    masked_rounds=2,
    log_entries=100,
    sweep_rounds=1,
    sweep_reports=6_000,
    sweep_candidates=(10_000, 20_000),
    sweep_sizes=(23, 46, 184),
    sweep_words=(1, 5),
    memory_language="id",
    memory_users=(1_000,),
    memory_fidelities=("fast",),
)
