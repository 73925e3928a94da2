"""The bounds on shuffled reports, against published figures and against every outcome of small populations."""

import math
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import combinations_with_replacement, pairwise

import numpy as np
import pytest
from scipy.stats import binom

from laws import word_law
from neologue.privacy.binomial_pair import pair_delta
from neologue.privacy.bound import Bound
from neologue.privacy.shuffling import (
    blanket,
    blanket_delta,
    blanket_floor,
    blanket_group,
    clones_2021,
    clones_2023,
    closed_form,
)
from neologue.randomizers.subset_selection import SubsetSelection

DELTA = 1e-10
REPORTS = 30_000_000
TAIL = 1e-16
SMALL_SHARES = [0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99]

Reports = tuple[int, ...]
"""How often each subset was sent."""


def epsilon_of(bound: Bound) -> float:
    assert bound.epsilon is not None
    return bound.epsilon


def hockey_stick(law: dict[tuple[int, ...], float], other: dict[tuple[int, ...], float], epsilon: float) -> float:
    return sum(max(0.0, chance - math.exp(epsilon) * other.get(outcome, 0.0)) for outcome, chance in law.items())


# Figures of the production run in the paper


@pytest.mark.parametrize(
    ("bound", "digits"), [(closed_form, 0.565), (clones_2021, 0.3075), (clones_2023, 0.2138)], ids=["form", "21", "23"]
)
def test_the_theorems_on_any_randomizer(bound: Callable[[float, int, float], Bound], digits: float) -> None:
    assert epsilon_of(bound(10.0, REPORTS, DELTA)) == pytest.approx(digits, rel=1e-3)


@pytest.mark.parametrize(("candidates", "digits"), [(1_000_000, 0.1493), (10_000, 0.1757), (9_900, 0.1760)])
def test_the_blanket_and_its_floor_agree_to_a_part_in_a_thousand(candidates: int, digits: float) -> None:
    selection = SubsetSelection(candidates, 10.0, 60)
    found = epsilon_of(blanket(selection, REPORTS, DELTA))
    assert found == pytest.approx(digits, abs=6e-5)
    assert found * (1 - 2e-4) < blanket_floor(selection, REPORTS, DELTA) < found


def test_sixty_words_one_after_the_other() -> None:
    assert epsilon_of(blanket_group(SubsetSelection(1_000_000, 10.0, 60), REPORTS, DELTA)) == pytest.approx(
        12.3, abs=0.05
    )


# Coins, against sums over all outcomes


def coin_laws(
    coins: int, chance: float, up: float, down: float
) -> tuple[dict[tuple[int, ...], float], dict[tuple[int, ...], float]]:
    """P(a, b) if the report speaks for a, and if it speaks for b."""
    laws: tuple[dict[tuple[int, ...], float], ...] = ({}, {})
    for fallen in range(coins + 1):
        for heads in range(fallen + 1):
            weight = float(binom.pmf(fallen, coins, chance) * binom.pmf(heads, fallen, 0.5))
            for law, more, less in ((laws[0], up, down), (laws[1], down, up)):
                for a, b, share in ((1, 0, more), (0, 1, less), (0, 0, max(0.0, 1 - more - less))):
                    outcome = (heads + a, fallen - heads + b)
                    law[outcome] = law.get(outcome, 0.0) + weight * share
    return laws[0], laws[1]


CLONES = [
    (reports - 1, chance, 1 - wrong, wrong)
    for reports in (1, 2, 7, 40)
    for wrong in (0.378, 0.0474)
    for chance in (wrong / (1 - wrong), 2 * wrong)
]
WITH_IDLE = [(0, 0.3, 0.6, 0.1), (1, 0.3, 0.6, 0.1), (25, 0.1, 0.5, 0.01), (25, 0.9, 0.3, 0.2), (40, 1.0, 0.7, 0.3)]


@pytest.mark.parametrize(("coins", "chance", "up", "down"), [*CLONES, *WITH_IDLE])
def test_delta_of_coins_is_that_of_all_outcomes(coins: int, chance: float, up: float, down: float) -> None:
    law, other = coin_laws(coins, chance, up, down)
    for epsilon in np.linspace(0, math.log(up / down), 23).tolist():
        exact = hockey_stick(law, other, epsilon)
        assert exact * (1 - 1e-9) <= pair_delta(epsilon, coins, chance, up, down, TAIL) + 1e-15
        assert pair_delta(epsilon, coins, chance, up, down, TAIL) <= exact * (1 + 1e-9) + TAIL + 1e-15


