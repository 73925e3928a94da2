"""Neighbours and thresholds against their definition, counted out and simulated."""

from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import pytest

from neologue.entropy import SeededEntropy
from neologue.errors import ParameterError
from neologue.masking import neighbourhood as module
from neologue.masking.graph import circle
from neologue.masking.neighbourhood import Neighbourhood, neighbourhood


def hypergeometric(size: int, degree: int, marked: int, number: int) -> Fraction:
    """The chance of so many marked neighbours, from its definition."""
    return Fraction(comb(marked, number) * comb(size - 1 - marked, degree - number), comb(size - 1, degree))


def tail(size: int, degree: int, marked: int, least: int) -> Fraction:
    chances = (hypergeometric(size, degree, marked, number) for number in range(max(least, 0), degree + 1))
    return sum(chances, Fraction(0))


def cut(size: int, degree: int, gone: int) -> Fraction:
    """The bound for two gaps of k/2 or more."""
    return comb(size - gone, 2) * Fraction(comb(gone, degree), comb(size - 1, degree))


def best(size: int, dropped: int, corrupt: int, security: int, correctness: int) -> Neighbourhood | None:
    """The smallest degree, and then the largest threshold, among all that meet both bounds."""
    for degree in [*range(2, size - 1, 2), size - 1]:
        for threshold in range(degree, 0, -1):
            lost = size * tail(size, degree, dropped, degree - threshold + 1)
            known = (size - corrupt) * tail(size, degree, corrupt, 2 * threshold - degree)
            if lost * 2**correctness <= 1 and (known + cut(size, degree, dropped + corrupt)) * 2**security <= 1:
                return Neighbourhood(degree, threshold)
    return None


@pytest.mark.parametrize(("security", "correctness"), [(40, 30), (3, 2), (10, 3)])
@pytest.mark.parametrize("size", [*range(3, 14), 27, 40])
def test_the_smallest_degree_that_meets_both_bounds(
    size: int, security: int, correctness: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SECURITY_BITS", security)
    monkeypatch.setattr(module, "CORRECTNESS_BITS", correctness)
    for dropout, corruption in product((0, 10, 30), (0, 5, 20)):
        dropped, corrupt = -(-size * dropout // 100), -(-size * corruption // 100)
        wanted = best(size, dropped, corrupt, security, correctness) if size - dropped - corrupt >= 2 else None
        compute = neighbourhood.__wrapped__  # past the cache, for the bounds are other ones
        if wanted is None:
            with pytest.raises(ParameterError, match="can't be protected"):
                compute(size, dropout, corruption)
        else:
            assert compute(size, dropout, corruption) == wanted


@pytest.mark.parametrize(("size", "degree", "marked"), [(7, 2, 3), (8, 4, 3), (9, 4, 5), (6, 5, 2)])
def test_marked_neighbours_follow_the_hypergeometric_law(size: int, degree: int, marked: int) -> None:
    """Counted out over all places of the marked devices in the circle of one."""
    near = {*range(1, degree // 2 + 1), *range(size - degree // 2, size)} if degree < size - 1 else set(range(1, size))
    counts = [len(near & set(places)) for places in combinations(range(1, size), marked)]
    for number, ways in module._ways(size, degree, marked):
        assert hypergeometric(size, degree, marked, number) == Fraction(ways, comb(size - 1, degree))
        assert hypergeometric(size, degree, marked, number) == Fraction(counts.count(number), len(counts))


def is_connected(left: set[int], neighbours: list[tuple[int, ...]]) -> bool:
    reached: set[int] = set()
    edge = {min(left)}
    while edge:
        reached |= edge
        edge = {other for device in edge for other in neighbours[device] if other in left} - reached
    return reached == left


def in_order(size: int, degree: int) -> list[tuple[int, ...]]:
    steps = [step for step in range(-degree // 2, degree // 2 + 1) if step]
    return [tuple((place + step) % size for step in steps) for place in range(size)]


@pytest.mark.parametrize(("size", "degree", "gone"), [(9, 2, 2), (9, 2, 4), (10, 4, 4), (11, 4, 6), (12, 6, 7)])
def test_the_chance_to_be_cut_is_bounded(size: int, degree: int, gone: int) -> None:
    """Counted out over all sets of devices that are gone; the bound is not far from the truth where it is small."""
    ways = list(combinations(range(size), gone))
    cuts = sum(not is_connected(set(range(size)) - set(away), in_order(size, degree)) for away in ways)
    exact = Fraction(cuts, len(ways))
    assert 0 < exact <= cut(size, degree, gone)
    assert cut(size, degree, gone) <= 2 * exact or exact > Fraction(1, 3)


def test_the_chance_to_be_cut_in_simulated_circles() -> None:
    """4,000 circles: within 5 standard deviations of the exact chance by inclusion and exclusion, below the bound."""
    size, degree, gone, draws = 30, 4, 10, 4000
    left, short = size - gone, degree // 2
    longs = {j: Fraction(comb(size - 1 - j * short, left - 1), comb(size - 1, left - 1)) for j in range(2, 6)}
    exact = float(sum((-1) ** j * (j - 1) * comb(left, j) * chance for j, chance in longs.items()))
    entropy = SeededEntropy(3)
    cuts = sum(not is_connected(set(range(left)), circle(size, degree, entropy)) for _ in range(draws))
    assert abs(cuts / draws - exact) < 5 * np.sqrt(exact * (1 - exact) / draws)
    assert 0.1 < exact <= cut(size, degree, gone)


@pytest.mark.parametrize(("size", "degree"), [(3, 2), (5, 2), (8, 6), (8, 7), (50, 14), (101, 26)])
def test_every_device_has_as_many_neighbours_and_they_have_it(size: int, degree: int) -> None:
    neighbours = circle(size, degree, SeededEntropy(size))
    for device, around in enumerate(neighbours):
        assert len(set(around)) == len(around) == degree
        assert list(around) == sorted(around)
        assert device not in around
        assert all(device in neighbours[other] for other in around)


def test_all_neighbourhoods_are_equally_likely() -> None:
    """Each other device is a neighbour equally often: 5 standard deviations of 3,000 draws."""
    entropy = SeededEntropy(11)
    drawn = [circle(7, 2, entropy)[0] for _ in range(3000)]
    counts = np.bincount(np.ravel(drawn), minlength=7)
    assert counts[0] == 0
    assert (np.abs(counts[1:] - 1000) < 5 * np.sqrt(3000 / 3 * 2 / 3)).all()


@pytest.mark.parametrize(
    ("size", "dropout", "corruption", "named"),
    [
        (2, 0, 0, "not 2"),
        (2001, 0, 0, "not 2,001"),
        (50, -1, 0, "not -1"),
        (50, 31, 0, "not 31"),
        (50, 0, 31, "not 31"),
    ],
)
def test_what_no_group_can_have_is_refused(size: int, dropout: int, corruption: int, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        neighbourhood(size, dropout, corruption)


@pytest.mark.parametrize(("size", "dropout", "corruption"), [(3, 30, 30), (4, 30, 30), (3, 5, 0)])
def test_what_can_not_be_protected_is_refused(size: int, dropout: int, corruption: int) -> None:
    with pytest.raises(ParameterError, match="make it larger"):
        neighbourhood(size, dropout, corruption)
