"""k-anonymity: thresholds on votes, exactly, and what keeping the most voted is worth."""

from bisect import bisect_left
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom, binomtest

from neologue.privacy.anonymity import kept_chance, printed_k, release_threshold, top_k
from neologue.randomizers.channel import Channel
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary

FULL = SubsetSelection(1_000_000, 10.0, 60)
"""The full layer of gboard-2024, of 500,000 reports, which keeps 10,000 prefixes."""
REPORTS, KEPT = 500_000, 10_000
CONTRIBUTIONS = 30_000_000

DOUBT = 1e-6
"""The p-value below which a simulation is taken to contradict a claim."""


def exact_chance(channel: Channel, contributions: int, holders: int, votes: int) -> Fraction:
    """P(Bin(h, p) + Bin(n - h, q) ≥ v), enumerated."""

    def chances(trials: int, chance: Fraction) -> list[Fraction]:
        return [comb(trials, hits) * chance**hits * (1 - chance) ** (trials - hits) for hits in range(trials + 1)]

    held, others = chances(holders, channel.p), chances(contributions - holders, channel.q)
    return sum(
        (one * other for hits, one in enumerate(held) for noise, other in enumerate(others) if hits + noise >= votes),
        Fraction(0),
    )


def threshold_k(channel: Channel, reports: int, threshold: int, alpha: float) -> int:
    """The largest k for which a threshold on the votes is enough; 0 if it is for none."""
    contributions = channel.trials(reports)

    def too_many(holders: int) -> bool:
        return bool(kept_chance(channel, contributions, holders, np.array([threshold]))[0] > 1 - alpha)

    return bisect_left(range(contributions + 1), True, key=too_many)


def chance_of(holders: int, votes: int) -> float:
    """The chance that so many holders have at least so many votes in the full layer."""
    return float(kept_chance(FULL.channel, CONTRIBUTIONS, holders, np.array([votes]))[0])


@pytest.mark.parametrize(("alpha", "threshold"), [(0.95, 1449), (1 - 1e-6, 1568)])
def test_45_anonymity_of_the_papers_full_layer_takes_a_threshold(alpha: float, threshold: int) -> None:
    assert release_threshold(FULL.channel, REPORTS, 45, alpha) == threshold
    assert chance_of(44, threshold) <= 1 - alpha
    assert threshold_k(FULL.channel, REPORTS, threshold, alpha) >= 45


@pytest.mark.parametrize(("alpha", "threshold"), [(0.95, 1449), (1 - 1e-6, 1568)])
def test_a_threshold_one_lower_violates_it(alpha: float, threshold: int) -> None:
    assert chance_of(44, threshold - 1) > 1 - alpha
    assert threshold_k(FULL.channel, REPORTS, threshold - 1, alpha) < 45


def test_keeping_the_most_voted_is_worth_49_by_the_corrected_lemma() -> None:
    assert top_k(FULL, REPORTS, KEPT, 0.95) == 49


def test_the_lemma_as_printed_certifies_nothing() -> None:
    assert printed_k(FULL, REPORTS, KEPT, 0.95) is None
    votes = np.arange(1, 4000)
    as_printed = Fraction(FULL.subset_size - 2, FULL.candidates)
    above: NDArray[np.float64] = np.asarray(binom.sf(votes - 1, CONTRIBUTIONS, float(as_printed)))
    reached: NDArray[np.float64] = np.asarray(binom.sf(KEPT - 1, FULL.candidates, above))
    threshold = reached - np.append(reached[1:], 0.0)
    assert threshold.sum() == pytest.approx(1)
    nobody, some = (threshold @ kept_chance(FULL.channel, CONTRIBUTIONS, holders, votes) for holders in (0, 45))
    assert nobody == pytest.approx(0.142, abs=5e-4)
    assert some == pytest.approx(0.322, abs=5e-4)


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("holders", [0, 1, 4, 9])
@pytest.mark.parametrize("kind", [Unary, SubsetSelection])
def test_the_chance_to_be_kept_is_that_of_an_enumeration_never_less(
    kind: type[Unary] | type[SubsetSelection], holders: int, epsilon: float
) -> None:
    channel = kind(7, epsilon, 3).channel
    contributions = channel.trials(3) if kind is SubsetSelection else 9
    votes = np.arange(contributions + 2)
    found = kept_chance(channel, contributions, holders, votes)
    for value, least in zip(found.tolist(), votes.tolist(), strict=True):
        exact = exact_chance(channel, contributions, holders, least)
        assert exact <= Fraction(value) or value == 1.0
        assert value <= float(exact) * (1 + 1e-8) + 1e-17


