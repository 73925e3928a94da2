"""Algorithm 2: with votes that tell the truth, it finds exactly the words."""

from collections.abc import Callable, Generator
from string import ascii_lowercase
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layers import small_campaign
from neologue.campaign.campaign import Campaign
from neologue.discovery.algorithm import discover
from neologue.discovery.decision import Decision, Question
from neologue.discovery.result import Release
from neologue.discovery.tally import Tally
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import strings
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.layer import ExtendingLayer

KNOWN = ["abcabc", "abc", "bcab", "cabca", "ab", "cab"]
LISTING: dict[str, Any] = {"alphabet": Alphabet(ascii_lowercase), "candidates": 8000}
"""Of the 26 · 703 ways to go on by two of 26 letters, a first layer with so few candidates lists less than half."""


def truthful(layer: ExtendingLayer, words: list[str]) -> Tally:
    """Votes without chance: the expected ones if every user held every word that counts."""
    channel = layer.randomizer.channel
    votes = np.full(layer.candidates.size, round(channel.trials(layer.layer_size) * float(channel.q)))
    index = layer.candidates.index(strings([word for word in words if layer.counts(word)]))
    votes[index[index >= 0]] = layer.layer_size // 2
    return Tally(votes, layer.layer_size)


def answered(campaign: Campaign, answer: Callable[[Question], Decision]) -> tuple[Release, list[ExtendingLayer]]:
    """A whole campaign whose questions are decided so, and the layers that were asked."""
    rounds: Generator[Question, Decision, Release] = discover(campaign)
    question = next(rounds)
    layers = [question.layer]
    while True:
        try:
            question = rounds.send(answer(question))
        except StopIteration as end:
            return end.value, layers
        layers.append(question.layer)


def run(campaign: Campaign, words: list[str]) -> tuple[Release, list[ExtendingLayer]]:
    """A whole campaign over users who hold these words."""
    return answered(campaign, lambda question: question.decide(truthful(question.layer, words)))


@given(words=st.sets(st.text("abc", min_size=1, max_size=6), max_size=8), adaptive=st.booleans())
def test_exactly_the_words_are_found(words: set[str], adaptive: bool) -> None:
    release, _ = run(small_campaign(adaptive=adaptive), sorted(words))
    assert {word.word for word in release.words} == words


@given(words=st.sets(st.text("abc", min_size=1, max_size=9), max_size=8), passes=st.integers(1, 3))
def test_no_user_is_asked_twice_and_found_words_are_known_in_the_next_pass(words: set[str], passes: int) -> None:
    campaign = small_campaign(passes=passes, known=Vocabulary(["abc"]))
    release, layers = run(campaign, sorted(words))
    assert sum(layer.layer_size for layer in layers) <= campaign.users
    assert {word.word for word in release.words} == {word for word in words if len(word) <= 6} - {"abc"}
    for layer in layers:
        earlier = {word.word for word in release.words if word.pass_number < layer.pass_number}
        assert layer.found.words == earlier
    assert all(word.pass_number == 1 for word in release.words)


def test_the_papers_profile_has_15_layers_a_pass_of_equal_size_each_a_symbol_longer() -> None:
    campaign = Campaign.from_profile("gboard-2024", users=30_000, frontier=20)
    _, layers = run(campaign, ["lol", "dragonborn", "yayyy"])
    first = [layer for layer in layers if layer.pass_number == 1]
    assert [layer.number for layer in first] == list(range(1, 16))
    assert {layer.layer_size for layer in layers} == {1000}
    assert [layer.candidates.length + layer.extension for layer in first] == list(range(2, 17))
    assert first[0].candidates.size == 9900
    assert first[5].candidates.size <= 20 * 100


def test_the_papers_rule_fills_its_quota_whatever_the_votes() -> None:
    campaign = Campaign.from_profile("gboard-2024", users=30_000, frontier=50, alphabet=Alphabet.named("ascii"))
    release, _ = run(campaign, ["lol"])
    assert all(facts.kept + facts.words == 50 for facts in release.layers)


def test_an_empty_frontier_ends_the_pass_and_leaves_users_unasked() -> None:
    release, layers = run(small_campaign(adaptive=False, rule="significant"), ["ab"])
    assert [word.word for word in release.words] == ["ab"]
    assert len(layers) == 2


