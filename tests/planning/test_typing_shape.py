"""How many words people hold, told under an ε: the estimate, its law, its cost, and the B that suits it."""

import numpy as np
import pytest

from neologue.campaign.campaign import Campaign
from neologue.entropy import SeededEntropy
from neologue.errors import ParameterError
from neologue.language.vocabulary import Vocabulary
from neologue.planning.suitable_words import suitable_words
from neologue.planning.typing_shape import CLASSES, estimate_shape, shape_cost, words_held
from neologue.populations.lexicon import Lexicon
from neologue.populations.population import Population
from neologue.populations.streams import Stream
from neologue.privacy.cost import central_epsilon


def word(number: int) -> str:
    return "".join(chr(97 + number // 26**place % 26) for place in range(4))


def people(*groups: tuple[int, int]) -> Population:
    """Groups of users who hold so many of the words, beside a known one."""
    held = [number for users, number in groups for _ in range(users)]
    return Population.from_words(
        {f"user{index}": {"the": 3, **{word(i): 1 for i in range(count)}} for index, count in enumerate(held)}
    )


def campaign(users: int) -> Campaign:
    return Campaign.from_profile(users=users, epsilon=8.0, known=Vocabulary(["the"]))


def lexicon_of(*groups: tuple[float, float]) -> Lexicon:
    """Shares of users who hold so many words each."""
    population = Population.embedded("ms", 1000)
    whole = Lexicon.of(population, Campaign.from_profile(users=1000, epsilon=8.0, alphabet=population.alphabet))
    return whole.held_by([held for _, held in groups], [share for share, _ in groups])


def test_what_a_user_holds_is_what_the_campaign_could_find() -> None:
    users = Population.from_words(
        {
            "known": {"the": 1, "The": 2},
            "one": {"Yeet": 1, "yeet!": 1, "YEET": 1},
            "unspellable": {"ωmega": 1, "a" * 40: 1, "…": 1},
            "two": {"yeet": 1, "bae": 4},
        }
    )
    assert sorted(words_held(users, campaign(1000)).tolist()) == [0, 0, 1, 2]


def test_the_estimate_is_near_the_truth_at_a_small_epsilon() -> None:
    users = people((6_000, 2), (3_000, 24), (1_000, 0))
    shape = estimate_shape(users, campaign(10_000), 1.0, SeededEntropy(Stream.MADE_UP, 5))
    share = {first: found for first, _, found in shape.classes}
    # The share of a class has a standard deviation of 0.019; those of empty classes are taken for nothing.
    assert share[2] == pytest.approx(0.6, abs=0.08)
    assert share[24] == pytest.approx(0.3, abs=0.08)
    assert share[0] == pytest.approx(0.1, abs=0.08)
    assert sum(share.values()) == pytest.approx(1)


def test_reports_have_noise_and_votes_of_their_law() -> None:
    """A user in a class votes for it with chance 1/2, others with q: a histogram without noise would be told apart."""
    users, epsilon = people((400, 3)), 2.0
    shares = []
    for seed in range(300):
        shape = estimate_shape(users, campaign(400), epsilon, SeededEntropy(Stream.MADE_UP, seed))
        shares.append(shape.shares)
    of_class = np.array(shares)[:, CLASSES.index(3)]
    # Noise lifts some of the 18 empty classes above three standard deviations in one of 40 runs or so.
    assert 0.9 < (of_class == 1).mean() < 1
    assert estimate_shape(users, campaign(400), 20.0, SeededEntropy(Stream.MADE_UP, 1)).shares[3] == 1


def test_a_shape_costs_what_one_report_on_the_classes_costs() -> None:
    cost = shape_cost(10_000, 1.0)
    assert [(batch.reports, batch.candidates) for batch in cost.batches] == [(10_000, len(CLASSES))]
    assert (cost.mechanism, cost.epsilon, cost.words_per_user) == ("unary", 1.0, 1)
    assert central_epsilon(cost, 1e-10, "user") == central_epsilon(cost, 1e-10, "item") < 0.4
    assert estimate_shape(people((200, 1)), campaign(400), 5.0, SeededEntropy(Stream.MADE_UP, 0)).collection == (
        shape_cost(200, 5.0)
    )


def test_too_few_users_and_an_epsilon_that_tells_nothing_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"shape of 99 users .* takes 100"):
        shape_cost(99, 1.0)
    with pytest.raises(ParameterError, match=r"0\.01 is too small to tell .* 200 users hold"):
        estimate_shape(people((100, 1), (100, 9)), campaign(400), 0.01, SeededEntropy(Stream.MADE_UP, 3))


def test_people_of_a_lexicon_hold_as_many_words_as_they_are_told_to() -> None:
    lexicon = lexicon_of((0.5, 3), (0.5, 40))
    assert lexicon.words_of_kinds.tolist() == pytest.approx([3, 40], rel=0.02)


def test_b_is_near_what_people_hold_and_the_usual_one_if_that_is_as_good() -> None:
    assert suitable_words(lexicon_of((1.0, 10)), 60) in range(8, 14)
    assert suitable_words(lexicon_of((1.0, 60)), 60) == 60
    assert suitable_words(lexicon_of((1.0, 150)), 60) in range(120, 160)
    assert suitable_words(lexicon_of((0.9, 0), (0.1, 20)), 60) in range(16, 24)
