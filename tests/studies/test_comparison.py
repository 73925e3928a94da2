"""A study of several methods: its order, its refusals, its record and its going on after an interruption."""

import json
from collections.abc import Iterator
from itertools import product

import pytest

from neologue.errors import ParameterError
from neologue.language.alphabet import Alphabet
from neologue.populations.population import Population
from neologue.studies.compare import METHODS, Comparison, ComparisonResult, ComparisonRun, Study, compare
from neologue.studies.privacy_grant import Privacy, PrivacyGrant

USERS = 8000
FAST = ("triehh", "partition-selection")


@pytest.fixture(scope="module")
def population() -> Population:
    own = ("".join(letters) for letters in product("qwrt", repeat=7))
    return Population.from_words(
        {str(user): {"yeet": 2, ("rizz" if user % 3 else "skibidi"): 1, next(own): 1} for user in range(USERS)}
    )


def study(**changes: object) -> Study:
    settings: dict[str, object] = {"methods": FAST, "epsilons": (10.0,), "users": (USERS,), "depth": 7, "top": 3}
    return Study(**settings | changes)  # type: ignore[arg-type]


def results(population: Population, what: Study, **more: object) -> Iterator[ComparisonResult]:
    return compare(population, what, alphabet=Alphabet("abcdefghijklmnopqrstuvwxyz"), **more)  # type: ignore[arg-type]


def test_results_come_one_by_one_in_the_order_of_the_runs(population: Population) -> None:
    wanted = study(users=(4000, USERS), seeds=(1, 2), epsilons=(8.0, 10.0))
    found = list(results(population, wanted))
    assert tuple(result.run for result in found) == wanted.runs
    assert len(found) == 16
    assert all(result.outcome and result.cost for result in found)


def test_a_study_goes_on_where_it_was_interrupted(population: Population) -> None:
    wanted = study(seeds=(1, 2))
    whole = list(results(population, wanted))
    begun = results(population, wanted)
    done = {result.run: result for result in (next(begun), next(begun))}
    heard: list[int] = []
    assert list(results(population, wanted, done=done, advance=heard.append)) == whole
    assert sum(heard) == 2 * USERS
    heard.clear()
    assert (
        list(results(population, wanted, done={result.run: result for result in whole}, advance=heard.append)) == whole
    )
    assert not heard


def test_results_can_be_recorded_and_read_again(population: Population) -> None:
    found = tuple(results(population, study()))
    assert tuple(ComparisonResult.from_dict(json.loads(json.dumps(result.as_dict()))) for result in found) == found
    recorded = json.loads(json.dumps(Comparison(study(), population.description, found).as_dict()))
    assert [method["name"] for method in recorded["methods"]] == list(FAST)
    assert recorded["results"][0]["cost"]["privacy"]["local_item"] is None


def test_whoever_trusts_a_server_never_keeps_a_local_promise(population: Population) -> None:
    assert not any(result.keeps_budget for result in results(population, study()))
    assert all(result.keeps_budget for result in results(population, study(model="central", unit="user")))


def test_what_cannot_keep_the_budget_is_refused_with_a_reason(population: Population) -> None:
    (refused,) = results(population, study(methods=("pem",), epsilons=(1e-5,), model="central"))
    assert refused.outcome is None
    assert refused.cost is None
    assert "take more users or a larger epsilon" in (refused.refusal or "")
    assert ComparisonResult.from_dict(json.loads(json.dumps(refused.as_dict()))) == refused


def test_the_users_needed_are_the_fewest_tried_that_cover_enough(population: Population) -> None:
    wanted = study(methods=("triehh",), users=(2000, 4000, USERS), seeds=(1, 2))
    found = Comparison(wanted, "", tuple(results(population, wanted)))
    covered = {
        users: [result.outcome.coverage for result in found.results if result.outcome and result.run.users == users]
        for users in wanted.users
    }
    assert found.users_needed("triehh", 10.0, 0.0) == 2000
    assert found.users_needed("triehh", 10.0, 0.99) is None
    best = sum(covered[USERS]) / 2
    assert found.users_needed("triehh", 10.0, best) == min(
        users for users in covered if sum(covered[users]) / 2 >= best
    )


def test_an_unknown_method_is_named_with_those_there_are() -> None:
    with pytest.raises(
        ParameterError, match="no method is called 'rappor'; choose one of neologue, gboard-2024"
    ) as error:
        study(methods=("triehh", "rappor"))
    assert all(name in str(error.value) for name in METHODS)


def test_too_few_and_too_many_users_are_refused_before_anything_is_run(population: Population) -> None:
    with pytest.raises(ParameterError, match="600 users are too few: gboard-2024 needs at least 1,400"):
        results(population, study(methods=("triehh", "gboard-2024"), users=(600,)))
    with pytest.raises(ParameterError, match="the population has 8,000 users"):
        results(population, study(users=(USERS + 1,)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilons": ()}, "one or more epsilons"),
        ({"seeds": (1, 1)}, "each once"),
        ({"epsilons": (0.0,)}, "above 0"),
        ({"epsilons": (float("nan"),)}, "above 0"),
        ({"unit": "device"}, "must be one of item, user, not 'device'"),
        ({"model": "shuffled"}, "must be one of local, central"),
        ({"delta": 0.0}, "δ|delta"),
    ],
)
def test_a_study_that_makes_no_sense_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        study(**changes)


def test_a_promise_is_kept_for_its_own_model_and_unit() -> None:
    promise = Privacy(3.0, 180.0, 0.5, None, 1e-10, "")
    assert promise.keeps(PrivacyGrant(3.0))
    assert not promise.keeps(PrivacyGrant(3.0, "local", "user"))
    assert promise.keeps(PrivacyGrant(0.5, "central", "item"))
    assert not promise.keeps(PrivacyGrant(0.5, "central", "item", 1e-12))
    assert not promise.keeps(PrivacyGrant(900.0, "central", "user"))


def test_the_largest_local_epsilon_is_searched_for() -> None:
    asked: list[float] = []

    def central(epsilon: float) -> float:
        asked.append(epsilon)
        return float(0.01 * 1.7**epsilon)

    assert PrivacyGrant(6.0, "local", "user").local_epsilon(central, 60) == 0.1
    assert not asked
    found = PrivacyGrant(1.0, "central").local_epsilon(central)
    assert central(found) <= 1.0 < central(found + 0.05)
    assert len(asked) < 10
    assert PrivacyGrant(1e3, "central").local_epsilon(lambda epsilon: epsilon) == 20.0


def test_runs_are_named_by_what_they_depend_on() -> None:
    assert study().runs == (
        ComparisonRun("triehh", 10.0, USERS, 0),
        ComparisonRun("partition-selection", 10.0, USERS, 0),
    )
