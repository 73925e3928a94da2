"""What collections cost together: never less than the truth, and hardly more."""

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from neologue.errors import ParameterError
from neologue.ledger.budget import Budget
from neologue.ledger.composition import (
    composed_epsilon,
    costliest,
    fits,
    largest_fitting,
    local_sum,
)
from neologue.privacy.bound import smallest_epsilon
from neologue.privacy.collection import Batch, Collection
from neologue.privacy.cost import cost
from neologue.privacy.privacy_profile import PrivacyProfile
from neologue.privacy.shuffling import blanket_delta
from neologue.privacy.sums import Sums
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary

DELTA = 1e-10
LARGE = Collection("unary", 7.0, 60, (Batch(819_558, 1_000_000), Batch(1_300_000, 9_000)))
SMALL = Collection("unary", 6.0, 5, (Batch(2_000, 500),))
SELECTED = Collection("subset-selection", 5.0, 3, (Batch(2_000, 400), Batch(3_000, 90)))

Law = Mapping[tuple[int, ...], float]
Pair = tuple[Law, Law]


# Against the truth, by enumeration


def convolved(*laws: Law) -> Law:
    """The law of the sum of independent tallies."""
    whole: dict[tuple[int, ...], float] = {(): 1.0} if not laws else dict(laws[0])
    for law in laws[1:]:
        added: dict[tuple[int, ...], float] = defaultdict(float)
        for (a, chance_a), (b, chance_b) in itertools.product(whole.items(), law.items()):
            added[tuple(map(sum, zip(a, b, strict=True)))] += chance_a * chance_b
        whole = added
    return whole


def report(collection: Collection, held: tuple[int, ...]) -> Law:
    """The law of the votes of one user who holds these candidates, one report enumerated."""
    randomizer = collection.randomizer(collection.batches[0])
    p, q = float(randomizer.channel.p), float(randomizer.channel.q)
    if isinstance(randomizer, Unary):
        law = {}
        for bits in itertools.product((0, 1), repeat=randomizer.candidates):
            law[bits] = math.prod(
                (p if z in held else q) if bit else (1 - p if z in held else 1 - q) for z, bit in enumerate(bits)
            )
        return law
    assert isinstance(randomizer, SubsetSelection)
    s, d = randomizer.domain, randomizer.subset_size
    words = []
    for word in (*held, *[randomizer.candidates] * (randomizer.bound - len(held))):
        votes = {}
        for chosen in itertools.combinations(range(s), d):
            chance = p / math.comb(s - 1, d - 1) if word in chosen else (1 - p) / math.comb(s - 1, d)
            votes[tuple(int(z in chosen) for z in range(s))] = chance
        words.append(votes)
    return convolved(*words)


def pairs(collection: Collection, one: tuple[int, ...], other: tuple[int, ...]) -> list[Pair]:
    """The laws of the tally for a user who holds the one or the other, whatever all others hold."""
    randomizer = collection.randomizer(collection.batches[0])
    holdings = list(itertools.combinations(range(randomizer.candidates), randomizer.bound))
    reports = collection.batches[0].reports
    found = []
    for others in itertools.combinations_with_replacement(holdings, reports - 1):
        rest = [report(collection, held) for held in others]
        found.append((convolved(report(collection, one), *rest), convolved(report(collection, other), *rest)))
    return found


def true_delta(runs: tuple[Pair, ...], epsilon: float) -> float:
    """Σ max(P - e^ε·Q, 0) of runs with randomness of their own."""
    chances = [np.array([[one[votes], other[votes]] for votes in one]) for one, other in runs]
    held, lacked = (math.prod(np.ix_(*(run[:, side] for run in chances))) for side in (0, 1))
    return float(np.maximum(held - math.exp(epsilon) * lacked, 0).sum())