@pytest.mark.parametrize(
    ("candidates", "symbols", "listed"),
    [(8000, [2, 2, 2], [True, False, False]), (40_000, [2, 3, 1], [False, False, False])],
)
def test_adaptive_layers_extend_by_as_much_as_fits_and_the_last_one_asks_all_who_are_left(
    candidates: int, symbols: list[int], listed: list[bool]
) -> None:
    campaign = small_campaign(**LISTING | {"candidates": candidates}, known=Vocabulary(["abcabc"]))
    words = ["abcabc"[:length] + "b" for length in range(6)]
    release, layers = run(campaign, words)
    assert {word.word for word in release.words} == set(words)
    assert [layer.extension for layer in layers] == symbols
    assert [layer.lists is not None for layer in layers] == listed
    assert all(layer.candidates.size <= candidates for layer in layers)
    assert layers[-1].candidates.length + layers[-1].extension == 7
    assert sum(layer.layer_size for layer in layers) == campaign.users


@pytest.mark.parametrize("rule", ["top", "significant"])
@pytest.mark.parametrize("epsilon", [2.0, 7.0])
def test_no_layer_asks_for_a_longer_report_than_allowed(epsilon: float, rule: str) -> None:
    campaign = Campaign.from_profile(users=50_000, epsilon=epsilon, report_bytes=3000, rule=rule, layers=None)
    _, layers = run(campaign, ["hello", "world"])
    assert all(9 + layer.randomizer.payload_bytes <= 3000 for layer in layers)
    with pytest.raises(Exception, match="give a smaller alphabet, a larger ε"):
        Campaign.from_profile(users=50_000, epsilon=0.5, report_bytes=500, layers=None)


@pytest.mark.parametrize("reports", [0, 99])
def test_a_layer_with_too_few_reports_is_not_decided_and_ends_its_pass(reports: int) -> None:
    def answer(question: Question) -> Decision:
        return question.decide(Tally(truthful(question.layer, ["ab"]).votes, reports))

    release, layers = answered(small_campaign(smallest_layer=100, passes=2), answer)
    assert [(layer.pass_number, layer.number) for layer in layers] == [(1, 1), (2, 1)]
    for facts in release.layers:
        assert not facts.decided
        assert facts.reports == reports
        assert facts.kept == facts.words == facts.fewest_votes == 0
    assert release.words == ()


def test_a_pass_may_be_given_up_and_the_next_still_find_its_words() -> None:
    def answer(question: Question) -> Decision:
        tally = truthful(question.layer, ["ab"])
        return question.decide(tally if question.layer.pass_number == 2 else Tally(tally.votes, 99))

    release, _ = answered(small_campaign(smallest_layer=100, passes=2), answer)
    assert [(word.word, word.pass_number) for word in release.words] == [("ab", 2)]
    assert [facts.decided for facts in release.layers] == [False] + [True] * (len(release.layers) - 1)


def test_no_layer_has_more_candidates_than_allowed_where_every_extension_of_a_few_would_be_few() -> None:
    campaign = small_campaign(**LISTING, known=Vocabulary(KNOWN))
    _, layers = run(campaign, ["abca", "abcab"])
    assert layers[0].lists is not None
    assert all(layer.candidates.size <= 8000 for layer in layers)


def test_a_word_that_goes_on_in_a_way_not_listed_is_not_found_unless_every_way_is_asked() -> None:
    words = ["abca", "abcab", "xzxb"]
    release, (first, *_) = run(small_campaign(**LISTING, known=Vocabulary(KNOWN)), words)
    asked = first.candidates.index(strings(words)) >= 0
    assert asked.tolist() == [True, True, False]
    assert {word.word for word in release.words} == {"abca", "abcab"}
    release, _ = run(small_campaign(**LISTING, known=Vocabulary(KNOWN), adaptive=False, frontier=200), words)
    assert {word.word for word in release.words} == set(words)


