"""Forecasts of tries against real runs: what is foreseen is what happens, for both rules and both randomizers."""

import string
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
import pytest

from neologue import Alphabet, Campaign, Discovery, Population, Vocabulary, discover
from neologue.planning.expectation import Forecast
from neologue.planning.forecast import forecast
from neologue.populations.lexicon import Lexicon
from neologue.populations.population import EmbeddedPopulation, typed_words
from neologue.randomizers.channel import Floats

pytestmark = pytest.mark.slow

USERS = 50_000
PLANTED = 100

SETTINGS: dict[str, dict[str, Any]] = {
    "unary, significant": {"depth": 5},
    "unary, significant, much noise": {"depth": 5, "epsilon": 6.0, "k_anonymity": 0, "unique_chance": 0.0},
    "unary, significant, few words a user": {"depth": 5, "words_per_user": 5},
    "unary, significant, two passes": {"depth": 5, "passes": 2, "candidates": 1_000_000},
    "unary, top": {"depth": 5, "rule": "top", "frontier": 2000},
    "subset-selection, significant": {
        "depth": 5,
        "randomizer": "subset-selection",
        "words_per_user": 10,
        "candidates": 1_000_000,
    },
    "subset-selection, top": {
        "depth": 5,
        "randomizer": "subset-selection",
        "words_per_user": 20,
        "rule": "top",
        "frontier": 2000,
        "candidates": 1_000_000,
    },
}


LETTERS = Alphabet(string.ascii_letters + "'-")
AS_TYPED: dict[str, Any] = {"case": "keep", "punctuation": "keep"}
"""Words as they are typed."""


@cache
def english() -> Vocabulary:
    return Vocabulary.builtin("en")


def campaign(setting: str, **changes: object) -> Campaign:
    parameters = {"layers": None, "epsilon": 10.0} | AS_TYPED | SETTINGS[setting] | changes
    return Campaign.from_profile(users=USERS, known=english(), alphabet=LETTERS, **parameters)


@cache
def population() -> EmbeddedPopulation:
    return Population.embedded("en", USERS, known=english(), seed=1)


@cache
def lexicon(depth: int) -> Lexicon:
    return Lexicon.of(population(), campaign("unary, top", depth=depth))


def foreseen(wanted: Campaign) -> Forecast:
    return forecast(wanted, lexicon(wanted.parameters.depth))


@cache
def expectation(setting: str) -> Forecast:
    return foreseen(campaign(setting))


@cache
def run(setting: str) -> Discovery:
    return discover(population(), campaign(setting), seed=2)


def agrees(expected: Forecast, seen: Discovery) -> bool:
    """Coverage within a percentage point, and words within 4 % and what chance does."""
    words = seen.score.words_released
    return abs(expected.coverage - seen.score.coverage) < 0.01 and abs(
        expected.words - words
    ) < 0.04 * words + 2 * sqrt(words)


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_run_finds_what_was_foreseen(setting: str) -> None:
    expected, seen = expectation(setting), run(setting)
    score = seen.score
    assert agrees(expected, seen), (expected.coverage, score.coverage, expected.words, score.words_released)
    false = score.words_released * (1 - score.precision)
    assert expected.false_words / 3 - 5 < false < 3 * expected.false_words + 5


@pytest.mark.parametrize("setting", SETTINGS)
def test_its_layers_are_those_foreseen(setting: str) -> None:
    expected, seen = expectation(setting).layers, run(setting).release.layers
    assert [
        (layer.pass_number, layer.layer, layer.length, layer.extension, layer.layer_size) for layer in expected
    ] == [(facts.pass_number, facts.layer, facts.length, facts.extension, facts.asked) for facts in seen]
    for layer, facts in zip(expected, seen, strict=True):
        assert layer.kept == pytest.approx(facts.kept, rel=0.15, abs=4 * sqrt(facts.kept))
        assert layer.candidates == pytest.approx(facts.candidates, rel=0.15)


def unlimited(lexicon: Lexicon, shares: Floats, present: Floats, bound: int) -> Floats:
    return lexicon.holding_chance(shares)


