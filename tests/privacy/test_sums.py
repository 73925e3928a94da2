"""The bounds on sums of unary reports, against published figures and against every number of holders."""

import math
import re
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from dp_accounting.pld.common import self_convolve
from dp_accounting.pld.privacy_loss_distribution import from_two_probability_mass_functions
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import binom

from neologue.privacy.binomial_pair import pair_delta
from neologue.privacy.bound import Bound
from neologue.privacy.digits import shown
from neologue.privacy.sums import (
    LEFT_OUT,
    Sums,
    composed,
    connected,
    joint,
    log_moments,
    sum_law,
    sums_group,
    sums_only,
    transform_error,
)
from neologue.randomizers.unary import Unary

DELTA = 1e-10
PAGE = Path(__file__).parents[2] / "docs/privacy/sums.md"
Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]


def epsilon_of(bound: Bound) -> float:
    assert bound.epsilon is not None
    return bound.epsilon


def votes(q: float, others: int, holders: int) -> Pair:
    """The law of a candidate's votes if the user in question holds it, and if not."""
    fair = binom.pmf(np.arange(holders + 1), holders, 0.5)
    noise = binom.pmf(np.arange(others - holders + 1), others - holders, q)
    rest = np.convolve(fair, noise)
    return np.convolve(rest, [0.5, 0.5]), np.convolve(rest, [1 - q, q])


def together(pairs: list[Pair]) -> Pair:
    """Two laws each, of independent candidates."""
    law, other = np.ones(1), np.ones(1)
    for one, two in pairs:
        law, other = np.outer(law, one).ravel(), np.outer(other, two).ravel()
    return law, other


def hockey_stick(pair: Pair, epsilon: float) -> float:
    return float(np.maximum(pair[0] - math.exp(epsilon) * pair[1], 0).sum())


def swapped(q: float, others: int, given_up: int, taken_up: int) -> list[Pair]:
    """A word replaced: a candidate given up, and one taken up, with so many other holders."""
    return [votes(q, others, given_up), votes(q, others, taken_up)[::-1]]


# Published figures: item and user level, B = 60

ITEM = {10.0: (0.603, 0.856), 9.0: (0.360, 0.514), 8.5: (0.278, 0.397), 8.0: (0.214, 0.307),
        7.0: (0.128, 0.183), 5.9: (0.072, 0.103), 5.0: (0.045, 0.065)}  # fmt: skip
USER = {10.0: (5.22, 7.63), 9.0: (3.05, 4.42), 8.5: (2.34, 3.38), 8.0: (1.80, 2.59),
        7.0: (1.07, 1.53), 5.9: (0.60, 0.86), 5.0: (0.38, 0.54)}  # fmt: skip


@pytest.mark.parametrize("epsilon", ITEM)
@pytest.mark.parametrize(("column", "reports"), [(0, 1_000_000), (1, 500_000)])
def test_the_table_of_one_report_unary(column: int, reports: int, epsilon: float) -> None:
    unary = Unary(1000, epsilon, 60)
    for found, digits, last in (
        (epsilon_of(sums_only(unary, reports, DELTA)), ITEM[epsilon][column], 1e-3),
        (epsilon_of(joint(unary, reports, DELTA)), USER[epsilon][column], 1e-2),
    ):
        # The digits may be rounded or cut off, and a certified figure is a little above.
        assert digits - last / 2 <= found <= (digits + last) * 1.003


def test_sixty_reports_of_a_user() -> None:
    unary = Unary(1000, 10.0, 60)
    assert epsilon_of(sums_only(unary, 30_000_000, DELTA)) == pytest.approx(0.1040, rel=1e-3)
    assert epsilon_of(joint(unary, 30_000_000, DELTA)) == pytest.approx(0.866, rel=1e-3)


@pytest.mark.parametrize(("reports", "digits"), [(1_000_000, 0.128), (10_000, 1.3), (1000, 2.6), (100, 4.2)])
def test_smaller_sums_hide_less(reports: int, digits: float) -> None:
    unary = Unary(1000, 7.0, 60)
    found = epsilon_of(sums_only(unary, reports, DELTA))
    assert found == pytest.approx(digits, rel=0.02)
    assert 0.996 * found < Sums.of(unary, reports).floor(DELTA) < found


@pytest.mark.parametrize("epsilon", [5.0, 8.5, 10.0])
def test_bound_and_floor_differ_by_less_than_a_part_in_a_thousand_where_noise_is_plenty(epsilon: float) -> None:
    unary = Unary(1000, epsilon, 60)
    found = epsilon_of(sums_only(unary, 1_000_000, DELTA))
    assert 0.999 * found < Sums.of(unary, 1_000_000).floor(DELTA) < found


