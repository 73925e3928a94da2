"""Estimates: intervals that allow for a word's having been selected."""

import numpy as np
import pytest

from neologue.discovery.estimates import VoteLaw, estimate_holders
from neologue.randomizers.unary import Unary

USERS, REPORTS = 200_000, 20_000
CHANNEL = Unary(1000, 6.0, 60).channel
LAW = VoteLaw(CHANNEL, REPORTS, USERS)


def drawn_votes(holders: int, repeats: int, seed: int) -> np.ndarray:
    """The votes for a word in cohorts drawn from a population with so many holders."""
    rng = np.random.default_rng(seed)
    in_group = rng.hypergeometric(holders, USERS - holders, REPORTS, repeats)
    return rng.binomial(in_group, float(CHANNEL.p)) + rng.binomial(REPORTS - in_group, float(CHANNEL.q))


@pytest.mark.parametrize("holders", [0, 500, 5000, 100_000, USERS])
def test_the_moments_of_the_votes_are_right(holders: int) -> None:
    votes = drawn_votes(holders, 40_000, seed=1)
    mean, variance = LAW.moments(holders)
    # 40,000 repeats: the mean is known to 0.005 sd, the variance to 0.7 %.
    assert abs(votes.mean() - mean) < 5 * np.sqrt(variance / 40_000)
    assert votes.var() == pytest.approx(float(variance), rel=0.035)


@pytest.mark.parametrize("holders", [300, 600, 900, 1500, 3000, 20_000])
def test_intervals_of_released_words_hold_the_truth_as_often_as_they_say(holders: int) -> None:
    threshold = 80
    votes = drawn_votes(holders, 60_000, seed=holders)
    released = votes[votes >= threshold][:4000]
    found = estimate_holders(LAW, released, np.full(len(released), threshold))
    covered = ((found.low <= holders) & (holders <= found.high)).mean()
    # The sd of the share among 4000 (300 holders: 500) is 0.35 % (1 %).
    assert covered > 0.935
    assert (found.low <= found.estimate).all()
    assert (found.estimate <= found.high).all()


def test_plain_intervals_would_not_hold_the_truth_of_rarely_released_words() -> None:
    holders, threshold = 300, 80
    votes = drawn_votes(holders, 60_000, seed=holders)
    released = votes[votes >= threshold]
    plain = CHANNEL.estimate(released, REPORTS) * USERS / REPORTS
    spread = 1.96 * np.sqrt(LAW.moments(plain)[1]) / CHANNEL.gain * USERS / REPORTS
    assert ((plain - spread <= holders) & (holders <= plain + spread)).mean() < 0.8


def test_near_the_threshold_the_interval_reaches_far_down_and_far_above_it_does_not() -> None:
    votes = np.array([80, 400])
    found = estimate_holders(LAW, votes, np.array([80, 80]))
    plain = CHANNEL.estimate(votes, REPORTS) * USERS / REPORTS
    assert np.allclose(found.estimate, plain)
    assert found.low[0] == 0
    assert found.low[1] > 0.75 * plain[1]


def test_extreme_votes_have_estimates_within_the_population() -> None:
    found = estimate_holders(LAW, np.array([0, 1, REPORTS]), np.array([0, 0, 5]))
    assert (found.low >= 0).all()
    assert (found.high <= USERS).all()
    assert np.isfinite(found.estimate).all()


@pytest.mark.parametrize("holders", [2000, 5000, 50_000])
def test_estimates_are_right_on_average_where_release_is_sure(holders: int) -> None:
    votes = drawn_votes(holders, 20_000, seed=2)
    found = estimate_holders(LAW, votes, np.full(len(votes), 80)).estimate
    sd = float(np.sqrt(LAW.moments(holders)[1])) / CHANNEL.gain * USERS / REPORTS
    assert abs(found.mean() - holders) < 5 * sd / np.sqrt(20_000)


def test_a_released_word_is_never_estimated_at_nobody() -> None:
    found = estimate_holders(LAW, np.array([80, 81, 90]), np.array([80, 80, 80]))
    assert (found.estimate > 0).all()