@pytest.mark.parametrize("delta", [0.2, 0.02, 1e-3])
@pytest.mark.parametrize(
    ("collections", "one", "other", "unit"),
    [
        (("unary", 2.0, 1, 2, 3), (0,), (1,), "item"),
        (("unary", 2.0, 2, 4, 2), (0, 1), (2, 3), "user"),
        (("subset-selection", 2.0, 1, 2, 3), (0,), (1,), "item"),
        (("subset-selection", 0.5, 1, 3, 3), (0,), (1,), "item"),
        (("subset-selection", 1.0, 2, 4, 2), (0, 1), (2, 3), "user"),
    ],
)
def test_nothing_is_understated(
    collections: tuple[str, float, int, int, int], one: tuple[int, ...], other: tuple[int, ...], unit: str, delta: float
) -> None:
    mechanism, epsilon, bound, candidates, reports = collections
    first = Collection(mechanism, epsilon, bound, (Batch(reports, candidates),))
    second = replace(first, epsilon=epsilon + 0.3)
    stated = composed_epsilon([first, second], delta, unit)
    assert stated <= bound * (2 * epsilon + 0.3)
    for runs in itertools.product(pairs(first, one, other), pairs(second, one, other)):
        assert true_delta(runs, stated) <= delta


def test_alone_among_few_the_bound_is_the_truth() -> None:
    lie = Collection("unary", 2.0, 1, (Batch(1, 2),))
    exact = smallest_epsilon(lambda epsilon: true_delta(tuple(pairs(lie, (0,), (1,))) * 2, epsilon), 0.05, 4.0)
    assert composed_epsilon([lie, lie], 0.05, "item") == pytest.approx(exact, rel=0.01)


# Against what is known of one, and of many of the same


@pytest.mark.parametrize("unit", ["item", "user"])
@pytest.mark.parametrize("collection", [LARGE, SMALL, SELECTED], ids=["large", "small", "selected"])
def test_one_alone_costs_what_it_costs(collection: Collection, unit: str) -> None:
    alone = cost(collection, DELTA).best(unit)
    assert 0.99 * alone <= composed_epsilon([collection], DELTA, unit) <= 1.01 * alone


@pytest.mark.parametrize("unit", ["item", "user"])
@pytest.mark.parametrize("collection", [LARGE, SMALL], ids=["large", "small"])
def test_many_of_the_same_are_one_of_many_words(collection: Collection, unit: str) -> None:
    unary = collection.randomizer(collection.batches[0])
    assert isinstance(unary, Unary)
    words = 4 * (unary.bound if unit == "user" else 1)
    known = smallest_epsilon(Sums.of(unary, collection.batches[0].reports).user_delta(words), DELTA, 1000.0)
    assert composed_epsilon([collection] * 4, DELTA, unit) == pytest.approx(known, rel=0.01)


@pytest.mark.parametrize("unit", ["item", "user"])
def test_three_campaigns_cost_far_less_than_their_sum(unit: str) -> None:
    together = composed_epsilon([LARGE] * 3, DELTA, unit)
    naive = 3 * cost(LARGE, DELTA / 3).best(unit)
    assert together == pytest.approx({"item": 0.2501, "user": 2.105}[unit], rel=0.01)
    assert together < 0.6 * naive


@pytest.mark.parametrize("unit", ["item", "user"])
def test_different_mechanisms_cost_less_than_their_sum_and_more_than_each(unit: str) -> None:
    mixed = [LARGE, SMALL, SELECTED, SMALL]
    together = composed_epsilon(mixed, DELTA, unit)
    assert together < sum(cost(collection, DELTA / 4).best(unit) for collection in mixed)
    assert together > max(composed_epsilon([collection], DELTA, unit) for collection in mixed)
    assert together == composed_epsilon(mixed[::-1], DELTA, unit)


def test_never_above_the_local_promise() -> None:
    alone = Collection("unary", 1.0, 2, (Batch(1, 10),))
    selected = Collection("subset-selection", 12.0, 60, (Batch(1, 10),))
    assert composed_epsilon([alone] * 2, DELTA, "item") == pytest.approx(2.0)
    assert composed_epsilon([alone] * 2, DELTA, "user") == pytest.approx(4.0)
    assert composed_epsilon([selected], DELTA, "user") == pytest.approx(720.0)
    assert composed_epsilon([selected, alone], DELTA, "user") == pytest.approx(722.0)


def test_a_small_delta_is_served_too() -> None:
    tiny = composed_epsilon([LARGE] * 3, 1e-14, "user")
    assert composed_epsilon([LARGE] * 3, 1e-10, "user") < tiny < 1.3 * composed_epsilon([LARGE] * 3, 1e-10, "user")


