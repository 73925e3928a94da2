"""Random allocation: the bound against exact enumeration of small campaigns, and against sampling of large ones."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from neologue.errors import ParameterError
from neologue.privacy.allocation.bounds import allocated_user, allocated_word
from neologue.privacy.allocation.floor import word_floor
from neologue.privacy.allocation.planned_layers import Allocation, PlannedLayer, planned_reports
from neologue.privacy.bound import Bound
from neologue.privacy.digits import shown
from neologue.privacy.sums import joint, sums_only
from neologue.randomizers.unary import Unary

PAGE = Path(__file__).parents[2] / "docs/privacy/allocation.md"
Floats = NDArray[np.float64]


def epsilon_of(bound: Bound) -> float:
    assert bound.epsilon is not None
    return bound.epsilon


def equal_layers(users: int, layers: int, delta: float) -> Allocation:
    return Allocation.plan([users / layers] * layers, delta)


# Small campaigns, sum by sum


def tally_laws(q: float, reports: int, candidates: int, held: set[int], others: dict[int, int]) -> Floats:
    """The law of the sums of a layer, one axis a candidate: one user holds a set, and some others hold candidates."""
    law = np.ones(())
    for candidate in range(candidates):
        votes = np.array([0.5, 0.5]) if candidate in held else np.array([1 - q, q])
        for other in range(reports - 1):
            votes = np.convolve(votes, [0.5, 0.5] if other < others.get(candidate, 0) else [1 - q, q])
        law = np.multiply.outer(law, votes)
    return law.ravel()


Question = Callable[[int], tuple[dict[int, int], dict[str, set[int]]]]
"""What the second layer asks after an outcome of the first: who else holds what, and what each word list has there."""


def campaign_law(
    unary: Unary, layers: tuple[PlannedLayer, ...], words: str, first: tuple[dict[int, int], dict[str, set[int]]],
    later: Question, candidates: int, silent: frozenset[int] = frozenset(),
) -> Floats:  # fmt: skip
    """The exact law of all sums of two layers, for a user in one of them by chance, or in none."""
    q = float(unary.channel.q)
    shares = [layer.share for layer in layers]
    total: Floats = np.zeros(0)
    for slot, share in [*enumerate(shares), (None, 1 - sum(shares))]:
        others, holdings = first
        held = holdings[words] if slot == 0 and 0 not in silent else set()
        opening = tally_laws(q, layers[0].reports, candidates, held, others)
        rows = []
        for outcome, chance in enumerate(opening):
            others, holdings = later(outcome)
            held = holdings[words] if slot == 1 and 1 not in silent else set()
            rows.append(chance * tally_laws(q, layers[1].reports, candidates, held, others))
        law = share * np.concatenate(rows)
        total = total + law if len(total) else law
    return total


def worst_delta(laws: list[Floats], epsilon: float) -> float:
    """δ(ε) of two laws, the larger of both directions."""
    return max(float(np.maximum(law - math.exp(epsilon) * other, 0).sum()) for law, other in (laws, laws[::-1]))


CASES = {
    "disjoint words, fixed questions": (
        ({}, {"x": {0, 1}, "y": {2, 3}}),
        lambda _: ({}, {"x": {0, 1}, "y": {2, 3}}),
        (PlannedLayer(0.5, 3), PlannedLayer(0.5, 3)),
        frozenset(),
    ),
    "a common word, and other holders": (
        ({0: 1, 2: 2}, {"x": {0, 1}, "y": {1, 2}}),
        lambda _: ({1: 2, 3: 1}, {"x": {0, 1}, "y": {0, 3}}),
        (PlannedLayer(0.5, 3), PlannedLayer(0.5, 3)),
        frozenset(),
    ),
    "questions that follow from sums": (
        ({0: 1}, {"x": {0, 1}, "y": {2, 3}}),
        lambda outcome: ({}, {"x": {0, 1}, "y": {2, 3}}) if outcome % 3 else ({1: 2}, {"x": {1}, "y": {0, 1}}),
        (PlannedLayer(0.5, 3), PlannedLayer(0.5, 3)),
        frozenset(),
    ),
    "unequal layers, and some who are not asked": (
        ({}, {"x": {0, 1}, "y": {2, 3}}),
        lambda _: ({2: 1}, {"x": {0, 1}, "y": {2}}),
        (PlannedLayer(0.5, 4), PlannedLayer(0.2, 2)),
        frozenset(),
    ),
    "one word in the first layer, two in the second": (
        ({1: 1}, {"x": {0}, "y": {2}}),
        lambda outcome: ({}, {"x": {0, 1}, "y": {2, 3}}) if outcome % 3 else ({1: 1}, {"x": {1}, "y": {0, 1}}),
        (PlannedLayer(0.6, 3, words=1), PlannedLayer(0.4, 3)),
        frozenset(),
    ),
    "a user who answers in the first layer only": (
        ({}, {"x": {0, 1}, "y": {2, 3}}),
        lambda _: ({}, {"x": {0, 1}, "y": {2, 3}}),
        (PlannedLayer(0.5, 3), PlannedLayer(0.5, 3)),
        frozenset({1}),
    ),
}
DELTAS = (0.2, 0.05, 0.01, 1e-3)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("local", [1.0, 2.5])
def test_no_small_campaign_shows_more_of_a_user_than_is_stated(case: str, local: float) -> None:
    first, later, layers, silent = CASES[case]
    unary = Unary(4, local, 2)
    laws = [campaign_law(unary, layers, words, first, later, 4, silent) for words in "xy"]
    assert all(law.sum() == pytest.approx(1) for law in laws)
    for delta in DELTAS:
        stated = epsilon_of(allocated_user(unary, Allocation(layers, 0.0), delta))
        assert worst_delta(laws, stated) <= delta


@pytest.mark.parametrize("silent", [frozenset(), frozenset({1})])
@pytest.mark.parametrize("local", [1.0, 2.5])
def test_a_user_who_is_silent_only_with_some_words_is_covered(silent: frozenset[int], local: float) -> None:
    first, later, layers, _ = CASES["disjoint words, fixed questions"]
    unary = Unary(4, local, 2)
    laws = [
        campaign_law(unary, layers, "x", first, later, 4, silent),
        campaign_law(unary, layers, "y", first, later, 4),
    ]
    for delta in DELTAS:
        stated = epsilon_of(allocated_user(unary, Allocation(layers, 0.0), delta))
        assert worst_delta(laws, stated) <= delta


WORD_LAYERS = (PlannedLayer(0.6, 4), PlannedLayer(0.4, 3))
UNEQUAL_WORDS = (PlannedLayer(0.6, 4), PlannedLayer(0.4, 3, words=1))


@cache
def stated_of_word(local: float, delta: float, layers: tuple[PlannedLayer, ...] = WORD_LAYERS) -> float:
    """What is stated of a word does not depend on what others hold."""
    return epsilon_of(allocated_word(Unary(3, local, 2), Allocation(layers, 0.0), delta))


@pytest.mark.parametrize("others", [{}, {0: 2}, {1: 2}, {2: 2, 1: 1}, {0: 1, 1: 1, 2: 1}])
@pytest.mark.parametrize("local", [1.0, 2.5, 5.0])
def test_no_small_campaign_shows_more_of_a_word_than_is_stated(others: dict[int, int], local: float) -> None:
    """The user's other word, 1, helps to tell the layer."""
    question = (others, {"x": {0, 1}, "y": {1, 2}})
    laws = [campaign_law(Unary(3, local, 2), WORD_LAYERS, words, question, lambda _: question, 3) for words in "xy"]
    for delta in DELTAS:
        assert worst_delta(laws, stated_of_word(local, delta)) <= delta


