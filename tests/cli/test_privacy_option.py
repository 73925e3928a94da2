"""Which level of privacy a command keeps: `standard`, unless an ε or another level is given."""

from typing import Any

import pytest

from neologue import Alphabet, Campaign, Vocabulary
from neologue.campaign.privacy_level import PAPER, STANDARD, STRICT
from neologue.cli.privacy_option import asked_level, first_epsilon, level_lines, pilot_line
from neologue.errors import ParameterError
from neologue.privacy.statement import Exposure
from neologue.release.levelled_campaign import at_level
from neologue.service.campaigns.definition import Definition
from neologue.web.price import at_privacy, hold_to

NOTHING: dict[str, Any] = dict.fromkeys(("privacy", "epsilon", "delta", "promised_epsilon")) | {"profile": "neologue"}
SMALL: dict[str, Any] = {"known": Vocabulary(["known"]), "alphabet": Alphabet("abcdefgh"), "words_per_user": 5}


def asked(**given: object) -> Any:  # noqa: ANN401 - a level or None
    return asked_level(NOTHING | given, "promised_epsilon")


def test_the_level_is_standard_unless_an_epsilon_a_promise_or_a_level_is_given() -> None:
    assert asked() == STANDARD
    assert asked(privacy="strict") == STRICT
    assert asked(privacy="strict", epsilon=3.0) == STRICT
    assert asked(epsilon=3.0) is None
    assert asked(promised_epsilon=1.0) is None
    assert asked(profile="gboard-2024") is None, "its ε is the paper's"
    assert first_epsilon(NOTHING | {"promised_epsilon": 1.0}, None) == {"epsilon": STANDARD.local_epsilon}
    assert first_epsilon(NOTHING | {"profile": "gboard-2024"}, None) == {}


def test_a_level_and_what_it_decides_contradict_each_other() -> None:
    with pytest.raises(
        ParameterError, match=r"--delta 1e-06 is decided by the level of privacy, standard.*local ε, too"
    ):
        asked(delta=1e-6)
    with pytest.raises(ParameterError, match=r"--privacy strict says what --central-epsilon 2 says"):
        asked(privacy="strict", promised_epsilon=2.0)
    with pytest.raises(
        ParameterError, match=r"level of privacy standard decides what delta = 1e-06 says.*local epsilon"
    ):
        Campaign.from_profile(users=20_000, delta=1e-6)
    with pytest.raises(ParameterError, match="strict decides what promised epsilon = 1 says"):
        Campaign.from_profile(users=20_000, privacy="strict", promised_epsilon=1.0)
    assert Campaign.from_profile(users=20_000, delta=1e-6, epsilon=3.0).parameters.promised_epsilon is None
    assert Campaign.from_profile("gboard-2024", users=20_000, delta=1e-6).epsilon == 10


@pytest.mark.parametrize(
    "changes", [{}, {"rule": "top", "depth": 4, "frontier": 1000}], ids=["planned layers", "a trie"]
)
def test_python_without_an_epsilon_keeps_standard(changes: dict[str, Any]) -> None:
    campaign = Campaign.from_profile(users=20_000, **SMALL, **changes)
    parameters = campaign.parameters
    assert (parameters.promised_epsilon, parameters.promised_unit, parameters.delta) == (3.0, "user", 1e-10)
    assert campaign == at_level(campaign, STANDARD, None, Exposure())


def test_a_live_campaign_at_a_level_has_drawn_slots_where_they_are_possible() -> None:
    small = {"words_per_user": 5, "smallest_layer": 100}
    definition = Definition(name="spring", devices=20_000, parameters=small)
    plain = hold_to(definition, "standard")
    assert plain.parameters["allocation"] == "drawn"
    assert plain.layer_seconds == definition.seconds
    assert plain.campaign.parameters.promised_epsilon == 3.0
    filled = hold_to(Definition(name="spring", devices=20_000, parameters=small | {"allocation": "filled"}), "standard")
    masked = hold_to(
        Definition(name="spring", devices=20_000, parameters=small, aggregation="secure", cohort_size=100), "standard"
    )
    for each in (filled, masked):
        assert not each.drawn
        assert each.layer_seconds is None
        assert each.campaign.epsilon < plain.campaign.epsilon, "the same promise takes a smaller local ε"
    body = {"name": "spring", "devices": 20_000, "parameters": small}
    assert at_privacy(body, "standard") == {
        **body,
        "parameters": plain.parameters,
        "layer_seconds": definition.seconds,
    }
    assert "allocation" not in hold_to(definition, "paper").parameters


def test_a_discovery_says_its_level_and_a_pilot_that_it_promises_nothing() -> None:
    campaign = Campaign.from_profile(users=20_000, epsilon=4.9)
    (line,) = level_lines(campaign, NOTHING)
    assert "Level of privacy standard" in line
    assert "20,000 users keep it with a local ε of 4.9" in line
    assert "neologue plan --users 20000 --privacy standard" in line
    assert level_lines(campaign, NOTHING | {"epsilon": 4.9}) == []
    assert f"pilot at the level of privacy paper, {PAPER.promise}; its local ε is 10" in pilot_line(10.0)
