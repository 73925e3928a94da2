"""The paper's case study, repeated on simulated users: its figure, its table and its production run."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any

import msgspec

from neologue.campaign.campaign import Campaign
from neologue.campaign.profiles import GBOARD_2024
from neologue.errors import ParameterError
from neologue.layout.schedule import foreseen_collection
from neologue.populations.population import Population
from neologue.privacy.cost import central_epsilon
from neologue.privacy.statement import Source, privacy_statement
from neologue.randomizers.thresholds import LARGEST_EPSILON
from neologue.release.facts import release_facts
from neologue.simulation.discovery_run import DiscoveryRun, discover
from neologue.studies.held_out import SEED_APART, HeldOut, held_out
from neologue.studies.method import Advance, ignore_progress
from neologue.studies.study_progress import StudyProgress
from neologue.studies.targets import rare_known_words

LANGUAGE = "en"
EPSILON = 10.0
NO_PRIVACY = LARGEST_EPSILON
"""Stands for no privacy at all: the largest ε that devices accept, at which 998 of 1,000 words arrive unchanged."""
TESTED = 15
"""The number of users who are asked for each held-out test user."""


@dataclass(frozen=True)
class TrialSetting:
    """The parameters that the paper varies; all others are those of the profile gboard-2024."""

    sampler: str
    passes: int
    epsilon: float = EPSILON
    words: str = "targets"
    """The words that count: `targets`, the rare known words of the trials, or `unknown`, as in production."""


TABLE: Mapping[str, TrialSetting] = MappingProxyType(
    {
        "greedy-1": TrialSetting("greedy", 1),
        "random-1": TrialSetting("random", 1),
        "random-2": TrialSetting("random", 2),
    }
)
PRODUCTION = TrialSetting("greedy", 2, words="unknown")


def figure_setting(epsilon: float) -> TrialSetting:
    """A point of the paper's figure: greedy, one pass."""
    return TrialSetting("greedy", 1, epsilon)


@dataclass(frozen=True)
class PaperRun:
    """One setting with one seed, which also draws the users."""

    setting: TrialSetting
    seed: int


@dataclass(frozen=True, kw_only=True)
class PaperStudy:
    """The part of the paper that is repeated, and the number of users."""

    users: int = GBOARD_2024.users
    seeds: tuple[int, ...] = (0, 1, 2)
    epsilons: tuple[float, ...] = (4.0, 6.0, 8.0, 10.0, 12.0)
    """The points of the figure; the ε of the table must be among them."""
    beyond_table: int = 3
    """The number of seeds for the figure and the production run; the table is measured with all seeds."""
    depth: int = GBOARD_2024.parameters.depth

    def __post_init__(self) -> None:
        for what in ("seeds", "epsilons"):
            values = getattr(self, what)
            if not values or len(set(values)) < len(values):
                raise ParameterError(f"give one or more {what}, each once, not {list(values)}")
        if EPSILON not in self.epsilons:
            raise ParameterError(f"the table is at ε = {EPSILON:g}: the figure needs this ε too")
        if NO_PRIVACY in self.epsilons:
            raise ParameterError(f"ε = {NO_PRIVACY:g} stands for the line without privacy; leave it out")
        for setting in (PRODUCTION, *map(figure_setting, self.epsilons)):
            self.campaign(setting)

    @property
    def runs(self) -> tuple[PaperRun, ...]:
        """All runs, seed by seed; the figure's point at the table's ε is a run of the table."""
        found: dict[PaperRun, None] = {}
        for number, seed in enumerate(self.seeds):
            beyond = number < self.beyond_table
            settings = [
                *TABLE.values(),
                *([PRODUCTION, *map(figure_setting, (*self.epsilons, NO_PRIVACY))] if beyond else []),
            ]
            found |= dict.fromkeys(PaperRun(setting, seed) for setting in settings)
        return tuple(found)

    def campaign(self, setting: TrialSetting) -> Campaign:
        """The campaign of a setting, without its words; refuses impossible parameters."""
        return Campaign.from_profile(
            GBOARD_2024.name,
            users=self.users,
            depth=self.depth,
            sampler=setting.sampler,
            passes=setting.passes,
            epsilon=setting.epsilon,
        )


@dataclass(frozen=True)
class PaperResult:
    """What a run found."""

    run: PaperRun
    coverage: float
    precision: float
    words: int
    words_held: int
    """Countable words that somebody holds."""
    central_epsilon: float | None
    """The ε of a word for readers of the release; None without privacy."""
    held_out: HeldOut | None = None
    privacy: dict[str, Any] | None = None
    """The privacy statement; only of the production run."""

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, recorded: Mapping[str, Any]) -> "PaperResult":
        """Parse a recorded result."""
        return msgspec.convert(recorded, cls)


def reproduce(
    study: PaperStudy,
    *,
    done: Mapping[PaperRun, PaperResult] = MappingProxyType({}),
    advance: Advance = ignore_progress,
) -> Iterator[PaperResult]:
    """Yield the results of a study's runs, in order; results in `done` are reused."""
    for run in study.runs:
        yield done[run] if run in done else _RUN[run.setting.words](study, run, advance)


def _trial(study: PaperStudy, run: PaperRun, advance: Advance) -> PaperResult:
    """Run a point of the figure or the table: devices contribute only target words, so nothing unknown is learned."""
    targets = target_words()
    population = Population.embedded(LANGUAGE, study.users, targets=targets, seed=run.seed)
    campaign = replace(study.campaign(run.setting), targets=frozenset(targets))
    return _result(study, run, discover(population, campaign, seed=run.seed, progress=StudyProgress(advance)))


def _production(study: PaperStudy, run: PaperRun, advance: Advance) -> PaperResult:
    """Run the production setting, with its privacy statement and its value for users who took no part."""
    population = Population.embedded(LANGUAGE, study.users, seed=run.seed)
    campaign = replace(study.campaign(run.setting), known=population.known)
    found = discover(population, campaign, seed=run.seed, progress=StudyProgress(advance))
    testers = Population.embedded(LANGUAGE, max(1, study.users // TESTED), seed=run.seed + SEED_APART)
    return replace(
        _result(study, run, found),
        held_out=held_out([word.word for word in found.release.words], campaign, testers),
        privacy=privacy_statement(release_facts(found.release), Source.SIMULATION),
    )


_RUN = {"targets": _trial, "unknown": _production}


def _result(study: PaperStudy, run: PaperRun, found: DiscoveryRun) -> PaperResult:
    score, setting = found.score, run.setting
    spent = _foreseen_cost(study, setting.passes, setting.epsilon) if setting.epsilon < NO_PRIVACY else None
    return PaperResult(run, score.coverage, score.precision, score.words_released, score.words_true, spent)


@cache
def _foreseen_cost(study: PaperStudy, passes: int, epsilon: float) -> float:
    """The central ε of a word; the layers are known before any vote, and the first costs most."""
    campaign = study.campaign(TrialSetting("greedy", passes, epsilon))
    return central_epsilon(foreseen_collection(campaign), campaign.parameters.delta, "item")


@cache
def target_words() -> tuple[str, ...]:
    """The words of the trials."""
    return tuple(rare_known_words(LANGUAGE))
