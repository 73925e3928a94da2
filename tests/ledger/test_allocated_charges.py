"""Campaigns that hide in which layer a user was, charged to a ledger beside others."""

from dataclasses import replace

import pytest

from neologue.errors import ParameterError
from neologue.ledger.charge import check_collection, decode_collection, encode_collection
from neologue.ledger.composition import composed_epsilon
from neologue.ledger.ledger_document import collection_document
from neologue.privacy.allocation.planned_layers import UNCLAIMED, Allocation, PlannedLayer
from neologue.privacy.collection import Batch, Collection
from neologue.privacy.cost import central_epsilon

DELTA = 1e-8
PLANNED = Allocation.plan([50_000] * 4, DELTA)
HIDDEN = Collection("unary", 6.0, 20, tuple(Batch(layer.reports, 1000) for layer in PLANNED.layers), PLANNED)
KNOWN = replace(HIDDEN, allocation=UNCLAIMED)


@pytest.mark.parametrize("unit", ["item", "user"])
def test_alone_it_costs_what_its_release_states(unit: str) -> None:
    stated = central_epsilon(HIDDEN, DELTA, unit)
    assert stated <= composed_epsilon([HIDDEN], DELTA, unit) <= 1.02 * stated
    assert stated < 0.7 * composed_epsilon([KNOWN], DELTA, unit)


def test_where_other_words_would_tell_the_layer_it_costs_what_a_known_layer_does() -> None:
    """With few users and a large local ε, the bound of an unknown layer is the larger one for a word."""
    planned = Allocation.plan([5_000] * 4, DELTA)
    small = Collection("unary", 8.0, 60, tuple(Batch(layer.reports, 1000) for layer in planned.layers), planned)
    stated = central_epsilon(small, DELTA, "item")
    assert stated <= composed_epsilon([small], DELTA, "item") <= 1.02 * stated < 2.1


@pytest.mark.parametrize("unit", ["item", "user"])
def test_several_cost_more_than_one_and_less_than_their_sum(unit: str) -> None:
    one, three = (composed_epsilon([HIDDEN] * times, DELTA, unit) for times in (1, 3))
    assert one < three < 3 * one
    mixed = composed_epsilon([HIDDEN, KNOWN], DELTA, unit)
    assert composed_epsilon([HIDDEN] * 2, DELTA, unit) < mixed < composed_epsilon([KNOWN] * 2, DELTA, unit)


def test_twice_the_same_is_at_least_what_a_gaussian_has() -> None:
    """Small losses add up like those of normal laws: √2 times one, but for what the dots cost."""
    one, two = (composed_epsilon([HIDDEN] * times, DELTA, "user") for times in (1, 2))
    assert 1.38 * one < two < 1.5 * one


def test_a_budget_whose_delta_planned_numbers_exceed_counts_the_local_epsilon() -> None:
    careless = replace(HIDDEN, allocation=Allocation(PLANNED.layers, 1e-3))
    assert composed_epsilon([careless], 1e-6, "user") > 100 * composed_epsilon([HIDDEN], 1e-6, "user")


def test_planned_layers_are_written_and_read_again() -> None:
    assert decode_collection(encode_collection(HIDDEN)) == HIDDEN
    assert decode_collection(encode_collection(KNOWN)) == KNOWN
    assert "planned" not in encode_collection(KNOWN)
    assert collection_document(HIDDEN).collection == HIDDEN
    unequal = replace(HIDDEN, allocation=Allocation((PlannedLayer(0.5, 10, 2), PlannedLayer(0.5, 9)), 1e-12))
    assert decode_collection(encode_collection(unequal)) == unequal
    assert collection_document(unequal).collection == unequal
    assert collection_document(KNOWN).collection == KNOWN


@pytest.mark.parametrize(
    "allocation",
    [
        Allocation((PlannedLayer(0.7, 10), PlannedLayer(0.7, 10)), 0.0),
        Allocation((PlannedLayer(-0.1, 10),), 0.0),
        Allocation((PlannedLayer(0.5, 0),), 0.0),
        Allocation((PlannedLayer(0.5, 10, words=1_000),), 0.0),
        Allocation((PlannedLayer(0.5, 10),), 1.0),
        Allocation((PlannedLayer(0.5, 10),), float("nan")),
    ],
)
def test_planned_layers_that_cannot_be_are_refused(allocation: Allocation) -> None:
    with pytest.raises(ParameterError):
        check_collection(replace(HIDDEN, allocation=allocation))
