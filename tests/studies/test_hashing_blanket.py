"""The privacy blanket of Optimal Local Hashing: it covers what enumeration finds, and is that of Subset Selection."""

import math
from collections import defaultdict
from itertools import product

import pytest

from neologue.privacy.shuffling import blanket, clones_2023
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.studies.baselines.blanket import shuffled_epsilon
from neologue.studies.baselines.oracles import LocalHashing


def shuffled_law(oracle: LocalHashing, values: tuple[int, ...]) -> dict[tuple[object, ...], float]:
    """P(multiset of reports), where each report has a uniformly random function of three values."""
    functions = list(product(range(oracle.buckets), repeat=3))
    lie = (1 - oracle.truth) / (oracle.buckets - 1)
    symbols = list(product(functions, range(oracle.buckets)))
    law: dict[tuple[object, ...], float] = defaultdict(float)
    for reports in product(symbols, repeat=len(values)):
        chance = 1.0
        for (function, bucket), value in zip(reports, values, strict=True):
            chance *= (oracle.truth if function[value] == bucket else lie) / len(functions)
        law[tuple(sorted(reports))] += chance
    return law


@pytest.mark.parametrize("others", [(2, 2), (0, 1), (0, 0)])
def test_enumeration_finds_no_more_than_the_bound(others: tuple[int, int]) -> None:
    oracle = LocalHashing(0.35)
    assert oracle.buckets == 2
    delta = 0.02
    epsilon = shuffled_epsilon(oracle, 1 + len(others), delta)
    assert epsilon < oracle.epsilon
    law, beside = (shuffled_law(oracle, (value, *others)) for value in (0, 1))
    exact = sum(max(0.0, chance - math.exp(epsilon) * beside[reports]) for reports, chance in law.items())
    assert exact <= delta


@pytest.mark.parametrize(("epsilon", "reports"), [(10.0, 30_000_000), (10.0, 37_500), (5.0, 37_500)])
def test_it_is_that_of_subset_selection_among_many(epsilon: float, reports: int) -> None:
    """At n = 3e7, ε = 10 that is 0.149, of which the notes of this project have a matching lower bound."""
    found = shuffled_epsilon(LocalHashing(epsilon), reports, 1e-10)
    assert found == pytest.approx(blanket(SubsetSelection(10_000_000, epsilon, 1), reports, 1e-10).epsilon, rel=2e-3)
    assert found < (clones_2023(epsilon, reports, 1e-10).epsilon or 0.0)
