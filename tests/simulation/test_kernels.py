"""Kernels: the compiled loops have the laws that they claim."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chisquare

from neologue.device.sampling import sample
from neologue.entropy import SeededEntropy
from neologue.simulation import kernels

REPEATS = 20_000
SIGNIFICANCE = 1e-6
"""A right law fails once in a million seeds; the wrong ones below are off by several percent."""


@pytest.mark.parametrize("shares", [[1.0], [0.5, 0.25, 0.25], [0.7, 0.1, 0.1, 0.05, 0.05], [1e-9, 1 - 1e-9]])
def test_an_alias_table_holds_exactly_its_shares(shares: list[float]) -> None:
    table = kernels.alias_table(np.array(shares))
    held = np.zeros(len(shares))
    for place in range(len(shares)):
        held[place] += table.chance[place]
        held[table.alias[place]] += 1 - table.chance[place]
    assert np.allclose(held / len(shares), shares, atol=1e-12)


def sampled(greedy: bool, times: list[int], bound: int, seed: int) -> np.ndarray:
    """How often the kernel draws each subset of the words 0, 1, … with these counts."""
    words = np.tile(np.arange(len(times), dtype=np.int32), REPEATS)
    counts = np.tile(np.array(times, np.int32), REPEATS)
    starts = np.arange(REPEATS + 1) * len(times)
    groups = np.arange(len(times), dtype=np.int32)
    own, samples = kernels.sample_users(
        np.random.default_rng(seed), starts, words, counts, groups, len(times), bound, greedy
    )
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
    own, drawn = kernels.sample_users(
        np.random.default_rng(0), np.array([0, 4, 4, 5]), words, counts, groups, 2, 1, True
    )
    # User 0 typed group 0 five times and group 1 five times, user 1 nothing, user 2 group 0.
    assert own.tolist() == [0, 1, 1, 2]
    assert drawn[1] == 0
    assert drawn[0] in (0, 1)


def test_ids_are_counted() -> None:
    counts = np.zeros(3, np.uint32)
    kernels.add_counts(np.array([0, 2, 2], np.int32), counts)
    assert counts.tolist() == [1, 0, 2]
