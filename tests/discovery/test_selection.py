"""Selection: what is kept of a layer, and how much noise is among it."""

import numpy as np
import pytest
from scipy.stats import binom

from layers import small_campaign, small_layer
from neologue.discovery.selection import select
from neologue.discovery.selection.significant import NullLaw, mixed_weights
from neologue.discovery.tally import Tally
from neologue.privacy.anonymity import release_threshold, unique_threshold

N, Q = 20_000, 1 / 1097.63
FALSE = 0.05


def noise_share(weights: np.ndarray, level: float, tails_of: float = Q) -> tuple[float, int]:
    """The share of noise among what is kept, over repeated layers of 5,000 candidates, 100 of them held."""
    rng = np.random.default_rng(5)
    false = kept = 0
    shares = []
    for _ in range(200):
        votes = rng.binomial(N, Q, 5000)
        votes[:100] += rng.binomial(30, 0.5, 100)
        passed = NullLaw.of(N, tails_of, int(votes.max())).benjamini_hochberg(votes, weights, level)
        false, kept = int((passed.index >= 100).sum()), kept + int((passed.index < 100).sum())
        shares.append(false / max(1, len(passed.index)))
        assert (votes[passed.index] >= passed.thresholds).all()
    return float(np.mean(shares)), kept


def test_the_expected_share_of_noise_is_at_most_the_level() -> None:
    share, kept = noise_share(np.ones(5000), FALSE)
    # The mean of 200 shares has an sd below 0.002.
    assert share <= FALSE + 0.006
    assert kept > 7_000


def test_a_null_law_that_is_too_low_breaks_the_level() -> None:
    share, _ = noise_share(np.ones(5000), FALSE, tails_of=0.9 * Q)
    assert share > 2 * FALSE


def test_good_weights_keep_more_at_the_same_level_and_bad_ones_do_no_harm_to_it() -> None:
    worth = np.where(np.arange(5000) < 500, 1.0, 0.0)
    _, plain = noise_share(np.ones(5000), FALSE)
    share, helped = noise_share(mixed_weights(worth), FALSE)
    assert helped > 1.02 * plain
    assert share <= FALSE + 0.006
    share, _ = noise_share(mixed_weights(worth[::-1].copy()), FALSE)
    assert share <= FALSE + 0.006


def test_weights_average_one() -> None:
    assert mixed_weights(np.array([0.0, 5.0, 1.0])).mean() == pytest.approx(1)
    assert mixed_weights(np.zeros(3)).tolist() == [1, 1, 1]


def test_thresholds_are_the_fewest_votes_that_pass() -> None:
    rng = np.random.default_rng(3)
    votes = rng.binomial(N, Q, 5000)
    votes[:300] += 60
    law = NullLaw.of(N, Q, int(votes.max()))
    passed = law.benjamini_hochberg(votes, np.ones(5000), FALSE)
    threshold = passed.thresholds[0]
    assert (passed.thresholds == threshold).all()
    assert set(passed.index) == set(np.flatnonzero(votes >= threshold))
    assert 5000 * binom.sf(threshold - 1, N, Q) <= FALSE * len(passed.index)


def test_nothing_is_kept_of_pure_noise_most_of_the_time_nor_of_an_empty_layer() -> None:
    rng = np.random.default_rng(1)
    law = NullLaw.of(N, Q, 100)
    kept = [len(law.benjamini_hochberg(rng.binomial(N, Q, 5000), np.ones(5000), 0.001).index) for _ in range(100)]
    assert sum(count > 0 for count in kept) <= 2
    assert len(law.benjamini_hochberg(np.empty(0, np.int64), np.empty(0), 0.1).index) == 0


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
def test_nothing_is_kept_or_asked_again_that_one_user_and_the_hostile_devices_may_have_brought_up(rule: str) -> None:
    layer = small_layer(["aa", "ab", "ac"], layer_size=2000, epsilon=5.0)
    least = unique_threshold(layer.randomizer.channel, 2000, 7, 1e-6)
    votes = np.full(12, round(2000 * float(layer.randomizer.channel.q)))
    votes[[0, 1, 2, 4, 5, 6]] = least + np.array([-1, -1, 0, 0, 1, 30])
    settings = {"rule": rule, "frontier": 7, "k_anonymity": 3, "false_words": 1e-9, "false_prefixes": 0.3}
    free, bound = (
        select(layer, Tally(votes, 2000), small_campaign(**settings, unique_chance=chance, hostile_devices=7))
        for chance in (0.0, 1e-6)
    )
    assert {0, 1} < {*free.index.tolist(), *free.doubtful.tolist()}
    shown = {*bound.index.tolist(), *bound.doubtful.tolist()}
    assert {2, 5, 6} <= shown <= {2, 4, 5, 6}
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
    expected = rng.random((5, 4)) / 100
    selection = select(layer, Tally(votes, 2000), campaign, expected)
    dropped = np.setdiff1d(np.arange(20), selection.index)
    assert len(dropped) > 10
    needed = selection.missing(dropped)
    assert (needed > votes[dropped]).all()
    for place, enough in zip(dropped, needed, strict=True):
        raised = votes.copy()
        raised[place] = enough
        assert place in select(layer, Tally(raised, 2000), campaign, expected).index


