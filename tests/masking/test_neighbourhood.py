"""Neighbours and thresholds against their definition, counted out and simulated."""

from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import pytest

from neologue.errors import ParameterError
from neologue.masking import neighbourhood as module
from neologue.masking.graph import circle, neighbours_at
from neologue.masking.neighbourhood import Neighbourhood, neighbourhood


def hypergeometric(devices: int, drawn: int, marked: int, number: int) -> Fraction:
    """The chance of so many marked devices among those drawn, from its definition."""
    return Fraction(comb(marked, number) * comb(devices - marked, drawn - number), comb(devices, drawn))


def tail(devices: int, drawn: int, marked: int, least: int) -> Fraction:
    chances = (hypergeometric(devices, drawn, marked, number) for number in range(max(least, 0), drawn + 1))
    return sum(chances, Fraction(0))


def parted(size: int, degree: int, threshold: int, corrupt: int) -> Fraction:
    """The bound for two stretches of k/2 devices with t - k/2 corrupt ones each; none where all are neighbours."""
    half = degree // 2
    return comb(size, 2) * tail(size, half, corrupt, threshold - half) ** 2 if degree < size - 1 else Fraction(0)


def best(size: int, dropped: int, corrupt: int, security: int, correctness: int) -> Neighbourhood | None:
    """The smallest degree, and then the largest threshold, among all that meet both bounds."""
    for degree in [*range(2, size - 1, 2), size - 1]:
        for threshold in range(degree, 0, -1):
            lost = size * tail(size - 1, degree, dropped, degree - threshold + 1)
            known = (size - corrupt) * tail(size - 1, degree, corrupt, threshold)
            bad = known + parted(size, degree, threshold, corrupt)
            if lost * 2**correctness <= 1 and bad * 2**security <= 1:
                return Neighbourhood(degree, threshold)
    return None


