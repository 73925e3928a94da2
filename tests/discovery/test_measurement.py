"""Measured coverage and counts: unbiased, with intervals that hold the truth as often as they say.

Users are drawn from a known law; how often an interval misses is counted over many cohorts. With 400 of them a miss
rate of 5 % has an sd of 1.1 %.
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

from layers import small_campaign
from neologue.campaign.measuring import Measuring
from neologue.discovery.measurement import (
    Share,
    closed_layer,
    coverage,
    evaluate_measurement,
    figures,
    foreseen_batch,
    usual_measuring,
)
from neologue.discovery.tally import Tally
from neologue.errors import ParameterError
from neologue.layout.schedule import foreseen_collection
from neologue.privacy.collection import Batch
from neologue.privacy.statement import Exposure, privacy_statement
from neologue.randomizers.closed import ClosedDomain, Totals, closed_domain
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.release.facts import privacy_facts
from neologue.simulation.votes.tree import subset_votes

Counts = NDArray[np.int64]
Users = Callable[[Generator, int], tuple[Counts, Counts]]
"""Draws so many users: how many sampled words of each are on the list, and how many are not."""

LISTED, BOUND, REPORTS, COHORTS = 40, 10, 600, 400


def alike(rng: Generator, users: int) -> tuple[Counts, Counts]:
    """Users whose every word is on the list with a chance of 0.7."""
    words = rng.integers(0, BOUND + 1, users)
    listed = rng.binomial(words, 0.7)
    return listed, words - listed


def apart(rng: Generator, users: int) -> tuple[Counts, Counts]:
    """Users all of whose words are on the list, or none: 70 % of words are."""
    words = np.where(rng.random(users) < 0.6, BOUND, 0)
    inside = rng.random(users) < 0.7
    return np.where(inside, words, 0), np.where(inside, 0, words)


def draw_votes(domain: ClosedDomain, listed: Counts, others: Counts, rng: Generator) -> Counts:
    """The votes of users who hold so many words of the list, the first ones, and so many others."""
    places = domain.randomizer.candidates
    held = np.zeros(places, np.int64)
    held[: domain.listed] = (listed[:, None] > np.arange(domain.listed)).sum(axis=0)
    channel = domain.randomizer.channel
    if isinstance(domain.randomizer, SubsetSelection):
        held[domain.listed] = others.sum()
        null = channel.trials(len(listed)) - held.sum()
        size, seed = domain.randomizer.subset_size, int(rng.integers(2**31))
        return subset_votes(np.append(held, null), size, float(channel.p), seed, 0)[:-1]
    held[domain.listed :] = (others[:, None] > np.arange(domain.bound)).sum(axis=0)
    return rng.binomial(held, float(channel.p)) + rng.binomial(len(listed) - held, float(channel.q))


def shares(domain: ClosedDomain, users: Users, seed: int) -> list[Share]:
    """What cohorts measure."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(COHORTS):
        votes = draw_votes(domain, *users(rng, REPORTS), rng)
        share = coverage(domain.totals(votes, REPORTS), BOUND)
        assert share is not None
        found.append(share)
    return found


@pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
@pytest.mark.parametrize("users", [alike, apart])
@pytest.mark.parametrize("epsilon", [2.0, 6.0])
def test_coverage_is_right_on_average_and_its_interval_misses_at_most_as_often_as_it_says(
    mechanism: str, users: Users, epsilon: float
) -> None:
    found = shares(closed_domain(mechanism, LISTED, epsilon, BOUND), users, seed=3)
    estimates = np.array([share.estimate for share in found])
    assert abs(estimates.mean() - 0.7) < 5 * estimates.std() / np.sqrt(COHORTS) + 0.002
    misses = np.mean([not share.low <= 0.7 <= share.high for share in found])
    assert misses < 0.05 + 3 * 0.011


def test_intervals_of_noise_alone_would_miss_where_users_differ() -> None:
    domain = closed_domain("unary", LISTED, 6.0, BOUND)
    rng = np.random.default_rng(4)
    misses = 0
    for _ in range(COHORTS):
        totals = domain.totals(draw_votes(domain, *apart(rng, REPORTS), rng), REPORTS)
        share = totals.listed / (totals.listed + totals.others)
        variance = (1 - share) ** 2 * totals.listed_variance + share**2 * totals.others_variance
        misses += abs(share - 0.7) > 1.96 * np.sqrt(variance) / (totals.listed + totals.others)
    assert misses / COHORTS > 0.2


@pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_the_interval_of_a_word_holds_its_holders_as_often_as_it_says(mechanism: str, rate: float) -> None:
    users, asked, holders = 50_000, 2000, np.array([0, 40, 400, 4000, 20_000])
    domain = closed_domain(mechanism, len(holders), 6.0, BOUND)
    channel = domain.randomizer.channel
    rng = np.random.default_rng(5)
    caught = np.zeros(len(holders))
    totals = np.zeros(len(holders))
    for _ in range(COHORTS):
        # The holders of everybody are as many as those of the users, and of those asked in proportion.
        everybody = holders * (users + asked) // users
        sampled = rng.binomial(rng.hypergeometric(everybody, users + asked - everybody, asked), rate)
        trials = channel.trials(asked)
        votes = rng.binomial(sampled, float(channel.p)) + rng.binomial(trials - sampled, float(channel.q))
        _, held = figures(
            domain, Tally(np.append(votes, np.zeros(domain.outside, np.int64)), asked), rate, asked, users
        )
        caught += (held.low <= holders) & (holders <= held.high)
        totals += held.estimate
    assert (caught / COHORTS > 0.95 - 3.5 * 0.011).all()
    # Where it is not cut off at 0, the estimate is right on average: 4,000 holders are known to 12 % each time.
    assert totals[3:] / COHORTS == pytest.approx(holders[3:], rel=0.03)


def test_what_is_surely_covered_and_what_can_not_be_told() -> None:
    nothing = Totals(0.0, 0.0, 10.0, 10.0, 0.0, 0.0)
    assert coverage(nothing, 5) is None
    faint = coverage(Totals(3.0, 2.0, 100.0, 100.0, 0.0, 2.0), 5)
    assert faint is not None
    assert (faint.low, faint.high) == (0.0, 1.0)
    all_of_it = coverage(Totals(1e6, 0.0, 10.0, 10.0, 0.0, 0.0), 5)
    assert all_of_it is not None
    assert all_of_it.estimate == all_of_it.high == 1
    assert all_of_it.low > 0.999
    below = coverage(Totals(-20.0, 1e6, 400.0, 400.0, 0.0, 1e6), 5)
    assert below is not None
    assert (below.estimate, below.low) == (0.0, 0.0)


# In a campaign


def test_the_layer_asks_what_the_campaign_asks_and_knows_the_words_in_order() -> None:
    campaign = small_campaign()
    layer = closed_layer(campaign, ["cc", "ab"], Measuring(300, 0.5))
    assert layer.words.tolist() == ["ab", "cc"]
    assert (layer.layer_size, layer.rate) == (300, 0.5)
    assert (layer.epsilon, layer.bound, layer.depth) == (campaign.epsilon, 60, 6)
    assert layer.randomizer.candidates == 62


def test_too_few_reports_say_nothing_and_are_seen_by_disk_and_server_alone() -> None:
    campaign = small_campaign()
    layer = closed_layer(campaign, ["ab"], Measuring(300))
    few = evaluate_measurement(layer, Tally(np.full(61, 7), 99), campaign)
    assert (few.decided, few.words, few.other_votes, few.coverage) == (False, (), (), None)
    facts = privacy_facts(campaign.parameters, (), few, Exposure())
    assert (facts.measured, facts.withheld) == ((), (Batch(99, 61),))
    enough = evaluate_measurement(layer, Tally(np.full(61, 7), 100), campaign)
    assert enough.decided
    assert privacy_facts(campaign.parameters, (), enough, Exposure()).measured == (Batch(100, 61),)


def test_the_measurement_counts_in_the_privacy_statement_but_not_for_k() -> None:
    campaign = small_campaign()
    layer = closed_layer(campaign, ["ab"], Measuring(300))
    facts = privacy_facts(
        campaign.parameters, (), evaluate_measurement(layer, Tally(np.full(61, 7), 300), campaign), Exposure()
    )
    statement = privacy_statement(facts)
    central, trust = statement["item_central"], statement["trust"]
    assert isinstance(central, dict)
    assert isinstance(trust, dict)
    assert 0 < central["best"] < campaign.epsilon
    assert trust["observers"][0]["smallest_sum"] == 300
    assert any("layer of its own" in sentence for sentence in trust["assumptions"])
    assert (
        statement["k_anonymity"]
        == privacy_statement(privacy_facts(campaign.parameters, (), None, Exposure()))["k_anonymity"]
    )


def test_those_who_measure_are_as_many_as_a_layer_has() -> None:
    campaign = small_campaign(users=70_000)
    usual = usual_measuring(campaign, 0.5)
    assert usual.users == 70_000 // (len(foreseen_collection(campaign).batches) + 1)
    assert usual.rate == 0.5
    assert foreseen_batch(campaign, usual).reports == usual.users


@pytest.mark.parametrize(
    ("users", "rate", "complaint"),
    [(0, 1.0, "users who measure"), (5, 0.0, "rate of a measurement"), (5, 2.0, "rate of a measurement")],
)
def test_measuring_by_nobody_or_of_nothing_is_refused(users: int, rate: float, complaint: str) -> None:
    with pytest.raises(ParameterError, match=complaint):
        Measuring(users, rate)


@pytest.mark.parametrize(("users", "complaint"), [(99, "99 users who measure are too few"), (101, "nobody is asked")])
def test_too_few_or_too_many_who_measure_are_refused(users: int, complaint: str) -> None:
    campaign = small_campaign()
    Measuring(100).check(campaign, campaign.users + 100)
    with pytest.raises(ParameterError, match=complaint):
        Measuring(users).check(campaign, campaign.users + 100)
