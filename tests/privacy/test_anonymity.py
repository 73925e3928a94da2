"""k-anonymity: thresholds on votes, exactly, and what keeping the most voted is worth."""

from bisect import bisect_left
from dataclasses import replace
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.stats import binom, binomtest

from neologue.campaign.profiles import profile
from neologue.discovery.result import LayerFacts
from neologue.privacy.anonymity.thresholds import (
    AnonymityPromise,
    expected_kept,
    kept_chance,
    printed_k,
    release_threshold,
    top_k,
    unique_threshold,
)
from neologue.privacy.statement import Exposure, privacy_statement
from neologue.randomizers.channel import Channel
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary
from neologue.release.facts import privacy_facts

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
    assert release_threshold(FULL.channel, REPORTS, 45, 1 - alpha) == threshold
    assert chance_of(44, threshold) <= 1 - alpha
    assert threshold_k(FULL.channel, REPORTS, threshold, alpha) >= 45


@pytest.mark.parametrize(("alpha", "threshold"), [(0.95, 1449), (1 - 1e-6, 1568)])
def test_a_threshold_one_lower_violates_it(alpha: float, threshold: int) -> None:
    assert chance_of(44, threshold - 1) > 1 - alpha
    assert threshold_k(FULL.channel, REPORTS, threshold - 1, alpha) < 45


def test_keeping_the_most_voted_is_worth_49_by_the_corrected_lemma() -> None:
    assert top_k(FULL, REPORTS, KEPT, 0.05) == 49


def test_the_lemma_as_printed_certifies_nothing() -> None:
    assert printed_k(FULL, REPORTS, KEPT, 0.05) is None
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
    threshold = release_threshold(channel, reports, k, 1 - alpha)
    holders = min(k - 1, reports)
    allowed = Fraction(1 - alpha)
    assert exact_chance(channel, reports, holders, threshold) <= allowed
    assert exact_chance(channel, reports, holders, threshold - 1) > allowed * Fraction(1 - 1e-8)


@given(st.integers(2, 300), st.integers(1, 40), st.floats(0.5, 0.9999), st.floats(1.0, 8.0))
def test_a_threshold_and_its_k_are_inverse(reports: int, k: int, alpha: float, epsilon: float) -> None:
    channel = Unary(50, epsilon, 4).channel
    threshold = release_threshold(channel, reports, k, 1 - alpha)
    assert threshold_k(channel, reports, threshold, alpha) >= min(k, reports)
    if k <= reports:
        assert threshold_k(channel, reports, threshold - 1, alpha) < k


def test_more_holders_to_hide_and_more_certainty_take_more_votes_and_no_k_takes_none() -> None:
    thresholds = [release_threshold(FULL.channel, REPORTS, k, 0.05) for k in (0, 1, 10, 45, 1000)]
    assert thresholds == sorted(set(thresholds))
    assert thresholds[0] == 0
    certain = [release_threshold(FULL.channel, REPORTS, 45, 1 - alpha) for alpha in (0.9, 0.95, 0.999999)]
    assert certain == sorted(set(certain))


def test_keeping_more_is_worth_less_and_keeping_all_is_worth_nothing() -> None:
    worth = [top_k(FULL, REPORTS, kept, 0.05) for kept in (100, 1000, 10_000)]
    assert worth == sorted(worth, reverse=True)
    assert worth[-1] > 0
    assert top_k(FULL, REPORTS, FULL.candidates, 0.05) == 0
    assert top_k(SubsetSelection(9_900, 10.0, 60), REPORTS, KEPT, 0.05) == 0


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
    k = top_k(selection, reports, 10, 0.1)
    assert k >= 3
    kept = times_kept(selection, reports, 10, k - 1, held, LAYERS)
    assert binomtest(kept, LAYERS, 0.1, alternative="greater").pvalue > DOUBT


def test_a_wrong_k_is_contradicted_by_the_same_simulation() -> None:
    selection = SubsetSelection(1000, 4.0, 5)
    wrong = 2 * top_k(selection, 100, 10, 0.1) + 1
    kept = times_kept(selection, 100, 10, wrong - 1, 0, LAYERS)
    assert binomtest(kept, LAYERS, 0.1, alternative="greater").pvalue < DOUBT


