"""Thresholds for words that are looked at again and again: few holders pass any of them with the stated chance."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest

from neologue.privacy.anonymity.repeated_looks import fewest_summed_votes, share_chance
from neologue.privacy.anonymity.thresholds import AnonymityPromise
from neologue.randomizers.channel import Channel
from neologue.randomizers.unary import Unary

CHANNEL = Unary(10_000, 5.0, 4).channel
LAYERS = (400, 500, 600)
DRAWN = 400_000
DOUBT = 1e-6
"""The p-value below which a simulation is taken to contradict a claim."""


def thresholds(channel: Channel, layers: tuple[int, ...], holders: int, chance: float) -> list[int]:
    """The votes needed at each look."""
    chances = share_chance(chance, len(layers))
    looks = range(1, len(layers) + 1)
    return [fewest_summed_votes(channel, layers[:look], holders, chances[:look]) for look in looks]


def sums(spread: tuple[int, ...]) -> NDArray[np.int64]:
    """Drawn votes after each layer, if each has so many holders."""
    rng = np.random.default_rng(5)
    votes = [
        rng.binomial(held, float(CHANNEL.p), DRAWN) + rng.binomial(size - held, float(CHANNEL.q), DRAWN)
        for size, held in zip(LAYERS, spread, strict=True)
    ]
    return np.cumsum(votes, axis=0)


def passing(spread: tuple[int, ...], needed: list[int]) -> int:
    """How many of the drawn words pass at some look."""
    return int((sums(spread) >= np.array(needed)[:, None]).any(axis=0).sum())


@pytest.mark.parametrize("spread", [(9, 0, 0), (0, 9, 0), (0, 0, 9), (3, 3, 3), (8, 0, 1)])
def test_few_holders_pass_some_look_with_at_most_the_chance(spread: tuple[int, ...]) -> None:
    passed = passing(spread, thresholds(CHANNEL, LAYERS, 9, 0.05))
    assert binomtest(passed, DRAWN, 0.05, alternative="greater").pvalue > DOUBT


def test_looks_that_each_take_the_whole_chance_are_caught() -> None:
    each = [fewest_summed_votes(CHANNEL, (sum(LAYERS[:look]),), 9, (0.05,)) for look in (1, 2, 3)]
    passed = passing((9, 0, 0), each)
    assert binomtest(passed, DRAWN, 0.05, alternative="greater").pvalue < DOUBT


def test_the_chance_of_each_look_is_used_as_far_as_whole_votes_go() -> None:
    chances = share_chance(0.05, 3)
    needed = thresholds(CHANNEL, LAYERS, 9, 0.05)
    drawn = sums((9, 0, 0))
    alive = np.ones(DRAWN, np.bool_)
    for votes, fewest, chance in zip(drawn, needed, chances, strict=True):
        one_less = int((alive & (votes >= fewest - 1)).sum())
        assert binomtest(one_less, DRAWN, chance, alternative="less").pvalue > DOUBT
        alive &= votes < fewest


def test_one_look_has_the_threshold_of_a_layer_and_looks_share_the_chance() -> None:
    promise = AnonymityPromise(10, 0.95, 1e-6, 1, passes=2)
    for reports in (1_500, 25_000, 400_000):
        assert promise.summed_votes_needed(CHANNEL, (reports,), 0) == promise.votes_needed(CHANNEL, reports)
        assert promise.summed_votes_needed(CHANNEL, (reports,), 2) >= promise.votes_needed(CHANNEL, reports)
    assert sum(share_chance(0.05, 4)) == pytest.approx(0.05)
    assert share_chance(0.05, 1) == (0.05,)


def test_each_layer_may_have_its_hostile_devices() -> None:
    safe, hostile = AnonymityPromise(0, 0.95, 1e-6, 0), AnonymityPromise(0, 0.95, 1e-6, 2)
    reports = (20_000, 20_000, 20_000)
    more = hostile.summed_votes_needed(CHANNEL, reports, 0) - safe.summed_votes_needed(CHANNEL, reports, 0)
    assert more == 6


def test_nothing_is_needed_where_nothing_is_promised() -> None:
    assert AnonymityPromise(0, 0.95).summed_votes_needed(CHANNEL, (500, 500), 1) == 0


def test_more_holders_than_a_layer_has_are_in_the_next() -> None:
    needed = fewest_summed_votes(CHANNEL, (3, 400), 9, (0.01, 0.04))
    assert fewest_summed_votes(CHANNEL, (400, 3), 9, (0.01, 0.04)) - 1 <= needed
    assert needed > fewest_summed_votes(CHANNEL, (3, 400), 3, (0.01, 0.04))
