"""Influence: what hostile devices can do is never more than stated, and nearly as much."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from layers import small_campaign, small_layer
from neologue.campaign.campaign import Campaign
from neologue.discovery.estimates import VoteLaw, estimate_holders
from neologue.discovery.result import LayerFacts, ReleasedWord
from neologue.discovery.selection import select
from neologue.discovery.tally import Tally
from neologue.entropy import SeededEntropy
from neologue.errors import ParameterError, ReportError
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.layer import ExtendingLayer
from neologue.protocol.report import make_report, read_report
from neologue.randomizers.subset_selection import SubsetSelection, Translates
from neologue.randomizers.unary import Unary
from neologue.release.influence import influence

FACTS = LayerFacts(
    pass_number=1,
    layer=1,
    length=1,
    extension=1,
    candidates=300,
    asked=2000,
    reports=1000,
    kept=4,
    words=2,
    fewest_votes=60,
    decided=True,
)


def word(votes: int, layer: int = 1) -> ReleasedWord:
    return ReleasedWord("abba", votes, 100.0, 50.0, 150.0, layer, 1, since=layer)


def unary_noise() -> Fraction:
    return Unary(300, 5.0, 60).channel.q


def test_an_estimate_moves_by_a_vote_for_each_device_and_what_a_vote_is_worth() -> None:
    found = influence(small_campaign(), [FACTS], [word(500)], 7)
    # 10,000 users and 1,000 reports; a vote stands for 1/(p - q) holders.
    exact = 7 * 10 / (Fraction(1, 2) - unary_noise())
    assert found.moved == found.layers[0].moved == int(exact) + 1 == 142
    assert found.layers[0].votes == 7


def test_each_word_of_a_subset_selection_report_may_vote_for_the_same() -> None:
    campaign = small_campaign(randomizer="subset-selection", words_per_user=4)
    channel = SubsetSelection(300, 5.0, 4).channel
    found = influence(campaign, [FACTS], [word(500)], 7)
    assert found.layers[0].votes == 28
    assert 0 <= found.moved - 280 / (channel.p - channel.q) < 1


def test_there_are_no_more_hostile_reports_than_reports_and_undecided_layers_are_left_out() -> None:
    unheard = replace(FACTS, layer=2, reports=50, decided=False, kept=0, words=0, fewest_votes=0)
    found = influence(small_campaign(), [FACTS, unheard], [], 5000)
    assert [(layer.layer, layer.hostile) for layer in found.layers] == [(1, 1000)]


def test_the_worst_layer_is_that_of_the_fewest_reports_among_those_with_words() -> None:
    smaller = replace(FACTS, layer=2, reports=500)
    wordless = replace(FACTS, layer=3, reports=100, words=0)
    found = influence(small_campaign(), [FACTS, smaller, wordless], [], 7)
    assert found.moved == found.layers[1].moved > found.layers[0].moved
    assert found.layers[2].moved > found.moved


def test_a_word_that_nobody_holds_must_pass_every_layer_of_its_path() -> None:
    second, third = replace(FACTS, layer=2, words=0, asked=500), replace(FACTS, layer=3, fewest_votes=40)
    first = replace(FACTS, words=0)
    found = influence(small_campaign(), [first, second, third], [], 1)
    planted = [layer.planted for layer in found.layers]
    q = float(unary_noise())
    # Noise gives 6.7 votes, so 54 hostile reports of 1,000 make 60 as likely as not, and 34 make 40.
    assert planted == [54, 54, 34]
    for need, fewest in ((54, 60), (34, 40)):
        assert binom.sf(fewest - need - 1, 1000 - need, q) >= 0.5 > binom.sf(fewest - need, 1001 - need, q)
    assert found.planted == 54 + 54 + 34
    # The second layer asks 1 of 20 users.
    assert found.drawn == 54 * 20
    shorter = influence(small_campaign(), [FACTS, second, third], [], 1)
    assert (shorter.planted, shorter.drawn) == (54, 270)


def test_where_words_are_asked_about_again_they_have_noise_from_all_layers_and_no_path() -> None:
    """300 words of layer 3 judged since layer 1 have 20 votes of noise, and one of layer 3 alone 6.7."""
    likely = small_campaign(layers=3, rule="significant")
    layers = [replace(FACTS, layer=number) for number in (1, 2, 3)]
    summed = replace(word(60, layer=3), since=1)
    found = influence(likely, layers, [summed, word(70, layer=3)], 1)
    alone, together = sorted(found.layers, key=lambda each: each.moved, reverse=True)
    assert (alone.planted, together.planted) == (64, 40)
    assert found.planted == 40
    # The three layers ask 6,000 of 10,000 users.
    assert found.drawn == -(-40 * 10 // 6)
    assert found.moved == alone.moved > together.moved


def test_noise_alone_passes_a_rule_that_keeps_the_best_of_noise() -> None:
    found = influence(small_campaign(rule="top"), [replace(FACTS, fewest_votes=5)], [word(500)], 1)
    assert (found.planted, found.drawn) == (0, 0)
    assert "A word that nobody holds could have been released with noise alone." in found.sentences


def test_without_words_there_is_nothing_to_move() -> None:
    found = influence(small_campaign(), [replace(FACTS, words=0, kept=0, fewest_votes=0)], [], 3)
    assert (found.moved, found.planted, found.drawn, found.unsure) == (0, None, None, 0)
    assert found.layers[0].planted is None
    assert found.sentences == ("No word was released, so nobody can have moved one.",)


def test_a_number_of_devices_that_is_none_is_refused() -> None:
    with pytest.raises(ParameterError, match="hostile devices must be a whole number"):
        influence(small_campaign(), [FACTS], [], -1)


def test_it_is_said_in_words() -> None:
    said = influence(small_campaign(), [FACTS], [word(500), word(61)], 7).sentences
    assert said == (
        "7 hostile devices could have moved the estimate of a word by at most 142 of 10,000 users, if all of them were "
        "in the layer that released it.",
        "The report of one device has at most 60 votes, of which at most 1 for one candidate.",
        "To release a word that nobody holds takes at least 54 hostile devices in just the layers that it needs, or "
        "about 270 of 10,000, as layers are drawn by lot; with fewer the odds are against it.",
        "Of 2 words, 0 might not have been released without 7 hostile devices in their layer.",
    )


@pytest.mark.parametrize(("candidates", "epsilon"), [(100_000, 5.0), (100_000, 8.0), (1_000_000, 10.0), (50, 5.0)])
def test_a_unary_report_has_no_more_votes_than_are_read(candidates: int, epsilon: float) -> None:
    unary = Unary(candidates, epsilon, 60)
    most = unary.most_votes
    assert len(unary.decode(unary.code.encode(np.arange(most))).positions) == most
    if most < candidates:
        with pytest.raises(ReportError):
            unary.decode(unary.code.encode(np.arange(most + 1)))


def test_a_subset_selection_report_has_its_subsets() -> None:
    selection = SubsetSelection(1000, 3.0, 4)
    assert selection.most_votes == 4 * selection.subset_size
    votes = selection.votes(selection.randomize(np.array([3]), SeededEntropy(1)))
    assert selection.most_votes - 4 <= len(votes) <= selection.most_votes


REPORTS, HOSTILE, TARGET = 600, 30, 5


def devices(layer: ExtendingLayer, seed: int) -> list[NDArray[np.int64]]:
    """The votes of honest devices, of which one in six holds the target."""
    entropy = SeededEntropy(seed)
    held = [np.array([TARGET] if device % 6 == 0 else [], np.int64) for device in range(REPORTS)]
    return [read_report(layer, make_report(layer, own, entropy)) for own in held]


def worst_report(layer: ExtendingLayer) -> NDArray[np.int64]:
    """The votes of a report, read from bytes, that votes for the target as often as it can."""
    randomizer = layer.randomizer
    if isinstance(randomizer, Unary):
        return randomizer.decode(randomizer.code.encode(np.array([TARGET]))).positions
    assert isinstance(randomizer, SubsetSelection)
    seed = bytes(16)
    translates = Translates(seed, (TARGET - randomizer.expand(seed)[:, 0]) % randomizer.domain)
    return randomizer.votes(randomizer.decode(randomizer.encode(translates)))


@pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
@pytest.mark.parametrize("towards", [1, -1], ids=["up", "down"])
def test_devices_that_collude_move_an_estimate_nearly_as_far_as_stated_and_no_further(
    mechanism: str, towards: int
) -> None:
    """They take the places of those whose votes help least, which is the worst that can fall by lot."""
    layer = small_layer(["aa", "ab", "ba"], 2, mechanism=mechanism, known=Vocabulary.empty())
    campaign = small_campaign(epsilon=3.0, words_per_user=4, randomizer=mechanism)
    facts = replace(FACTS, candidates=layer.candidates.size, reports=REPORTS)
    stated = influence(campaign, [facts], [], HOSTILE)
    channel = layer.randomizer.channel
    shifts = []
    for seed in range(8):
        honest = devices(layer, seed)
        places = np.argsort([towards * np.count_nonzero(votes == TARGET) for votes in honest], kind="stable")[:HOSTILE]
        # A Subset Selection report can't be empty; that this does more than it could is no harm to a bound.
        bad = worst_report(layer) if towards > 0 else np.empty(0, np.int64)
        hostile = [bad if device in set(places.tolist()) else votes for device, votes in enumerate(honest)]
        was, now = (
            channel.estimate(Tally.of(layer.candidates.size, cast).votes, REPORTS) * campaign.users / REPORTS
            for cast in (honest, hostile)
        )
        shifts.append(float(np.abs(now - was).max()))
        assert np.abs(now - was)[TARGET] == shifts[-1]
    assert max(shifts) <= stated.moved
    if mechanism == "unary" or towards > 0:
        assert max(shifts) > 0.98 * stated.moved
    # A bound for one hostile device fewer does not hold, where the bound is attained.
    if mechanism == "unary":
        assert max(shifts) > influence(campaign, [facts], [], HOSTILE - 1).moved


@pytest.mark.parametrize("mechanism", [Unary, SubsetSelection])
def test_a_published_estimate_is_never_above_the_unbiased_one(mechanism: type[Unary | SubsetSelection]) -> None:
    """Wherever the threshold was, so hostile votes can't raise it any further by moving that."""
    law = VoteLaw(mechanism(300, 3.0, 4).channel, 1000, 20_000)
    votes = np.arange(1, 500)
    plain = law.channel.estimate(votes, law.reports) * law.users / law.reports
    for below in (0, 1, 10, 60, 1000):
        published = estimate_holders(law, votes, np.maximum(votes - below, 0)).estimate
        assert (published <= np.maximum(plain, 0) + 1e-6).all()


