"""Algorithm 2: with votes that tell the truth, it finds exactly the words."""

from collections.abc import Callable, Generator

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


@given(words=st.sets(st.text("abc", min_size=1, max_size=6), max_size=8))
def test_exactly_the_words_are_found(words: set[str]) -> None:
    release, _ = run(small_campaign(), sorted(words))
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
    release, layers = run(small_campaign(rule="significant"), ["ab"])
    assert [word.word for word in release.words] == ["ab"]
    assert len(layers) == 2


@pytest.mark.parametrize("rule", ["top", "significant"])
@pytest.mark.parametrize("epsilon", [2.0, 7.0])
def test_no_layer_asks_for_a_longer_report_than_allowed(epsilon: float, rule: str) -> None:
    campaign = Campaign.from_profile(
        users=50_000, epsilon=epsilon, report_bytes=3000, rule=rule, layers=None, frontier=50
    )
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


@pytest.mark.parametrize(
    "campaign",
    [small_campaign(passes=2), small_campaign(frontier=5, rule="top")],
    ids=["what stands out", "the paper's rule"],
)
def test_decisions_alone_give_the_same_release_again(campaign: Campaign) -> None:
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


def test_a_case_form_of_a_found_word_is_not_asked_for_again() -> None:
    _, layers = run(small_campaign(passes=2, alphabet=Alphabet("abA")), ["ab", "Ab"])
    second = next(layer for layer in layers if layer.pass_number == 2)
    assert not second.counts("ab")
    assert not second.counts("Ab")
