"""The paper repeated: what is run, what is measured beside what is published, and what is said of it."""

import json
from dataclasses import replace
from typing import Any

import pytest

from neologue import Campaign, Population, Vocabulary
from neologue.errors import ParameterError
from neologue.language import builtin
from neologue.language.alphabet import Alphabet
from neologue.populations.population import typed_words
from neologue.studies.held_out import HeldOut, held_out
from neologue.studies.interval import Interval
from neologue.studies.paper import (
    EPSILON,
    NO_PRIVACY,
    PRODUCTION,
    TABLE,
    PaperResult,
    PaperRun,
    PaperStudy,
    TrialSetting,
    figure_setting,
    reproduce,
)
from neologue.studies.published import COVERAGE
from neologue.studies.reproduction import Reproduction
from neologue.studies.targets import rare_known_words

TINY = PaperStudy(users=6000, seeds=(5,), epsilons=(EPSILON,), depth=2)
STATEMENT: dict[str, Any] = {
    "item_central": {"best": 0.176, "fmt2021": 0.31, "theorems": {"best": "the blanket"}},
    "k_anonymity": {"k": None, "reasons": {"k": "the first layer keeps everything"}},
}


def imagined(study: PaperStudy, coverage: dict[TrialSetting, float]) -> Reproduction:
    """A study whose runs had these coverages, a little more with each seed."""
    results = [
        PaperResult(run, coverage[run.setting] + 0.01 * number, 1.0, 10, 20, 0.1)
        for run in study.runs
        for number, seed in enumerate(study.seeds)
        if run.seed == seed
    ]
    tested = HeldOut(400, 0.6, 0.7, 0.1)
    whole = (
        replace(each, held_out=tested, privacy=STATEMENT) if each.run.setting == PRODUCTION else each
        for each in results
    )
    return Reproduction(study, tuple(whole))


@pytest.fixture(scope="module")
def like_the_paper() -> dict[str, Any]:
    study = PaperStudy(seeds=(0, 1, 2), epsilons=(6.0, EPSILON))
    coverage = {TABLE[name]: figure.value for name, figure in COVERAGE.items()}
    figure = {figure_setting(6.0): 0.3, figure_setting(NO_PRIVACY): 0.8, PRODUCTION: 0.6}
    document: dict[str, Any] = json.loads(json.dumps(imagined(study, coverage | figure).as_dict()))
    return document


def test_targets_are_the_known_words_of_the_bottom_five_percent() -> None:
    typed, targets = typed_words("en"), rare_known_words("en")
    vocabulary, total = builtin.vocabulary("en"), sum(typed.values())
    assert all(vocabulary.known(targets))
    commonest = max(typed[word] for word in targets)
    assert sum(share for share in typed.values() if share < commonest) <= 0.05 * total
    others = [word for word in typed if typed[word] > commonest]
    assert sum(typed[word] for word in others) >= 0.94 * total
    assert "the" not in targets


def test_a_run_of_the_table_is_a_point_of_the_figure_and_is_run_once() -> None:
    study = PaperStudy(seeds=(3, 4), beyond_table=1)
    assert len(study.runs) == len(set(study.runs)) == 3 + 1 + 4 + 1 + 3
    assert PaperRun(figure_setting(EPSILON), 3) in study.runs
    assert PaperRun(PRODUCTION, 4) not in study.runs
    assert len(PaperStudy().runs) == 3 * (3 + 1 + 4 + 1)


def test_the_settings_are_those_of_the_paper() -> None:
    study = PaperStudy()
    for setting, layer in ((TABLE["greedy-1"], 1_000_000), (TABLE["random-2"], 500_000), (PRODUCTION, 500_000)):
        parameters = study.campaign(setting).parameters
        assert study.users // (parameters.passes * parameters.depth) == layer
        assert (parameters.epsilon, parameters.days, parameters.depth, parameters.frontier) == (10.0, 60, 15, 10_000)
    assert [figure.value for figure in COVERAGE.values()] == [0.771, 0.831, 0.921]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seeds": ()}, "one or more seeds"),
        ({"seeds": (1, 1)}, "each once"),
        ({"epsilons": (8.0,)}, "the table is at ε = 10"),
        ({"epsilons": (10.0, 20.0)}, "stands for the line without privacy"),
        ({"epsilons": (10.0, 21.0)}, "epsilon must be"),
        ({"users": 2999}, "2999 users are too few"),
    ],
)
def test_a_study_that_makes_no_sense_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        PaperStudy(**changes)


