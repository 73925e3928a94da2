"""Central baselines with weights: how much one user changes them, their thresholds, and a pinned figure for each."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from neologue.studies.baselines.adaptive_weighting import (
    TwoRoundAdaptiveWeighting,
    adaptive_weights,
    novel_weight,
    sensitivity,
)
from neologue.studies.baselines.dp_sips import DpSips
from neologue.studies.baselines.weighted_gaussian import Floats, NoisyRounds, norm_weight

EPSILON, DELTA = math.log(3), 1e-8
MOST, WORDS, KEEPS = 4, 9, 1.2
Users = list[list[int]]


def weights(users: Users, divisor: int = MOST, keeps: float = KEEPS) -> Floats:
    sizes = np.array([len(words) for words in users], np.int64)
    reported = np.array([word for words in users for word in words], np.int32)
    return adaptive_weights(lambda: [(sizes, reported)], WORDS, divisor, keeps)


def crowds(count: int) -> list[Users]:
    """Users of whom many hold word 0 alone, so that its excess is large, and others hold it with rarer words."""
    rng = np.random.default_rng(5)
    found = []
    for _ in range(count):
        alone = [[0]] * int(rng.integers(0, 6))
        users = [
            sorted({0, *rng.choice(WORDS - 1, int(rng.integers(0, MOST)), replace=False).tolist()})[:MOST]
            for _ in range(rng.integers(0, 8))
        ]
        found.append([*alone, *users])
    return found


def test_one_user_changes_adaptive_weights_by_no_more_than_the_noise_is_made_for() -> None:
    """400 crowds, each with users of 1 to 4 words added and exchanged; a hand-over that is too large is noticed."""
    rng = np.random.default_rng(6)
    added, exchanged, careless = [], [], []
    for users in crowds(400):
        one = sorted(rng.choice(WORDS, int(rng.integers(1, MOST + 1)), replace=False).tolist())
        other = sorted(rng.choice(WORDS, int(rng.integers(1, MOST + 1)), replace=False).tolist())
        before, with_one, with_other = weights(users), weights([*users, one]), weights([*users, other])
        assert (with_one >= before - 1e-12).all(), "no weight shrinks, so two users' changes are at most √2 apart"
        added.append(np.linalg.norm(with_one - before))
        exchanged.append(np.linalg.norm(with_one - with_other))
        careless.append(np.linalg.norm(weights([*users, one], 1) - weights(users, 1)))
    assert max(added) <= sensitivity(MOST)
    assert 1.2 < max(exchanged) <= math.sqrt(2) * sensitivity(MOST)
    assert max(careless) > sensitivity(MOST)


def test_the_bound_on_the_change_is_met_by_a_user_among_others_with_the_same_words() -> None:
    """One word gets A = 1/4 cut off; all of it comes back to users with the same four words, who spread it evenly.

    Only word 0 is above what it keeps. With many users of these four words, the change is (1/2 - a + A/4) for each
    word, a = 1/4 for word 0 alone: √((1/2 - 1/4 + 1/16)² + 3·(1/2 + 1/16)²) = 1.0232. The bound is √(1 + 1/16).
    """
    same = [[0, 1, 2, 3]] * 4000
    users = [*same, [0, 5]]
    change = np.linalg.norm(weights([*users, [0, 1, 2, 3]], keeps=1000.4) - weights(users, keeps=1000.4))
    assert 1.02 < change <= sensitivity(MOST) == pytest.approx(math.sqrt(1 + 1 / 16))


def test_adaptive_weights_of_an_example_worked_out_by_hand() -> None:
    """Ten users hold word 0 alone, two hold 0 and 1. Word 0 starts with 11, keeps 5 and returns 6/11 of the rest.

    A user with both words gets ½·6/11 back and gives a quarter of it to each: word 1 has 2·½ + 2·(1/√2 - ½) + 2·3/44.
    Word 0 keeps 5, has 2·(1/√2 - ½) too, and gets (10·6/11 + 2·3/11)/4 = 3/2 back.
    """
    found = weights([*[[0]] * 10, [0, 1], [0, 1]], keeps=5.0)
    assert found[0] == pytest.approx(5 + math.sqrt(2) - 1 + 3 / 2)
    assert found[1] == pytest.approx(math.sqrt(2) + 6 / 44)
    assert not found[2:].any()


def test_a_word_of_one_user_alone_weighs_no_more_than_the_threshold_allows_for() -> None:
    for users in crowds(100):
        for alone in range(1, MOST + 1):
            mine = [*range(WORDS - alone, WORDS), *range(MOST - alone)]
            others = [[word for word in words if word < WORDS - alone] for words in users]
            found = weights([*filter(None, others), mine])[WORDS - alone :]
            assert found.max() <= novel_weight(MOST, np.array([alone]))[0] + 1e-12


@pytest.mark.parametrize(
    "rounds",
    [
        NoisyRounds(EPSILON, DELTA, 60),
        NoisyRounds(EPSILON, DELTA, 60, (0.1, 0.9), sensitivity(60)),
        NoisyRounds(3.0, 1e-10, 60, (0.1, 0.3, 0.6)),
    ],
)
def test_rounds_cost_what_they_may(rounds: NoisyRounds) -> None:
    assert rounds.epsilon * (1 - 1e-6) < rounds.spent() <= rounds.epsilon * (1 + 1e-9)
    distance = math.sqrt(2) * rounds.sensitivity
    together = sum((distance / rounds.deviation(number)) ** 2 for number in range(len(rounds.shares)))
    # δ of normal noise by its closed form (Balle and Wang 2018).
    mu, epsilon = math.sqrt(together), rounds.epsilon
    spent = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    assert 0.99 * rounds.delta / 2 < spent <= rounds.delta / 2
    log_hidden = 0.0
    for number in range(len(rounds.shares)):
        above = rounds.threshold(number, norm_weight) - norm_weight(np.arange(1, 61))
        log_hidden += float(np.min(np.arange(1, 61) * norm.logcdf(above / rounds.deviation(number))))
    assert 0.99 * rounds.delta / 2 < -math.expm1(log_hidden) <= rounds.delta / 2 * (1 + 1e-6)


def deviation(sensitivity_of_one: float) -> float:
    """σ from Balle and Wang's closed form for users who are replaced."""

    def excess(mu: float) -> float:
        epsilon = EPSILON - DELTA / 2
        return float(norm.cdf(mu / 2 - epsilon / mu) - 3 * norm.cdf(-mu / 2 - epsilon / mu)) - DELTA / 2

    return math.sqrt(2) * sensitivity_of_one / float(brentq(excess, 0.1, 1.0, xtol=1e-12))