@pytest.mark.parametrize("others", [{}, {0: 1, 1: 1, 2: 1}])
@pytest.mark.parametrize("local", [1.0, 2.5])
def test_a_word_in_layers_of_unequal_words_is_covered(others: dict[int, int], local: float) -> None:
    question, alone = ((others, {"x": {0} | held, "y": {2} | held}) for held in ({1}, set[int]()))
    laws = [campaign_law(Unary(3, local, 2), UNEQUAL_WORDS, words, question, lambda _: alone, 3) for words in "xy"]
    for delta in DELTAS:
        assert worst_delta(laws, stated_of_word(local, delta, UNEQUAL_WORDS)) <= delta


def test_the_enumeration_of_unequal_layers_refutes_too_few_words() -> None:
    """What a layer with fewer words saves is not saved for the others, too."""
    first, later, layers, _ = CASES["one word in the first layer, two in the second"]
    laws = [campaign_law(Unary(4, 2.5, 2), layers, words, first, later, 4) for words in "xy"]
    fewest = tuple(replace(layer, words=1) for layer in layers)
    wrong = epsilon_of(allocated_user(Unary(4, 2.5, 2), Allocation(fewest, 0.0), 0.01))
    assert worst_delta(laws, wrong) > 0.01


def test_the_bound_is_nearly_exact_where_nobody_else_holds_a_word() -> None:
    """With ε = 1 locally, other numbers of holders are hardly worse; so little is lost."""
    first, later, layers, _ = CASES["disjoint words, fixed questions"]
    unary = Unary(4, 1.0, 2)
    laws = [campaign_law(unary, layers, words, first, later, 4) for words in "xy"]
    stated = epsilon_of(allocated_user(unary, Allocation(layers, 0.0), 0.05))
    assert worst_delta(laws, 0.88 * stated) > 0.05


