"""A promised central ε: no layer is decided with fewer reports than it takes, in a simulation or in the service."""

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from neologue import Alphabet, Campaign, Population, Vocabulary, discover
from neologue.campaign.allocation import planned_allocation
from neologue.campaign.measuring import Measuring
from neologue.campaign.promise import CLOSE, ROOM, fewest_reports, fewest_users
from neologue.discovery.algorithm import discover as algorithm
from neologue.discovery.likely import discover_likely
from neologue.discovery.state import DiscoveryState
from neologue.discovery.tally import Tally
from neologue.errors import ParameterError
from neologue.layout.schedule import foreseen_collection
from neologue.ledger.composition import composed_epsilon
from neologue.privacy.collection import Batch, Collection
from neologue.privacy.cost import central_epsilon
from neologue.release.certification.certificate import certify
from neologue.release.codec import decode_release, release_text
from neologue.release.facts import release_facts
from neologue.release.foreseen import foreseen_charge
from neologue.reporting.simulated_release import discovery_document

SMALL: dict[str, Any] = {"layers": None, "depth": 4, "words_per_user": 3, "epsilon": 6.0, "candidates": 600}


def campaign(users: int = 60_000, **changes: Any) -> Campaign:  # noqa: ANN401 - checked by the parameters
    known = Vocabulary(["abba", "baab", "ab", "cab"])
    return Campaign.from_profile(users=users, known=known, alphabet=Alphabet("abcd"), **(SMALL | changes))


def cost_of(made: Campaign, reports: int, candidates: int, unit: str) -> float:
    parameters = made.parameters
    layer = Collection(parameters.randomizer, made.epsilon, parameters.words_per_user, (Batch(reports, candidates),))
    return central_epsilon(layer.in_sums_of(None, parameters.colluders), parameters.delta, unit)


@pytest.mark.parametrize(
    ("promised", "unit", "changes"),
    [
        (1.0, "item", {}),
        (3.0, "user", {}),
        (1.0, "item", {"colluders": 0.3}),
        (0.6, "item", {"randomizer": "subset-selection"}),
    ],
)
def test_the_fewest_reports_keep_the_promise_and_hardly_fewer_would(
    promised: float, unit: str, changes: dict[str, Any]
) -> None:
    made = campaign(promised_epsilon=promised, promised_unit=unit, **changes)
    fewest = fewest_reports(made.parameters, 1000)
    assert cost_of(made, fewest, 1000, unit) <= promised
    assert cost_of(made, int(fewest / CLOSE**2), 1000, unit) > promised
    assert fewest_users(made.parameters, 1000) * (1 - ROOM) >= fewest


def test_without_a_promise_nothing_changes() -> None:
    made = campaign()
    assert fewest_reports(made.parameters, 1000) == fewest_users(made.parameters, 1000) == 100


def test_what_the_local_epsilon_promises_anyway_needs_no_more_reports() -> None:
    assert campaign(promised_epsilon=6.1).fewest_reports(1000) == 100


def test_a_layer_with_too_few_reports_for_the_promise_is_not_decided() -> None:
    made = campaign(promised_epsilon=1.0)
    question = next(algorithm(made))
    fewest = made.fewest_reports(question.layer.randomizer.candidates)
    assert 100 < fewest < question.layer.layer_size
    votes = np.zeros(question.layer.randomizer.candidates, np.int64)
    for reports, decided in ((fewest - 1, False), (fewest, True)):
        votes[5] = reports // 2
        decision = question.decide(Tally(votes, reports))
        assert (decision.made, len(decision.index) > 0) == (decided, decided)


def test_a_measurement_with_too_few_reports_for_the_promise_is_not_decided() -> None:
    made = campaign(promised_epsilon=1.0)
    state = DiscoveryState(made, Measuring(9_000))
    while not (layer := state.layer) or layer.layer_size != 9_000:
        assert layer
        votes = np.zeros(layer.randomizer.candidates, np.int64)
        votes[:] = layer.layer_size // 2
        state.take(state.decide(Tally(votes, layer.layer_size)))
    fewest = made.fewest_reports(layer.randomizer.candidates)
    votes = np.zeros(layer.randomizer.candidates, np.int64)
    assert [state.decide(Tally(votes, reports)).made for reports in (fewest - 1, fewest)] == [False, True]
    state.take(state.decide(Tally(votes, fewest - 1)))
    assert state.release.measurement
    assert not state.release.measurement.decided


def test_too_few_who_measure_are_refused_before_anyone_is_asked() -> None:
    made = campaign(promised_epsilon=1.0)
    with pytest.raises(ParameterError, match="users who measure are too few"):
        Measuring(500).check(made, 100_000)


def test_planned_layers_have_room_for_dropouts() -> None:
    made = campaign(promised_epsilon=1.0)
    batches = foreseen_collection(made).batches
    assert len(batches) > 1
    for batch in batches:
        assert batch.reports * (1 - ROOM) >= made.fewest_reports(batch.candidates)


