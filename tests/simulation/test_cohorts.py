"""Slots of simulated users: independent, secret for real people, and layers that count planned numbers."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from neologue import Alphabet, Campaign, Measuring, Population, Vocabulary, discover
from neologue.discovery.estimates import VoteLaw, estimate_holders
from neologue.discovery.state import DiscoveryState
from neologue.populations.streams import SecretSeed
from neologue.protocol.layer import Layer
from neologue.randomizers.channel import Channel
from neologue.simulation.cohorts import Cohort, DrawnCohorts
from neologue.simulation.engines.engine import LocalEngine
from neologue.simulation.layer_tallies import FIDELITIES, SimulatedUsers

USERS = 2400
LAYERS = 3


def campaign(users: int = USERS, **changes: object) -> Campaign:
    settings: dict[str, Any] = {
        "depth": 6,
        "epsilon": 2.0,
        "layers": LAYERS,
        "candidates": 2000,
        "words_per_user": 3,
        "delta": 1e-5,
    }
    return Campaign.from_profile(
        users=users, known=Vocabulary(["abba", "bab"]), alphabet=Alphabet("abcd"), **settings | changes
    )


def layers_of(made: Campaign) -> list[Layer]:
    """A layer for each number of the pass; only its number and size matter here."""
    first = DiscoveryState(made).layer
    assert isinstance(first, Layer)
    return [replace(first, number=number) for number in range(1, LAYERS + 1)]


def sizes(seed: int, layers: list[Layer], made: Campaign) -> list[int]:
    cohorts = DrawnCohorts(made, None, seed)
    return [cohorts.of_layer(layer).users for layer in layers]


def too_even(drawn: list[list[int]]) -> bool:
    """Whether numbers of users vary less than independent slots make them: 200 draws, once in a million."""
    expected = USERS / LAYERS
    statistic = sum((users - expected) ** 2 / expected for row in drawn for users in row)
    return bool(chi2.cdf(statistic, 2 * len(drawn)) < 1e-6)


def test_slots_are_drawn_independently_and_a_fixed_partition_is_noticed() -> None:
    made = campaign()
    layers = layers_of(made)
    drawn = [sizes(seed, layers, made) for seed in range(200)]
    statistic = sum((users - 800) ** 2 / 800 for row in drawn for users in row)
    assert 1e-3 < chi2.cdf(statistic, 2 * len(drawn)) < 1 - 1e-3
    assert all(sum(row) == USERS for row in drawn)
    assert too_even([[800, 800, 800]] * 200)
    assert not too_even(drawn)


def test_nobody_is_in_two_layers_or_measures_too() -> None:
    made = campaign()
    cohorts = DrawnCohorts(made, Measuring(600), 5)
    spans = [cohorts.of_layer(layer) for layer in layers_of(made)]
    ends = [0, *(cohort.end for cohort in spans)]
    assert [cohort.first for cohort in spans] == ends[:-1]
    assert ends[-1] <= cohorts.campaign_users


def test_made_up_reports_fill_up_what_was_planned() -> None:
    made = campaign()
    cohorts = DrawnCohorts(made, None, 5)
    for layer in layers_of(made):
        cohort = cohorts.of_layer(layer)
        assert cohort.users + cohort.made_up == cohort.reports == made.parameters.counted_reports(800)


def test_more_users_than_planned_are_all_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    made = campaign()
    cohorts = DrawnCohorts(made, None, 5)
    monkeypatch.setattr(cohorts, "_users", [2000, 300, 100])
    layer = layers_of(made)[0]
    assert cohorts.of_layer(layer) == Cohort(0, 2000, 2000)


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_every_fidelity_counts_made_up_reports_as_noise(fidelity: str) -> None:
    """Votes for strings that nobody holds have the mean of all planned reports, and not of those who came."""
    people = Population.from_words({f"user {n}": {"abcd": 1} for n in range(USERS)})
    made = campaign()
    layer = layers_of(made)[0]
    cohorts = DrawnCohorts(made, None, 3)
    tally = SimulatedUsers(people, LocalEngine(), fidelity, 3, cohorts=cohorts).ask(layer)
    planned, q = made.parameters.counted_reports(800), float(layer.randomizer.channel.q)
    assert tally.reports == planned
    held = int(layer.candidates.index(np.array(["abcd"]))[0])
    noise = np.delete(tally.votes, held)
    spread = math.sqrt(planned * q * (1 - q) / len(noise))
    assert abs(noise.mean() - planned * q) < 4.5 * spread
    assert abs(noise.mean() - 800 * q) > 4.5 * spread, "without the made-up reports it would be noticed"


def test_intervals_hold_the_truth_where_slots_are_drawn() -> None:
    """95 % intervals of 400 words: at least 92 %, which they miss by chance once in 500 times."""
    generator = np.random.default_rng(3)
    channel = Channel(Fraction(1, 2), Fraction(1, 50), 1)
    users, asked, planned, holders = 40_000, 10_000, 11_000, 6_000
    present = generator.binomial(holders, asked / users, 400)
    votes = generator.binomial(present, 0.5) + generator.binomial(planned - present, 0.02)
    found = estimate_holders(VoteLaw(channel, planned, users, asked), votes, np.zeros_like(votes))
    assert np.mean((found.low <= holders) & (holders <= found.high)) >= 0.92
    assert abs(found.estimate.mean() - holders) < 30
    wrong = estimate_holders(VoteLaw(channel, planned, users), votes, np.zeros_like(votes))
    assert abs(wrong.estimate.mean() - holders) > 100


def test_real_people_are_asked_in_an_order_that_nobody_can_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names may be known to whoever looks, so the order that they and a public seed decide is not used."""
    people = Population.from_words({f"user {n}": {"abcd" if n % 2 else "dcba": 1} for n in range(USERS)})
    secret = people.secretly_ordered(SecretSeed(5))
    assert not np.array_equal(secret.draw(0, 500).words, people.draw(0, 500).words)
    assert secret.secretly_ordered(SecretSeed(6)) is secret
    asked: list[Population] = []

    class Noticed(SimulatedUsers):
        def __init__(self, population: Population, *rest: object) -> None:
            asked.append(population)
            super().__init__(population, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("neologue.simulation.discovery_run.SimulatedUsers", Noticed)
    discover(people, campaign())
    assert asked[0] is not people
    discover(people, campaign(allocation="filled"))
    assert np.array_equal(asked[1].draw(0, 500).words, people.draw(0, 500).words)