def test_enumeration_refutes_an_epsilon_divided_by_the_root_of_the_layers() -> None:
    """The approximation for small losses is no bound: the enumeration has the power to say so."""
    first, later, layers, _ = CASES["disjoint words, fixed questions"]
    unary = Unary(4, 5.0, 2)
    laws = [campaign_law(unary, layers, words, first, later, 4) for words in "xy"]
    wrong = epsilon_of(joint(unary, 3, 0.05)) / math.sqrt(2)
    assert worst_delta(laws, wrong) > 0.05


def test_enumeration_refutes_averages_of_losses_in_the_place_of_ratios() -> None:
    """An analyst who takes ln U for the mean of the logarithms gets too small an ε."""
    first, later, layers, _ = CASES["disjoint words, fixed questions"]
    unary = Unary(4, 2.5, 2)
    q = float(unary.channel.q)
    lacks = binom.pmf(np.arange(4), 3, q)
    holds = np.convolve(binom.pmf(np.arange(3), 2, q), [0.5, 0.5])
    mean = np.array([0.0])
    chance = np.array([1.0])
    for sign, _ in product((1, -1), range(4)):
        mean = np.add.outer(mean, sign * np.log(holds / lacks) / 2).ravel()
        chance = np.multiply.outer(chance, lacks).ravel()
    wrong = next(e for e in np.arange(0, 8, 0.01) if chance @ np.maximum(np.exp(mean) - math.exp(e), 0) <= 0.05)
    laws = [campaign_law(unary, layers, words, first, later, 4) for words in "xy"]
    assert worst_delta(laws, float(wrong)) > 0.05


# Large campaigns


def sampled_delta(unary: Unary, reports: int, layers: int, epsilon: float) -> tuple[float, float]:
    """δ(ε) of a whole user by importance sampling, and its standard error; nobody else holds any of the words.

    The votes for words given up are drawn as if they were likelier to be held, the others as if they were less likely.
    """
    generator, samples, q = np.random.default_rng(7), 20_000, float(unary.channel.q)
    low, high = (int(binom.ppf(chance, reports, q)) for chance in (1e-14, 1 - 1e-14))
    votes = np.arange(low, high + 1)
    one_less, same = binom.pmf(votes - 1, reports - 1, q), binom.pmf(votes, reports - 1, q)
    losses = np.log((one_less + same) / 2) - np.log(q * one_less + (1 - q) * same)
    lacks = q * one_less + (1 - q) * same
    # Each layer's loss is shifted by half of ε, on both sides.
    tilt = epsilon / (2 * unary.bound * float(lacks @ losses**2))
    totals, weights = [], np.zeros(samples)
    for sign in (1, -1):
        tilted = lacks * np.exp(sign * tilt * losses)
        mass = tilted.sum()
        drawn = np.zeros((samples, layers))
        for _ in range(unary.bound):
            drawn += losses[np.searchsorted(np.cumsum(tilted / mass), generator.random((samples, layers)))]
        weights += layers * unary.bound * math.log(mass) - sign * tilt * drawn.sum(axis=1)
        totals.append(np.exp(drawn).mean(axis=1))
    found = np.exp(weights) * np.maximum(totals[0] - math.exp(epsilon) * totals[1], 0)
    return float(found.mean()), float(found.std() / math.sqrt(samples))