def test_a_campaign_is_charged_for_the_fewest_reports_that_keep_its_promise() -> None:
    made = campaign(promised_epsilon=1.0)
    planned = foreseen_charge(made, Measuring(9_000))
    assert {batch.reports for batch in planned.batches} == {made.fewest_reports(1)}
    whole = foreseen_charge(replace(made, parameters=replace(made.parameters, promised_epsilon=None)), None)
    assert composed_epsilon([planned], 1e-10, "item") > composed_epsilon([whole], 1e-10, "item")
    assert composed_epsilon([planned], 1e-10, "item") <= 1.0 * (1 + 1e-3)


def test_too_few_users_for_a_promise_are_refused_by_name() -> None:
    with pytest.raises(ParameterError, match=r"3,000 users are too few to promise a central ε of 0\.2 for one item"):
        foreseen_collection(campaign(3_000, promised_epsilon=0.2))
    with pytest.raises(ParameterError, match="no number of reports keeps a central ε of 1e-06"):
        foreseen_collection(campaign(promised_epsilon=1e-6))
    for wrong in (0.0, -1.0, float("nan"), 2000.0):
        with pytest.raises(ParameterError, match="the promised central epsilon must be above 0"):
            campaign(promised_epsilon=wrong)
    with pytest.raises(ParameterError, match="promised_unit must be one of item, user"):
        campaign(promised_epsilon=1.0, promised_unit="word")


@pytest.mark.parametrize("changes", [{"allocation": "filled"}, {"randomizer": "subset-selection"}])
def test_layers_of_equal_size_that_are_too_small_for_a_promise_are_refused_by_name(changes: dict[str, Any]) -> None:
    made = campaign(3_000, layers=4, promised_epsilon=0.2, **changes)
    with pytest.raises(ParameterError, match=r"3,000 users are too few to promise .* and the first gets 750"):
        next(discover_likely(made))
    assert next(discover_likely(replace(made, users=1_000_000))).layer.layer_size == 250_000


def test_slots_are_drawn_where_something_is_proved_of_that_and_layers_are_filled_elsewhere() -> None:
    """Made-up reports of Subset Selection would cost precision for nothing."""
    unary, selection = (campaign(layers=4, randomizer=each) for each in ("unary", "subset-selection"))
    assert unary.parameters.counted_reports(1000) > selection.parameters.counted_reports(1000) == 1000
    assert planned_allocation(unary.parameters, 1000, 0).reason is None
    reason = planned_allocation(selection.parameters, 1000, 0).reason
    assert reason
    assert "nothing is proved of it for reports of subset-selection" in reason


def test_of_layers_of_equal_size_one_whose_few_candidates_would_break_the_promise_is_not_decided() -> None:
    """Of Subset Selection: as many reports on fewer candidates cost more."""
    population = Population.from_words({f"user {n}": {"dada": 2, "cabd": 1} for n in range(60_000)})
    made = campaign(layers=4, randomizer="subset-selection", promised_epsilon=0.6)
    found = discover(population, made, seed=1)
    *decided, last = found.release.layers
    assert {layer.reports for layer in found.release.layers} == {15_000}
    assert [layer.decided for layer in decided] == [True] * 3
    assert not last.decided
    assert cost_of(made, last.reports, last.candidates, "item") > 0.6
    facts = release_facts(found.release)
    assert {word.word for word in found.release.words} == {"dada", "cabd"}
    assert central_epsilon(facts.collection, facts.delta, "item") <= 0.6
    documents = {hashlib.sha256(each).hexdigest(): each for each in found.documents}
    read = decode_release(release_text(discovery_document(found)).encode(), "release.json")
    assert certify(read, documents).passed


@pytest.mark.parametrize("promised", [1e-9, 1e-160, 1e-300, 5e-324])
def test_no_promise_is_too_small_to_be_refused_by_name(promised: float) -> None:
    with pytest.raises(ParameterError, match=f"no number of reports keeps a central ε of {promised:g} "):
        fewest_reports(campaign(promised_epsilon=promised).parameters, 1)


def test_a_simulation_keeps_its_promise_and_its_release_is_certified_with_it() -> None:
    population = Population.from_words({f"user {n}": {"dada": 2, "cabd": 1} for n in range(20_000)})
    made = campaign(20_000, promised_epsilon=1.5)
    discovery = discover(population, made, seed=1)
    facts = release_facts(discovery.release)
    assert discovery.release.words
    spent = central_epsilon(facts.collection, facts.delta, "item")
    assert spent <= 1.5
    document = discovery_document(discovery)
    read = decode_release(release_text(document).encode(), "release.json")
    assert read.parameters.promised_epsilon == 1.5
    documents = {hashlib.sha256(each).hexdigest(): each for each in discovery.documents}
    assert certify(read, documents).passed
    broken = replace(read, parameters=replace(read.parameters, promised_epsilon=0.9 * spent))
    said = " ".join(certify(broken, documents).objections)
    assert "decide a layer" in said
    assert f"a central ε of {0.9 * spent:g} for one item was promised, and it is {spent:g}" in said
