"""Frequency oracles: what a report gives away, enumerated, and that drawn sums have the law of real reports' sums.

Power: 250 sums of 60 reports give the mean of a vote to 0.06 sd. A channel that forgets that values may share a column,
whose votes are off by 0.6 sd here, is rejected by the same check.
"""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from neologue.randomizers.channel import Channel
from neologue.studies.baselines.oracles import CountMeanSketch, Hashed, LocalHashing, draw_votes, hash_values

SEEDS = range(40)
REPEATS = 250
SPEAKERS = np.array([30, 12, 0, 5])
REPORTS = 60
LARGEST_Z = 5.0


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_a_hashed_bucket_gives_away_no_more_than_epsilon(epsilon: float) -> None:
    oracle = LocalHashing(epsilon)
    ratios = [
        (oracle.chances(seed, value) / oracle.chances(seed, other)).max()
        for seed, value, other in product(SEEDS, range(4), range(4))
    ]
    assert max(ratios) == pytest.approx(math.exp(epsilon))
    assert all(oracle.chances(seed, 1).sum() == pytest.approx(1.0) for seed in SEEDS)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_a_sketched_vector_gives_away_no_more_than_epsilon(epsilon: float) -> None:
    sketch = CountMeanSketch(epsilon, columns=4)
    worst = 0.0
    for seed, value, other in product(SEEDS, range(4), range(4)):
        law, beside = sketch.chances(seed, value), sketch.chances(seed, other)
        for bits in product((False, True), repeat=4):
            signs = np.array(bits)
            chance, besides = (np.where(signs, positive, 1 - positive).prod() for positive in (law, beside))
            worst = max(worst, chance / besides)
    assert worst == pytest.approx(math.exp(epsilon))


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 8.0])
def test_local_hashing_has_its_published_variance(epsilon: float) -> None:
    """4e^ε/(e^ε - 1)² a report (Wang et al. 2017, table 1), up to the rounding of g."""
    channel = LocalHashing(epsilon).channel
    published = 4 * math.exp(epsilon) / math.expm1(epsilon) ** 2
    assert float(channel.variance(0, 1000)) / channel.gain**2 / 1000 == pytest.approx(published, rel=0.02)


def test_a_sketch_has_its_published_variance() -> None:
    """(m/(m-1))²·((c²-1)/4 + (1/m)(1 - 1/m)) a report about another value, with c = (e^(ε/2)+1)/(e^(ε/2)-1)."""
    m, c = 1024, (math.exp(2.0) + 1) / (math.exp(2.0) - 1)
    channel = CountMeanSketch(4.0, m).channel
    published = (m / (m - 1)) ** 2 * ((c**2 - 1) / 4 + (1 - 1 / m) / m)
    assert float(channel.variance(0, 1000)) / channel.gain**2 / 1000 == pytest.approx(published)


def summed(oracle: LocalHashing | CountMeanSketch, rng: np.random.Generator) -> NDArray[np.int64]:
    """The votes of four values in real reports; whoever speaks of none of them speaks of a fifth."""
    values = np.repeat(np.arange(5), [*SPEAKERS, REPORTS - SPEAKERS.sum()])
    reports: list[Hashed] = [oracle.report(int(value), rng) for value in values]
    votes = np.zeros(4, np.int64)
    for report in reports:
        votes += report.bits[hash_values(report.seed, np.arange(4), len(report.bits))]
    return votes


def worst_z(channel: Channel, votes: NDArray[np.int64]) -> float:
    """How many standard errors the mean votes are from those of a channel, and their variances likewise."""
    mean, variance = channel.mean(SPEAKERS, REPORTS), channel.variance(SPEAKERS, REPORTS)
    off = np.abs(votes.mean(0) - mean) / np.sqrt(variance / len(votes))
    spread = np.abs(votes.var(0, ddof=1) / variance - 1) / math.sqrt(2 / len(votes))
    return float(max(off.max(), spread.max()))


@pytest.mark.parametrize("oracle", [LocalHashing(1.5), CountMeanSketch(3.0, columns=8)], ids=["hashing", "sketch"])
def test_drawn_sums_have_the_law_of_real_reports(oracle: LocalHashing | CountMeanSketch) -> None:
    rng = np.random.default_rng(5)
    real = np.array([summed(oracle, rng) for _ in range(REPEATS)])
    drawn = np.array([draw_votes(oracle.channel, 4, np.arange(4), SPEAKERS, REPORTS, rng) for _ in range(REPEATS)])
    assert worst_z(oracle.channel, real) < LARGEST_Z
    assert worst_z(oracle.channel, drawn) < LARGEST_Z
    forgetful = replace(oracle.channel, q=(1 - oracle.channel.p) / 2)
    assert worst_z(forgetful, real) > LARGEST_Z


def test_reports_about_one_value_are_added_up() -> None:
    sure = Channel(LocalHashing(20.0).channel.p, LocalHashing(20.0).channel.q, 1)
    votes = draw_votes(sure, 3, np.array([1, -1, 1]), np.array([40, 900, 60]), 1000, np.random.default_rng(0))
    assert votes[[0, 2]].max() < 10
    assert 20 < votes[1] < 80
