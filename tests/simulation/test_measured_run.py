"""A discovery that is measured: by users of its own, close to the truth, in every fidelity, interrupted or not."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from neologue import Alphabet, Campaign, Discovery, Measuring, Population, Progress, Vocabulary, discover
from neologue.errors import ParameterError
from neologue.privacy.allocation.planned_layers import planned_reports
from neologue.protocol.closed_layer import ClosedLayer
from neologue.release.facts import release_facts
from neologue.simulation.cohorts import DrawnCohorts, FilledCohorts
from neologue.simulation.discovery_run import identity
from neologue.simulation.engines.engine import LocalEngine
from neologue.simulation.journal import Journal
from neologue.simulation.layer_tallies import FIDELITIES, SimulatedUsers

SHARES = {"abba": 0.6, "cab": 0.5, "bac": 0.4, "a": 0.3, "cc": 0.02, "caca": 0.004, "baba": 0.004}
USERS = 4000
LAYERS = (None, 4)
"""A trie, whose layers are filled, or likely strings, with slots that are drawn."""


@pytest.fixture(scope="module")
def population() -> Population:
    lots = random.Random(7)
    held = {f"user {n}": {word: 1 for word, share in SHARES.items() if lots.random() < share} for n in range(USERS)}
    return Population.from_words({user: words or {"bb": 1} for user, words in held.items()})


def campaign_of(**changes: Any) -> Campaign:  # noqa: ANN401
    settings: dict[str, Any] = {
        "users": 3000,
        "known": Vocabulary(["bb"]),
        "alphabet": Alphabet("abc"),
        "depth": 4,
        "epsilon": 4.0,
        "words_per_user": 8,
    }
    return Campaign.from_profile(**settings | changes)


@pytest.mark.parametrize("fidelity", FIDELITIES)
@pytest.mark.parametrize("randomizer", ["unary", "subset-selection"])
@pytest.mark.parametrize("layers", LAYERS)
def test_measured_coverage_and_counts_hold_the_truth(
    population: Population, fidelity: str, randomizer: str, layers: int | None
) -> None:
    wanted = campaign_of(randomizer=randomizer, layers=layers)
    found = discover(population, wanted, fidelity=fidelity, seed=2, measure=Measuring(1000))
    measurement = found.release.measurement
    assert measurement is not None
    # Where slots are drawn, some of the reports are made up.
    counted = planned_reports(1000, wanted.parameters.delta) if wanted.parameters.drawn else 1000
    assert (measurement.asked, measurement.reports, measurement.decided) == (1000, counted, True)
    assert [word.word for word in measurement.words] == sorted(word.word for word in found.release.words)
    assert measurement.coverage is not None
    assert 0.9 < found.score.coverage < 1
    assert measurement.coverage.low <= found.score.coverage <= measurement.coverage.high
    inside = [word.low <= found.truth[word.word] <= word.high for word in measurement.words if word.word in found.truth]
    # At most 7 words, each with a chance of 5 %.
    assert inside.count(False) <= 2


@pytest.mark.parametrize("layers", LAYERS)
def test_nobody_is_asked_twice(population: Population, layers: int | None) -> None:
    asked: list[tuple[int, int]] = []

    class Listening(LocalEngine):
        def count(self, work: Any, population: Population, start: int, stop: int, *told: Any) -> Any:  # noqa: ANN401
            if told:
                asked.append((start, stop))
            return super().count(work, population, start, stop, *told)

    wanted, measure = campaign_of(layers=layers), Measuring(1000)
    found = discover(population, wanted, seed=0, engine=Listening(), measure=measure)
    *discovering, measured = sorted(asked)
    first = DrawnCohorts(wanted, measure, 0).campaign_users if wanted.parameters.drawn else 3000
    assert measured == (first, 4000)
    assert len(discovering) == len(found.release.layers)
    # One after the other, without a gap or an overlap.
    assert [start for start, _ in discovering] == [0, *(stop for _, stop in discovering[:-1])]
    if wanted.parameters.drawn:
        assert discovering[-1][1] == first
        assert first != 3000, "how many measure is left to chance"
    else:
        assert [stop - start for start, stop in discovering] == [layer.asked for layer in found.release.layers]
        assert discovering[-1][1] <= 3000


def test_where_slots_are_drawn_what_is_measured_does_not_change_the_discovery(population: Population) -> None:
    """How many measure does: everybody has a slot of their own, and those of layers are fewer then."""
    wanted = campaign_of()
    whole, half = (discover(population, wanted, seed=3, measure=Measuring(500, rate)) for rate in (1.0, 0.5))
    assert wanted.parameters.drawn
    assert whole.release.measurement != half.release.measurement
    assert replace(whole.release, measurement=None) == replace(half.release, measurement=None)
    assert whole.score == half.score


@pytest.mark.parametrize("layers", LAYERS)
def test_where_layers_are_filled_discovery_is_the_same_whether_it_is_measured_or_not(
    population: Population, layers: int | None
) -> None:
    wanted = campaign_of(layers=layers, allocation="filled")
    plain = discover(population, wanted, seed=3)
    measured = discover(population, wanted, seed=3, measure=Measuring(500))
    assert replace(measured.release, measurement=None, campaign=plain.release.campaign) == plain.release
    assert measured.score == plain.score
    assert plain.release.measurement is None


def test_without_a_campaign_those_who_do_not_measure_are_asked(population: Population) -> None:
    crowd = Population.from_words({f"{n}": {"yeet": 1} for n in range(2500)})
    found = discover(crowd, seed=0, measure=Measuring(1000))
    assert found.users == 1500
    assert found.release.measurement is not None
    assert found.release.measurement.asked == 1000


def test_with_nothing_released_nobody_is_asked_to_measure() -> None:
    crowd = Population.from_words({f"{n}": {"bb": 1} for n in range(4000)})
    seen: list[ClosedLayer] = []

    class Looking(Progress):
        def on_measuring(self, layer: ClosedLayer) -> None:
            seen.append(layer)

    found = discover(crowd, campaign_of(), seed=0, progress=Looking(), measure=Measuring(1000))
    assert not found.release.words
    assert found.release.measurement is not None
    planned = found.release.measurement
    assert (planned.asked, planned.reports, planned.candidates, planned.coverage) == (1000, 0, 0, None)
    assert not seen
    assert release_facts(found.release).measured == ()


@pytest.mark.parametrize(
    ("users", "complaint"), [(1001, "make the campaign for 2,999 or fewer"), (99, "99 users who measure are too few")]
)
def test_who_can_not_measure_is_named_before_anyone_is_asked(
    population: Population, users: int, complaint: str
) -> None:
    with pytest.raises(ParameterError, match=complaint):
        discover(population, campaign_of(), measure=Measuring(users))


def test_a_measurement_is_resumed_from_its_tally(
    population: Population, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign, measure = campaign_of(), Measuring(1000)
    whole = identity(population, campaign, "fast", 2, measure)

    def run(resume: bool) -> Discovery:
        journal = Journal(tmp_path / "journal", whole, resume=resume)
        return discover(population, campaign, seed=2, journal=journal, measure=measure)

    first = run(resume=False)
    assert (tmp_path / "journal" / "measurement.npz").exists()
    monkeypatch.setattr(SimulatedUsers, "measure", None)
    assert run(resume=True).release == first.release
    assert identity(population, campaign, "fast", 2) != whole
    assert identity(population, campaign, "fast", 2, Measuring(1000, 0.5)) != whole


def test_a_cohort_that_was_asked_before_can_not_measure(population: Population) -> None:
    filled = FilledCohorts()
    filled._next = 10
    cohorts = SimulatedUsers(population, LocalEngine(), "fast", 0, cohorts=filled)
    with pytest.raises(ValueError, match="nobody is asked twice"):
        cohorts.measure(None, 9)  # type: ignore[arg-type]
