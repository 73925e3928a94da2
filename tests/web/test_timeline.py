"""The chart of a campaign over time."""

from typing import Any

import pytest

from neologue.discovery.result import LayerFacts
from neologue.service.api.schemas import CampaignView, LayerView
from neologue.service.campaigns.expected_end import ExpectedEnd
from neologue.web.timeline import MARGIN, Timeline


def campaign(state: str, changed: float = 0.0) -> CampaignView:
    return CampaignView("00", "spring", state, "neologue", None, False, 900, 800, 8.0, "sums", 0.0, changed, "")


def layer(index: int, opened: float, words: int | None, reports: int = 100) -> LayerView:
    facts = None
    if words is not None:
        counts: dict[str, Any] = dict.fromkeys(("length", "extension", "candidates", "asked", "reports", "kept"), 1)
        facts = LayerFacts(1, index + 1, **counts, words=words, fewest_votes=1, decided=True)
    state = "open" if words is None else "decided"
    return LayerView(index, state, 200, 10, reports, 0, 0.1, opened, opened + 500, 0, facts, [])


def test_a_campaign_without_a_layer_has_no_chart() -> None:
    assert Timeline.of(campaign("running"), [], ExpectedEnd(), 5.0) is None


def test_a_layer_is_as_wide_as_it_took_and_words_add_up_after_it() -> None:
    layers = [layer(0, 1000.0, 30), layer(1, 1100.0, 10), layer(2, 1400.0, 0)]
    chart = Timeline.of(campaign("released", 1500.0), layers, ExpectedEnd(), 9999.0)
    assert chart
    assert (chart.words, chart.seconds, chart.now) == (40, 500.0, None)
    right = 100 * (1 - MARGIN)
    assert [bar.width / right for bar in chart.bars] == pytest.approx([0.2, 0.6, 0.2])
    assert [bar.label for bar in chart.bars] == ["1.1", "1.2", "1.3"]
    assert [step.x / right for step in chart.steps] == pytest.approx([0.2, 0.8, 1.0])
    assert [step.height for step in chart.steps] == [75.0, 100.0, 100.0]
    assert chart.steps[-1].x + chart.steps[-1].width == pytest.approx(100.0)


def test_a_running_campaign_leaves_room_until_its_expected_end() -> None:
    layers = [layer(0, 1000.0, 30, reports=200), layer(1, 1100.0, None, reports=50)]
    chart = Timeline.of(campaign("running"), layers, ExpectedEnd(1300.0, 1400.0, 2000.0), 1200.0)
    assert chart
    assert chart.end == 1400.0
    assert chart.now == pytest.approx(50 * (1 - MARGIN))
    current = chart.bars[-1]
    assert current.is_current
    assert current.x + current.width == pytest.approx(chart.now)
    assert (current.height, current.filled) == (100.0, 25.0)


def test_an_open_page_is_sent_a_new_chart_only_if_it_looks_different() -> None:
    layers = [layer(0, 1000.0, None)]
    charts = [
        Timeline.of(campaign("running"), layers, ExpectedEnd(None, 2000.0, None), now) for now in (1200.0, 1200.1)
    ]
    assert charts[0] == charts[1]
    assert Timeline.of(campaign("running"), layers, ExpectedEnd(None, 2000.0, None), 1300.0) != charts[0]