@pytest.mark.parametrize("rule", ["significant", "top"])
def test_words_that_are_sure_are_kept_whatever_the_hostile_ones_would_have_said(rule: str) -> None:
    layer = small_layer(["aa", "ab", "ba"], 4, epsilon=5.0, known=Vocabulary.empty())
    campaign: Campaign = small_campaign(rule=rule, frontier=100, k_anonymity=3)
    rng = np.random.default_rng(1)
    size, q, hostile = layer.candidates.size, float(layer.randomizer.channel.q), 25
    sure = lost = 0
    for _ in range(4):
        votes = rng.binomial(2000, q, size) + rng.binomial(rng.choice([0, 0, 0, 60, 120, 240], size), 0.5)
        kept = select(layer, Tally(votes, 2000), campaign).index
        ended = kept[layer.candidates.ended[kept]]
        facts = replace(FACTS, candidates=size, reports=2000, words=len(ended), fewest_votes=int(votes[kept].min()))
        for place in ended[::3].tolist():
            unsure = influence(campaign, [facts], [word(int(votes[place]))], hostile).unsure
            # Every other candidate gains what it can, or all lose it.
            for others in (hostile, -hostile):
                honest = np.clip(votes + others, 0, 2000)
                honest[place] = max(votes[place] - hostile, 0)
                still = place in select(layer, Tally(honest, 2000), campaign).index
                assert still or unsure
                lost += not still
            sure += not unsure
    assert sure > 10
    assert lost > 10, "words that are not sure can be lost"
    assert influence(campaign, [facts], [word(facts.fewest_votes)], 0).unsure == 0