@pytest.mark.parametrize(
    ("users", "layers", "local", "delta"),
    [(1_000_000, 4, 7.0, 1e-8), (3_000_000, 6, 7.0, 1e-10), (15_000_000, 4, 7.0, 1e-10)],
)
def test_sampling_agrees_with_the_bound_for_large_campaigns(
    users: int, layers: int, local: float, delta: float
) -> None:
    unary, reports = Unary(1000, local, 60), users // layers
    stated = epsilon_of(allocated_user(unary, Allocation((PlannedLayer(1 / layers, reports),) * layers, 0.0), delta))
    found, error = sampled_delta(unary, reports, layers, stated)
    assert error < 0.1 * found
    assert found - 5 * error <= delta
    below, error = sampled_delta(unary, reports, layers, 0.985 * stated)
    assert below - 5 * error > delta, "an ε smaller by 1.5 % would be too small"


FIGURES = {
    (1_000_000, 3, 7.0, 1e-8): (0.93, 0.111),
    (1_000_000, 4, 7.0, 1e-8): (0.94, 0.112),
    (1_000_000, 6, 7.0, 1e-8): (0.95, 0.114),
    (300_000, 4, 7.0, 1e-10): (2.15, 0.283),
    (15_000_000, 4, 7.0, 1e-10): (0.263, 0.0317),
    (30_000_000, 30, 7.0, 1e-10): (0.185, 0.0223),
}


@pytest.mark.parametrize("case", FIGURES)
def test_what_is_stated_of_large_campaigns(case: tuple[int, int, float, float]) -> None:
    users, layers, local, delta = case
    unary, allocation = Unary(1000, local, 60), equal_layers(users, layers, delta)
    user, word = (
        epsilon_of(allocated_user(unary, allocation, delta)),
        epsilon_of(allocated_word(unary, allocation, delta)),
    )
    most_user, most_word = FIGURES[case]
    assert 0.98 * most_user <= user <= most_user
    assert 0.98 * most_word <= word <= most_word
    assert 0.8 * word <= word_floor(unary, allocation, delta) <= word


def test_the_page_has_the_figures_that_are_computed() -> None:
    rows = re.findall(
        r"^\| ([\d,]+) in (\d), ε = (\d) \| 10\^−(\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$",
        PAGE.read_text("utf-8"),
        re.MULTILINE,
    )
    assert len(rows) == 7
    for users, layers, local, digits, *figures in rows[1::3]:
        delta, unary, number = 10.0 ** -int(digits), Unary(1000, float(local), 60), int(users.replace(",", ""))
        allocation, known = equal_layers(number, int(layers), delta), number // int(layers)
        bounds = (
            joint(unary, known, delta),
            allocated_user(unary, allocation, delta),
            sums_only(unary, known, delta),
            allocated_word(unary, allocation, delta),
        )
        assert [shown(epsilon_of(bound)) for bound in bounds] == figures


def test_where_losses_are_large_other_words_tell_the_layer() -> None:
    """With 100,000 users at ε = 10, a word gains hardly anything; without other words it would gain much."""
    allocation = equal_layers(100_000, 4, 1e-10)
    known = epsilon_of(sums_only(Unary(1000, 10.0, 60), allocation.layers[0].reports, 1e-10))
    among_others = epsilon_of(allocated_word(Unary(1000, 10.0, 60), allocation, 1e-10))
    alone = epsilon_of(allocated_word(Unary(1000, 10.0, 1), allocation, 1e-10))
    assert 0.97 * known < among_others <= known * 1.01
    assert alone < 0.75 * known
    assert word_floor(Unary(1000, 10.0, 60), allocation, 1e-10) <= alone


@pytest.mark.parametrize(("reports", "local"), [(1_000_000, 7.0), (25_000, 8.0), (2_000, 6.0)])
def test_one_layer_costs_what_a_known_layer_does(reports: int, local: float) -> None:
    unary, allocation = Unary(1000, local, 60), Allocation((PlannedLayer(1.0, reports),), 0.0)
    known, word = epsilon_of(joint(unary, reports, 1e-10)), epsilon_of(sums_only(unary, reports, 1e-10))
    assert known * (1 - 1e-6) <= epsilon_of(allocated_user(unary, allocation, 1e-10)) <= known * 1.003
    assert epsilon_of(allocated_word(unary, allocation, 1e-10)) == word


def test_more_reports_a_larger_delta_and_users_not_asked_never_cost_more() -> None:
    unary = Unary(1000, 7.0, 20)

    def cost(share: float, reports: int, delta: float) -> tuple[float, float]:
        allocation = Allocation((PlannedLayer(share, reports),) * 4, 0.0)
        return epsilon_of(allocated_user(unary, allocation, delta)), epsilon_of(
            allocated_word(unary, allocation, delta)
        )

    base = cost(0.25, 50_000, 1e-9)
    for easier in (cost(0.25, 60_000, 1e-9), cost(0.25, 50_000, 1e-8), cost(0.2, 50_000, 1e-9)):
        assert all(less < more for less, more in zip(easier, base, strict=True))


