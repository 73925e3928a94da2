"""Limits on the sums of masking groups: honest groups keep them, whatever they hold, and hostile ones gain little."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from neologue.errors import ParameterError
from neologue.masking.rules import GroupRules
from neologue.masking.terms import MOST_ENTRIES
from neologue.privacy.group_limits import TOTALS, candidate_limit, hostile_votes, sum_limits
from neologue.randomizers.channel import Channel
from neologue.randomizers.randomizer import Randomizer
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary

GROUPS = 600
ALLOWED = -41 * math.log(2) - math.log(GROUPS)
"""The logarithm of the chance of one kind of limit in one group."""


def log_tail(held: int, others: int, channel: Channel, above: int) -> float:
    """The logarithm of P(Bin(held, p) + Bin(others, q) > above), as a sum over the second."""
    p, q = float(channel.p), float(channel.q)
    noise = np.arange(min(others, 400) + 1)
    terms = stats.binom.logpmf(noise, others, q) + stats.binom.logsf(above - noise, held, p)
    return float(np.logaddexp.reduce(terms))


@pytest.mark.parametrize("devices", [2, 6, 20, 70, 100, 500, 2000])
@pytest.mark.parametrize("epsilon", [0.5, 4.0, 7.0, 10.0])
def test_what_every_honest_device_holds_stays_below_the_limit(devices: int, epsilon: float) -> None:
    channel = Unary(100_000, epsilon, 60).channel
    limit = candidate_limit(channel, devices, GROUPS)
    allowed = ALLOWED - math.log(MOST_ENTRIES)
    assert limit == devices or log_tail(devices, 0, channel, limit) <= allowed
    # Chernoff's bound is near the truth: a limit that is lower by a few votes would refuse honest groups.
    few = 6 + devices // 100
    assert limit <= few or log_tail(devices, 0, channel, limit - few) > allowed


@pytest.mark.parametrize("devices", [20, 100, 1000])
@pytest.mark.parametrize("repeats", [1, 60])
def test_subset_selection_has_the_noise_of_its_other_words_too(devices: int, repeats: int) -> None:
    channel = SubsetSelection(100_000, 10.0, 60).channel
    limit = candidate_limit(channel, devices, GROUPS, repeats)
    held = devices * repeats
    assert log_tail(held, 60 * devices - held, channel, limit) <= ALLOWED - math.log(MOST_ENTRIES)
    assert candidate_limit(channel, devices, GROUPS, 60) > candidate_limit(channel, devices, GROUPS)


@pytest.mark.parametrize(("candidates", "epsilon"), [(40, 10.0), (5_000, 10.0), (100_000, 7.0), (1_000_000, 4.0)])
def test_all_votes_of_devices_that_hold_as_much_as_they_may_stay_below_the_limit(
    candidates: int, epsilon: float
) -> None:
    asked, devices = Unary(candidates, epsilon, 60), 100
    limit = sum_limits(asked, devices, GROUPS).total
    held = devices * min(60, candidates)
    others = devices * candidates - held
    p, q = float(asked.channel.p), float(asked.channel.q)
    mean, variance = held * p + others * q, held * p * (1 - p) + others * q * (1 - q)
    # The sum is about normal, and the chance that of 7.98 deviations; Chernoff's bound is near it.
    assert stats.norm.logsf(7.98) < ALLOWED < stats.norm.logsf(7.96)
    assert 7.98 < (limit - mean) / math.sqrt(variance) < 9.0
    rng = np.random.default_rng(5)
    drawn = rng.binomial(held, p, 20_000) + rng.binomial(others, q, 20_000)
    assert drawn.max() <= limit
    too_low = mean + 3 * math.sqrt(variance)
    assert drawn.max() > too_low, "a limit of three deviations would refuse some of them"


def test_a_group_of_honest_reports_keeps_both_limits_and_one_hostile_device_breaks_the_second() -> None:
    asked, devices = Unary(2_000, 8.0, 20), 50
    rng = np.random.default_rng(11)
    p, q = float(asked.channel.p), float(asked.channel.q)
    limits = sum_limits(asked, devices, GROUPS)
    for _ in range(200):
        chances = np.full(2_000, q)
        chances[:20] = p  # all hold the same words
        votes = rng.binomial(devices, chances)
        assert votes.max() <= limits.candidate
        assert votes.sum() <= limits.total
        assert (votes + 1).sum() > limits.total, "one vote more for everything"


def test_a_hostile_device_has_the_votes_of_its_group_and_not_more() -> None:
    channel = Unary(100_000, 10.0, 60).channel
    each = [hostile_votes(channel, GroupRules(size, smallest)) for size, smallest in ((100, 70), (500, 375))]
    assert each == [95, 357]
    assert sum_limits(Unary(100_000, 10.0, 60), 100, GROUPS).total == 3826
    assert sum_limits(SubsetSelection(100_000, 10.0, 60), 100, GROUPS).total == 100 * 60 * 5


def test_a_randomizer_without_limits_is_refused() -> None:
    class Other(Unary):
        name = "other"

    other: Randomizer[Any] = Other(10, 1.0, 1)
    with pytest.raises(ParameterError, match="limit on all votes of a masking group for the randomizer 'other'"):
        sum_limits(other, 10, 1)
    assert set(TOTALS) == {"unary", "subset-selection"}