WRONG: dict[str, tuple[str, Callable[[], Forecast]]] = {
    "without noise": (
        "unary, significant, much noise",
        lambda: foreseen(campaign("unary, significant, much noise", epsilon=10.0)),
    ),
    "without thresholds for what few report": (
        "unary, significant",
        lambda: foreseen(campaign("unary, significant", k_anonymity=0, unique_chance=0.0)),
    ),
    "without the second pass": (
        "unary, significant, two passes",
        lambda: foreseen(campaign("unary, significant, two passes", passes=1)),
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_forecast_is_told_apart(wrong: str) -> None:
    setting, expected = WRONG[wrong]
    assert not agrees(expected(), run(setting))


def test_a_forecast_without_the_limit_on_words_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lexicon, "sampling_chance", unlimited)
    setting = "unary, significant, few words a user"
    assert not agrees(foreseen(campaign(setting)), run(setting))


@dataclass(frozen=True)
class Planted:
    """English, and words of random letters that just so many users report as a forecast calls for."""

    population: EmbeddedPopulation
    campaign: Campaign
    words: tuple[str, ...]


@pytest.fixture(scope="module")
def planted() -> Planted:
    wanted = campaign("unary, significant", depth=5, words_per_user=200, epsilon=7.0)
    letters = np.random.default_rng(8).choice(list("bcdfghjklmnpqrstvwxz"), (PLANTED, 5))
    words = tuple("".join(row) for row in letters)
    typed = typed_words("en")
    spelled = zip(typed, english().known(typed), strict=True)
    shares = {word: typed[word] for word, known in spelled if not known}
    plain, rarest = lexicon(5), foreseen(wanted).rarest_share
    assert rarest is not None
    scale = np.geomspace(1e-7, 1e-1, 4000)
    share = float(np.interp(rarest, plain.holding_chance(scale), scale)) * sum(shares.values())
    held = dict(sorted((shares | dict.fromkeys(words, share)).items()))
    return Planted(EmbeddedPopulation("en", USERS, held, english(), 60, 11), wanted, words)


def test_of_the_rarest_words_that_a_forecast_promises_95_percent_are_found(planted: Planted) -> None:
    held = dict(zip(planted.population.words, planted.population.holders().tolist(), strict=True))
    rarest = foreseen(planted.campaign).rarest_share
    assert rarest is not None
    assert np.mean([held[word] for word in planted.words]) == pytest.approx(rarest * USERS, rel=0.05)
    enough = {word for word in planted.words if held[word] >= rarest * USERS}
    found = cases = 0
    for seed in (3, 4):
        released = discover(planted.population, planted.campaign, seed=seed).release.words
        found += len(enough.intersection(word.word for word in released))
        cases += len(enough)
    assert cases > 60
    assert found >= 0.95 * cases - 2 * sqrt(cases * 0.95 * 0.05)


def small(rule: str, **changes: object) -> tuple[Campaign, Lexicon]:
    known = Vocabulary(["abba"])
    people = EmbeddedPopulation("en", 5000, {"ab": 0.01, "bab": 0.005, "baba": 0.002}, known, 60, 1)
    parameters: dict[str, Any] = {
        "depth": 4,
        "epsilon": 10.0,
        "rule": rule,
        "k_anonymity": 0,
        "unique_chance": 0.0,
    } | changes
    wanted = Campaign.from_profile(users=5000, known=known, alphabet=Alphabet("ab"), **parameters)
    return wanted, Lexicon.of(people, wanted)


def test_where_everything_is_kept_every_word_is_found() -> None:
    expected = forecast(*small("top"))
    assert expected.rarest_share == 0
    assert expected.coverage == pytest.approx(1)
    assert [layer.words for layer in expected.layers] == [2, 4, 8, 16]
    assert expected.words == 2 + 4 + 8 + 16
    assert expected.false_words == pytest.approx(27)


def test_room_for_few_is_filled_and_not_exceeded() -> None:
    expected = forecast(*small("top", frontier=1, candidates=6))
    assert all(layer.kept + layer.words == 1 for layer in expected.layers)
    assert 0 < expected.words <= 1.01


@pytest.mark.parametrize("layers", [None, 4])
def test_where_nothing_stands_out_no_word_is_sure(layers: int | None) -> None:
    expected = forecast(*small("significant", epsilon=0.01, layers=layers))
    assert expected.rarest_share is None
    assert expected.words < 0.01
    assert expected.report_bytes > 0


@pytest.mark.parametrize(("rule", "layers"), [("top", None), ("significant", None), ("significant", 4)])
def test_a_second_pass_with_nothing_left_to_find_finds_nothing_more(rule: str, layers: int | None) -> None:
    wanted, words = small(rule, epsilon=20.0, layers=layers)
    once, twice = (
        forecast(wanted, words),
        forecast(replace(wanted, parameters=replace(wanted.parameters, passes=2)), words),
    )
    assert once.coverage == pytest.approx(1, abs=1e-3)
    assert twice.coverage == pytest.approx(1, abs=1e-3)
    assert {layer.pass_number for layer in twice.layers} == {1, 2}


@pytest.mark.parametrize("layers", [None, 4])
def test_more_users_find_more(layers: int | None) -> None:
    found = []
    for users in (20_000, 50_000, 1_000_000):
        expected = foreseen(replace(campaign("unary, significant", epsilon=8.0, layers=layers), users=users))
        found.append((expected.coverage, expected.words, -(expected.rarest_share or 1.0)))
    assert all((np.array(fewer) < more).all() for fewer, more in pairwise(found))
