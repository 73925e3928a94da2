"""TrieHH: the parameters that its authors published, and its promise checked against the exact law of a round."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import hypergeom

from neologue.errors import ParameterError
from neologue.randomizers.channel import Floats
from neologue.studies.baselines.triehh import Sampling

Integers = NDArray[np.int64]


def test_the_published_parameters_come_out() -> None:
    """ε = 4, δ = 2.3e-12 and words of 10 symbols: θ = 15, and 2.2 % of users a round (github.com/triehh/triehh)."""
    sampling = Sampling.of(1_781_000, 4.0, 2.3e-12, 10)
    assert sampling.threshold == 15
    assert sampling.batch / sampling.users == pytest.approx((1 - math.exp(-0.4)) / 15, rel=1e-4)
    assert sampling.delta < 2.3e-12 < 12 / (11 * math.factorial(14))
    assert sampling.epsilon == pytest.approx(4.0, abs=1e-3)
    gamma = sampling.batch / math.sqrt(sampling.users)
    assert sampling.epsilon == pytest.approx(10 * math.log(1 + 1 / (math.sqrt(sampling.users) / (gamma * 15) - 1)))


def kept(sampling: Sampling, holders: Integers, others: Integers) -> Floats:
    """P(neither kept, only the first, only the second, both) of two prefixes that so many users would vote for."""
    users, batch, threshold = sampling.users, sampling.batch, sampling.threshold
    first = hypergeom.sf(threshold - 1, users, holders, batch)
    second = hypergeom.sf(threshold - 1, users, others, batch)
    votes = np.arange(threshold)[:, None]
    beside = hypergeom.sf(threshold - 1, users - holders, others, batch - votes)
    only_second = np.sum(hypergeom.pmf(votes, users, holders, batch) * beside, axis=0)
    both = second - only_second
    return np.array([1 - first - only_second, first - both, only_second, both])


def excess(sampling: Sampling) -> float:
    """The largest δ of a round at its share of ε, over users who speak of one word instead of another."""
    grid = np.unique(np.geomspace(sampling.threshold, sampling.users / 8, 24).astype(np.int64))
    holders, others = (values.ravel() for values in np.meshgrid(grid, [0, sampling.threshold - 1, *grid[::8]]))
    law, beside = kept(sampling, holders, others), kept(sampling, holders - 1, others + 1)
    growth = math.exp(sampling.epsilon / sampling.rounds)
    return max(
        float(np.maximum(chances - growth * besides, 0).sum(0).max())
        for chances, besides in ((law, beside), (beside, law))
    )


@pytest.mark.parametrize(("users", "epsilon", "rounds"), [(20_000, 4.0, 10), (20_000, 10.0, 16), (20_000, 1.0, 16)])
def test_the_exact_law_of_a_round_keeps_the_promise(users: int, epsilon: float, rounds: int) -> None:
    """For a user who speaks of another word, and so takes a vote from one prefix and gives one to another."""
    sampling = Sampling.of(users, epsilon, 1e-10, rounds)
    assert rounds * excess(sampling) <= sampling.delta
    # One who lets three votes do, and takes that for the same privacy, is caught.
    lax = replace(sampling, threshold=3, batch=sampling.batch * sampling.threshold // 3)
    assert lax.epsilon == pytest.approx(sampling.epsilon, rel=0.01)
    assert rounds * excess(lax) > sampling.delta


def test_a_large_epsilon_raises_the_threshold() -> None:
    """The theorem needs batches of at most n/(θ + 1)."""
    sampling = Sampling.of(100_000, 10.0, 1e-5, 3)
    assert math.exp(10.0 / 3) <= sampling.threshold + 1
    assert sampling.batch <= sampling.users / (sampling.threshold + 1)


def test_too_few_users_are_refused() -> None:
    with pytest.raises(ParameterError, match="150 users are too few"):
        Sampling.of(150, 1.0, 1e-10, 10)
