"""When a campaign is expected to end follows from how fast reports come."""

from dataclasses import replace

from neologue.service.campaigns.definition import Definition
from neologue.service.campaigns.expected_end import ExpectedEnd, expected_end
from neologue.service.campaigns.layer_store import LayerRow
from neologue.service.campaigns.rounds import Round
from neologue.service.storage.states import LayerState

HOUR = 3600.0


def campaign(**parameters: int | None) -> Definition:
    return Definition(
        name="x", devices=200_000, layer_seconds=10 * HOUR, parameters=parameters, accept_weak_privacy=True
    )


def layer(opened: float, reports: int, state: LayerState = LayerState.OPEN) -> LayerRow:
    asked = Round(layer_size=1000, low=0, high=1, opened=opened, deadline=opened + 10 * HOUR, looks=0, extensions=0)
    return LayerRow(0, b"", 10, state, replace(asked, reports=reports), None)


def test_a_layer_is_full_as_reports_come_and_the_others_take_as_long() -> None:
    end = expected_end(campaign(layers=4), [layer(0.0, 250)], now=HOUR)
    assert end == ExpectedEnd(layer=4 * HOUR, campaign=16 * HOUR, latest=40 * HOUR)


def test_layers_that_are_over_count_for_how_long_the_next_ones_take() -> None:
    layers = [layer(0.0, 1000, LayerState.DECIDED), layer(2 * HOUR, 500)]
    end = expected_end(campaign(layers=4), layers, now=4 * HOUR)
    assert end == ExpectedEnd(layer=6 * HOUR, campaign=(6 + 2 * 3) * HOUR, latest=(12 + 20) * HOUR)


def test_without_a_report_a_layer_lasts_until_its_deadline() -> None:
    assert expected_end(campaign(layers=1), [layer(0.0, 0)], now=HOUR).layer == 10 * HOUR


def test_before_its_first_report_a_layer_is_expected_to_last_as_long_as_those_before_it() -> None:
    layers = [layer(0.0, 1000, LayerState.DECIDED), layer(2 * HOUR, 0)]
    assert expected_end(campaign(layers=3), layers, now=3 * HOUR).campaign == 6 * HOUR
    # It has lasted longer already.
    assert expected_end(campaign(layers=2), layers, now=9 * HOUR).campaign == 9 * HOUR


def test_where_votes_decide_how_many_layers_there_are_only_the_latest_end_is_known() -> None:
    end = expected_end(campaign(layers=None, depth=5), [layer(0.0, 500)], now=HOUR)
    assert end == ExpectedEnd(layer=2 * HOUR, campaign=None, latest=50 * HOUR)


def test_what_has_not_begun_or_is_over_has_no_expected_end() -> None:
    assert expected_end(campaign(layers=4), [], 0.0) == ExpectedEnd()
    assert expected_end(campaign(layers=4), [layer(0.0, 9, LayerState.DECIDED)], 0.0) == ExpectedEnd()


def test_times_are_rounded_up_to_minutes() -> None:
    assert ExpectedEnd(61.0, None, 120.0).to_the_minute() == ExpectedEnd(120.0, None, 120.0)
