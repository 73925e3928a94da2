"""The tables of docs/secure-aggregation.md: what a server learns by the size of groups, and their neighbours."""

import re
from pathlib import Path

import pytest

from neologue.masking.neighbourhood import neighbourhood
from neologue.masking.rules import GroupRules, groups_of, most_corrupt
from neologue.masking.terms import MaskingGroup, Terms
from neologue.masking.traffic import download_bytes
from neologue.privacy.collection import Batch, Collection
from neologue.privacy.cost import cost

PAGE = (Path(__file__).parents[2] / "docs/secure-aggregation.md").read_text()
GROUPS = {
    int(size.replace(",", "")): (int(smallest.replace(",", "")), int(corrupt), int(honest.replace(",", "")), figures)
    for size, smallest, corrupt, honest, figures in re.findall(
        r"^\| ([\d,]+), ([\d,]+) \| (\d+), ([\d,]+) \| (.+) \|$", PAGE, re.MULTILINE
    )
}
NEIGHBOURS = re.findall(r"^\| ([\d,]+) \| (\d+) \| (\d+, \d+.*) \| (\d+) \| (\d+, \d+.*) \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("size", list(GROUPS))
def test_the_honest_devices_of_a_sum(size: int) -> None:
    smallest, corrupt, honest, _ = GROUPS[size]
    rules = GroupRules(size, smallest, groups=groups_of(200_000, smallest))
    assert (rules.corrupt, rules.honest) == (corrupt, honest)


@pytest.mark.parametrize(("size", "column", "epsilon"), [(100, 0, 10.0), (1000, 0, 10.0), (2000, 4, 4.0)])
def test_what_the_server_learns(size: int, column: int, epsilon: float) -> None:
    honest, figures = GROUPS[size][2], GROUPS[size][3].split(" | ")
    seen = cost(Collection("unary", epsilon, 60, (Batch(20_000, 100_000),)).in_sums_of(honest), 1e-10)
    stated = [float(figure) for figure in figures[column : column + 2]]
    assert [seen.item_best.epsilon, seen.user_best.epsilon] == pytest.approx(stated, rel=5e-3)


def test_the_neighbours_and_thresholds() -> None:
    assert [row[0] for row in NEIGHBOURS] == ["20", "50", "100", "200", "500", "1,000", "2,000"]
    for size, one, few, five, many in NEIGHBOURS:
        devices = int(size.replace(",", ""))
        for share, corrupt, dropouts, cells in ((1, one, (5, 10, 20), few), (5, five, (10, 20, 30), many)):
            assert int(corrupt) == most_corrupt(devices, share, 1e-6, 6000)
            for dropout, cell in zip(dropouts, cells.split(" | "), strict=True):
                found = neighbourhood(devices, dropout, int(corrupt))
                assert cell == f"{found.degree}, {found.threshold}"


@pytest.mark.parametrize(("size", "corrupt", "stated"), [(100, 22, 45), (1000, 95, 388)])
def test_what_a_device_receives(size: int, corrupt: int, stated: int) -> None:
    group = MaskingGroup(Terms(bytes(16), bytes(32), 10_000, 1, 70, 20, corrupt), size)
    assert round(download_bytes(group) / 1000) == stated
    assert abs(download_bytes(group) - 353 * size - 112 * group.neighbourhood.degree) < 2 * size