def test_who_has_fewer_words_is_hidden_better_as_the_page_says() -> None:
    table = re.findall(r"^\| (\d+) \| ([\d.]+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert [int(words) for words, _ in table] == [1, 5, 10, 60]
    for words, epsilon in table:
        assert shown(epsilon_of(joint(Unary(1000, 7.0, int(words)), 1_000_000, DELTA))) == epsilon


def test_the_figures_for_each_observer_are_those_of_the_page() -> None:
    page = PAGE.with_name("README.md").read_text("utf-8")
    table = re.findall(r"^\| [^|]*?([\d,]+|single) reports?[^|]*\| ([\d.]+) \| ([\d.]+) \|$", page, re.MULTILINE)
    table += re.findall(r"^\| … of ([\d,]+) \| ([\d.]+) \| ([\d.]+) \|$", page, re.MULTILINE)
    assert {who for who, _, _ in table} == {"1,000,000", "10,000", "1,000", "100", "single"}
    for who, word, user in table:
        reports = 1 if who == "single" else int(who.replace(",", ""))
        unary = Unary(1000, 7.0, 60)
        assert shown(min(7.0, epsilon_of(sums_only(unary, reports, DELTA)))) == word
        assert shown(epsilon_of(joint(unary, reports, DELTA))) == user


# Every number of holders

TINY = [(1, 3.0), (2, 0.001), (2, 10.0), (5, 1.0), (9, 4.0), (12, 10.0)]


@pytest.mark.parametrize(("reports", "epsilon"), TINY)
def test_no_number_of_holders_is_above_the_bound_of_a_word(reports: int, epsilon: float) -> None:
    unary = Unary(10, epsilon, 1)
    sums, q = Sums.of(unary, reports), float(unary.channel.q)
    worst = 0.0
    for given_up, taken_up in product(range(reports), repeat=2):
        pair = together(swapped(q, reports - 1, given_up, taken_up))
        for share in (0.0, 0.013, 0.1, 0.3, 0.52, 0.75, 0.91, 0.99):
            exact = hockey_stick(pair, share * epsilon)
            assert exact <= sums.word_delta(share * epsilon) * (1 + 1e-8) + 1e-15
            worst = max(worst, exact / sums.word_delta(share * epsilon))
    assert worst > 0.3


@pytest.mark.parametrize(("reports", "epsilon"), [(1, 3.0), (2, 10.0), (4, 1.0), (4, 6.0)])
def test_no_numbers_of_holders_are_above_the_bound_of_a_user_with_two_words(reports: int, epsilon: float) -> None:
    unary = Unary(10, epsilon, 2)
    user_delta, q = Sums.of(unary, reports).user_delta(2), float(unary.channel.q)
    holders = sorted({0, 1, reports // 2, reports - 1} & set(range(reports)))
    for numbers in product(holders, repeat=4):
        pair = together(swapped(q, reports - 1, *numbers[:2]) + swapped(q, reports - 1, *numbers[2:]))
        for share in (0.0, 0.1, 0.52, 1.01, 1.6, 1.95):
            exact = hockey_stick(pair, share * epsilon)
            assert exact <= user_delta(share * epsilon) * (1 + 1e-8) + 1e-15


def test_that_nobody_else_holds_a_word_is_not_the_worst_case_where_noise_is_rare() -> None:
    unary = Unary(10, 10.0, 1)
    q = float(unary.channel.q)
    nobody, all_others = (together(swapped(q, 11, holders, 0)) for holders in (0, 11))
    assert hockey_stick(nobody, 9.1) < 2e-17
    assert hockey_stick(all_others, 9.1) == pytest.approx(1.448e-4, rel=1e-3)
    assert hockey_stick(all_others, 9.1) <= Sums.of(unary, 12).word_delta(9.1)
    # Whoever assumed that nobody does would state an ε at which others who do show more than δ.
    assumed = Sums.of(unary, 12).floor(1e-6)
    assert hockey_stick(nobody, assumed * (1 + 1e-4)) <= 1e-6 < hockey_stick(all_others, assumed * (1 + 1e-4))
    assert hockey_stick(all_others, epsilon_of(sums_only(unary, 12, 1e-6))) <= 1e-6


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0, 7.0, 10.0])
@pytest.mark.parametrize("reports", [1, 2, 40, 3000])
def test_the_ranges_cover_every_number_of_holders(reports: int, epsilon: float) -> None:
    sums = Sums.of(Unary(10, epsilon, 1), reports)
    ranges = list(sums._noises())
    if len(ranges) == 1 and ranges[0][1] == 0:
        # Whoever holds what, so many of the others' votes are fair coins.
        assert binom.cdf(ranges[0][0] - 1, reports - 1, 2 * sums.q) < LEFT_OUT
    else:
        covered = {h for fair, noisy in ranges for h in range(fair, reports - noisy)}
        assert covered == set(range(reports))


@pytest.mark.parametrize(("reports", "epsilon"), [(400_000, 1.0), (20_000_000, 4.0)])
def test_two_ranges_have_to_do_where_votes_are_many(reports: int, epsilon: float) -> None:
    sums = Sums.of(Unary(10, epsilon, 1), reports)
    ranges = list(sums._noises())
    assert len(ranges) <= 2
    assert ranges[0][1] == 0 or ranges[0][1] + ranges[1][0] == reports - 1


# Connecting the dots


def dots(pair: Pair, factors: Floats) -> tuple[Floats, Floats]:
    law, other = pair
    above = np.array([np.maximum(law - factor * other, 0).sum() for factor in factors])
    return above, np.array([np.maximum(other / factor - law, 0).sum() for factor in factors])


def delta_of(masses: Floats, step: float, beyond: float, epsilon: float) -> float:
    losses = step * (np.arange(len(masses)) - len(masses) // 2)
    return float((masses * np.maximum(-np.expm1(epsilon - losses), 0)).sum()) + beyond


@pytest.mark.parametrize("step", [0.5, 0.07, 0.001])
@pytest.mark.parametrize(("q", "others", "holders"), [(0.001, 50, 0), (0.05, 100, 7), (0.3, 6, 3), (0.01, 0, 0)])
def test_connected_dots_understate_a_profile_nowhere(q: float, others: int, holders: int, step: float) -> None:
    for pair in (votes(q, others, holders), votes(q, others, holders)[::-1]):
        factors = np.exp(step * np.arange(math.ceil(3 / step) + 1))
        above, below = dots(pair, factors)
        masses = connected(factors, above, below)
        assert masses.sum() + above[-1] == pytest.approx(1.0)
        on_grid = [delta_of(masses, step, above[-1], step * place) for place in range(len(factors))]
        assert on_grid == pytest.approx(above.tolist(), rel=1e-9, abs=1e-15)
        for epsilon in np.linspace(-4, 4, 41).tolist():
            assert hockey_stick(pair, epsilon) <= delta_of(masses, step, above[-1], epsilon) * (1 + 1e-9) + 1e-15


def test_connected_dots_keep_the_digits_of_the_smallest_chances() -> None:
    # Two laws whose largest losses have chances far below the rounding of 1.
    other = np.array([1e-40, 1e-28, 1e-20, 0.5, 0.5])
    law = other * np.exp([15, 10, 5, 0, 0])
    factors = np.exp(0.5 * np.arange(41))
    above, below = dots((law, other), factors)
    for epsilon in (6.0, 9.5, 12.0, 14.5):
        exact = hockey_stick((law, other), epsilon)
        assert delta_of(connected(factors, above, below), 0.5, above[-1], epsilon) == pytest.approx(exact, rel=1e-9)


# Composition


def test_a_word_costs_what_the_library_computes_from_the_two_laws() -> None:
    unary = Unary(10, 3.0, 1)
    given_up, taken_up = votes(float(unary.channel.q), 0, 0), votes(float(unary.channel.q), 0, 0)[::-1]
    laws = [
        from_two_probability_mass_functions(
            {place: math.log(chance) for place, chance in enumerate(other)},
            {place: math.log(chance) for place, chance in enumerate(law)},
            value_discretization_interval=1e-4,
        )
        for law, other in (given_up, taken_up)
    ]
    both = laws[0].compose(laws[1])
    sums = Sums.of(unary, 1)
    for words, epsilons in ((1, [0.0, 0.5, 1.7]), (3, [0.5, 2.0, 4.0])):
        library = both.self_compose(words)
        for epsilon in epsilons:
            known = float(library.get_delta_for_epsilon(epsilon))
            assert sums.user_delta(words)(epsilon) == pytest.approx(known, rel=2e-3)


def test_three_words_of_a_user_are_six_candidates() -> None:
    unary = Unary(10, 2.0, 3)
    sums, q = Sums.of(unary, 2), float(unary.channel.q)
    pair = together([votes(q, 1, 0)] * 3 + [votes(q, 1, 0)[::-1]] * 3)
    for epsilon in (0.1, 1.0, 2.5, 4.0):
        exact = hockey_stick(pair, epsilon)
        assert exact <= sums.user_delta(3)(epsilon) * (1 + 1e-8)
        # Two words do not cover three.
        assert exact > 1.05 * sums.user_delta(2)(epsilon)


def tilted(sums: Sums) -> Floats:
    losses = sums._losses
    weighted = losses * np.exp(0.3 * np.arange(len(losses)) / len(losses))
    return np.asarray(weighted / weighted.sum())


@pytest.mark.parametrize("words", [1, 60, 1000])
@pytest.mark.parametrize("reports", [100, 100_000])
def test_a_transform_is_no_farther_off_than_stated(reports: int, words: int) -> None:
    losses = tilted(Sums.of(Unary(10, 7.0, 1), reports))
    _, computed = self_convolve(losses, words, 1e-26)
    first, exact = self_convolve(losses.astype(np.longdouble), words, 1e-26)
    off = float(np.abs(np.asarray(computed) - np.asarray(exact)).sum())
    assert np.finfo(np.longdouble).eps < 2.0**-60
    assert off <= transform_error(losses, words, len(computed))
    assert first >= 0
    # Ours is that of dp-accounting.
    begins, same = sum_law(losses, words, 1e-26)
    assert (begins, same.tolist()) == (first, np.asarray(computed).tolist())


def test_moments_are_those_of_scipy_and_no_sum_underflows() -> None:
    values = np.arange(-300.0, 301.0)
    chances = np.where(np.abs(values) > 250, 0.0, np.exp(-np.abs(values)))
    tilts = np.array([-500.0, -2.0, -1e-3, 0.0, 0.5, 1.0, 500.0])
    expected = [logsumexp(tilt * values, b=chances) for tilt in tilts]
    assert log_moments(values, chances, tilts) == pytest.approx(expected, rel=1e-13)
    assert log_moments(values, chances, tilts)[0] == 500.0 * 250 - 250


def test_composed_losses_are_as_exact_as_a_convolution_term_by_term() -> None:
    sums = Sums.of(Unary(10, 7.0, 1), 2000)
    law, total = sums._losses, np.ones(1)
    for _ in range(4):
        total = np.convolve(total, law)
    seen = composed(law, sums.step, 4)
    for epsilon in (0.0, 0.1, 1.0, 3.0, 5.0, 7.0):
        exact = delta_of(total, sums.step, 0.0, epsilon)
        assert exact * (1 - 1e-11) <= seen(epsilon) <= exact * (1 + 1e-7)
    # Without tilting, rounding would be all that is seen here.
    assert delta_of(total, sums.step, 0.0, 7.0) < transform_error(law, 4, 4 * len(law))


# What holds in general


@pytest.mark.parametrize("bound", [sums_only, joint, sums_group], ids=["item", "joint", "group"])
def test_costs_grow_with_epsilon_and_fall_with_reports_and_delta(
    bound: Callable[[Unary, int, float], Bound],
) -> None:
    def found(epsilon: float, reports: int, delta: float) -> float:
        return epsilon_of(bound(Unary(10, epsilon, 5), reports, delta))

    assert all(less < more for less, more in pairwise(found(e, 30_000, 1e-8) for e in (0.01, 0.3, 1.0, 2.0, 5.0, 9.0)))
    assert all(more >= less for more, less in pairwise(found(6.0, n, 1e-8) for n in (1, 2, 30, 1000, 10**5, 10**7)))
    assert all(more >= less for more, less in pairwise(found(6.0, 5000, d) for d in (1e-300, 1e-20, 1e-10, 1e-3, 0.4)))


def test_more_words_cost_more_and_all_at_once_costs_less_than_one_after_the_other() -> None:
    costs = [epsilon_of(joint(Unary(10, 7.0, words), 100_000, DELTA)) for words in (1, 2, 10, 60)]
    assert all(few < many for few, many in pairwise(costs))
    assert costs[0] == pytest.approx(epsilon_of(sums_only(Unary(10, 7.0, 1), 100_000, DELTA)), rel=1e-5)
    assert costs[-1] < epsilon_of(sums_group(Unary(10, 7.0, 60), 100_000, DELTA))


@pytest.mark.parametrize("delta", [0.5, 1e-10, 1e-300])
@pytest.mark.parametrize("reports", [1, 2, 100])
@pytest.mark.parametrize(("epsilon", "words"), [(0.001, 1), (0.001, 10_000), (20.0, 1), (20.0, 60)])
def test_extremes_have_bounds_too(epsilon: float, words: int, reports: int, delta: float) -> None:
    unary = Unary(10, epsilon, words)
    found = epsilon_of(sums_only(unary, reports, delta))
    assert 0 <= Sums.of(unary, reports).floor(delta) <= found <= unary.statement.enforced_epsilon
    for user in (joint, sums_group):
        assert found * (1 - 1e-5) - 1e-8 <= epsilon_of(user(unary, reports, delta)) <= unary.statement.user_epsilon


def test_clones_do_not_cover_a_report_on_several_words() -> None:
    # Each of the others holds other words, so that no report is a clone of the one in question in all of them: with
    # eight words a user is told apart by all of them together, where a theorem on one word sees one.
    unary = Unary(10, 1.0, 8)
    q = float(unary.channel.q)
    wrong = 1 / (math.e + 1)
    claimed = pair_delta(0.9, 2, 2 * wrong, 1 - wrong, wrong, 1e-16)
    pair = together([votes(q, 2, 0)] * 4 + [votes(q, 2, 0)[::-1]] * 4)
    assert hockey_stick(pair, 0.9) > claimed