def test_nothing_collected_costs_nothing() -> None:
    nobody = replace(LARGE, batches=(Batch(0, 100),))
    assert composed_epsilon([], DELTA, "user") == 0.0
    assert composed_epsilon([nobody, replace(LARGE, batches=())], DELTA, "user") == 0.0
    assert local_sum([replace(LARGE, batches=())]) == 0
    assert local_sum([nobody]) == 7, "they were invited, and nobody knows who saw what they sent"
    assert composed_epsilon([nobody, SMALL], DELTA, "item") == composed_epsilon([SMALL], DELTA, "item")


def test_a_delta_that_is_none_is_refused() -> None:
    with pytest.raises(ParameterError, match="delta must lie between 0 and 1, not 1"):
        composed_epsilon([SMALL], 1.0, "item")


# Cohorts that count


def test_the_fewest_unary_reports_count() -> None:
    assert costliest(LARGE).batches == (Batch(819_558, 1),)


def test_of_subset_selection_only_batches_that_show_no_more_are_left_out() -> None:
    batches = [Batch(n, size) for n in (900, 1_000) for size in (1, 5, 20, 60, 149, 150, 290, 900, 3_000)]
    collection = Collection("subset-selection", 5.0, 3, tuple(batches))
    front = costliest(collection).batches
    assert 0 < len(front) < len(batches)

    def deltas(batch: Batch) -> list[float]:
        selection = collection.randomizer(batch)
        assert isinstance(selection, SubsetSelection)
        return [blanket_delta(selection, 3 * batch.reports, epsilon, 1e-20) for epsilon in (0.0, 0.1, 0.3, 0.6, 1.0)]

    largest = np.max([deltas(batch) for batch in front], axis=0)
    for batch in batches:
        assert np.all(np.array(deltas(batch)) <= largest * (1 + 1e-3)), batch


# What would fit


@pytest.mark.parametrize("budget", [Budget("user", 3.0, 1e-9), Budget("item", 0.4, 1e-9)], ids=lambda b: b.unit)
def test_what_fits_fits_and_a_hundredth_more_does_not(budget: Budget) -> None:
    spent = [LARGE] * 2
    found = largest_fitting(spent, LARGE, budget)
    assert found is not None
    assert found == round(found, 2)
    assert fits([*spent, replace(LARGE, epsilon=found)], budget)
    assert not fits([*spent, replace(LARGE, epsilon=round(found + 0.01, 2))], budget)


def test_the_local_budget_limits_what_fits() -> None:
    assert largest_fitting([LARGE], LARGE, Budget("user", 3.0, 1e-9, local_epsilon=9.3)) == 2.3
    assert largest_fitting([LARGE], LARGE, Budget("user", 3.0, 1e-9, local_epsilon=7.0)) is None


def test_nothing_fits_where_all_is_spent() -> None:
    assert largest_fitting([LARGE], LARGE, Budget("user", 1.0, 1e-9)) is None
    assert largest_fitting([], LARGE, Budget("user", 1e-7, 1e-9)) is None


def test_local_epsilons_add_up_as_they_are_written() -> None:
    tenths = [replace(SMALL, epsilon=0.1), replace(SMALL, epsilon=0.2)]
    assert Budget("item", 9.0, 1e-9, local_epsilon=0.3).allows_locally(local_sum(tenths))


# Profiles


def test_a_profile_is_the_convex_hull_of_its_dots() -> None:
    epsilons, deltas = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.5, 0.4, 0.1, 0.2])
    profile = PrivacyProfile.through(epsilons, deltas)
    assert np.all(profile.at(epsilons) <= deltas + 1e-15)
    slopes = np.diff(profile.deltas) / np.diff(np.exp(profile.epsilons))
    assert np.all(np.diff(slopes) > 0)


@pytest.mark.parametrize("step", [0.003, 0.1, 1.7])
def test_a_law_of_losses_never_understates_its_profile(step: float) -> None:
    profile = PrivacyProfile.of_local(3.0)
    law = profile.losses(step)
    for epsilon in np.linspace(0, 4, 41):
        assert law.delta(float(epsilon)) >= profile.at(np.array([epsilon]))[0] - 1e-15
    assert law.chances.sum() + law.infinite == pytest.approx(1.0)


@pytest.mark.parametrize(("unit", "epsilon", "local"), [("word", 1.0, None), ("item", -1.0, None), ("user", 1.0, 0.0)])
def test_a_budget_that_is_none_is_refused(unit: str, epsilon: float, local: float | None) -> None:
    with pytest.raises(ParameterError, match=r"budget"):
        Budget(unit, epsilon, 1e-9, local)