def test_runs_are_measured_recorded_and_not_repeated() -> None:
    heard: list[int] = []
    results = list(reproduce(TINY, advance=heard.append))
    assert tuple(result.run for result in results) == TINY.runs
    assert sum(heard) == TINY.users * len(results)
    by_setting = {result.run.setting: result for result in results}
    free = by_setting[figure_setting(NO_PRIVACY)]
    assert free.central_epsilon is None
    assert free.coverage > by_setting[figure_setting(EPSILON)].coverage
    production = by_setting[PRODUCTION]
    assert production.privacy is not None
    assert production.held_out is not None
    assert abs(production.held_out.of_pairs - production.coverage) < 0.1
    assert production.central_epsilon is not None
    assert production.central_epsilon == pytest.approx(production.privacy["item_central"]["best"], rel=0.01)
    heard.clear()
    done = {result.run: PaperResult.from_dict(json.loads(json.dumps(result.as_dict()))) for result in results}
    assert list(reproduce(TINY, done=done, advance=heard.append)) == results
    assert not heard


def test_measured_stands_beside_published(like_the_paper: dict[str, Any]) -> None:
    rows = like_the_paper["table"]
    assert [row["setting"] for row in rows] == ["greedy-1", "random-1", "random-2"]
    for row in rows:
        assert row["low"] < row["coverage"] < row["high"] <= 1
        assert row["coverage"] == pytest.approx(row["published"] + 0.01)
        assert row["difference"].startswith("1.0 points above the paper: ")
        assert row["difference"].endswith(".")
    assert [row["epsilon"] for row in like_the_paper["figure"]] == [6.0, EPSILON]
    assert like_the_paper["figure"][1]["coverage"] == rows[0]["coverage"]
    assert like_the_paper["production"]["held_out"]["of_pairs"]["mean"] == 0.6
    assert len(like_the_paper["production"]["differences"]) == 3
    assert "none for the run, as the first layer keeps everything" in like_the_paper["production"]["differences"][2]


def test_orderings_are_reported_as_found(like_the_paper: dict[str, Any]) -> None:
    assert [row["as_published"] for row in like_the_paper["orderings"]] == [True] * 4
    assert all(row["decided"] for row in like_the_paper["orderings"])
    assert like_the_paper["orderings"][0]["gain"] == pytest.approx(0.06)
    other = dict.fromkeys((*TABLE.values(), PRODUCTION, figure_setting(6.0), figure_setting(NO_PRIVACY)), 0.5)
    found = imagined(PaperStudy(epsilons=(6.0, EPSILON)), other | {TABLE["random-1"]: 0.4}).as_dict()
    assert [row["as_published"] for row in found["orderings"]] == [False, True, False, False]


def test_fewer_users_are_named_as_a_reason_and_one_seed_decides_nothing() -> None:
    study = PaperStudy(users=6000, seeds=(0,), epsilons=(EPSILON,), depth=2)
    coverage = dict.fromkeys((*TABLE.values(), PRODUCTION, figure_setting(NO_PRIVACY)), 0.5)
    found = imagined(study, coverage | {TABLE["random-1"]: 0.9}).as_dict()
    assert found["orderings"][0]["as_published"]
    assert not found["orderings"][0]["decided"], "one seed decides nothing"
    row = found["table"][0]
    assert (row["low"], row["high"]) == (None, None)
    assert "6,000 users are far fewer than its 15,000,000" in row["difference"]


def test_an_interval_is_students() -> None:
    interval = Interval.of([0.4, 0.5, 0.6])
    assert interval.low is not None
    assert interval.high is not None
    # t(0.975, 2) = 4.3027, the standard deviation is 0.1
    assert interval.high - interval.mean == pytest.approx(4.3027 * 0.1 / 3**0.5, rel=1e-4)
    assert interval.mean - interval.low == pytest.approx(interval.high - interval.mean)
    assert Interval.of([0.4]) == Interval(0.4, None, None)
    assert Interval(0.5, -0.2, 1.2).within(0, 1) == Interval(0.5, 0.0, 1.0)


def test_held_out_users_are_counted_three_ways() -> None:
    testers = Population.from_words({"a": {"yeet": 3, "rizz": 1, "hello": 9}, "b": {"yeet": 1, "я": 7, "toolong": 1}})
    campaign = Campaign.from_profile(
        users=1000, known=Vocabulary(["hello"]), alphabet=Alphabet.named("en"), depth=4, epsilon=10.0
    )
    assert held_out(["yeet", "hello", "nobody"], campaign, testers) == HeldOut(2, 2 / 3, 4 / 5, 1 / 2)
    assert held_out([], campaign, testers) == HeldOut(2, 0.0, 0.0, 0.0)
