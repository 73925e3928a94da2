"""Kernels: the compiled loops have the laws that they claim."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chisquare, logser

from neologue.device.sampling import sample
from neologue.entropy import SeededEntropy
from neologue.populations import count_kernel
from neologue.populations.alias_table import FINE, build_alias_table, fill_ids
from neologue.populations.random64 import seed_generators
from neologue.populations.streams import Stream
from neologue.populations.typing_kernel import fill_uniform, logarithmic
from neologue.simulation.votes.samples import sample_users

REPEATS = 20_000
SIGNIFICANCE = 1e-6
"""A right law fails once in a million seeds; the wrong ones below are off by several percent."""


@pytest.mark.parametrize("shares", [[1.0], [0.5, 0.25, 0.25], [0.7, 0.1, 0.1, 0.05, 0.05], [1e-9, 1 - 1e-9]])
def test_an_alias_table_holds_its_shares_to_a_fine_step(shares: list[float]) -> None:
    table = build_alias_table(np.array(shares))
    held = np.zeros(len(shares))
    for place, entry in enumerate(table.tolist()):
        chance, alias = divmod(entry, FINE)
        held[place] += chance / FINE
        held[alias] += 1 - chance / FINE
    assert np.allclose(held / len(shares), shares, atol=len(shares) / FINE)


def drawn_ids(shares: list[float], skew: float = 1.0) -> np.ndarray:
    """How often each number is drawn from a table of its shares, the first one's being off by a factor."""
    given = np.array(shares)
    given[0] *= skew
    ids = np.empty(1 << 16, np.int32)
    fill_ids(
        seed_generators(Stream.WORDS, 3), build_alias_table(given / given.sum()), np.empty(len(ids), np.uint64), ids
    )
    return np.bincount(ids, minlength=len(shares))


def test_numbers_are_drawn_with_their_shares() -> None:
    """Power: a share of 40 % that is a twentieth too large is 8 standard deviations off."""
    shares = [0.4, 0.3, 0.2, 0.07, 0.03]
    expected = np.array(shares) * (1 << 16)
    assert chisquare(drawn_ids(shares), expected).pvalue > SIGNIFICANCE
    assert chisquare(drawn_ids(shares, skew=1.05), expected).pvalue < SIGNIFICANCE


def drawn_times(parameter: float, log_rest: float) -> np.ndarray:
    """How often 1, 2, … are drawn; the last is for all that is more."""
    luck = np.empty(1 << 16, np.float64)
    fill_uniform(seed_generators(Stream.TIMES, 4), np.empty(len(luck), np.uint64), luck)
    assert luck.min() > 0
    pairs = luck.reshape(-1, 2).tolist()
    drawn = [logarithmic(parameter, log_rest, first, second) for first, second in pairs]
    return np.bincount(np.minimum(drawn, 8), minlength=9)[1:]


@pytest.mark.parametrize("parameter", [0.05, 0.64, 0.98])
def test_times_follow_the_logarithmic_law(parameter: float) -> None:
    """Power: a rate that is a fifth too small is found where numbers above 1 are common."""
    law = logser.pmf(np.arange(1, 8), parameter)
    expected = np.append(law, 1 - law.sum()) * (1 << 15)
    likely = expected > 5
    rare = expected[~likely].sum()

    def fit(times: np.ndarray) -> float:
        observed = times[likely]
        observed[-1] += times[~likely].sum()
        foreseen = expected[likely]
        foreseen[-1] += rare
        return float(chisquare(observed, foreseen).pvalue)

    assert fit(drawn_times(parameter, np.log1p(-parameter))) > SIGNIFICANCE
    if parameter > 0.5:
        assert fit(drawn_times(parameter, np.log1p(-parameter) * 0.8)) < SIGNIFICANCE


def sampled(greedy: bool, times: list[int], bound: int, seed: int) -> np.ndarray:
    """How often the kernel draws each subset of the words 0, 1, … with these counts."""
    words = np.tile(np.arange(len(times), dtype=np.int32), REPEATS)
    counts = np.tile(np.array(times, np.int32), REPEATS)
    starts = np.arange(REPEATS + 1) * len(times)
    groups = np.arange(len(times), dtype=np.int32)
    own, samples = sample_users(np.random.default_rng(seed), starts, words, counts, groups, len(times), bound, greedy)
    assert own.tolist() == [bound * user for user in range(REPEATS + 1)]
    drawn = samples.reshape(REPEATS, bound)
    subsets = list(combinations(range(len(times)), bound))
    seen = [subsets.index(tuple(row)) for row in np.sort(drawn, axis=1).tolist()]
    return np.bincount(seen, minlength=len(subsets))


@pytest.mark.parametrize("greedy", [False, True])
def test_the_kernel_samples_by_the_law_of_the_device(greedy: bool) -> None:
    times, bound = [3, 1, 1, 7, 1], 3
    subsets = list(combinations(range(5), bound))
    device = np.zeros(len(subsets))
    for seed in range(REPEATS // 4):
        drawn = sample(np.arange(5), np.array(times), bound, "greedy" if greedy else "random", SeededEntropy(seed))
        device[subsets.index(tuple(sorted(drawn.tolist())))] += 1
    possible = device > 0
    compiled = sampled(greedy, times, bound, seed=1)
    exact = 1 / possible.sum()
    assert (compiled[~possible] == 0).all()
    assert chisquare(device[possible], np.full(possible.sum(), exact * device.sum())).pvalue > SIGNIFICANCE
    assert chisquare(compiled[possible], np.full(possible.sum(), exact * REPEATS)).pvalue > SIGNIFICANCE


def test_a_sampler_that_prefers_early_words_is_rejected_by_the_same_check() -> None:
    right = sampled(False, [1, 1, 1, 1], 2, seed=2)
    wrong = right + np.array([350, 0, 0, 0, 0, -350])
    exact = np.full(6, REPEATS / 6)
    assert chisquare(right, exact).pvalue > SIGNIFICANCE
    assert chisquare(wrong, exact).pvalue < SIGNIFICANCE


def test_words_of_one_group_are_counted_together_and_words_without_one_are_left_out() -> None:
    words = np.array([0, 1, 2, 3, 0], np.int32)
    counts = np.array([1, 5, 4, 9, 1], np.int32)
    groups = np.array([0, 1, 0, -1], np.int32)
    own, drawn = sample_users(np.random.default_rng(0), np.array([0, 4, 4, 5]), words, counts, groups, 2, 1, True)
    # User 0 typed group 0 five times and group 1 five times, user 1 nothing, user 2 group 0.
    assert own.tolist() == [0, 1, 1, 2]
    assert drawn[1] == 0
    assert drawn[0] in (0, 1)


def test_ids_are_counted() -> None:
    counts = np.zeros(3, np.uint32)
    count_kernel.count_ids(np.array([0, 2, 2], np.int32), counts)
    assert counts.tolist() == [1, 0, 2]
