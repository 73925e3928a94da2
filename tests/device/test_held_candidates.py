"""What a device says of a closed list: everything between its words and its report, on every draw it could make."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product
from math import factorial

import numpy as np
import pytest

from closed import small_closed_layer
from invitations import OPERATOR, campaign_id, policy
from laws import Dictated, Held, Law, array, exp_bounds, largest_ratio, mixture, unary_law
from neologue.device.contribution import contribute, held_candidates
from neologue.device.storage.spending_record import SpendingRecord
from neologue.entropy import ONE, SeededEntropy
from neologue.errors import AnsweredError, PolicyError
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.invitation import invite
from neologue.protocol.report import read_report
from neologue.randomizers.unary import Unary

WORDS = ("a", "ab", "abc", "b", "bc", "cab")
"""Two on the list below, three that are not, and one that is known."""
LISTED = ["ab", "bc"]


def held_law(words: tuple[str, ...], layer: ClosedLayer) -> Law[Held]:
    """P(places held | words), over every order and every choice that the device could draw."""
    counting = [word for word in words if word != "cab"]
    rate = Fraction(layer.chance, ONE)
    law: Law[Held] = {}
    for coins in product((False, True), repeat=len(counting)):
        drawn = sum(coins)
        chance = rate**drawn * (1 - rate) ** (len(counting) - drawn) / factorial(drawn)
        for order in permutations(range(drawn)):
            draws = Dictated(permutation=order, chances=coins)
            held = frozenset(held_candidates(dict.fromkeys(words, 1), layer, draws).tolist())
            assert draws.thresholds == [layer.chance]
            law[held] = law.get(held, Fraction(0)) + chance
    return law


def neighbouring_words() -> Iterator[list[tuple[str, ...]]]:
    """Groups of at most three words, of which any two differ in one."""
    for size in range(3):
        for rest in combinations(WORDS, size):
            yield [rest, *((*rest, word) for word in WORDS if word not in rest)]


@pytest.mark.parametrize("bound", [1, 2])
@pytest.mark.parametrize("rate", [1.0, 0.25])
@pytest.mark.parametrize("epsilon", [1.0, 5.0])
def test_replacing_one_word_changes_no_report_by_more_than_epsilon(epsilon: float, rate: float, bound: int) -> None:
    layer = small_closed_layer(LISTED, epsilon=epsilon, bound=bound, rate=rate)
    unary = layer.randomizer
    assert isinstance(unary, Unary)

    @cache
    def report_law(words: tuple[str, ...]) -> Law[Held]:
        return mixture((chance, unary_law(unary, held)) for held, chance in held_law(words, layer).items())

    worst = max(
        largest_ratio(report_law(one), report_law(other))
        for group in neighbouring_words()
        for one, other in permutations(group, 2)
    )
    assert worst <= exp_bounds(epsilon)[0]
    assert worst <= unary.worst_ratio


def test_a_sample_holds_the_places_of_listed_words_and_counts_the_others() -> None:
    layer = small_closed_layer(LISTED, bound=6)
    words = {"ab": 1, "bc": 7, "cab": 3, "a": 1, "xyz": 2, "abcabca": 1, " abc ": 1, "abc": 2}
    held = held_candidates(words, layer, SeededEntropy(1))
    assert sorted(held.tolist()) == [0, 1, 2, 3], "two listed, a and abc beside them; others don't count"
    assert len(held_candidates({}, layer, SeededEntropy(1))) == 0


def test_how_often_a_word_was_typed_does_not_matter() -> None:
    layer = small_closed_layer(LISTED, bound=1)
    listed = [0 in held_candidates({"ab": 1000, "a": 1, "b": 1, "c": 1}, layer, SeededEntropy(n)) for n in range(2000)]
    # 500 expected, sd 19; a greedy sample would have the word every time.
    assert 400 < sum(listed) < 600


def test_with_targets_these_words_count_alone_known_or_not() -> None:
    layer = small_closed_layer(["cab"], targets=frozenset({"cab", "a"}))
    assert held_candidates({"cab": 1, "a": 1, "b": 1}, layer, SeededEntropy(1)).tolist() in ([0, 1], [0, 1])


@pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
def test_a_report_has_one_length_and_its_votes_are_read_back(mechanism: str) -> None:
    layer = small_closed_layer(LISTED, mechanism=mechanism, epsilon=10.0)
    reports = [contribute(words, layer, SeededEntropy(5)) for words in ({}, {"ab": 1}, {"a": 1, "b": 1, "c": 1})]
    assert len({len(report) for report in reports}) == 1
    assert len({report[:9] for report in reports}) == 1
    votes = np.concatenate([read_report(layer, contribute({"ab": 1}, layer, SeededEntropy(n))) for n in range(200)])
    counts = np.bincount(votes, minlength=layer.randomizer.candidates)
    assert counts[0] > 20 * max(1, counts[1:].max())


def test_a_device_answers_a_closed_layer_once_and_then_nothing_else_of_the_campaign(tmp_path: object) -> None:
    account = SpendingRecord(f"{tmp_path}/account.db")
    closed = invite(campaign_id(1), small_closed_layer(LISTED), OPERATOR)
    report = account.answer(closed, {"ab": 1}, policy())
    assert account.answer(closed, {"a": 5}, policy()) == report
    assert account.spent == 3.0
    other = invite(campaign_id(1), small_closed_layer([*LISTED, "a"]), OPERATOR)
    with pytest.raises(AnsweredError):
        account.answer(other, {"ab": 1}, policy())


@pytest.mark.parametrize(
    ("limits", "asked", "complaint"),
    [
        ({"largest_layer": 5}, {}, "2 words and what stands for others make more than the 5 candidates"),
        ({"longest_word": 5}, {}, "6 characters"),
        ({"smallest_layer_size": 1001}, {}, "asks 1,000 users"),
        ({"largest_epsilon": 2.0}, {}, "largest_epsilon"),
        ({"largest_user_epsilon": 11.0}, {}, "largest_user_epsilon"),
        ({}, {"bound": 0}, "bound is no whole number"),
        ({}, {"words": np.array(["ab", "bc"], "U40")}, "as long as they claim"),
        ({}, {"known": Vocabulary.empty(), "mechanism": "made up"}, "randomizer is not one of"),
    ],
)
def test_a_closed_layer_is_held_to_the_policy(
    limits: dict[str, float], asked: dict[str, object], complaint: str
) -> None:
    closed = invite(campaign_id(1), small_closed_layer(LISTED, **asked), OPERATOR)
    with pytest.raises(PolicyError, match=complaint):
        policy(**limits).check(closed)
    policy().check(invite(campaign_id(1), small_closed_layer(LISTED), OPERATOR))


def test_places_are_those_of_the_list_in_order() -> None:
    layer = small_closed_layer(["c", "abc", "ab"])
    assert layer.index(np.array(["ab", "abc", "c", "a", "abcc"])).tolist() == [0, 1, 2, -1, -1]
    assert layer.domain.held(array([2]), 2).tolist() == [2, 3, 4]
