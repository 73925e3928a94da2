"""Selection: what is kept of a layer, and how much noise is among it."""

import numpy as np
import pytest
from scipy.stats import binom

from layers import small_campaign, small_layer
from neologue.discovery.selection import select
from neologue.discovery.selection.significant import NullLaw
from neologue.discovery.tally import Tally
from neologue.privacy.anonymity.thresholds import release_threshold, unique_threshold

N, Q = 20_000, 1 / 1097.63
FALSE = 0.05


def noise_share(level: float, tails_of: float = Q) -> tuple[float, int]:
    """The share of noise among what is kept, over repeated layers of 5,000 candidates, 100 of them held."""
    rng = np.random.default_rng(5)
    false = kept = 0
    shares = []
    for _ in range(200):
        votes = rng.binomial(N, Q, 5000)
        votes[:100] += rng.binomial(30, 0.5, 100)
        passed = NullLaw.of(N, tails_of, int(votes.max())).benjamini_hochberg(votes, level)
        false, kept = int((passed.index >= 100).sum()), kept + int((passed.index < 100).sum())
        shares.append(false / max(1, len(passed.index)))
        assert (votes[passed.index] >= passed.thresholds).all()
    return float(np.mean(shares)), kept


def test_the_expected_share_of_noise_is_at_most_the_level() -> None:
    share, kept = noise_share(FALSE)
    # The mean of 200 shares has an sd below 0.002.
    assert share <= FALSE + 0.006
    assert kept > 7_000


def test_a_null_law_that_is_too_low_breaks_the_level() -> None:
    share, _ = noise_share(FALSE, tails_of=0.9 * Q)
    assert share > 2 * FALSE


def test_thresholds_are_the_fewest_votes_that_pass() -> None:
    rng = np.random.default_rng(3)
    votes = rng.binomial(N, Q, 5000)
    votes[:300] += 60
    law = NullLaw.of(N, Q, int(votes.max()))
    passed = law.benjamini_hochberg(votes, FALSE)
    threshold = passed.thresholds[0]
    assert (passed.thresholds == threshold).all()
    assert set(passed.index) == set(np.flatnonzero(votes >= threshold))
    assert 5000 * binom.sf(threshold - 1, N, Q) <= FALSE * len(passed.index)


def test_nothing_is_kept_of_pure_noise_most_of_the_time_nor_of_an_empty_layer() -> None:
    rng = np.random.default_rng(1)
    law = NullLaw.of(N, Q, 100)
    kept = [len(law.benjamini_hochberg(rng.binomial(N, Q, 5000), 0.001).index) for _ in range(100)]
    assert sum(count > 0 for count in kept) <= 2
    assert len(law.benjamini_hochberg(np.empty(0, np.int64), 0.1).index) == 0


def test_top_keeps_exactly_the_largest_with_ties_by_lot_and_all_if_there_are_few() -> None:
    layer = small_layer(["aa", "ab", "ac"])
    campaign = small_campaign(rule="top", frontier=4, k_anonymity=0, unique_chance=0.0)
    votes = np.array([9, 1, 5, 5, 5, 5, 0, 0, 8, 0, 0, 0])
    selection = select(layer, Tally(votes, 100), campaign)
    assert len(selection.index) == 4
    assert {0, 8} <= set(selection.index.tolist()) <= {0, 2, 3, 4, 5, 8}
    assert selection.thresholds.max() == 6
    assert (selection.thresholds <= votes[selection.index]).all()
    assert np.array_equal(select(layer, Tally(votes, 100), campaign).index, selection.index)
    layers = [small_layer(["aa", "ab", "ac"], number=number) for number in range(60)]
    assert len({tuple(select(each, Tally(votes, 100), campaign).index) for each in layers}) == 6
    everything = select(
        layer, Tally(votes, 100), small_campaign(rule="top", frontier=50, k_anonymity=0, unique_chance=0.0)
    )
    assert len(everything.index) == 12
    assert not everything.thresholds.any()


