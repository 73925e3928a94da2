"""Central partition selection: the optimal probabilities of its paper, and the exact laws of its noise."""

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from neologue.studies.baselines.partition_selection import Gaussian, TruncatedGeometric, noise_for


def optimal(epsilon: float, delta: float, most: int) -> list[float]:
    """The largest chances with which words of 0, 1, … holders can be published (Desfontaines et al., Theorem 1)."""
    chances = [0.0]
    for _ in range(most):
        last = chances[-1]
        chances.append(min(math.exp(epsilon) * last + delta, 1 - math.exp(-epsilon) * (1 - last - delta), 1.0))
    return chances


def published(noise: TruncatedGeometric, holders: int) -> float:
    return float(noise.law[max(0, 2 * noise.threshold + 1 - holders) :].sum())


@pytest.mark.parametrize(("epsilon", "k"), [(0.5, 40), (1.0, 20), (math.log(3), 6)])
def test_words_are_published_as_often_as_is_possible_at_all(epsilon: float, k: int) -> None:
    decay = math.exp(-epsilon)
    delta = decay**k * (1 - decay) / (1 + decay - 2 * decay ** (k + 1))
    noise = TruncatedGeometric(epsilon, delta * (1 + 1e-12))
    assert noise.threshold == k
    chances = [published(noise, holders) for holders in range(2 * k + 2)]
    assert chances == pytest.approx(optimal(epsilon, delta, 2 * k + 1), rel=1e-6)
    assert chances[1] == pytest.approx(delta)
    assert chances[-1] == pytest.approx(1.0)


def law_of_release(noise: TruncatedGeometric, holders: int, size: int) -> NDArray[np.float64]:
    """P(published count), and at 0 the chance of no publication."""
    law = np.zeros(size)
    for shift, chance in zip(range(-noise.threshold, noise.threshold + 1), noise.law, strict=True):
        law[holders + shift if holders and holders + shift > noise.threshold else 0] += chance
    return law


@pytest.mark.parametrize(("epsilon", "delta"), [(0.7, 1e-3), (2.0, 1e-6)])
def test_a_published_count_keeps_the_promise_for_every_number_of_holders(epsilon: float, delta: float) -> None:
    noise = TruncatedGeometric(epsilon, delta)
    k = noise.threshold
    laws = [law_of_release(noise, holders, 5 * k + 5) for holders in range(3 * k + 3)]
    for law, beside in [*pairwise(laws), *pairwise(laws[::-1])]:
        assert np.maximum(law - math.exp(epsilon) * beside, 0).sum() <= delta * (1 + 1e-9)
    lax = law_of_release(TruncatedGeometric(1.5 * epsilon, delta), 1 + k // 2, 5 * k + 5)
    beside = law_of_release(TruncatedGeometric(1.5 * epsilon, delta), k // 2, 5 * k + 5)
    assert np.maximum(lax - math.exp(epsilon) * beside, 0).sum() > delta


def test_noise_has_its_law() -> None:
    noise = TruncatedGeometric(0.8, 1e-3)
    drawn = noise.draw(100_000, np.random.default_rng(3))
    counts = np.bincount((drawn + noise.threshold).astype(np.int64), minlength=len(noise.law))
    z = (counts - 100_000 * noise.law) / np.sqrt(100_000 * noise.law * (1 - noise.law))
    assert np.abs(z).max() < 5


def test_few_counts_have_geometric_noise_and_many_normal_noise() -> None:
    """Google's library changes over from 3 to 4 counts; here the one that publishes more is taken."""
    assert isinstance(noise_for(1.0, 1e-10, 2), TruncatedGeometric)
    assert isinstance(noise_for(1.0, 1e-10, 120), Gaussian)
    # ε' = 1/2 and δ' = 5e-11: ln((e^½ - 1)/((e^½ + 1)·5e-11)) / ½ = 44.6.
    assert noise_for(1.0, 1e-10, 2).threshold == 45


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 5.0])
@pytest.mark.parametrize("changed", [2, 120])
def test_normal_noise_costs_what_it_may(epsilon: float, changed: int) -> None:
    noise = Gaussian.of(epsilon, 1e-10, changed)
    assert epsilon * (1 - 1e-6) < noise.epsilon(changed, 1e-10) <= epsilon * (1 + 1e-9)
    # δ of the noise alone by its closed form (Balle and Wang 2018), and of the words that nobody else holds.
    distance = math.sqrt(changed) / noise.deviation
    a, b = distance / 2 - epsilon / distance, -distance / 2 - epsilon / distance
    assert norm.cdf(a) - math.exp(epsilon) * norm.cdf(b) <= 0.5e-10 * (1 + 1e-6)
    alone = norm.sf((noise.threshold - 1) / noise.deviation)
    assert -math.expm1(changed / 2 * math.log1p(-alone)) == pytest.approx(0.5e-10)
