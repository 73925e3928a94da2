"""The search for the smallest ε, group privacy, and how exact the probabilities are that everything is made of."""

import math
from itertools import pairwise

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from scipy.special import betainc
from scipy.stats import binom

from neologue.errors import ParameterError
from neologue.privacy.binomial_pair import block_chances, plausible_range
from neologue.privacy.bound import ROUNDING, group_epsilon, round_up, smallest_epsilon, surely_below
from neologue.privacy.levels import check_delta

# What SciPy computes, against 50 digits

SIGMAS = [-11.0, -6.0, -2.0, -0.1, 0.1, 2.0, 6.0, 11.0]
TRIALS = [(12, 0.3), (10_000, 4.54e-5), (1_000_000, 4.54e-5), (1_000_000, 9.1e-4), (30_000_000, 4.54e-5)]
LARGEST = [(30_000_000, 0.4967), (30_000_000, 0.49975), (30_000_000, 0.0067)]


def chance(k: int, trials: int, p: float) -> mpmath.mpf:
    """P(Bin(trials, p) = k)."""
    log = mpmath.loggamma(trials + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(trials - k + 1)
    return mpmath.exp(log + k * mpmath.log(mpmath.mpf(p)) + (trials - k) * mpmath.log1p(-mpmath.mpf(p)))


def chance_of_at_least(k: int, trials: int, p: float) -> mpmath.mpf:
    """P(Bin(trials, p) ≥ k), summed from its largest term on."""
    term, total = chance(k, trials, p), mpmath.mpf(0)
    odds = mpmath.mpf(p) / (1 - mpmath.mpf(p))
    while k <= trials and term > total * mpmath.mpf(10) ** -25:
        total += term
        term, k = term * (trials - k) / (k + 1) * odds, k + 1
    return total


def error(computed: float, exact: mpmath.mpf) -> float:
    return float(abs(mpmath.mpf(float(computed)) / exact - 1))


def values(trials: int, p: float) -> list[int]:
    """Values far below, about and far above the mean."""
    mean, sd = trials * p, math.sqrt(trials * p * (1 - p))
    return [k for k in (round(mean + sigma * sd) for sigma in SIGMAS) if 0 <= k <= trials]


@pytest.mark.parametrize(("trials", "p"), [*TRIALS, *LARGEST])
def test_binomial_chances_are_far_more_exact_than_is_allowed_for(trials: int, p: float) -> None:
    with mpmath.workdps(50):
        for k in values(trials, p):
            assert error(binom.pmf(k, trials, p), chance(k, trials, p)) < ROUNDING / 20


@pytest.mark.parametrize(("trials", "p"), TRIALS)
def test_binomial_tails_are_far_more_exact_than_is_allowed_for(trials: int, p: float) -> None:
    with mpmath.workdps(50):
        for k in values(trials, p):
            if k > trials * p:
                assert error(binom.sf(k - 1, trials, p), chance_of_at_least(k, trials, p)) < ROUNDING / 20
            else:
                mirrored = chance_of_at_least(trials - k, trials, mpmath.mpf(1) - mpmath.mpf(p))
                assert error(binom.cdf(k, trials, p), mirrored) < ROUNDING / 20


@pytest.mark.parametrize("coins", [1, 12, 1365, 27_000, 1_000_000])
def test_tails_of_fair_coins_are_far_more_exact_than_is_allowed_for(coins: int) -> None:
    with mpmath.workdps(50):
        for k in values(coins, 0.5):
            if k > coins / 2:
                assert error(float(betainc(k, coins - k + 1, 0.5)), chance_of_at_least(k, coins, 0.5)) < ROUNDING / 20


@pytest.mark.parametrize(("trials", "p", "width"), [(15_000_000, 9.1e-5, 1), (15_000_000, 0.0018, 3), (900, 0.999, 1)])
def test_differences_of_tails_are_exact_enough_too(trials: int, p: float, width: int) -> None:
    low, high = plausible_range(trials, p, 1e-16)
    edges = np.arange(low, high + 1, width)
    chances = block_chances(edges, high + 1, trials, p)
    with mpmath.workdps(50):
        for place in range(0, len(edges) - 1, max(1, len(edges) // 12)):
            first, end = int(edges[place]), int(edges[place + 1])
            exact = mpmath.fsum(chance(k, trials, p) for k in range(first, end))
            assert error(chances[place], exact) < ROUNDING / 2


@pytest.mark.parametrize("tail", [1e-30, 1e-10, 0.1])
@pytest.mark.parametrize(("trials", "p"), [(0, 0.3), (1, 0.5), (12, 0.999), (10_000, 4.54e-5), (1_000_000, 0.27)])
def test_what_is_left_out_is_no_more_than_stated(trials: int, p: float, tail: float) -> None:
    low, high = plausible_range(trials, p, tail)
    assert 0 <= low <= high <= trials
    assert binom.cdf(low - 1, trials, p) + binom.sf(high, trials, p) <= tail


# The search


def gaussian(epsilon: float) -> float:
    """The profile of two normal laws that are 0.3 apart."""
    normal = [math.erfc(x / math.sqrt(2)) / 2 for x in (epsilon / 0.3 - 0.15, epsilon / 0.3 + 0.15)]
    return normal[0] - math.exp(epsilon) * normal[1]


@pytest.mark.parametrize("near", [(), (0.5, 1.4), (3.0,), (1e-5,)])
@pytest.mark.parametrize("delta", [0.05, 1e-3, 1e-8])
def test_the_search_stops_just_above_the_smallest_epsilon(delta: float, near: tuple[float, ...]) -> None:
    found = smallest_epsilon(gaussian, delta, 10.0, near=near)
    assert gaussian(found) <= delta
    assert gaussian(found * (1 - 2e-5)) > delta
    assert gaussian(surely_below(found)) > delta


def test_the_search_jumps_over_a_step() -> None:
    found = smallest_epsilon(lambda epsilon: 1.0 if epsilon < 1.25 else 0.0, 1e-6, 3.0)
    assert 1.25 <= found < 1.2501


def test_the_search_gives_up_at_what_holds_anyway() -> None:
    assert smallest_epsilon(lambda _: 1e-3, 1e-6, 3.0) == 3.0


def test_the_search_does_not_begin_below_what_is_asked_for() -> None:
    assert smallest_epsilon(gaussian, 1e-3, 10.0, least=5.0) == 5.0
    assert smallest_epsilon(gaussian, 1e-3, 10.0, least=0.5) == smallest_epsilon(gaussian, 1e-3, 10.0)


def test_zero_is_not_claimed_where_rounding_could_hide_something() -> None:
    assert smallest_epsilon(lambda _: 0.0, 1e-6, 3.0) == pytest.approx(2 * ROUNDING)


def test_more_laws_leave_more_room_for_their_rounding() -> None:
    one, many = (smallest_epsilon(gaussian, 1e-3, 10.0, laws=laws) for laws in (1, 20_000))
    assert one + 3e-5 < many < one + 1e-4


@pytest.mark.parametrize("delta", [1e-300, 1e-305])
def test_the_smallest_deltas_are_searched_like_others(delta: float) -> None:
    found = smallest_epsilon(lambda epsilon: math.exp(-epsilon * 400), delta, 10.0)
    assert found == pytest.approx(-math.log(delta) / 400, rel=1e-4)
    assert smallest_epsilon(lambda epsilon: 1.0 if epsilon < 2 else 0.0, delta, 10.0) == pytest.approx(2, rel=1e-4)


def test_epsilons_are_rounded_up_to_six_digits() -> None:
    for epsilon in (0.0, 1e-9, 0.1234561, 0.123456, 12.3456789, 419.9999999):
        assert epsilon <= round_up(epsilon) <= epsilon * (1 + 1e-5)
    assert round_up(0.1234561) == 0.123457
    assert round_up(-1.0) == 0.0


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-10, 1.5, math.nan, math.inf])
def test_a_delta_that_is_no_probability_is_refused(delta: float) -> None:
    with pytest.raises(ParameterError, match="delta must lie between 0 and 1"):
        check_delta(delta)


# Groups


def test_a_group_pays_for_every_step_and_for_what_later_steps_multiply() -> None:
    found = group_epsilon(gaussian, 5, 1e-3, 50.0)
    each = found / 5
    assert gaussian(each) * sum(math.exp(step * each) for step in range(5)) <= 1e-3
    each *= 1 - 1e-4
    assert gaussian(each) * sum(math.exp(step * each) for step in range(5)) > 1e-3
    # Adding up ε and δ alone would claim too little.
    assert found > 5 * smallest_epsilon(gaussian, 1e-3 / 5, 10.0)


def test_a_group_covers_what_its_members_do_together() -> None:
    # Five shifts of the same normal law are one shift that is five times as large.
    def five(epsilon: float) -> float:
        normal = [math.erfc(x / math.sqrt(2)) / 2 for x in (epsilon / 1.5 - 0.75, epsilon / 1.5 + 0.75)]
        return normal[0] - math.exp(epsilon) * normal[1]

    for delta in (0.05, 1e-3, 1e-8):
        assert five(group_epsilon(gaussian, 5, delta, 50.0)) <= delta


@pytest.mark.parametrize("single", [None, 0.0, 1.0, 3.0])
def test_where_the_search_begins_does_not_matter(single: float | None) -> None:
    found = group_epsilon(gaussian, 5, 1e-3, 50.0, single=single)
    assert found == pytest.approx(group_epsilon(gaussian, 5, 1e-3, 50.0), rel=1e-5)


def test_a_group_of_those_who_show_nothing_is_found_too() -> None:
    assert group_epsilon(lambda _: 0.0, 60, 0.5, 1.0) < 1e-5
    assert group_epsilon(lambda _: 0.4, 60, 0.5, 1.0) == 1.0


def test_larger_groups_cost_more() -> None:
    costs = [group_epsilon(gaussian, words, 1e-6, 500.0) for words in (1, 2, 5, 20)]
    assert all(few < many for few, many in pairwise(costs))
