"""The contract of aggregation modes, and that one more is one more line in their table."""

from dataclasses import dataclass

import pytest

from neologue.aggregation.aggregator import Aggregator
from neologue.aggregation.modes import MODES, aggregator_of
from neologue.errors import ParameterError
from service.stores import CAMPAIGN, LAYER


@dataclass(frozen=True)
class Stated:
    """Settings as an operator states them."""

    devices: int = 100
    batch: int = 10
    cohort_size: int = 12
    smallest_cohort: int = 6
    dropout: int = 25
    corruption: int = 0
    corruption_risk: float = 1e-6
    gather_seconds: float = 5.0
    stage_seconds: float = 5.0
    strikes: int = 3


@pytest.fixture(params=sorted(MODES))
def aggregator(request: pytest.FixtureRequest) -> Aggregator:
    return aggregator_of(request.param, Stated())


def test_a_layer_collects_what_its_devices_send(aggregator: Aggregator) -> None:
    layer = aggregator.collecting(CAMPAIGN, 3, LAYER, (bytes(32),))
    assert layer.asks is LAYER
    assert layer.longest > 0


def test_no_sum_is_of_fewer_than_its_exposure_says(aggregator: Aggregator) -> None:
    _, disk, server = aggregator.exposure.observers()
    assert disk[2] == aggregator.smallest_sum
    assert server[2] is not None
    assert server[2] <= aggregator.smallest_sum <= aggregator.fewest


def test_there_is_room_for_as_many_as_are_counted_together(aggregator: Aggregator) -> None:
    assert aggregator.has_room(aggregator.fewest, 0)
    assert aggregator.has_room(aggregator.fewest + 5, 5)


def test_a_promise_is_made_where_votes_are_masked(aggregator: Aggregator) -> None:
    assert (aggregator.promise((bytes(32),)) is None) == (aggregator.exposure.masked is None)
    assert aggregator.spoilt_by_one >= 1


def test_an_unknown_mode_is_refused_by_a_sentence() -> None:
    with pytest.raises(ParameterError, match=r"no aggregation mode is called 'magic'.*ephemeral, secure"):
        aggregator_of("magic", Stated())


def test_groups_under_way_leave_less_room() -> None:
    assert not aggregator_of("secure", Stated()).has_room(8, 1)
    assert aggregator_of("ephemeral", Stated()).has_room(8, 1), "a layer of batches is closed instead"