@pytest.mark.parametrize(("security", "correctness"), [(104, 30), (3, 2), (10, 3)])
@pytest.mark.parametrize("size", [*range(3, 14), 27, 40])
def test_the_smallest_degree_that_meets_both_bounds(
    size: int, security: int, correctness: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SECURITY_BITS", security)
    monkeypatch.setattr(module, "ROSTERS_BITS", 0)
    monkeypatch.setattr(module, "CORRECTNESS_BITS", correctness)
    for dropout, corrupt in product((0, 10, 30), (0, 1, size // 5)):
        dropped = -(-size * dropout // 100)
        wanted = best(size, dropped, corrupt, security, correctness) if size - dropped - corrupt >= 2 else None
        compute = neighbourhood.__wrapped__  # past the cache, for the bounds are other ones
        if wanted is None:
            with pytest.raises(ParameterError, match="can't be protected"):
                compute(size, dropout, corrupt)
        else:
            assert compute(size, dropout, corrupt) == wanted


def test_a_server_may_try_many_rosters() -> None:
    assert module.SECURITY_BITS + module.ROSTERS_BITS == 104


@pytest.mark.parametrize(("size", "degree", "marked"), [(7, 2, 3), (8, 4, 3), (9, 4, 5), (6, 5, 2)])
def test_marked_neighbours_follow_the_hypergeometric_law(size: int, degree: int, marked: int) -> None:
    """Counted out over all places of the marked devices in the circle of one."""
    near = {*range(1, degree // 2 + 1), *range(size - degree // 2, size)} if degree < size - 1 else set(range(1, size))
    counts = [len(near & set(places)) for places in combinations(range(1, size), marked)]
    for number, ways in module._ways(size - 1, degree, marked):
        assert hypergeometric(size - 1, degree, marked, number) == Fraction(ways, comb(size - 1, degree))
        assert hypergeometric(size - 1, degree, marked, number) == Fraction(counts.count(number), len(counts))


def component(left: set[int], neighbours: list[tuple[int, ...]]) -> set[int]:
    """Those of whom are left that are connected with the first one."""
    reached: set[int] = set()
    edge = {min(left)}
    while edge:
        reached |= edge
        edge = {other for device in edge for other in neighbours[device] if other in left} - reached
    return reached


def in_order(size: int, degree: int) -> list[tuple[int, ...]]:
    steps = [step for step in range(-degree // 2, degree // 2 + 1) if step]
    return [tuple((place + step) % size for step in steps) for place in range(size)]


def can_be_parted(size: int, degree: int, threshold: int, corrupt: set[int]) -> bool:
    """Whether some set of survivors falls into parts without a mask in common, of which one can be summed alone."""
    around = [set(places) for places in in_order(size, degree)]
    honest = set(range(size)) - corrupt
    for count in range(2, len(honest) + 1):
        for left in map(set, combinations(sorted(honest), count)):
            part = component(left, in_order(size, degree))
            for one in (part, left - part):
                if one != left and one and all(len(around[device] & (one | corrupt)) >= threshold for device in one):
                    return True
    return False


@pytest.mark.parametrize(
    ("size", "degree", "threshold", "corrupt"), [(8, 4, 3, 2), (9, 4, 3, 2), (9, 4, 4, 3), (9, 6, 4, 2), (10, 4, 3, 3)]
)
def test_the_chance_to_be_parted_is_bounded(size: int, degree: int, threshold: int, corrupt: int) -> None:
    """Counted out over all places of the corrupt devices, and all sets that a lying server could leave."""
    ways = list(combinations(range(size), corrupt))
    bad = sum(can_be_parted(size, degree, threshold, set(places)) for places in ways)
    assert Fraction(bad, len(ways)) <= parted(size, degree, threshold, corrupt)


def test_a_threshold_of_half_the_neighbours_lets_a_server_part_the_group() -> None:
    assert can_be_parted(9, 4, 2, set())
    assert not can_be_parted(9, 4, 3, set())


def all_neighbours(size: int, degree: int, digest: bytes) -> list[tuple[int, ...]]:
    order = circle(size, digest)
    return [neighbours_at(order, order.index(device), degree) for device in range(size)]


@pytest.mark.parametrize(("size", "degree"), [(3, 2), (5, 2), (8, 6), (8, 7), (50, 14), (101, 26)])
def test_every_device_has_as_many_neighbours_and_they_have_it(size: int, degree: int) -> None:
    neighbours = all_neighbours(size, degree, bytes(32))
    for device, around in enumerate(neighbours):
        assert len(set(around)) == len(around) == degree
        assert list(around) == sorted(around)
        assert device not in around
        assert all(device in neighbours[other] for other in around)


def test_all_neighbourhoods_are_equally_likely() -> None:
    """Each other device is a neighbour equally often: 5 standard deviations of 3,000 rosters."""
    drawn = [all_neighbours(7, 2, number.to_bytes(32, "big"))[0] for number in range(3000)]
    counts = np.bincount(np.ravel(drawn), minlength=7)
    assert counts[0] == 0
    assert (np.abs(counts[1:] - 1000) < 5 * np.sqrt(3000 / 3 * 2 / 3)).all()


@pytest.mark.parametrize(
    ("size", "dropout", "corrupt", "named"),
    [
        (2, 0, 0, "not 2"),
        (2001, 0, 0, "not 2,001"),
        (50, -1, 0, "not -1"),
        (50, 31, 0, "not 31"),
        (50, 0, -1, "not -1"),
        (50, 0, 2001, "not 2,001"),
    ],
)
def test_what_no_group_can_have_is_refused(size: int, dropout: int, corrupt: int, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        neighbourhood(size, dropout, corrupt)


@pytest.mark.parametrize(("size", "dropout", "corrupt"), [(3, 30, 1), (10, 30, 6), (50, 20, 40), (50, 20, 2000)])
def test_what_can_not_be_protected_is_refused(size: int, dropout: int, corrupt: int) -> None:
    with pytest.raises(ParameterError, match="make it larger"):
        neighbourhood(size, dropout, corrupt)
