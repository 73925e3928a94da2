"""The binomial law: what does not ask `scipy.stats` says the same."""

import numpy as np
import pytest
from scipy import stats

from neologue import binom

CHANCES = [0.0, 1e-12, 1e-3, 0.0123, 0.5, 0.77, 1 - 1e-9, 1.0]


@pytest.mark.parametrize("trials", [0, 1, 2, 100, 10_000, 15_000_000, 900_000_000])
def test_the_upper_tail_is_that_of_scipy_to_the_bit(trials: int) -> None:
    for chance in CHANCES:
        spread = 40 * np.sqrt(trials * chance * (1 - chance))
        around = np.linspace(trials * chance - spread, trials * chance + spread, 200)
        ends = [-2, -1, 0, 1, 2, trials - 1, trials, trials + 1]
        values = np.unique(np.clip([*around, *ends], -2, trials + 2).astype(np.int64))
        assert np.array_equal(binom.sf(values, trials, chance), stats.binom.sf(values, trials, chance)), chance


def test_the_upper_tail_takes_arrays_of_all_three_and_values_between_whole_numbers() -> None:
    values, trials, chances = np.array([[0.5], [3.0], [7.9]]), np.array([5, 9]), np.array([0.2, 0.9])
    assert np.array_equal(binom.sf(values, trials, chances), stats.binom.sf(values, trials, chances))
    assert binom.sf(4, 10, 0.5) == stats.binom.sf(4, 10, 0.5)
