"""What each choice is worth: what is varied, and gains that are paired by seed."""

import json
import re
from typing import Any

import pytest

from neologue.campaign.campaign import Campaign
from neologue.errors import LanguageError, ParameterError
from neologue.studies.ablation import Ablation, AblationOutcome, AblationResult, AblationRun, AblationStudy, ablate
from neologue.studies.factors import Factor, Variation, factors, select_factors

FACTORS = factors()
TOLD = (
    *("sampler", "passes", "layers", "words per user (B)", "local ε", "frontier", "alphabet", "threshold"),
    *("population", "language"),
)


def of(name: str) -> Factor:
    return select_factors([name], FACTORS)[0]


def test_every_choice_is_there() -> None:
    assert tuple(factor.name for factor in FACTORS) == TOLD
    assert all(factor.others for factor in FACTORS)
    sizes = [variation.users for variation in of("population").others]
    assert (sizes[0], sizes[-1]) == (10_000, 15_000_000)
    assert {"de", "es", "id", "hi"} <= {variation.language for variation in of("language").others}


def test_every_variation_makes_a_campaign() -> None:
    for factor in FACTORS:
        for variation in factor.variations:
            changes: dict[str, Any] = {"epsilon": 10.0, **dict(variation.changes)}
            Campaign.from_profile(users=variation.users or 1_000_000, **changes)


def test_a_trie_and_several_numbers_of_layers_are_tried() -> None:
    tried = [dict(variation.changes).get("layers", 4) for variation in of("layers").variations]
    assert tried == [4, None, 2, 3, 6]


def test_every_name_can_be_typed() -> None:
    keys = [factor.key for factor in FACTORS]
    assert all(re.fullmatch("[a-z-]+", key) for key in keys)
    assert {"words-per-user", "local-epsilon", "population"} <= set(keys)
    assert select_factors(keys, FACTORS) == FACTORS


def test_names_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ParameterError, match="no factor is called 'colour'; choose one of sampler"):
        select_factors(["colour"], FACTORS)
    with pytest.raises(LanguageError, match="no language is called 'tlh'"):
        factors(languages=("tlh",))
    assert select_factors([], FACTORS) == FACTORS


def test_what_several_factors_are_measured_against_is_run_once() -> None:
    study = AblationStudy(factors=FACTORS, seeds=(1, 2))
    others = sum(len(factor.others) for factor in FACTORS)
    assert len(study.runs) == len(set(study.runs)) == 2 * (1 + others)


def imagined(study: AblationStudy, coverage: dict[str, float]) -> dict[str, Any]:
    """The rows of a study whose runs had a coverage by sampler, more with every seed."""

    def found(run: AblationRun) -> AblationOutcome:
        sampler = str(dict(run.changes).get("sampler", "random"))
        return AblationOutcome(coverage[sampler] + 0.1 * run.seed, 1.0, 10, 3, 9.0, 1.0, 20.0)

    results = tuple(AblationResult(run, found(run)) for run in study.runs)
    document: dict[str, Any] = json.loads(json.dumps(Ablation(study, results).as_dict()))
    return document


def test_gains_are_paired_by_seed() -> None:
    study = AblationStudy(factors=(of("sampler"),), seeds=(0, 1, 2))
    (factor,) = imagined(study, {"random": 0.5, "greedy": 0.4})["factors"]
    reference, greedy = factor["variations"]
    assert reference["reference"]
    assert greedy["coverage_high"] - greedy["coverage_low"] > 0.2
    assert greedy["gain"] == pytest.approx(-0.1)
    assert greedy["gain_low"] == pytest.approx(-0.1), "seeds that differ alike leave the gain sure"


def test_a_real_study_goes_on_where_it_was_broken_off() -> None:
    changes = (("layers", None), ("rule", "top"), ("candidates", 10_000), ("frontier", 1_000))
    impossible = Variation("too narrow", changes)
    study = AblationStudy(
        factors=(of("sampler"), Factor("limit", "what fits", Variation("as it is"), (impossible,))),
        users=2000,
        seeds=(1,),
        depth=3,
    )
    heard: list[int] = []
    results = list(ablate(study, advance=heard.append))
    assert tuple(result.run for result in results) == study.runs
    assert sum(heard) <= 4000
    base, greedy, refused = results
    assert base.found is not None
    assert greedy.found is not None
    assert 0 < base.found.item_epsilon <= base.found.local_epsilon
    assert refused.found is None
    assert "more than the 10,000 allowed" in (refused.refusal or "")
    (_, limit) = Ablation(study, tuple(results)).as_dict()["factors"]
    assert "refusal" in limit["variations"][1]
    assert "refusal" not in limit["variations"][0]
    heard.clear()
    done = {result.run: AblationResult.from_dict(json.loads(json.dumps(result.as_dict()))) for result in results}
    assert list(ablate(study, done=done, advance=heard.append)) == results
    assert not heard


def test_studies_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ParameterError, match="one or more seeds"):
        AblationStudy(factors=FACTORS, seeds=())
    with pytest.raises(ParameterError, match="300 users are too few"):
        AblationStudy(factors=FACTORS, users=300)
    with pytest.raises(ParameterError, match="350 users are too few"):
        AblationStudy(factors=factors(sizes=(350,)))