def test_what_is_missing_is_told_of_even_where_nothing_came_near() -> None:
    law = NullLaw.of(N, Q, 30)
    passed = law.benjamini_hochberg(np.full(5000, 18), np.ones(5000), FALSE)
    assert len(passed.index) == 0
    (needed,) = passed.missing(np.array([7]))
    assert needed > 31
    assert 5000 * binom.sf(needed - 1, N, Q) <= FALSE < 5000 * binom.sf(needed - 2, N, Q)


def test_where_there_are_no_candidates_of_a_kind_none_is_kept_and_none_is_missing() -> None:
    none = np.empty(0, np.int64)
    among = NullLaw.of(1000, 0.01, 20).benjamini_hochberg(none, np.empty(0), 0.1)
    assert not len(among.index)
    assert not len(among.missing(none))


def test_words_that_pass_the_level_of_prefixes_alone_are_in_doubt() -> None:
    layer = small_layer(["aa", "ab", "ac", "ba"], layer_size=2000, epsilon=5.0)
    quiet = round(2000 * float(layer.randomizer.channel.q))
    votes = np.full(16, quiet)
    votes[[0, 1, 4, 6, 8]] = quiet + np.array([14, 14, 15, 14, 60])
    strict = {"rule": "significant", "false_words": 1e-6, "false_prefixes": 0.3, "k_anonymity": 0, "unique_chance": 0.0}
    kept = select(layer, Tally(votes, 2000), small_campaign(**strict))
    assert kept.index.tolist() == [1, 6, 8]
    assert kept.doubtful.tolist() == [0, 4]
    assert (kept.missing(kept.doubtful) > votes[kept.doubtful]).all()
    for fewer, doubtful in (({"doubtful": 1}, [4]), ({"doubtful": 0}, []), ({"candidates": 31}, [4])):
        assert select(layer, Tally(votes, 2000), small_campaign(**strict | fewer)).doubtful.tolist() == doubtful
    # Nothing is asked again that too few may hold, nor where no layer follows.
    least = release_threshold(layer.randomizer.channel, 2000, 20, 0.05)
    assert quiet + 14 < least <= quiet + 60
    assert not len(select(layer, Tally(votes, 2000), small_campaign(**strict | {"k_anonymity": 20})).doubtful)
    votes[[1, 6]] = quiet
    assert not len(select(layer, Tally(votes, 2000), small_campaign(**strict)).doubtful)
    votes[[1, 6]] = quiet + 14
    last = small_layer(["aa", "ab", "ac", "ba"], layer_size=2000, epsilon=5.0, depth=2)
    assert not len(select(last, Tally(votes, 2000), small_campaign(**strict)).doubtful)


@pytest.mark.parametrize("fresh", [True, False])
def test_a_second_look_keeps_the_level_with_new_votes_and_would_not_with_the_old_ones(fresh: bool) -> None:
    rng = np.random.default_rng(6)
    shares, found = [], 0
    for _ in range(300):
        first, second = (rng.binomial(N, Q, 5000) for _ in range(2))
        for votes in (first, second):
            votes[:100] += rng.binomial(20, 0.5, 100)
        law = NullLaw.of(N, Q, 100)
        doubtful = law.benjamini_hochberg(first, np.ones(5000), 0.5).index
        again = (second if fresh else first)[doubtful]
        released = doubtful[law.benjamini_hochberg(again, np.ones(len(again)), FALSE).index]
        shares.append((released >= 100).sum() / max(1, len(released)))
        found += int((released < 100).sum())
    # The mean of 300 shares has an sd below 0.005; the old votes pass for the very noise that made them doubtful.
    assert (np.mean(shares) <= FALSE + 0.015) == fresh
    assert found > 1_500
