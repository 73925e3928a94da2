"""The samplers as they run, codes and all, follow the laws that the privacy proof lists."""

from collections.abc import Hashable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from laws import Held, Law, array, fit, selection_law, unary_law, uniform
from neologue.device.sampling import sample
from neologue.entropy import ONE, Entropy, SeededEntropy
from neologue.randomizers.channel import Channel
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Ones, Unary

ALPHA = 1e-4
REPORTS = 3000

SETTINGS = [Unary(4, 1.0, 2), SubsetSelection(4, 1.0, 2), SubsetSelection(4, 2.0, 2)]
"""Subsets of two, and of one, where the translates are more than a detour."""


class Tilted(SeededEntropy):
    """Events happen by twelve points too often."""

    def chances(self, numerator: int, count: int) -> NDArray[np.bool_]:
        return super().chances(numerator + 12 * ONE // 100, count)


class Unshuffled(SeededEntropy):
    """Every order is the order as it is."""

    def permutation(self, count: int) -> NDArray[np.int64]:
        return np.arange(count)


class Overlaid(Unary):
    """Leaves the noise on held candidates, instead of replacing it by the coin."""

    def randomize(self, held: NDArray[np.int64], entropy: Entropy) -> Ones:
        noise = super().randomize(array([]), entropy).positions
        return Ones(np.union1d(noise, held[entropy.chances(ONE // 2, len(held))]))


def outcomes(randomizer: Unary | SubsetSelection, held: Held, entropy: Entropy) -> Iterator[Hashable]:
    """What a server reads in REPORTS reports."""
    for _ in range(REPORTS):
        if isinstance(randomizer, Unary):
            ones = randomizer.decode(randomizer.encode(randomizer.randomize(array(held), entropy)))
            yield frozenset(ones.positions.tolist())
        else:
            moved = randomizer.decode(randomizer.encode(randomizer.randomize(array(held), entropy)))
            chosen = (randomizer.expand(moved.seed) + moved.offsets[:, None]) % randomizer.domain
            yield tuple(frozenset(row) for row in chosen.tolist())


def law(randomizer: Unary | SubsetSelection, held: Held) -> Law[Hashable]:
    if isinstance(randomizer, Unary):
        return dict(unary_law(randomizer, held).items())
    return dict(selection_law(randomizer, held).items())


@pytest.mark.parametrize("randomizer", SETTINGS)
@pytest.mark.parametrize("held", [frozenset({2}), frozenset({3, 0})], ids=str)
def test_reports_follow_the_exact_law(randomizer: Unary | SubsetSelection, held: Held) -> None:
    # Power: the next tests, each of which misses its error with probability below 1e-8.
    assert fit(outcomes(randomizer, held, SeededEntropy(1)), law(randomizer, held)) > ALPHA


@pytest.mark.parametrize("randomizer", SETTINGS)
def test_an_event_that_is_twelve_points_too_likely_is_noticed(randomizer: Unary | SubsetSelection) -> None:
    # λ = 345 on 15, 245 on 99 and 355 on 24 degrees of freedom.
    held = frozenset({3, 0})
    assert fit(outcomes(randomizer, held, Tilted(1)), law(randomizer, held)) < ALPHA


def test_noise_that_is_seven_points_too_likely_is_noticed() -> None:
    # λ = 151 on 15 degrees of freedom.
    held = frozenset({3, 0})
    right, wrong = Unary(4, 1.0, 2), Unary(4, 1.0, 2)
    vars(wrong)["noise"] = right.noise + 7 * ONE // 100
    assert fit(outcomes(wrong, held, SeededEntropy(1)), law(right, held)) < ALPHA


def test_noise_left_on_held_candidates_is_noticed() -> None:
    # Held bits are then 1 with chance .63 instead of .5: λ = 2·3000·.13²/.25 = 405 on 15 degrees of freedom.
    held = frozenset({3, 0})
    assert fit(outcomes(Overlaid(4, 1.0, 2), held, SeededEntropy(1)), law(Unary(4, 1.0, 2), held)) < ALPHA


@pytest.mark.parametrize("randomizer", [SubsetSelection(4, 1.0, 2), SubsetSelection(4, 2.0, 2)])
def test_words_left_in_their_order_are_noticed(randomizer: SubsetSelection) -> None:
    # λ = 748 on 99 and 1870 on 24 degrees of freedom.
    held = frozenset({3, 0})
    assert fit(outcomes(randomizer, held, Unshuffled(1)), law(randomizer, held)) < ALPHA


@pytest.mark.parametrize("randomizer", SETTINGS)
def test_a_sample_that_the_statement_does_not_cover_is_refused(randomizer: Unary | SubsetSelection) -> None:
    for held in ([0, 1, 2], [0, 0], [4], [-1]):
        with pytest.raises(ValueError, match=r"held"):
            randomizer.randomize(array(held), SeededEntropy(1))


# Estimates

HOLDERS = np.array([20, 10, 0, 0])
COHORT = [frozenset({0})] * 10 + [frozenset({0, 1})] * 10 + [frozenset[int]()] * 10


def tallies(randomizer: Unary | SubsetSelection, cohorts: int) -> NDArray[np.int64]:
    """The votes of every candidate, in so many cohorts of the same 30 devices."""
    source = SeededEntropy(2)
    counted = np.zeros((cohorts, randomizer.candidates), np.int64)
    for tally in counted:
        for held in COHORT:
            if isinstance(randomizer, Unary):
                votes = randomizer.votes(randomizer.randomize(array(held), source))
            else:
                votes = randomizer.votes(randomizer.randomize(array(held), source))
            tally += np.bincount(votes, minlength=randomizer.candidates)
    return counted


def deviations(votes: NDArray[np.int64], channel: Channel) -> tuple[float, float]:
    """How far the estimates' mean and the votes' variance are from what the channel says, in standard deviations."""
    cohorts, candidates = votes.shape
    variance = channel.variance(HOLDERS, len(COHORT))
    bias = channel.estimate(votes, len(COHORT)).mean(axis=0) - HOLDERS
    spread = (votes.var(axis=0, ddof=1) / variance).mean() - 1
    return (
        float(np.abs(bias * channel.gain / np.sqrt(variance / cohorts)).max()),
        float(abs(spread) * np.sqrt(candidates * cohorts / 2)),
    )


@pytest.mark.parametrize("randomizer", SETTINGS)
def test_estimates_are_unbiased_and_vary_as_the_channel_says(randomizer: Unary | SubsetSelection) -> None:
    # 120 cohorts. A q that is a quarter too large moves the mean of every estimate by more than 6 standard
    # deviations, and half or twice the trials change the variance by more than 6; 4 are allowed.
    votes = tallies(randomizer, cohorts=120)
    channel = randomizer.channel
    assert max(deviations(votes, channel)) < 4
    assert deviations(votes, replace(channel, q=channel.q * Fraction(5, 4)))[0] > 4
    for wrong in {1, 2, 4} - {channel.contributions}:
        assert deviations(votes, replace(channel, contributions=wrong))[1] > 4


@pytest.mark.parametrize("randomizer", SETTINGS)
@pytest.mark.parametrize("held", [frozenset(), frozenset({1}), frozenset({2}), frozenset({1, 2})], ids=str)
def test_the_channel_has_exactly_the_mean_and_the_variance_of_the_law(
    randomizer: Unary | SubsetSelection, held: Held
) -> None:
    if isinstance(randomizer, Unary):
        reports = [([ones], chance) for ones, chance in unary_law(randomizer, held).items()]
    else:
        reports = [(list(subsets), chance) for subsets, chance in selection_law(randomizer, held).items()]
    # The votes of one report for candidate 1, which the device holds or not.
    votes = [(sum(1 in subset for subset in report), chance) for report, chance in reports]
    mean = sum(chance * count for count, chance in votes)
    variance = sum(chance * (count - mean) ** 2 for count, chance in votes)
    holders = int(1 in held)
    assert float(randomizer.channel.mean(holders, 1)) == pytest.approx(float(mean), rel=1e-12)
    assert float(randomizer.channel.variance(holders, 1)) == pytest.approx(float(variance), rel=1e-12)


# Which prefixes a device reports on


def test_the_random_sampler_takes_every_subset_alike_and_greedy_breaks_ties_alike() -> None:
    # Always taking the first of those that tie has λ > 3000.
    prefixes, source = array([10, 11, 12, 13]), SeededEntropy(3)

    def drawn(sampler: str, times: list[int]) -> Iterator[tuple[int, ...]]:
        for _ in range(1500):
            yield tuple(sorted(sample(prefixes, array(times), 2, sampler, source).tolist()))

    pairs = uniform(tuple(pair) for pair in combinations((10, 11, 12, 13), 2))
    assert fit(drawn("random", [9, 1, 1, 1]), pairs) > ALPHA
    assert fit(drawn("greedy", [3, 3, 3, 3]), pairs) > ALPHA
    assert fit(drawn("greedy", [1, 3, 1, 1]), uniform(pair for pair in pairs if 11 in pair)) > ALPHA
    assert set(drawn("greedy", [1, 3, 2, 1])) == {(11, 12)}