@pytest.mark.parametrize(
    ("epsilon", "reports", "unique", "ten"),
    [
        (10, 20_460, 10, 9),
        (10, 100_000, 19, 14),
        (9.7, 250_000, 39, 28),
        (7.25, 250_000, 246, 205),
        (7, 819_558, 882, 797),
    ],
)
def test_a_unique_word_needs_more_votes_than_ten_anonymity_gives(
    epsilon: float, reports: int, unique: int, ten: int
) -> None:
    channel = Unary(1000, epsilon, 60).channel
    promise = AnonymityPromise(10, 0.95, 1e-6)
    assert promise.votes_for_unique(channel, reports) == promise.votes_needed(channel, reports) == unique
    assert promise.votes_for_k(channel, reports) == ten
    one = [float(kept_chance(channel, reports, 1, np.array([votes]))[0]) for votes in (unique, unique - 1)]
    assert one[0] <= 1e-6 < one[1]


@given(st.integers(1, 10), st.integers(0, 12), st.sampled_from([0.3, 0.01, 1e-6]), st.floats(0.2, 6.0), st.booleans())
def test_a_unique_threshold_is_the_fewest_votes_that_an_enumeration_allows(
    reports: int, hostile: int, chance: float, epsilon: float, selection: bool
) -> None:
    channel = (SubsetSelection(7, epsilon, 2) if selection else Unary(5, epsilon, 2)).channel
    threshold = unique_threshold(channel, reports, hostile, chance)
    hostile = min(hostile, reports - 1)
    made_up, honest = channel.trials(hostile), channel.trials(reports - hostile)
    assert exact_chance(channel, honest, 1, threshold - made_up) <= Fraction(chance)
    assert exact_chance(channel, honest, 1, threshold - 1 - made_up) > Fraction(chance) * Fraction(1 - 1e-8)


def test_no_promise_takes_no_votes_and_passes_and_hostile_devices_take_more() -> None:
    channel = Unary(1000, 8.0, 60).channel
    assert unique_threshold(channel, 100_000, 5, 0.0) == 0
    votes = [
        AnonymityPromise(0, 0.95, 1e-6, hostile, passes).votes_needed(channel, 100_000)
        for hostile, passes in ((0, 1), (1, 1), (1, 3), (9, 3))
    ]
    assert votes == sorted(set(votes))
    assert votes[1] == votes[0] + 1


PASSES, WORDS = 2, 200_000
"""At a claimed chance of 0.05, a true one of 0.055 is contradicted with a power of more than 99.99 %."""


def shown_words(
    promise: AnonymityPromise, passes: int, epsilon: float, reports: int, holders: int, made_up: int
) -> int:
    """How many of the words that so many report in every pass, and hostile devices besides, are shown by some pass."""
    rng = np.random.default_rng(1976)
    channel = Unary(1000, epsilon, 60).channel
    others, p, q = reports - holders - made_up, float(channel.p), float(channel.q)
    needed = promise.votes_needed(channel, reports)
    votes = made_up + rng.binomial(holders, p, (passes, WORDS)) + rng.binomial(others, q, (passes, WORDS))
    return int((votes >= needed).any(axis=0).sum())


@pytest.mark.parametrize(("epsilon", "reports"), [(7.0, 100_000), (7.0, 819_558), (9.7, 250_000)])
def test_nine_holders_in_each_of_two_passes_are_published_as_rarely_as_claimed(epsilon: float, reports: int) -> None:
    found = shown_words(AnonymityPromise(10, 0.95, passes=PASSES), PASSES, epsilon, reports, 9, 0)
    assert binomtest(found, WORDS, 0.05, alternative="greater").pvalue > DOUBT


@pytest.mark.parametrize(("epsilon", "reports"), [(7.0, 100_000), (7.0, 819_558), (9.7, 250_000)])
def test_thresholds_for_one_pass_are_contradicted_by_the_same_words(epsilon: float, reports: int) -> None:
    found = shown_words(AnonymityPromise(10, 0.95), PASSES, epsilon, reports, 9, 0)
    assert found > 0.07 * WORDS
    assert binomtest(found, WORDS, 0.05, alternative="greater").pvalue < DOUBT


