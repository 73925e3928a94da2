"""Levels of privacy: the largest local ε that keeps them, whatever the population, and never a weaker promise."""

from dataclasses import replace
from itertools import pairwise

import pytest

from neologue import Alphabet, Campaign, Vocabulary
from neologue.campaign.largest_epsilon import STEP
from neologue.campaign.measuring import Measuring
from neologue.campaign.privacy_level import DEFAULT_LEVEL, LEVELS, PAPER, STANDARD, STRICT, PrivacyLevel, weaker
from neologue.errors import ParameterError
from neologue.privacy.cost import central_epsilon
from neologue.privacy.statement import Exposure
from neologue.release.foreseen import foreseen_facts
from neologue.release.levelled_campaign import at_level


def campaign(users: int) -> Campaign:
    return Campaign.from_profile(
        users=users,
        known=Vocabulary(["known"]),
        alphabet=Alphabet("abcdefgh"),
        layers=3,
        words_per_user=10,
        epsilon=10.0,
    )


def user_epsilon(asked: Campaign, measuring: Measuring | None = None) -> float:
    facts = foreseen_facts(asked, measuring, Exposure())
    return central_epsilon(facts.collection.in_sums_of(None, facts.colluders), facts.delta, "user")


@pytest.mark.parametrize("level", [STRICT, STANDARD], ids=lambda level: level.name)
@pytest.mark.parametrize("measured", [False, True], ids=["", "measured"])
def test_every_population_keeps_the_level_with_the_largest_local_epsilon(level: PrivacyLevel, measured: bool) -> None:
    found = []
    for users in (20_000, 60_000, 400_000):
        measuring = Measuring(users // 4, 1.0) if measured else None
        asked = at_level(campaign(users), level, measuring, Exposure())
        parameters = asked.parameters
        assert (parameters.promised_epsilon, parameters.promised_unit) == (level.user_epsilon, "user")
        assert parameters.delta == level.delta
        assert level.user_epsilon is not None
        assert asked.epsilon <= level.local_epsilon
        assert user_epsilon(asked, measuring) <= level.user_epsilon
        found.append((asked.epsilon, not parameters.later_words))
        if asked.epsilon < level.local_epsilon:
            # Room for dropouts is less than 10 % of ε.
            louder = replace(
                asked, parameters=replace(parameters, promised_epsilon=None, epsilon=round(asked.epsilon + STEP, 2))
            )
            assert max(user_epsilon(louder), user_epsilon(louder, measuring)) > 0.9 * level.user_epsilon
    assert all(fewer < more for fewer, more in pairwise(found)), "fewer users get a smaller local ε"


@pytest.mark.parametrize(("users", "fewer"), [(60_000, True), (20_000_000, False)])
def test_later_layers_ask_for_fewer_words_only_if_that_buys_a_larger_epsilon(users: int, fewer: bool) -> None:
    asked = at_level(campaign(users), STRICT, None, Exposure())
    assert asked.parameters.later_words == ((7, 5, 4) if fewer else ())
    as_many = replace(asked, parameters=replace(asked.parameters, promised_epsilon=None, later_words=()))
    assert STRICT.user_epsilon is not None
    assert (user_epsilon(as_many) > STRICT.user_epsilon) is fewer
    smaller = at_level(campaign(users), STRICT, None, Exposure(), epsilon=1.0)
    assert smaller.parameters.later_words == ()


def test_at_standard_all_layers_ask_for_as_many_words() -> None:
    assert at_level(campaign(60_000), STANDARD, None, Exposure()).parameters.later_words == ()


def test_where_layers_are_known_all_ask_for_as_many_words() -> None:
    filled = campaign(60_000)
    filled = replace(filled, parameters=replace(filled.parameters, allocation="filled"))
    assert at_level(filled, STRICT, None, Exposure()).parameters.later_words == ()


def test_a_large_population_stops_at_the_largest_local_epsilon_of_the_level() -> None:
    assert at_level(campaign(20_000_000), STANDARD, None, Exposure()).epsilon == STANDARD.local_epsilon


def test_the_level_of_the_paper_promises_nothing_for_a_whole_user() -> None:
    asked = at_level(campaign(20_000), PAPER, None, Exposure())
    assert (asked.epsilon, asked.parameters.promised_epsilon) == (10.0, None)


def test_a_smaller_local_epsilon_is_taken_and_a_larger_one_refused_with_a_way_out() -> None:
    most = at_level(campaign(60_000), STRICT, None, Exposure()).epsilon
    asked = at_level(campaign(60_000), STRICT, None, Exposure(), most - 1)
    assert asked.epsilon == most - 1
    assert asked.parameters.promised_epsilon == STRICT.user_epsilon
    with pytest.raises(
        ParameterError, match=rf"strict allows 60,000 users a local epsilon of at most {most:g}, not 9.*level standard"
    ):
        at_level(campaign(60_000), STRICT, None, Exposure(), 9.0)


def test_a_level_that_nothing_keeps_is_refused_with_a_way_out() -> None:
    with pytest.raises(ParameterError, match=r"no local epsilon keeps 400 users at the level strict.*take more users"):
        at_level(campaign(400), replace(STRICT, user_epsilon=1e-4), None, Exposure())


def test_levels_go_from_strict_to_weak_and_each_names_its_source() -> None:
    levels = list(LEVELS.values())
    assert [weaker(level) for level in levels] == [*levels[1:], None]
    for level in levels:
        assert len(level.source) > 40
    assert DEFAULT_LEVEL in LEVELS
    with pytest.raises(ParameterError, match="no level of privacy is called 'lax'"):
        LEVELS["lax"]