def test_layers_with_fewer_words_cost_less_of_a_user_and_hardly_less_of_a_word() -> None:
    unary, full = Unary(1000, 7.0, 60), equal_layers(1_000_000, 4, 1e-8)
    fewer = Allocation((full.layers[0], *(replace(layer, words=30) for layer in full.layers[1:])), full.overflow)
    user, word = (
        [epsilon_of(cost(unary, layers, 1e-8)) for layers in (full, fewer)] for cost in (allocated_user, allocated_word)
    )
    # Losses are small: ε goes with the root of the average number of words, (60 + 3·30) / 4 = 37.5.
    assert user[1] == pytest.approx(user[0] * math.sqrt(37.5 / 60), rel=0.02)
    assert 0.97 * word[0] < word[1] <= word[0]


@pytest.mark.parametrize("words", [0, 3, 1.5])
def test_a_layer_that_asks_for_more_words_than_its_campaign_is_refused(words: int) -> None:
    with pytest.raises(ParameterError, match="words"):
        allocated_user(Unary(10, 2.0, 2), Allocation((PlannedLayer(0.5, 10, words=words),), 0.0), 0.01)


def test_losses_out_of_range_leave_the_local_promise() -> None:
    unary, allocation = Unary(1000, 10.0, 1000), Allocation((PlannedLayer(0.5, 50),) * 2, 0.0)
    assert epsilon_of(allocated_user(unary, allocation, 1e-10)) == unary.statement.user_epsilon
    assert epsilon_of(allocated_word(unary, allocation, 1e-10)) == epsilon_of(sums_only(unary, 50, 1e-10))


# Planned numbers


@pytest.mark.parametrize(("users", "share"), [(1000, 0.25), (1_000_000, 0.25), (15_000_000, 1 / 30), (7, 0.5)])
@pytest.mark.parametrize("delta", [1e-3, 1e-10])
def test_planned_numbers_are_hardly_ever_reached_and_little_larger_than_they_need_be(
    users: int, share: float, delta: float
) -> None:
    planned = planned_reports(users * share, delta)
    assert binom.sf(planned - 1, users, share) <= delta / 1000
    assert share > 1 / 4 or binom.sf(users * share + 0.7 * (planned - users * share), users, share) > delta / 1000


def test_a_plan_charges_what_its_layers_are_exceeded_with() -> None:
    allocation = equal_layers(1_000_000, 4, 1e-8)
    assert allocation.overflow == pytest.approx(4e-11)
    assert 4 * binom.sf(allocation.layers[0].reports - 1, 1_000_000, 0.25) <= allocation.overflow
    whole = Allocation(allocation.layers, 0.0)
    unary = Unary(1000, 7.0, 60)
    charged = epsilon_of(allocated_user(unary, allocation, 1e-8))
    # Both are the root of one equation, which is searched for to 1e-6.
    assert charged == pytest.approx(epsilon_of(allocated_user(unary, whole, 1e-8 - allocation.overflow)), rel=2e-6)
    assert charged > epsilon_of(allocated_user(unary, whole, 1e-8))


def test_unequal_layers_have_their_shares() -> None:
    allocation = Allocation.plan([300, 100, 100], 1e-6)
    assert [layer.share for layer in allocation.layers] == [0.6, 0.2, 0.2]
    assert allocation.unasked == 0


def test_without_layers_or_with_too_many_nothing_is_claimed() -> None:
    assert "no layer" in (Allocation.plan([], 1e-8).reason or "")
    assert "at most 100 layers" in (Allocation.plan([10.0] * 101, 1e-8).reason or "")


def test_a_delta_that_planned_numbers_are_exceeded_with_leaves_nothing_to_claim() -> None:
    allocation, unary = equal_layers(1000, 4, 1e-3), Unary(10, 2.0, 2)
    for bound in (allocated_user(unary, allocation, 1e-6), allocated_word(unary, allocation, 1e-6)):
        assert bound.epsilon is None
        assert "exceeded" in (bound.reason or "")


def test_a_reason_not_to_claim_is_handed_on() -> None:
    for bound in (allocated_user(Unary(10, 2.0, 2), Allocation.none("why"), 1e-6),):
        assert (bound.epsilon, bound.reason) == (None, "why")