@pytest.mark.parametrize("chance", [0.003, 0.4])
@pytest.mark.parametrize(("up", "down"), [(0.5, 2e-5), (0.9, 0.1)])
def test_sums_taken_together_hide_a_little_less(chance: float, up: float, down: float) -> None:
    for epsilon in (0.001, 0.01, 0.03):
        exact = pair_delta(epsilon, 10_000_000, chance, up, down, TAIL, 0.0)
        assert exact <= pair_delta(epsilon, 10_000_000, chance, up, down, TAIL) <= exact * 1.02 + TAIL


def test_a_tail_that_is_left_out_is_added() -> None:
    whole, cut = (pair_delta(0.5, 1000, 0.1, 0.8, 0.2, tail) for tail in (1e-25, 1e-3))
    assert whole <= cut <= whole + 1e-3


# Subset Selection, against every population


class Shuffled:
    """The exact law of the shuffled reports of small populations."""

    def __init__(self, selection: SubsetSelection) -> None:
        words = [word_law(selection, word) for word in range(selection.domain)]
        self.subsets = len(words[0])
        self.chances = [[float(chance) for chance in law.values()] for law in words]
        self.of = cache(self._of)

    def _of(self, words: tuple[int, ...]) -> dict[Reports, float]:
        """P(reports) of so many users, each with one word."""
        if not words:
            return {(0,) * self.subsets: 1.0}
        law: dict[Reports, float] = {}
        for sent, weight in self.of(words[:-1]).items():
            for place, chance in enumerate(self.chances[words[-1]]):
                more = (*sent[:place], sent[place] + 1, *sent[place + 1 :])
                law[more] = law.get(more, 0.0) + weight * chance
        return law


def worst_delta(selection: SubsetSelection, reports: int, epsilons: list[float]) -> list[float]:
    """δ(ε) of the words 0 and 1, the largest over all words of all others."""
    shuffled = Shuffled(selection)
    worst = [0.0] * len(epsilons)
    for others in combinations_with_replacement(range(selection.domain), reports - 1):
        law, other = shuffled.of((*others, 0)), shuffled.of((*others, 1))
        worst = [max(w, hockey_stick(law, other, epsilon)) for w, epsilon in zip(worst, epsilons, strict=True)]
    return worst


TINY = [(1, 1.0, 5), (2, 0.001, 4), (2, 2.0, 5), (3, 0.5, 4), (4, 0.3, 3), (4, 2.0, 4), (3, 4.0, 1), (3, 1.5, 2)]


@pytest.mark.parametrize(("candidates", "epsilon", "reports"), TINY)
def test_no_population_is_above_the_blanket_or_the_clones(candidates: int, epsilon: float, reports: int) -> None:
    selection = SubsetSelection(candidates, epsilon, 1)
    epsilons = [share * epsilon for share in SMALL_SHARES]
    wrong = 1 / (math.exp(epsilon) + 1)
    for central, exact in zip(epsilons, worst_delta(selection, reports, epsilons), strict=True):
        assert exact <= blanket_delta(selection, reports, central, TAIL) * (1 + 1e-9) + 1e-15
        for chance in (2 * wrong, math.exp(-epsilon)):
            assert exact <= pair_delta(central, reports - 1, chance, 1 - wrong, wrong, TAIL) * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize(("candidates", "epsilon", "reports"), TINY)
@pytest.mark.parametrize("delta", [0.3, 0.05, 1e-3])
def test_the_exact_epsilon_lies_between_floor_and_blanket(
    candidates: int, epsilon: float, reports: int, delta: float
) -> None:
    selection = SubsetSelection(candidates, epsilon, 1)
    bounds = [blanket_floor(selection, reports, delta), epsilon_of(blanket(selection, reports, delta))]
    at_floor, at_bound = worst_delta(selection, reports, bounds)
    assert at_bound <= delta
    assert at_floor >= delta or bounds[0] == 0.0


def test_variation_ratio_as_published_is_below_what_is_seen() -> None:
    # k-ary randomized response with k = 5, and all others on one word.
    selection = SubsetSelection(4, 2.0, 1)
    shuffled = Shuffled(selection)
    exact = hockey_stick(shuffled.of((2, 2, 2, 2, 2, 0)), shuffled.of((2, 2, 2, 2, 2, 1)), 1.0)
    down = 1 / (math.exp(2) + 4)
    variation_ratio = pair_delta(1.0, 5, 2 * down, math.exp(2) * down, down, TAIL)
    assert exact == pytest.approx(0.14812, abs=5e-6)
    assert blanket_delta(selection, 6, 1.0, TAIL) == pytest.approx(0.15099, abs=5e-6)
    assert variation_ratio == pytest.approx(0.14550, abs=5e-6)
    assert variation_ratio < exact < blanket_delta(selection, 6, 1.0, TAIL)


# What holds in general


