"""The tree has the joint law of reports that are drawn one by one; independent binomials do not.

At a medium size, tree and kernel are compared by four statistics of a tally: τ, the 200th largest vote; how many
elements are at or above τ's mean; how many are at or above the median; the votes of the first half of the elements.
Subsets have a fixed size, so that the votes of all elements always have the same sum. The number above the median
therefore varies 1 - 2/π = 0.36 times, and the votes of a half 0.5 times as much as for independent votes. Power: a
variance from 400 tallies is known to 7 %, and log 0.5 is 6.9 standard deviations from 0 between two such variances.
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from laws import fit, votes_law
from neologue.entropy import ONE
from neologue.populations.random64 import seed_generators
from neologue.populations.streams import Stream
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.simulation.votes.report_kernels import add_by_marks
from neologue.simulation.votes.tree import hypergeometric, place, subset_votes

SIGNIFICANCE = 1e-6
LARGEST_Z = 5.0

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

DOMAIN, SIZE, REPORTS, TALLIES = 2000, 20, 20_000, 400
TRUTH = ONE // 10 * 6


def holders() -> Ints:
    """Many reports on nothing, some words that many hold and more that few do."""
    held = np.zeros(DOMAIN, np.int64)
    held[:50] = 80
    held[1000:1300] = 5
    held[-1] = REPORTS - held.sum()
    return held


@pytest.mark.parametrize(
    ("candidates", "epsilon", "words"),
    [(3, 0.5, [0, 3, 0]), (4, 0.5, [1, 4]), (2, 0.5, [0, 1, 2]), (3, 2.0, [1, 1, 3]), (1, 1.0, [0, 1, 1])],
    ids=str,
)
def test_small_tallies_have_their_joint_law(candidates: int, epsilon: float, words: list[int]) -> None:
    selection = SubsetSelection(candidates, epsilon, 1)
    held = np.bincount(words, minlength=selection.domain)
    p = selection.truth / ONE
    drawn = (tuple(subset_votes(held, selection.subset_size, p, 1, number).tolist()) for number in range(8_000))
    assert fit(drawn, votes_law(selection, words)) > SIGNIFICANCE


def test_parts_that_are_worked_on_apart_have_their_joint_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neologue.simulation.votes.tree.SMALLEST_PART", 1)
    selection = SubsetSelection(3, 0.5, 1)
    held, p = np.array([2, 0, 0, 1]), selection.truth / ONE
    drawn = (tuple(subset_votes(held, 2, p, 4, number).tolist()) for number in range(4_000))
    assert fit(drawn, votes_law(selection, [0, 3, 0])) > SIGNIFICANCE


def test_a_truth_that_is_off_is_found_out() -> None:
    """Power: 10 % of a truth of 0.5, in each of three reports."""
    selection = SubsetSelection(3, 0.5, 1)
    held, p = np.array([2, 0, 0, 1]), 0.9 * selection.truth / ONE
    drawn = (tuple(subset_votes(held, 2, p, 1, number).tolist()) for number in range(8_000))
    assert fit(drawn, votes_law(selection, [0, 3, 0])) < SIGNIFICANCE


def tree(seed: int) -> Ints:
    return subset_votes(holders(), SIZE, TRUTH / ONE, 2, seed)


def kernel(seed: int) -> Ints:
    counts = np.zeros(DOMAIN, np.uint32)
    words = np.repeat(np.arange(DOMAIN, dtype=np.int32), holders())
    add_by_marks(seed_generators(Stream.EXACT, 2, seed), words, DOMAIN, SIZE, np.uint64(TRUTH), counts)
    return counts.astype(np.int64)


def binomials(seed: int) -> Ints:
    rng = np.random.default_rng(seed)
    p, held = TRUTH / ONE, holders()
    q = (SIZE - p) / (DOMAIN - 1)
    return rng.binomial(held, p) + rng.binomial(REPORTS - held, q)


def observed(draw: Callable[[int], Ints]) -> dict[str, Floats]:
    """The statistics of many tallies."""
    votes = np.array([draw(seed) for seed in range(TALLIES)])[:, :-1]
    return {
        "τ": np.sort(votes, axis=1)[:, -200].astype(np.float64),
        "above τ": (votes >= 221).sum(axis=1).astype(np.float64),
        "above the median": (votes >= 201).sum(axis=1).astype(np.float64),
        "first half": votes[:, :1000].sum(axis=1).astype(np.float64),
    }


@pytest.fixture(scope="module")
def by_kernel() -> dict[str, Floats]:
    return observed(kernel)


def spread_z(values: Floats, others: Floats) -> float:
    """How many standard deviations lie between the logarithms of two variances of nearly normal values."""
    return float(np.log(values.var() / others.var()) / np.sqrt(2 / len(values) + 2 / len(others)))


def test_tree_and_kernel_agree(by_kernel: dict[str, Floats]) -> None:
    for name, values in observed(tree).items():
        assert abs(spread_z(values, by_kernel[name])) < LARGEST_Z, name
        assert stats.ks_2samp(values, by_kernel[name], method="asymp").pvalue > SIGNIFICANCE, name


def test_independent_binomials_are_found_out(by_kernel: dict[str, Floats]) -> None:
    independent = observed(binomials)
    for name in ("above the median", "first half"):
        assert spread_z(independent[name], by_kernel[name]) > LARGEST_Z, name
        assert abs(independent[name].mean() / by_kernel[name].mean() - 1) < 0.01, "no mean tells them apart"


@pytest.mark.parametrize(("domain", "size"), [(20_000, 4_000), (3_000, 1_499), (400, 399), (300, 1)])
def test_subsets_of_any_size_have_the_right_votes(domain: int, size: int) -> None:
    reports, p = 5_000, 0.4
    held = np.zeros(domain, np.int64)
    held[7], held[-1] = 1_000, reports - 1_000
    votes = subset_votes(held, size, p, 3, 0)
    assert votes.sum() == reports * size
    q = (size - p) / (domain - 1)
    mean = held * p + (reports - held) * q
    variance = held * p * (1 - p) + (reports - held) * q * (1 - q)
    z = (votes - mean) / np.sqrt(variance)
    assert np.abs(z).max() < 5.5
    free = np.delete(z, [7, domain - 1])
    assert abs((free**2).mean() - 1) < 6 * np.sqrt(2 / len(free))


@pytest.mark.parametrize(
    ("good", "bad", "drawn"), [(5, 7, 6), (3, 900, 400), (1_000, 1_000, 50), (40_000, 90_000, 70_000), (6, 2, 7)]
)
def test_hypergeometric_numbers_have_their_law(good: int, bad: int, drawn: int) -> None:
    """Power: 10,000 draws find a mean that is a twelfth of a standard deviation off."""
    source = np.random.default_rng(1)
    values = np.array([hypergeometric(source, good, bad, drawn) for _ in range(10_000)])
    assert binned_fit(values, good, bad, drawn) > SIGNIFICANCE
    if good >= 1_000:
        deviation = float(stats.hypergeom(good + bad, good, drawn).std())
        assert binned_fit(values + max(1, round(deviation / 8)), good, bad, drawn) < SIGNIFICANCE


def binned_fit(values: Ints, good: int, bad: int, drawn: int) -> float:
    """Pearson's test in at most 20 bins that are about as likely as each other."""
    law = stats.hypergeom(good + bad, good, drawn)
    edges = np.unique(law.ppf(np.linspace(0, 1, 21)[1:-1]))
    chances = np.diff(law.cdf(edges), prepend=0.0, append=1.0)
    counts = np.bincount(np.searchsorted(edges, values), minlength=len(chances))
    likely = chances * len(values) >= 5
    assert counts[~likely].sum() <= 50
    expected = chances[likely] * counts[likely].sum() / chances[likely].sum()
    return float(stats.chisquare(counts[likely], expected).pvalue)


@pytest.mark.parametrize("elements", [2, 40, 5_000], ids=str)
def test_reports_are_split_by_the_hypergeometric_law(elements: int) -> None:
    """Also where the chance of placing none in a half is too small for a floating-point number."""
    left, right = np.zeros(elements + 1, np.int64), np.zeros(elements + 1, np.int64)
    place(np.random.default_rng(1), 20_000, elements, 30_000, 50_000, left, right)
    assert left.sum() == right.sum() == 20_000
    assert left.tolist() == right[::-1].tolist()
    assert binned_fit(np.repeat(np.arange(elements + 1), left), 30_000, 50_000, elements) > SIGNIFICANCE


def test_nothing_is_placed_where_there_are_no_reports() -> None:
    left, right = np.zeros(3, np.int64), np.zeros(3, np.int64)
    place(np.random.default_rng(1), 0, 2, 5, 5, left, right)
    assert not left.any()
    assert not right.any()
