"""What every parameter of the profile `neologue` is worth: the same discovery with one parameter changed at a time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import msgspec

from neologue.campaign.campaign import Campaign
from neologue.campaign.privacy_level import PAPER
from neologue.errors import EngineError, ParameterError
from neologue.language.alphabet import Alphabet
from neologue.populations.population import Population
from neologue.privacy.cost import cost
from neologue.release.facts import release_facts
from neologue.simulation.discovery_run import discover
from neologue.studies.factors import Change, Factor, Variation
from neologue.studies.interval import CONFIDENCE, METHOD, Interval
from neologue.studies.method import Advance, ignore_progress
from neologue.studies.study_progress import StudyProgress


@dataclass(frozen=True)
class AblationRun:
    """One discovery with one seed, which also draws the users."""

    changes: tuple[Change, ...]
    users: int
    language: str
    alphabet: str | None
    seed: int


@dataclass(frozen=True, kw_only=True)
class AblationStudy:
    """The parameters that are varied, and the users."""

    factors: tuple[Factor, ...]
    users: int = 1_000_000
    seeds: tuple[int, ...] = (0, 1, 2)
    depth: int = 15

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ParameterError(f"give one or more seeds, each once, not {list(self.seeds)}")
        sizes = {self.users, *(each.users for factor in self.factors for each in factor.variations if each.users)}
        for users in sizes:
            Campaign.from_profile(users=users, depth=self.depth, epsilon=PAPER.local_epsilon)

    def run(self, variation: Variation, seed: int) -> AblationRun:
        """The run of a variation."""
        return AblationRun(
            variation.changes, variation.users or self.users, variation.language, variation.alphabet, seed
        )

    @property
    def runs(self) -> tuple[AblationRun, ...]:
        """All runs; a reference that several factors share is run once."""
        return tuple(
            dict.fromkeys(
                self.run(variation, seed)
                for seed in self.seeds
                for factor in self.factors
                for variation in factor.variations
            )
        )


@dataclass(frozen=True)
class AblationOutcome:
    """What a run found, and its cost."""

    coverage: float
    precision: float
    words: int
    layers: int
    local_epsilon: float
    item_epsilon: float
    """Central, of a word."""
    user_epsilon: float
    """Central, of a whole user."""


@dataclass(frozen=True)
class AblationResult:
    """The outcome of a run, or why it is not possible."""

    run: AblationRun
    found: AblationOutcome | None
    refusal: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, recorded: Mapping[str, Any]) -> "AblationResult":
        """Parse a recorded result."""
        return msgspec.convert(recorded, cls)


def ablate(
    study: AblationStudy,
    *,
    done: Mapping[AblationRun, AblationResult] = MappingProxyType({}),
    advance: Advance = ignore_progress,
) -> Iterator[AblationResult]:
    """Yield the results of a study's runs, in order; results in `done` are reused."""
    for run in study.runs:
        yield done[run] if run in done else _result(study, run, advance)


def _result(study: AblationStudy, run: AblationRun, advance: Advance) -> AblationResult:
    try:
        population = Population.embedded(run.language, run.users, seed=run.seed)
        changes: dict[str, Any] = {"depth": study.depth, "epsilon": PAPER.local_epsilon, **dict(run.changes)}
        campaign = Campaign.from_profile(
            users=run.users,
            alphabet=Alphabet.named(run.alphabet) if run.alphabet else population.alphabet,
            known=population.known,
            **changes,
        )
        discovery = discover(population, campaign, seed=run.seed, progress=StudyProgress(advance))
    except (ParameterError, EngineError) as refusal:
        return AblationResult(run, None, str(refusal))
    score, release = discovery.score, discovery.release
    spent = cost(release_facts(release).charged, campaign.parameters.delta)
    return AblationResult(
        run,
        AblationOutcome(
            coverage=score.coverage,
            precision=score.precision,
            words=score.words_released,
            layers=len(release.layers),
            local_epsilon=campaign.epsilon,
            item_epsilon=spent.best("item"),
            user_epsilon=spent.best("user"),
        ),
    )


@dataclass(frozen=True)
class Ablation:
    """A study and its results."""

    study: AblationStudy
    results: tuple[AblationResult, ...]

    def as_dict(self) -> dict[str, Any]:
        """The ablation as JSON values."""
        return {
            "users": self.study.users,
            "depth": self.study.depth,
            "seeds": list(self.study.seeds),
            "interval": {"confidence": CONFIDENCE, "method": METHOD},
            "factors": [
                {
                    "factor": factor.name,
                    "about": factor.about,
                    "variations": [self._row(each, factor.reference) for each in factor.variations],
                }
                for factor in self.study.factors
            ],
            "runs": [result.as_dict() for result in self.results],
        }

    def _row(self, variation: Variation, reference: Variation) -> dict[str, Any]:
        """A variation, and its gain in coverage over the reference with the same seeds."""
        results = {result.run: result for result in self.results}
        mine = [results[self.study.run(variation, seed)] for seed in self.study.seeds]
        theirs = [results[self.study.run(reference, seed)] for seed in self.study.seeds]
        row = {"variation": variation.name, "changes": dict(variation.changes), "reference": variation == reference}
        refusal = next((result.refusal for result in (*mine, *theirs) if result.refusal), None)
        if refusal:
            return {**row, "refusal": refusal}
        found, base = _outcomes(mine), _outcomes(theirs)
        gain = Interval.of([a.coverage - b.coverage for a, b in zip(found, base, strict=True)])
        return {
            **row,
            "users": mine[0].run.users,
            **_spread("coverage", Interval.of([each.coverage for each in found]).within(0, 1)),
            **_spread("gain", gain),
            **{
                name: sum(getattr(each, name) for each in found) / len(found)
                for name in ("precision", "words", "layers", "local_epsilon", "item_epsilon", "user_epsilon")
            },
        }


def _outcomes(results: Sequence[AblationResult]) -> list[AblationOutcome]:
    return [result.found for result in results if result.found]


def _spread(name: str, interval: Interval) -> dict[str, float | None]:
    return {name: interval.mean, f"{name}_low": interval.low, f"{name}_high": interval.high}