@pytest.mark.parametrize("rule", ["top", "significant"])
def test_nothing_is_kept_below_the_release_threshold_whatever_the_rule(rule: str) -> None:
    layer = small_layer(["aa", "ab", "ac"], layer_size=2000, epsilon=5.0)
    least = release_threshold(layer.randomizer.channel, 2000, 45, 0.05)
    votes = np.full(12, round(2000 * float(layer.randomizer.channel.q)))
    votes[[1, 2, 5, 6]] = [least - 1, least, least + 1, least + 30]
    free, bound = (
        select(layer, Tally(votes, 2000), small_campaign(rule=rule, k_anonymity=k, unique_chance=0.0, frontier=6))
        for k in (0, 45)
    )
    assert 1 in free.index
    assert bound.index.tolist() == [2, 5, 6]
    assert (bound.thresholds >= least).all()
    assert (bound.thresholds <= votes[bound.index]).all()


@pytest.mark.parametrize("rule", ["top", "significant"])
def test_nothing_is_kept_that_one_user_and_the_hostile_devices_may_have_brought_up(rule: str) -> None:
    layer = small_layer(["aa", "ab", "ac"], layer_size=2000, epsilon=5.0)
    least = unique_threshold(layer.randomizer.channel, 2000, 7, 1e-6)
    votes = np.full(12, round(2000 * float(layer.randomizer.channel.q)))
    votes[[0, 1, 2, 4, 5, 6]] = least + np.array([-1, -1, 0, 0, 1, 30])
    settings = {"rule": rule, "frontier": 7, "k_anonymity": 3, "false_words": 0.3, "false_prefixes": 0.3}
    free, bound = (
        select(layer, Tally(votes, 2000), small_campaign(**settings, unique_chance=chance, hostile_devices=7))
        for chance in (0.0, 1e-6)
    )
    assert {0, 1} < {*free.index.tolist()}
    assert {2, 5, 6} <= {*bound.index.tolist()} <= {2, 4, 5, 6}
    assert (bound.thresholds >= least).all()


def test_significant_is_stricter_with_words_than_with_prefixes_and_keeps_to_the_cap() -> None:
    layer = small_layer(["aa", "ab", "ac", "ba"], layer_size=2000, epsilon=5.0)
    campaign = small_campaign(rule="significant", false_words=1e-6, false_prefixes=0.3, unique_chance=0.0)
    quiet = round(2000 * float(layer.randomizer.channel.q))
    votes = np.full(16, quiet)
    votes[[0, 1, 4, 6]] = quiet + 14
    kept = select(layer, Tally(votes, 2000), campaign).index
    assert kept.tolist() == [1, 6]
    capped = select(layer, Tally(votes, 2000), small_campaign(frontier=1, false_prefixes=0.3, unique_chance=0.0))
    assert sum(not layer.candidates.ended[place] for place in capped.index) == 1


@pytest.mark.parametrize("rule", ["top", "significant"])
@pytest.mark.parametrize("k", [0, 45])
def test_with_the_votes_that_were_missing_a_dropped_candidate_is_kept(rule: str, k: int) -> None:
    rng = np.random.default_rng(8)
    layer = small_layer(["aa", "ab", "ac", "ba", "bb"], layer_size=2000, epsilon=5.0)
    campaign = small_campaign(rule=rule, frontier=4, k_anonymity=k)
    votes = rng.binomial(2000, float(layer.randomizer.channel.q), 20)
    votes[[1, 3, 8]] += 60
    selection = select(layer, Tally(votes, 2000), campaign)
    dropped = np.setdiff1d(np.arange(20), selection.index)
    assert len(dropped) > 10
    needed = selection.missing(dropped)
    assert (needed > votes[dropped]).all()
    for place, enough in zip(dropped, needed, strict=True):
        raised = votes.copy()
        raised[place] = enough
        assert place in select(layer, Tally(raised, 2000), campaign).index


def test_what_is_missing_is_told_of_even_where_nothing_came_near() -> None:
    law = NullLaw.of(N, Q, 30)
    passed = law.benjamini_hochberg(np.full(5000, 18), FALSE)
    assert len(passed.index) == 0
    (needed,) = passed.missing(np.array([7]))
    assert needed > 31
    assert 5000 * binom.sf(needed - 1, N, Q) <= FALSE < 5000 * binom.sf(needed - 2, N, Q)