def test_the_threshold_of_each_baseline_at_ln_3() -> None:
    """In users who hold a word among 60, each of whom gives it 1/√60; t = 60 words of one user alone decide.

    Weighted Gaussian: σ = 6.754 and Φ⁻¹((1 - δ/2)^(1/60)) = 6.389: √60·(0.129 + 43.151) = 335.2. The last
    round of DP-SIPS has 1/1.39 of the privacy, that of MAD2R .9: more noise, for the words that are left.
    """
    sips, two_rounds = DpSips(), TwoRoundAdaptiveWeighting()
    thresholds = {
        "weighted-gaussian": (1.0, 1.0),
        sips.name: (1.0, 1 / 1.39),
        "mad": (sensitivity(60), 1.0),
        two_rounds.name: (sensitivity(60), two_rounds.shares[-1]),
    }
    users = {}
    for name, (change, share) in thresholds.items():
        sigma = deviation(change) / math.sqrt(share)
        mine = 1 / math.sqrt(60) + sigma * float(norm.isf(share * DELTA / 2 / 60))
        rounds = NoisyRounds(EPSILON, DELTA, 60, (1 - share, share) if share < 1 else (1.0,), change)
        assert rounds.threshold(len(rounds.shares) - 1, norm_weight) == pytest.approx(mine, rel=1e-4)
        users[name] = math.ceil(mine * math.sqrt(60))
    assert users == {"weighted-gaussian": 336, "dp-sips": 399, "mad": 336, "mad2r": 355}
