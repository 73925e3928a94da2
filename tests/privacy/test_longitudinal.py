"""What a server learns that reads a device's reports of several campaigns, and the published table of it."""

import itertools
import math
import re
from pathlib import Path

import pytest

from neologue.device import Policy
from neologue.privacy.longitudinal import exposed_share, posterior

PAGE = Path(__file__).parents[2] / "docs/privacy/longitudinal.md"
ROW = re.compile(r"^\| ([\d.]+) \| (.+) \|$", re.MULTILINE)


def test_every_figure_of_the_published_table_is_computed_again() -> None:
    table = {float(epsilon): cells.split(" | ") for epsilon, cells in ROW.findall(PAGE.read_text())}
    assert list(table) == [4, 5.9, 7, 8.5, 10]
    for epsilon, cells in table.items():
        assert cells == [f"{100 * exposed_share(epsilon, campaigns):.1f} %" for campaigns in range(1, 7)]


def test_the_figures_of_the_text_are_computed_again() -> None:
    text = " ".join(PAGE.read_text().split())
    assert f"four campaigns give {posterior(10, 4, 2, 1e-6):.1%}".replace("%", " %") in text
    assert f"two in five give {posterior(10, 5, 2, 1e-6):.1%}".replace("%", " %") in text
    assert f"at 10, {exposed_share(10, 2):.1%}".replace("%", " %") in text
    small = f"four at 5 reach {exposed_share(5, 4):.1%}, and five at 4 {exposed_share(4, 5):.1%}"
    assert small.replace("%", " %") in text


@pytest.mark.parametrize("epsilon", [1.0, 5.9, 10.0])
@pytest.mark.parametrize("campaigns", [1, 2, 4])
def test_bayes_rule_over_all_reports_says_the_same(epsilon: float, campaigns: int) -> None:
    prior, certainty, q = 1e-4, 0.9, 1 / (math.exp(epsilon) + 1)
    exposed = 0.0
    for bits in itertools.product((0, 1), repeat=campaigns):
        held = math.prod(0.5 for _ in bits)
        other = math.prod(q if bit else 1 - q for bit in bits)
        after = prior * held / (prior * held + (1 - prior) * other)
        assert posterior(epsilon, campaigns, sum(bits), prior) == pytest.approx(after, rel=1e-9)
        exposed += held * (after >= certainty)
    assert exposed_share(epsilon, campaigns, prior, certainty) == exposed


def test_the_default_lifetime_is_the_one_that_the_page_speaks_of() -> None:
    assert Policy().lifetime_epsilon == 20
    assert Policy().lifetime_epsilon / Policy().largest_epsilon == 2
    assert "20 by default" in PAGE.read_text()
