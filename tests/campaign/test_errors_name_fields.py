"""An error names the field to change, so that a form can show it there."""

import pickle
from dataclasses import fields, replace
from typing import Any

import pytest

from neologue.campaign.campaign import Campaign
from neologue.campaign.measuring import Measuring
from neologue.campaign.parameters import Parameters
from neologue.campaign.profiles import NEOLOGUE, profile
from neologue.errors import InputError, LanguageError, ParameterError
from neologue.language.alphabet import Alphabet
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.limits import check_whole

WRONG: dict[str, Any] = {
    "randomizer": "dice",
    "epsilon": 0.0,
    "words_per_user": 0,
    "later_words": (60, 61),
    "days": 0,
    "depth": 1,
    "passes": 0,
    "layers": 0,
    "sampler": "best",
    "rule": "all",
    "case": "lower",
    "punctuation": "none",
    "frontier": 0,
    "candidates": 0,
    "report_bytes": 1,
    "smallest_layer": 0,
    "false_prefixes": 1.0,
    "false_words": 0.0,
    "k_anonymity": -1,
    "unique_chance": 1.5,
    "hostile_devices": -1,
    "alpha": 1.0,
    "delta": 0.0,
    "colluders": 1.0,
    "promised_epsilon": 0.0,
    "promised_unit": "word",
    "allocation": "first come, first served",
}


def test_every_parameter_that_can_be_wrong_is_tried() -> None:
    assert WRONG.keys() == {field.name for field in fields(Parameters)}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_parameter_is_named(name: str) -> None:
    with pytest.raises(ParameterError) as caught:
        replace(NEOLOGUE.parameters, **{name: WRONG[name]})
    assert caught.value.parameter == name


@pytest.mark.parametrize(
    "elsewhere", [{"allocation": "filled"}, {"layers": None}, {"randomizer": "subset-selection"}], ids=str
)
def test_later_layers_ask_for_fewer_words_only_where_slots_are_drawn(elsewhere: dict[str, Any]) -> None:
    fewer = replace(NEOLOGUE.parameters, later_words=(40, 25))
    assert [fewer.words_in(layer) for layer in (1, 2, 3, 4, 9)] == [60, 40, 25, 25, 25]
    with pytest.raises(ParameterError, match="leave out later_words, or draw slots") as caught:
        replace(fewer, **elsewhere)
    assert caught.value.parameter == "later_words"


def test_the_fields_of_a_campaign_are_named() -> None:
    with pytest.raises(ParameterError) as few:
        Campaign.from_profile(users=10, epsilon=10.0)
    with pytest.raises(ParameterError) as wide:
        Campaign.from_profile("gboard-2024", users=15_000_000, frontier=1_000_000)
    with pytest.raises(ParameterError) as small:
        Campaign.from_profile(users=100_000, report_bytes=100, epsilon=10.0)
    with pytest.raises(LanguageError) as foreign:
        Campaign.from_profile(users=100_000, targets=["ж"], epsilon=10.0)
    with pytest.raises(ParameterError) as undecided:
        replace(Campaign.from_profile(users=10_000, epsilon=10.0), parameters=NEOLOGUE.parameters)
    assert [e.value.parameter for e in (few, wide, small, foreign, undecided)] == [
        "users",
        "frontier",
        "alphabet",
        "targets",
        "epsilon",
    ]


@pytest.mark.parametrize(
    ("refused", "taken"), [({"delta": 1.1e-5}, {"delta": 1e-5}), ({"alpha": 0.49}, {"alpha": 0.5})], ids=str
)
def test_levels_at_which_nothing_is_promised_are_refused(refused: dict[str, Any], taken: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"could be published|more likely be published") as caught:
        Campaign.from_profile(users=100_000, epsilon=10.0, **refused)
    assert [caught.value.parameter] == list(refused)
    Campaign.from_profile(users=100_000, epsilon=10.0, **taken)
    Campaign.from_profile(users=100_000, k_anonymity=0, alpha=0.1, epsilon=10.0)


def test_the_fields_of_a_measurement_are_named() -> None:
    campaign = Campaign.from_profile(users=10_000, epsilon=10.0)
    with pytest.raises(ParameterError) as nobody:
        Measuring(0)
    with pytest.raises(ParameterError) as rate:
        Measuring(1000, rate=0.0)
    with pytest.raises(ParameterError) as few:
        Measuring(1).check(campaign, 20_000)
    with pytest.raises(ParameterError) as many:
        Measuring(1000).check(campaign, 10_000)
    assert [e.value.parameter for e in (nobody, rate, few, many)] == [
        "measure_users",
        "measure_rate",
        "measure_users",
        "users",
    ]


def test_names_that_nothing_has_are_named() -> None:
    for wrong, field in (
        (lambda: profile("x"), "profile"),
        (lambda: Alphabet.named("x"), "alphabet"),
        (lambda: Vocabulary.builtin("x"), "language"),
    ):
        with pytest.raises(InputError) as caught:
            wrong()
        assert caught.value.parameter == field


def test_an_error_without_a_field_names_none_and_travels_between_processes() -> None:
    with pytest.raises(ParameterError) as caught:
        check_whole("reports", -1, 0, 9)
    assert caught.value.parameter is None
    named = pickle.loads(pickle.dumps(ParameterError("it is wrong", parameter="depth")))
    assert (str(named), named.parameter) == ("it is wrong", "depth")
