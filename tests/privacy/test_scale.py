"""The scale on which an ε is judged: its bounds, and the same words and colours everywhere."""

import math
import re
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from neologue import Campaign
from neologue.language import builtin
from neologue.privacy.colluders import cost_by_colluders
from neologue.privacy.digits import shown
from neologue.privacy.scale import ASKED_ABOVE, SCALE, SLACK, certainty, chance_of_exception, grade
from neologue.privacy.statement import Exposure
from neologue.privacy.sums import Sums, sums_only
from neologue.randomizers.unary import Unary
from neologue.release.foreseen import foreseen_facts

ROOT = Path(__file__).parents[2]
PROMISES = re.findall(
    r"^\| ([\d,]+) \| ([\d.]+) \| ([\d.]+) \(([a-z ]+)\) \| ([\d.]+) \(([a-z ]+)\) \|",
    (ROOT / "docs/plan.md").read_text("utf-8"),
    re.MULTILINE,
)


def test_bounds_grow_and_belong_to_the_better_grade() -> None:
    bounds = [each.most for each in SCALE]
    assert bounds == sorted(set(bounds))
    for better, worse in pairwise(SCALE):
        assert grade(better.most) == better
        assert grade(math.nextafter(better.most, math.inf)) == worse
    assert grade(0.0) == SCALE[0]
    assert grade(1e9) == SCALE[-1]
    assert SCALE[-2].most == ASKED_ABOVE


def test_the_page_has_the_scale_and_what_each_bound_means() -> None:
    page = (ROOT / "docs/privacy/scale.md").read_text("utf-8")
    for each in SCALE[:-1]:
        certain = f"{100 / (1 + math.exp(-each.most)):.{3 if each.most == 10 else 1}f} %"
        assert re.search(rf"^\| up to {each.most:g} \| {each.words} \| \w+ \| {certain} \|$", page, re.MULTILINE)
    assert f"| above {SCALE[-2].most:g} | {SCALE[-1].words} |" in page


@pytest.mark.parametrize(("epsilon", "reports"), [(7.0, 1_000_000), (8.0, 250_000), (3.45, 1_255), (10.0, 100_000)])
def test_how_rarely_somebody_becomes_more_certain(epsilon: float, reports: int) -> None:
    unary, delta = Unary(10_000, epsilon, 60), 1e-10
    held, lacked = Sums.of(unary, reports).alone
    losses = np.log(held / lacked)
    both, chances = np.subtract.outer(losses, losses), np.multiply.outer(held, lacked)
    stated = sums_only(unary, reports, delta).epsilon
    assert stated is not None
    assert chances[both > stated].sum() > 10 * delta, "a loss above ε is likelier than δ"
    assert chances[both > stated + SLACK].sum() <= chance_of_exception(delta)
    assert certainty(stated) == pytest.approx(1 / (1 + math.exp(-stated - SLACK)))


def test_pages_have_the_colours_of_the_scale() -> None:
    style = files("neologue.web").joinpath("static", "dashboard.css").read_text("utf-8")
    for each in SCALE:
        assert f".grade-{each.name}::before {{ color: {each.colour}; }}" in style


@pytest.mark.parametrize("row", PROMISES, ids=[row[0] for row in PROMISES])
def test_the_promises_without_a_level_are_computed_again(row: tuple[str, ...]) -> None:
    campaign = Campaign.from_profile(
        users=int(row[0].replace(",", "")), alphabet=builtin.alphabet("en"), epsilon=float(row[1])
    )
    found = cost_by_colluders(foreseen_facts(campaign, None, Exposure()))[0]
    expected = (f"{campaign.epsilon:g}", shown(found.item), grade(found.item).words)
    assert row[1:] == (*expected, shown(found.user), grade(found.user).words)


def test_there_is_a_promise_for_every_size() -> None:
    assert [row[0] for row in PROMISES] == ["10,000", "100,000", "300,000", "1,000,000", "15,000,000"]
