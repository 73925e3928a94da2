"""Scrutiny of what is kept: votes that come together are told, honest ones are not.

In the layers here 20,000 reports are stored in 32 sums, a candidate that nobody holds has 134 ± 11.5 votes, and one
with 57 more is kept. Power: 100 devices with as many votes as are read plant 550 words, and are found in every one of
20 layers if they send together; so are the more than 2,000 words that they planted when ten times as many votes were
read. Devices that send evenly over time are not found.
"""

from collections.abc import Callable

import numpy as np
import pytest

from holdings import HOLDINGS, Holding, Integers, long_tail, nothing
from layers import small_layer
from neologue import Vocabulary
from neologue.discovery import plausibility
from neologue.discovery.plausibility import find_gathered
from neologue.discovery.tally import Tally
from neologue.protocol.layer import ExtendingLayer

REPORTS = 20_000
SUMS = 32
SEEDS = range(6)
HOSTILE = 100
NEEDED = 57
"""So many votes above the mean of noise a candidate is kept."""


@pytest.fixture(scope="module")
def layer() -> ExtendingLayer:
    return small_layer(["aa"], 9, epsilon=5.0, bound=20, known=Vocabulary.empty())


def honest_sums(layer: ExtendingLayer, holders: Integers, rng: np.random.Generator) -> list[Tally]:
    """The sums of honest devices, who come in any order."""
    channel = layer.randomizer.channel
    each, left, sums = REPORTS // SUMS, holders.copy(), []
    for number in range(SUMS):
        held = rng.hypergeometric(left, REPORTS - number * each - left, each)
        left = left - held
        votes = rng.binomial(held, float(channel.p)) + rng.binomial(each - held, float(channel.q))
        sums.append(Tally(votes.astype(np.int64), each))
    return sums


def added_up(sums: list[Tally]) -> Tally:
    return Tally(np.sum([part.votes for part in sums], axis=0), sum(part.reports for part in sums))


def gathered(layer: ExtendingLayer, sums: list[Tally]) -> bool:
    tally = added_up(sums)
    kept = np.flatnonzero(tally.votes >= REPORTS * float(layer.randomizer.channel.q) + NEEDED)
    return bool(find_gathered(layer, tally, kept, iter(sums)))


def plant(
    layer: ExtendingLayer, sums: list[Tally], votes_each: int, senders: Integers, rng: np.random.Generator
) -> int:
    """Hostile devices take the places of others in the sums named; how many words they vote for."""
    size = layer.candidates.size
    words = min(size, HOSTILE * votes_each // NEEDED)
    planted = rng.choice(size, words, replace=False)
    for hostile, part in enumerate(senders):
        # Each votes for another part of the words, so that each word has as many votes as it needs.
        chosen = planted[(hostile * votes_each + np.arange(min(votes_each, words))) % words]
        sums[part].votes[chosen] += 1
        sums[part].votes[:] -= rng.binomial(1, float(layer.randomizer.channel.q), size)
        np.maximum(sums[part].votes, 0, out=sums[part].votes)
    return words


def together(rng: np.random.Generator) -> Integers:
    return np.full(HOSTILE, 7)


def evenly(rng: np.random.Generator) -> Integers:
    return np.arange(HOSTILE) % SUMS


@pytest.mark.parametrize("holding", HOLDINGS)
def test_honest_votes_are_never_found_together(layer: ExtendingLayer, holding: Holding) -> None:
    rng = np.random.default_rng(1)
    for _ in SEEDS:
        assert not gathered(layer, honest_sums(layer, holding(layer.candidates.size, REPORTS, layer.bound), rng))


def test_a_region_that_reports_at_one_time_is_not_taken_for_hostile(layer: ExtendingLayer) -> None:
    """The reports of one sum hold nearly twice as much of what is kept as all others."""
    rng = np.random.default_rng(2)
    few, many = (np.where(np.arange(layer.candidates.size) < 200, count, 0) for count in (400, 700))
    for _ in SEEDS:
        sums = honest_sums(layer, few, rng)
        sums[3] = honest_sums(layer, many, rng)[3]
        assert not gathered(layer, sums)


Senders = Callable[[np.random.Generator], Integers]


@pytest.mark.parametrize(
    ("senders", "longer", "least", "found"),
    [(together, 1, 500, True), (together, 10, 2000, True), (evenly, 1, 500, False)],
)
def test_100_devices_of_20_000_that_plant_words_are_found_if_they_send_together(
    layer: ExtendingLayer, senders: Senders, longer: int, least: int, found: bool
) -> None:
    rng = np.random.default_rng(3)
    holders = long_tail(layer.candidates.size, REPORTS // 10, layer.bound)
    for _ in SEEDS:
        sums = honest_sums(layer, holders, rng)
        words = plant(layer, sums, longer * layer.randomizer.most_votes, senders(rng), rng)
        assert words >= least
        assert gathered(layer, sums) == found


def extreme_sums(rng: np.random.Generator, bound: int) -> list[Tally]:
    """One in a hundred holds all that is kept, others nothing: the largest spread that honest devices can have."""
    return [
        Tally(np.full(bound, count, np.int64), REPORTS // SUMS) for count in rng.binomial(REPORTS // SUMS, 0.01, SUMS)
    ]


def share_found(layer: ExtendingLayer, repeats: int) -> float:
    rng = np.random.default_rng(4)
    found = 0
    for _ in range(repeats):
        sums = extreme_sums(rng, layer.bound)
        found += bool(find_gathered(layer, added_up(sums), np.arange(layer.bound), iter(sums)))
    return found / repeats


def test_alarms_are_no_more_frequent_than_stated_even_if_no_drift_is_allowed_for(
    layer: ExtendingLayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plausibility, "FALSE_ALARM", 0.4)
    monkeypatch.setattr(plausibility, "DRIFT", 1)
    assert share_found(layer, 300) <= 0.4


def test_a_margin_that_is_too_small_is_noticed_in_this_way(
    layer: ExtendingLayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = plausibility._margin
    monkeypatch.setattr(plausibility, "FALSE_ALARM", 0.4)
    monkeypatch.setattr(plausibility, "DRIFT", 1)
    monkeypatch.setattr(plausibility, "_margin", lambda variance, level: 0.3 * right(variance, level))
    assert share_found(layer, 300) > 0.5


def test_without_anything_kept_nothing_is_said(layer: ExtendingLayer) -> None:
    sums = honest_sums(layer, nothing(layer.candidates.size, 0, 0), np.random.default_rng(5))
    assert find_gathered(layer, added_up(sums), np.empty(0, np.int64), iter(sums)) == []


def test_sums_that_made_up_reports_fill_raise_no_alarm(layer: ExtendingLayer) -> None:
    """Of four sums of a layer with drawn slots one is full, and the last batches of workers hold hardly anybody."""
    rng = np.random.default_rng(21)
    channel, size, batch = layer.randomizer.channel, layer.candidates.size, 5000

    def part(devices: int) -> Tally:
        held = np.where(np.arange(size) < layer.bound, devices, 0)
        return Tally(rng.binomial(held, float(channel.p)) + rng.binomial(batch - held, float(channel.q)), batch)

    for _ in SEEDS:
        sums = [part(batch), part(1), part(1), part(1)]
        kept = np.arange(layer.bound)
        came = Tally(added_up(sums).votes, batch + 3)
        assert find_gathered(layer, came, kept, iter(sums)) == []
        assert find_gathered(layer, added_up(sums), kept, iter(sums)), "if made-up reports were taken for devices"
