"""Comparison of methods: a result for every method, ε, number of users and seed of a study."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from statistics import fmean
from types import MappingProxyType
from typing import Any

import msgspec

from neologue.errors import ParameterError
from neologue.language.alphabet import Alphabet
from neologue.language.vocabulary import Vocabulary
from neologue.populations.population import Population
from neologue.studies.baselines.adaptive_weighting import AdaptiveWeighting, TwoRoundAdaptiveWeighting
from neologue.studies.baselines.dp_sips import DpSips
from neologue.studies.baselines.fragment_puzzle import FragmentPuzzle
from neologue.studies.baselines.opt_prefix_tree import OptPrefixTree
from neologue.studies.baselines.partition_selection import PartitionSelection
from neologue.studies.baselines.pem import Pem
from neologue.studies.baselines.triehh import TrieHH
from neologue.studies.baselines.weighted_gaussian import WeightedGaussian
from neologue.studies.method import Advance, Method, Task, ignore_progress
from neologue.studies.ours import Ours
from neologue.studies.outcome import Outcome, WordUse, outcome, truth_of
from neologue.studies.privacy_grant import Privacy, PrivacyGrant

_ALL: tuple[Method, ...] = (
    Ours("neologue"),
    Ours("gboard-2024"),
    OptPrefixTree(),
    Pem(),
    FragmentPuzzle(),
    TrieHH(),
    PartitionSelection(),
    WeightedGaussian(),
    DpSips(),
    AdaptiveWeighting(),
    TwoRoundAdaptiveWeighting(),
)
METHODS: Mapping[str, Method] = MappingProxyType({method.name: method for method in _ALL})


def method_named(name: str) -> Method:
    """The method of that name."""
    if name not in METHODS:
        raise ParameterError(f"no method is called {name!r}; choose one of {', '.join(METHODS)}")
    return METHODS[name]


@dataclass(frozen=True)
class ComparisonRun:
    """One method on some users with one seed."""

    method: str
    epsilon: float
    users: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class Study:
    """The methods, privacy and users of a comparison."""

    methods: tuple[str, ...] = tuple(METHODS)
    epsilons: tuple[float, ...]
    users: tuple[int, ...]
    seeds: tuple[int, ...] = (0,)
    model: str = "local"
    unit: str = "item"
    delta: float = 1e-10
    depth: int = 15
    top: int = 1000

    def __post_init__(self) -> None:
        for what in ("methods", "epsilons", "users", "seeds"):
            values = getattr(self, what)
            if not values or len(set(values)) < len(values):
                raise ParameterError(f"give one or more {what} to compare, each once, not {list(values)}")
        for name in self.methods:
            method_named(name)
        for epsilon in self.epsilons:
            self.budget(epsilon)

    def budget(self, epsilon: float) -> PrivacyGrant:
        """The privacy that an ε of the study allows."""
        return PrivacyGrant(epsilon, self.model, self.unit, self.delta)

    @property
    def runs(self) -> tuple[ComparisonRun, ...]:
        """All runs: small populations first, then all methods at one ε."""
        return tuple(
            ComparisonRun(method, epsilon, users, seed)
            for users, seed, epsilon, method in product(self.users, self.seeds, self.epsilons, self.methods)
        )


@dataclass(frozen=True)
class RunCost:
    """The cost of a run, and the privacy that it promises."""

    rounds: int
    bytes_per_device: int | None
    users_asked: int
    privacy: Privacy


@dataclass(frozen=True)
class ComparisonResult:
    """What a run found and cost, or why it could not keep the budget."""

    run: ComparisonRun
    trust: str
    keeps_budget: bool
    """Whether the run promises what the study asks for; a method that trusts a server never keeps a local budget."""
    outcome: Outcome | None
    cost: RunCost | None
    refusal: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, recorded: Mapping[str, Any]) -> "ComparisonResult":
        """Parse a recorded result."""
        return msgspec.convert(recorded, cls)


@dataclass(frozen=True)
class Comparison:
    """A study and its results."""

    study: Study
    population: str
    results: tuple[ComparisonResult, ...]

    def as_dict(self) -> dict[str, Any]:
        """The comparison as JSON values, with the source of every method."""
        methods = [
            {"name": name, "citation": METHODS[name].citation, "trust": METHODS[name].trust}
            for name in self.study.methods
        ]
        return {**asdict(self), "methods": methods}

    def users_needed(self, method: str, epsilon: float, coverage: float) -> int | None:
        """The fewest users of the study with which a method reaches a mean coverage over seeds; None if none do."""
        for users in sorted(self.study.users):
            reached = [
                result.outcome.coverage
                for result in self.results
                if result.outcome
                and (result.run.method, result.run.epsilon, result.run.users) == (method, epsilon, users)
            ]
            if reached and fmean(reached) >= coverage:
                return users
        return None


def compare(
    population: Population,
    study: Study,
    *,
    alphabet: Alphabet | None = None,
    known: Vocabulary | None = None,
    done: Mapping[ComparisonRun, ComparisonResult] = MappingProxyType({}),
    advance: Advance = ignore_progress,
) -> Iterator[ComparisonResult]:
    """Yield the results of a study's runs, in order; results in `done` are reused.

    The first users of the population are asked, and found words are compared with what all of its users hold.
    """
    letters = alphabet or population.alphabet or Alphabet.named("ascii")
    vocabulary = population.known if known is None else known
    tasks = {
        users: Task(population, users, letters, vocabulary, study.depth, study.top) for users in sorted(study.users)
    }
    _check_users(study, list(tasks.values()))
    return _results(study, tasks, done, advance)


def _check_users(study: Study, tasks: Sequence[Task]) -> None:
    for task, name in product(tasks, study.methods):
        fewest = METHODS[name].fewest_users(task)
        if task.users < fewest:
            raise ParameterError(f"{task.users} users are too few: {name} needs at least {fewest:,}")


def _results(
    study: Study, tasks: Mapping[int, Task], done: Mapping[ComparisonRun, ComparisonResult], advance: Advance
) -> Iterator[ComparisonResult]:
    truth: dict[str, WordUse] | None = None
    for run in study.runs:
        if run in done:
            yield done[run]
            continue
        task, method = tasks[run.users], METHODS[run.method]
        truth = truth_of(task) if truth is None else truth
        budget = study.budget(run.epsilon)
        try:
            found = method.discover(task, budget, run.seed, advance)
        except ParameterError as refusal:
            yield ComparisonResult(run, method.trust, False, None, None, str(refusal))
            continue
        scored = outcome([word.word for word in found.words], truth, task.top)
        cost = RunCost(found.rounds, found.bytes_per_device, found.users_asked, found.privacy)
        yield ComparisonResult(run, method.trust, found.privacy.keeps(budget), scored, cost)