@given(st.integers(1, 12), st.integers(1, 14), st.sampled_from([0.5, 0.9, 0.95, 0.999, 1 - 1e-9]), st.floats(0.2, 6.0))
def test_a_threshold_is_the_fewest_votes_that_an_enumeration_allows(
    reports: int, k: int, alpha: float, epsilon: float
) -> None:
    channel = Unary(5, epsilon, 2).channel
    threshold = release_threshold(channel, reports, k, alpha)
    holders = min(k - 1, reports)
    allowed = Fraction(1 - alpha)
    assert exact_chance(channel, reports, holders, threshold) <= allowed
    assert exact_chance(channel, reports, holders, threshold - 1) > allowed * Fraction(1 - 1e-8)


@given(st.integers(2, 300), st.integers(1, 40), st.floats(0.5, 0.9999), st.floats(1.0, 8.0))
def test_a_threshold_and_its_k_are_inverse(reports: int, k: int, alpha: float, epsilon: float) -> None:
    channel = Unary(50, epsilon, 4).channel
    threshold = release_threshold(channel, reports, k, alpha)
    assert threshold_k(channel, reports, threshold, alpha) >= min(k, reports)
    if k <= reports:
        assert threshold_k(channel, reports, threshold - 1, alpha) < k


def test_more_holders_to_hide_and_more_certainty_take_more_votes_and_no_k_takes_none() -> None:
    thresholds = [release_threshold(FULL.channel, REPORTS, k, 0.95) for k in (0, 1, 10, 45, 1000)]
    assert thresholds == sorted(set(thresholds))
    assert thresholds[0] == 0
    certain = [release_threshold(FULL.channel, REPORTS, 45, alpha) for alpha in (0.9, 0.95, 0.999999)]
    assert certain == sorted(set(certain))


def test_keeping_more_is_worth_less_and_keeping_all_is_worth_nothing() -> None:
    worth = [top_k(FULL, REPORTS, kept, 0.95) for kept in (100, 1000, 10_000)]
    assert worth == sorted(worth, reverse=True)
    assert worth[-1] > 0
    assert top_k(FULL, REPORTS, FULL.candidates, 0.95) == 0
    assert top_k(SubsetSelection(9_900, 10.0, 60), REPORTS, KEPT, 0.95) == 0


def drawn_votes(selection: SubsetSelection, words: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """The votes of one layer whose contributions are these words, jointly, as Subset Selection has them."""
    others = (len(words), selection.subset_size)
    drawn = rng.integers(0, selection.domain - 1, others)
    while len(again := np.flatnonzero((np.diff(np.sort(drawn, axis=1), axis=1) == 0).any(axis=1))):
        drawn[again] = rng.integers(0, selection.domain - 1, (len(again), others[1]))
    drawn += drawn >= words[:, None]
    told = rng.random(len(words)) < float(selection.channel.p)
    drawn[told, 0] = words[told]
    return np.bincount(drawn.ravel(), minlength=selection.domain)[:-1]


def times_kept(selection: SubsetSelection, reports: int, kept: int, holders: int, held: int, layers: int) -> int:
    """In how many of some layers a candidate with so many holders is among the most voted.

    Of the other contributions, `held` are about each of the candidates after it in turn, and the rest about none.
    """
    rng = np.random.default_rng(20240814)
    words = np.full(selection.channel.trials(reports), selection.candidates)
    words[:holders] = 0
    words[holders : holders + held] = 1 + np.arange(held) % 50
    found = 0
    for _ in range(layers):
        votes = drawn_votes(selection, words, rng)
        better, tied = int((votes > votes[0]).sum()), int((votes == votes[0]).sum())
        found += better + int(rng.integers(tied)) < kept
    return found


LAYERS = 1500
"""At a claimed chance of 0.1, a true one of 0.18 is contradicted with a power of more than 99.99 %."""


@pytest.mark.parametrize("held", [0, 300], ids=["nothing else held", "much else held"])
@pytest.mark.parametrize(("epsilon", "reports", "bound"), [(4.0, 100, 5), (5.0, 400, 2)])
def test_fewer_than_k_holders_are_among_the_most_voted_as_rarely_as_claimed(
    epsilon: float, reports: int, bound: int, held: int
) -> None:
    selection = SubsetSelection(1000, epsilon, bound)
    k = top_k(selection, reports, 10, 0.9)
    assert k >= 3
    kept = times_kept(selection, reports, 10, k - 1, held, LAYERS)
    assert binomtest(kept, LAYERS, 0.1, alternative="greater").pvalue > DOUBT


def test_a_wrong_k_is_contradicted_by_the_same_simulation() -> None:
    selection = SubsetSelection(1000, 4.0, 5)
    wrong = 2 * top_k(selection, 100, 10, 0.9) + 1
    kept = times_kept(selection, 100, 10, wrong - 1, 0, LAYERS)
    assert binomtest(kept, LAYERS, 0.1, alternative="greater").pvalue < DOUBT