@pytest.mark.parametrize(
    ("campaign", "lists"),
    [
        (small_campaign(passes=2), False),
        (small_campaign(**LISTING, passes=2, known=Vocabulary(KNOWN)), True),
        (small_campaign(adaptive=False, frontier=5, rule="top"), False),
    ],
    ids=["every extension", "listed extensions", "the paper's rule"],
)
def test_decisions_alone_give_the_same_release_again(campaign: Campaign, lists: bool) -> None:
    decisions: list[Decision] = []

    def noted(question: Question) -> Decision:
        if question.layer.pass_number == 2:
            tally = Tally(truthful(question.layer, []).votes, 7)
        else:
            tally = truthful(question.layer, ["abca", "abcab", "bca"])
        decisions.append(question.decide(tally))
        return decisions[-1]

    release, layers = answered(campaign, noted)
    kept = iter(decisions)
    again, asked = answered(campaign, lambda question: next(kept))
    assert next(kept, None) is None
    assert len(release.words) >= 2
    assert any(layer.lists is not None for layer in layers) == lists
    assert (again.words, again.layers) == (release.words, release.layers)
    assert [layer.digest for layer in asked] == [layer.digest for layer in layers]


def test_a_decision_has_nothing_of_what_was_not_kept() -> None:
    question = next(discover(small_campaign()))
    tally = truthful(question.layer, ["ab", "abc"])
    decision = question.decide(tally)
    assert 0 < len(decision.index) < question.layer.candidates.size
    assert decision.votes.tolist() == tally.votes[decision.index].tolist()
    assert (decision.votes >= decision.thresholds).all()
    assert decision.votes.base is None, "not a view of all votes"


def test_no_layer_asks_fewer_users_than_may_decide_it() -> None:
    campaign = Campaign.from_profile(users=1500, known=Vocabulary(["abc"]), epsilon=10.0)
    _, layers = run(campaign, ["hello", "world", "internationally"])
    assert all(layer.layer_size >= 100 for layer in layers)


def test_users_whom_one_pass_did_not_need_are_asked_in_the_next() -> None:
    campaign = small_campaign(passes=2, candidates=15, adaptive=True)
    _, layers = run(campaign, ["a"])
    first = sum(layer.layer_size for layer in layers if layer.pass_number == 1)
    assert first < campaign.users // 2
    (second,) = [layer for layer in layers if layer.pass_number == 2]
    assert second.layer_size > layers[0].layer_size


def test_a_case_form_of_a_found_word_is_not_asked_for_again() -> None:
    _, layers = run(small_campaign(passes=2, alphabet=Alphabet("abA")), ["ab", "Ab"])
    second = next(layer for layer in layers if layer.pass_number == 2)
    assert not second.counts("ab")
    assert not second.counts("Ab")


def test_a_word_in_doubt_is_asked_about_again_and_released_by_the_votes_of_the_next_layer() -> None:
    campaign = small_campaign(
        rule="significant", false_words=1e-9, k_anonymity=0, unique_chance=0.0, candidates=400, users=90_000
    )

    def votes(layer: ExtendingLayer, deviations: int) -> Tally:
        """Votes for "ab" that so many standard deviations of noise are above its mean."""
        tally = truthful(layer, ["abcabc", "bcabca", "cabcab"])
        place = int(layer.candidates.index(strings(["ab"]))[0])
        if place >= 0:
            tally.votes[place] += round(
                deviations * float(layer.randomizer.channel.variance(0, layer.layer_size)) ** 0.5
            )
        return tally

    def released(*doubts: int) -> tuple[Release, list[ExtendingLayer]]:
        given = iter(doubts)
        return answered(campaign, lambda question: question.decide(votes(question.layer, next(given))))

    release, layers = released(5, 20, 0, 0)
    assert [layer.doubtful.tolist() for layer in layers][:2] == [[], ["ab"]]
    assert [facts.doubtful for facts in release.layers][:2] == [1, 0]
    found = {word.word: word for word in release.words}
    assert found["ab"].layer == 2
    assert found["ab"].votes == votes(layers[1], 20).votes[layers[1].candidates.index(strings(["ab"]))[0]]
    assert set(found) == {"ab", "abcabc", "bcabca", "cabcab"}
    release, _ = released(5, 0, 0, 0)
    assert {word.word for word in release.words} == {"abcabc", "bcabca", "cabcab"}
