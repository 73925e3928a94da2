"""A binomial draw is exact: random bits are compared with the true distribution function, and never rounded."""

from fractions import Fraction
from itertools import accumulate, product
from math import comb

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from laws import Law, fit
from neologue.entropy import ONE, Entropy, SeededEntropy
from neologue.randomizers.binomial import FIRST_BITS, Enclosure, draw_binomial, draw_binomials, enclose
from neologue.randomizers.unary import Unary

NUMERATORS = [1, 2, 3, 12_345_678_901_234_567, ONE // 3, ONE // 2, ONE // 2 + 1, ONE - ONE // 7, ONE - 2, ONE - 1]
TRIALS = [1, 2, 3, 4, 7, 12]
ALPHA = 1e-4


def law(trials: int, numerator: int) -> Law[int]:
    p = Fraction(numerator, ONE)
    return {j: comb(trials, j) * p**j * (1 - p) ** (trials - j) for j in range(trials + 1)}


def distribution(trials: int, numerator: int) -> list[Fraction]:
    """P(X ≤ 0), P(X ≤ 1), …"""
    return list(accumulate(law(trials, numerator).values()))


class Bits(Entropy):
    """The binary digits of a number in [0, 1), given out from the first on, and how many were taken."""

    def __init__(self, numerator: int, bits: int) -> None:
        self._numerator = numerator
        self._bits = bits
        self.taken = 0

    def integer(self, bits: int) -> int:
        self.taken += bits
        assert self.taken <= self._bits, "the script is over"
        return self._numerator >> (self._bits - self.taken) & ((1 << bits) - 1)

    @property
    def inside(self) -> bool:
        return 0 <= self._numerator < 1 << self._bits

    def seen(self) -> tuple[Fraction, Fraction]:
        """The numbers that begin with the digits taken so far lie from the first to before the second."""
        prefix = self._numerator >> (self._bits - self.taken)
        return Fraction(prefix, 1 << self.taken), Fraction(prefix + 1, 1 << self.taken)

    def words(self, count: int) -> NDArray[np.uint64]:
        raise AssertionError("the draw took something else than digits")


# The bounds


@pytest.mark.parametrize("numerator", NUMERATORS)
@pytest.mark.parametrize("trials", TRIALS)
@pytest.mark.parametrize("bits", [128, 256])
def test_the_bounds_enclose_the_exact_distribution_function_tightly(trials: int, numerator: int, bits: int) -> None:
    exact = distribution(trials, numerator)
    bounds = enclose(trials, numerator, bits)
    for place, (lower, upper) in enumerate(zip(bounds.lower, bounds.upper, strict=True)):
        j = bounds.first - 1 + place
        true = (exact[j] if j >= 0 else Fraction(0)) * (1 << bits)
        assert lower <= true <= upper
        # A unit for rounding down, one for rounding up; the guard bits keep all earlier errors below one.
        assert upper - lower <= 2


def test_the_enclosure_of_a_tampered_law_would_be_noticed() -> None:
    # The same check fails for a law whose probability is off by one part in 2^64.
    exact = distribution(7, ONE // 3)
    bounds = enclose(7, ONE // 3 + 1, 128)
    true = [value * (1 << 128) for value in exact[bounds.first :]]
    assert not all(
        lower <= value <= upper for lower, value, upper in zip(bounds.lower[1:], true, bounds.upper[1:], strict=False)
    )


@pytest.mark.parametrize(
    ("trials", "numerator"),
    [
        (1_000_000, Unary(1, 10.0, 1).noise),
        (1_000_000, Unary(1, 1.0, 1).noise),
        (20_000, 1 << 20),
        (5000, ONE - ONE // 1000),
    ],
)
def test_the_bounds_stay_tight_and_agree_with_scipy_on_large_layers(trials: int, numerator: int) -> None:
    bounds = enclose(trials, numerator, 128)
    outcomes = np.arange(bounds.first - 1, bounds.first - 1 + len(bounds.lower))
    assert max(upper - lower for lower, upper in zip(bounds.lower, bounds.upper, strict=True)) <= 2
    found = np.array([upper / 2**128 for upper in bounds.upper])
    np.testing.assert_allclose(found, stats.binom.cdf(outcomes, trials, numerator / ONE), rtol=1e-8, atol=1e-30)


def test_what_lies_beyond_the_listed_outcomes_is_never_decided_away() -> None:
    bounds = enclose(1_000_000, Unary(1, 1.0, 1).noise, 128)
    assert bounds.first > 0
    assert bounds.first + len(bounds.lower) - 2 < 1_000_000
    assert bounds.decide(0) is None
    assert bounds.decide((1 << 128) - 1) is None


def test_bits_between_the_bounds_do_not_decide() -> None:
    bounds = Enclosure(first=4, lower=[0, 10, 20], upper=[2, 12, 20])
    decided = [bounds.decide(drawn) for drawn in range(20)]
    assert decided == [None] * 2 + [4] * 8 + [None] * 2 + [5] * 8


# The draws


@pytest.mark.parametrize("numerator", NUMERATORS)
@pytest.mark.parametrize("trials", TRIALS)
def test_bits_right_at_a_boundary_are_extended_until_they_decide_correctly(trials: int, numerator: int) -> None:
    exact = distribution(trials, numerator)
    for value, depth, side in product(exact[:-1], (140, 250, 1000), (-1, 1)):
        # The digits leave the boundary only at about this depth.
        digits = Bits(int(value * (1 << 4096)) + side * (1 << (4096 - depth)), 4096)
        if digits.inside:
            drawn = draw_binomial(trials, numerator, digits)
            least, most = digits.seen()
            assert most <= exact[drawn]
            assert drawn == 0 or least >= exact[drawn - 1]
            assert digits.taken <= 2 * max(depth + 16, FIRST_BITS)


def test_digits_just_off_a_boundary_take_only_one_more_helping() -> None:
    (value, *_) = distribution(5, ONE // 3)
    digits = Bits((int(value * (1 << 128)) << 128) + (1 << 127), 256)
    expected = 0 if Fraction(int(value * (1 << 128)) * 2 + 1, 1 << 129) < value else 1
    assert draw_binomial(5, ONE // 3, digits) == expected
    assert digits.taken == 256


@pytest.mark.parametrize("trials", TRIALS)
def test_the_least_and_the_most_outcome_are_reached_however_unlikely(trials: int) -> None:
    # With the numerator 1 all trials succeed with probability 2^(-64·trials), far below what 128 bits can show.
    ones = Bits((1 << 4096) - 1, 4096)
    zeros = Bits(0, 4096)
    assert draw_binomial(trials, 1, ones) == trials
    assert draw_binomial(trials, ONE - 1, zeros) == 0


def test_the_tail_of_a_large_layer_is_reached_by_rare_bits() -> None:
    # 384 ones and then zeros: the outcome whose upper tail first falls below 2^-384 = 2.5e-116.
    numerator = Unary(1, 10.0, 1).noise
    digits = Bits(((1 << 384) - 1) << (4096 - 384), 4096)
    drawn = draw_binomial(1_000_000, numerator, digits)
    assert digits.taken >= 512
    tail = stats.binom.logsf(np.array([drawn - 1, drawn]), 1_000_000, numerator / ONE) / np.log(2)
    np.testing.assert_array_less(-384 - 1e-6, tail[:1])
    np.testing.assert_array_less(tail[1:], -384 + 1e-6)


@pytest.mark.parametrize(("trials", "numerator", "outcome"), [(0, 5, 0), (9, 0, 0), (9, ONE, 9), (0, ONE, 0)])
def test_certain_outcomes_take_no_bits(trials: int, numerator: int, outcome: int) -> None:
    assert draw_binomial(trials, numerator, Bits(0, 0)) == outcome


@pytest.mark.parametrize(("trials", "numerator"), [(6, ONE // 3), (4, ONE // 2), (5, 3 * (ONE // 4))])
def test_draws_follow_the_exact_law_and_not_one_of_a_probability_two_points_off(trials: int, numerator: int) -> None:
    # Two points are at least λ = n·trials·.02²/(p(1-p)) ≥ 20,000·4·.0004/.25 = 128 on at most 6 degrees of
    # freedom: power > 1 - 1e-9 at α = 1e-4.
    source, wrong = SeededEntropy(1, trials), SeededEntropy(1, trials)
    shifted = numerator + ONE // 50
    assert fit((draw_binomial(trials, numerator, source) for _ in range(20_000)), law(trials, numerator)) > ALPHA
    assert fit((draw_binomial(trials, shifted, wrong) for _ in range(20_000)), law(trials, numerator)) < ALPHA


def test_draws_for_a_large_layer_have_the_mean_and_the_spread_of_the_law() -> None:
    # 4000 draws: the mean is known to σ/63 and the variance to 2.2 %; each is allowed 4 of these. Noise of
    # ε = 9.9 instead of 10 moves the mean by .1·μ/σ·63 = 42 of them.
    randomizer, trials, draws = Unary(1_000_000, 10.0, 60), 1_000_000, 4000

    def deviations(numerator: int) -> tuple[float, float]:
        source = SeededEntropy(2)
        drawn = np.array([draw_binomial(trials, numerator, source) for _ in range(draws)])
        mean = trials * float(randomizer.channel.q)
        variance = mean * (1 - float(randomizer.channel.q))
        return (
            float((drawn.mean() - mean) / np.sqrt(variance / draws)),
            float((drawn.var() / variance - 1) / np.sqrt(2 / draws)),
        )

    assert np.abs(deviations(randomizer.noise)).max() < 4
    assert abs(deviations(Unary(1, 9.9, 60).noise)[0]) > 4


# Many draws at once


class GivenWords(Entropy):
    """Words as they are given, and the digits that follow them: all 0, or all 1."""

    def __init__(self, words: list[int], digit: int) -> None:
        self._words, self._digit = words, digit

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.array(self._words[:count], np.uint64)

    def integer(self, bits: int) -> int:
        return ((1 << bits) - 1) * self._digit


@pytest.mark.parametrize("digit", [0, 1])
@pytest.mark.parametrize("numerator", NUMERATORS)
@pytest.mark.parametrize("trials", TRIALS)
def test_words_right_at_a_boundary_are_extended_where_many_are_drawn(trials: int, numerator: int, digit: int) -> None:
    exact = distribution(trials, numerator)
    edges = [int(value * ONE) + side for value in [Fraction(0), *exact] for side in range(-3, 4)]
    words = [word for word in edges if 0 <= word < ONE]
    # All digits, without end, make up a number: the word itself or the next one. Right on a boundary none decides.
    words = [word for word in words if Fraction(word + digit, ONE) not in (0, *exact)]
    drawn = draw_binomials(trials, numerator, len(words), GivenWords(words, digit))
    for word, outcome in zip(words, drawn.tolist(), strict=True):
        least, most = Fraction(word, ONE), Fraction(word + 1, ONE)
        if digit:
            assert (exact[outcome - 1] if outcome else 0) < most <= exact[outcome]
        else:
            assert (exact[outcome - 1] if outcome else 0) <= least < exact[outcome]


@pytest.mark.parametrize(("trials", "numerator", "outcome"), [(0, 5, 0), (9, 0, 0), (9, ONE, 9), (0, ONE, 0)])
def test_many_certain_outcomes_take_no_bits(trials: int, numerator: int, outcome: int) -> None:
    assert draw_binomials(trials, numerator, 3, Bits(0, 0)).tolist() == [outcome] * 3


@pytest.mark.parametrize(("trials", "numerator"), [(6, ONE // 3), (4, ONE // 2), (5, 3 * (ONE // 4))])
def test_many_draws_follow_the_exact_law_and_not_one_two_points_off(trials: int, numerator: int) -> None:
    # The power is that of single draws above.
    drawn = draw_binomials(trials, numerator, 20_000, SeededEntropy(3, trials)).tolist()
    wrong = draw_binomials(trials, numerator + ONE // 50, 20_000, SeededEntropy(3, trials)).tolist()
    assert fit(drawn, law(trials, numerator)) > ALPHA
    assert fit(wrong, law(trials, numerator)) < ALPHA