@pytest.mark.parametrize("bound", [clones_2021, clones_2023], ids=["21", "23"])
def test_clones_cost_more_with_epsilon_and_less_with_reports_and_delta(
    bound: Callable[[float, int, float], Bound],
) -> None:
    by_epsilon = [epsilon_of(bound(epsilon, 100_000, 1e-8)) for epsilon in (0.01, 0.5, 2.0, 5.0, 9.0, 15.0)]
    by_reports = [epsilon_of(bound(4.0, reports, 1e-8)) for reports in (1, 10, 1000, 10**5, 10**7)]
    by_delta = [epsilon_of(bound(4.0, 10_000, delta)) for delta in (1e-300, 1e-30, 1e-10, 1e-3, 0.4)]
    assert all(less < more for less, more in pairwise(by_epsilon))
    assert by_reports[0] == 4.0
    assert all(more >= less for more, less in pairwise(by_reports))
    assert all(more > less for more, less in pairwise(by_delta))


@pytest.mark.parametrize("candidates", [1, 30])
def test_the_blanket_costs_more_with_epsilon_and_less_with_reports_and_delta(candidates: int) -> None:
    def found(epsilon: float, reports: int, delta: float) -> float:
        return epsilon_of(blanket(SubsetSelection(candidates, epsilon, 1), reports, delta))

    assert all(less < more for less, more in pairwise(found(e, 3000, 1e-8) for e in (0.01, 2.0, 9.0)))
    assert all(more >= less for more, less in pairwise(found(4.0, n, 1e-8) for n in (1, 2, 100, 10_000)))
    assert all(more >= less for more, less in pairwise(found(4.0, 1000, d) for d in (1e-300, 1e-10, 1e-3, 0.4)))


@pytest.mark.parametrize("delta", [0.5, 1e-10, 1e-300])
@pytest.mark.parametrize("reports", [1, 2, 100])
@pytest.mark.parametrize("epsilon", [0.001, 20.0])
@pytest.mark.parametrize("candidates", [1, 2, 3, 1000])
def test_extremes_have_bounds_too(candidates: int, epsilon: float, reports: int, delta: float) -> None:
    selection = SubsetSelection(candidates, epsilon, 10_000)
    statement = selection.statement
    found = epsilon_of(blanket(selection, reports, delta))
    assert 0 <= blanket_floor(selection, reports, delta) <= found <= statement.enforced_epsilon
    assert found <= epsilon_of(blanket_group(selection, reports, delta)) <= statement.user_epsilon
    for clones in (clones_2021, clones_2023):
        assert 0 < epsilon_of(clones(epsilon, reports, delta)) <= epsilon


def test_one_report_alone_is_worth_its_local_epsilon() -> None:
    assert epsilon_of(clones_2023(5.0, 1, 1e-10)) == pytest.approx(5.0, rel=1e-4)
    assert epsilon_of(blanket(SubsetSelection(1000, 5.0, 1), 1, 1e-10)) == pytest.approx(5.0, rel=1e-4)


def test_what_was_found_before_is_kept_where_it_holds() -> None:
    selection = SubsetSelection(1000, 5.0, 1)
    found = epsilon_of(blanket(selection, 100_000, DELTA))
    assert epsilon_of(blanket(selection, 100_000, DELTA, least=2 * found)) == 2 * found
    assert epsilon_of(blanket(selection, 100_000, DELTA, least=found / 2)) == found


def test_the_closed_form_is_refused_where_its_condition_fails() -> None:
    room = math.log(REPORTS / (8 * math.log(2 / DELTA)) - 1)
    assert closed_form(room - 1e-6, REPORTS, DELTA).epsilon is not None
    for epsilon, reports in ((room + 1e-6, REPORTS), (1.0, 100), (1.0, 1)):
        refused = closed_form(epsilon, reports, DELTA)
        assert refused.epsilon is None
        assert "condition fails" in (refused.reason or "")


def test_the_closed_form_is_above_the_pair_it_comes_from() -> None:
    for epsilon, reports, delta in ((0.1, 10_000, 1e-6), (3.0, 100_000, 1e-8), (10.0, REPORTS, DELTA)):
        assert epsilon_of(closed_form(epsilon, reports, delta)) > epsilon_of(clones_2023(epsilon, reports, delta))


def test_all_populations_are_tried() -> None:
    # The worst population is not the one in which all hold the word in question.
    shuffled = Shuffled(SubsetSelection(4, 2.0, 1))
    alike = hockey_stick(shuffled.of((0, 0, 0, 0)), shuffled.of((0, 0, 0, 1)), 1.0)
    assert alike < 0.99 * worst_delta(SubsetSelection(4, 2.0, 1), 4, [1.0])[0]
    assert sum(Counter(shuffled.of((0, 1, 2))).values()) == pytest.approx(1.0)