def test_a_unique_word_with_hostile_votes_is_shown_as_rarely_as_claimed_and_not_with_more_of_them() -> None:
    promise = AnonymityPromise(0, 0.95, 0.02, hostile_devices=5, passes=PASSES)
    found, more, per_pass = (
        shown_words(told, PASSES, 8.0, 50_000, 1, made_up)
        for told, made_up in ((promise, 5), (promise, 8), (AnonymityPromise(0, 0.95, 0.02, 5), 5))
    )
    assert binomtest(found, WORDS, 0.02, alternative="greater").pvalue > DOUBT
    for too_many in (more, per_pass):
        assert binomtest(too_many, WORDS, 0.02, alternative="greater").pvalue < DOUBT


def largest_expectation(channel: Channel, reports: int, candidates: int, held: int, k: int, votes: int) -> float:
    """The same as a linear programme: how many candidates have 0, 1, …, k - 1 holders at the worst."""
    holders = np.arange(min(k, reports + 1))
    reached = [float(kept_chance(channel, reports, int(number), np.array([votes]))[0]) for number in holders]
    worst = linprog(-np.array(reached), A_ub=[np.ones(len(holders)), holders], b_ub=[candidates, held])
    assert worst.fun is not None
    return float(-worst.fun)


@pytest.mark.parametrize("held", [0, 3_000, 40_000, 10_000_000])
@pytest.mark.parametrize("votes", [0, 4, 12, 60])
def test_the_expected_number_of_strings_below_k_is_that_of_the_worst_population(held: int, votes: int) -> None:
    channel = Unary(10_000, 6.0, 60).channel
    worst = largest_expectation(channel, 5_000, 10_000, held, 10, votes)
    assert expected_kept(channel, 5_000, 10_000, held, 10, votes) == pytest.approx(worst, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("held", [3_000, 400_000])
def test_for_a_large_k_the_expected_number_is_never_understated(held: int) -> None:
    channel = Unary(10_000, 6.0, 60).channel
    worst = largest_expectation(channel, 5_000, 10_000, held, 500, 200)
    assert worst <= expected_kept(channel, 5_000, 10_000, held, 500, 200) <= 2 * worst


def votes_law(channel: Channel, reports: int, holders: int) -> NDArray[np.float64]:
    """The chances of 0, 1, 2, … votes of a word that so many of a layer's users report."""
    held = binom.pmf(np.arange(holders + 1), holders, float(channel.p))
    noise = binom.pmf(np.arange(200), reports - holders, float(channel.q))
    return np.asarray(np.convolve(held, noise))


def test_the_expected_number_counts_words_that_only_the_votes_of_several_layers_release() -> None:
    users, words, k, looks = 1400, 1000, 10, 2
    parameters = replace(
        profile("neologue").parameters, epsilon=8.0, layers=looks, allocation="filled", k_anonymity=k, unique_chance=0.0
    )
    channel, promise = Unary(words, 8.0, 60).channel, parameters.anonymity
    # Nine users of the first layer report each word, and nobody of the second.
    released, chances, law = 0.0, [], votes_law(channel, users, k - 1)
    for look in range(1, looks + 1):
        needed = promise.summed_votes_needed(channel, (users,) * look, looks - look)
        chances.append(float(law[needed:].sum()))
        released += words * chances[-1]
        law = np.convolve(law[:needed], votes_law(channel, users, 0))
    each_alone = expected_kept(channel, users, words, users * 60, k, promise.votes_for_k(channel, users))
    assert released > 1.3 * looks * each_alone, "the test has power: layer by layer is too few"
    layers = [
        LayerFacts(1, number, 0, 0, words, users, users, 0, 0, 0, decided=True, digest="00")
        for number in range(1, looks + 1)
    ]
    facts = privacy_facts(parameters, layers, None, Exposure())
    stated: Any = privacy_statement(facts)
    assert released <= stated["k_anonymity"]["expected_below_k"] <= 3 * released
    for chance, row in zip(chances, stated["thresholds"], strict=True):
        assert chance <= row["below_k"] <= 1 - parameters.alpha
    of_two_passes = [layers[0], replace(layers[0], pass_number=2)]
    layer = votes_law(channel, users, k - 1)
    together = float(np.convolve(layer, layer)[promise.summed_votes_needed(channel, (users, users), 0) :].sum())
    assert together > 0.7, "nine in each of two layers are eighteen, who are more than k"
    assert "to the layers that judge it" in stated["k_anonymity"]["covers"]
    apart: Any = privacy_statement(privacy_facts(parameters, of_two_passes, None, Exposure()))["k_anonymity"]
    assert apart["expected_below_k"] < released, "words of another pass are not judged again"
