"""Populations: users who stay the same however they are asked for."""

import math

import numpy as np
import pytest

from neologue.errors import DataError, LanguageError, ParameterError
from neologue.language.alphabet import Alphabet
from neologue.language.vocabulary import Vocabulary
from neologue.language.word_form import WordForm, without_capitals
from neologue.populations import typing_model
from neologue.populations.population import CHUNK, EmbeddedPopulation, Population, typed_words

USERS = 3 * CHUNK + 1000


@pytest.fixture(scope="module")
def english() -> Population:
    return Population.embedded("en", USERS, seed=3)


def test_a_user_holds_the_same_words_whatever_range_is_asked_for(english: Population) -> None:
    whole = english.draw(CHUNK, 2 * CHUNK)
    part = english.draw(CHUNK + 100, CHUNK + 200)
    assert part.users == 100
    assert np.array_equal(part.words, whole.rows(100, 200).words)
    assert np.array_equal(part.starts, whole.rows(100, 200).starts)


def test_words_do_not_depend_on_whether_counts_are_wanted(english: Population) -> None:
    assert np.array_equal(english.draw(0, 500).words, english.draw(0, 500, counted=False).words)


def test_spans_cover_a_range_in_pieces_that_one_draw_takes(english: Population) -> None:
    spans = list(english.spans(5, 2 * CHUNK + 7))
    assert spans == [(5, CHUNK), (CHUNK, 2 * CHUNK), (2 * CHUNK, 2 * CHUNK + 7)]
    assert list(english.spans(9, 9)) == []


def test_holders_are_counted_user_by_user(english: Population) -> None:
    counted = np.zeros(len(english.words), np.int64)
    for start, stop in english.spans(0, USERS):
        held = english.draw(start, stop)
        for row in range(0, held.users, 1000):
            own = held.words[held.starts[row] : held.starts[row + 1]]
            assert len(set(own.tolist())) == len(own)
        np.add.at(counted, held.words, 1)
    assert np.array_equal(english.holders(), counted)


def test_unknown_english_words_are_those_that_a_dictionary_lacks(english: Population) -> None:
    words = set(english.words)
    assert {"lol", "dont", "haha", "xbox", "tbh", "idk"} <= words
    assert not {"the", "London", "london", "i", "I", "monday", "0,000"} & words
    assert typed_words("en")["London"] > 0
    assert not {"centre", "colour", "organise"} & words, (
        "English is known as it is written on both sides of the Atlantic"
    )
    assert not {"u.s", "p.m", "e.g", "_", "°", "ve", "doesn"} & words, "a tokenizer makes them, nobody types them"
    holders = dict(zip(english.words, english.holders().tolist(), strict=True))
    assert holders["lol"] > 1000 > holders["idk"] / 10 > 0


def test_the_volume_of_typing_has_the_published_median_and_mean() -> None:
    assert pytest.approx(5160) == 60 * typing_model.MEDIAN_WORDS_A_DAY
    mean = 60 * typing_model.MEDIAN_WORDS_A_DAY * math.exp(typing_model.VOLUME_SIGMA**2 / 2)
    assert mean / (60 * typing_model.MEDIAN_WORDS_A_DAY) == pytest.approx(4.15)
    different = typing_model.concentration() * math.log1p(5160 / typing_model.concentration())
    assert different == pytest.approx(44 * 5160**0.49)


def test_the_model_draws_as_many_tokens_and_words_as_it_says() -> None:
    shares = np.array([0.004, 0.003, 0.002, 0.001])
    model = typing_model.TypingModel.of(shares, 60)
    drawn = model.draw(200_000, 1, counted=True)
    tokens = np.bincount(drawn.words, drawn.counts, 4) / 200_000
    expected = shares * 60 * typing_model.MEDIAN_WORDS_A_DAY * math.exp(typing_model.VOLUME_SIGMA**2 / 2)
    # A user's count has an sd of about 4.4 times its mean (log-normal volume): 1 % of it in 200,000.
    assert np.allclose(tokens, expected, rtol=0.06)
    # P(a user holds w) = 1 - E[(1 + m/ρA)^(-ρA·f_w)], over the law of the volume m.
    volume = (
        60
        * typing_model.MEDIAN_WORDS_A_DAY
        * model.share
        * np.exp(typing_model.VOLUME_SIGMA * np.random.default_rng(0).standard_normal(400_000))
    )
    shape = model.concentration * shares / shares.sum()
    holding = [1 - ((1 + volume / model.concentration) ** -each).mean() for each in shape]
    assert np.allclose(np.bincount(drawn.words, minlength=4) / 200_000, holding, atol=0.006)


def test_favourites_concentrate_a_word_on_fewer_users_than_independent_typing_would() -> None:
    shares = np.array([5e-5, 5e-5])
    model = typing_model.TypingModel.of(shares, 60)
    holders = len(model.draw(100_000, 2, counted=True).words) / (2 * 100_000)
    volume = (
        60
        * typing_model.MEDIAN_WORDS_A_DAY
        * np.exp(typing_model.VOLUME_SIGMA * np.random.default_rng(0).standard_normal(200_000))
    )
    independent = 1 - np.exp(-volume * shares[0]).mean()
    assert holders < 0.75 * independent


def test_targets_are_held_even_if_known() -> None:
    population = Population.embedded("en", 1000, targets=["the", "lol", "notaword77"])
    assert population.words == ["lol", "the"]


@pytest.mark.parametrize("language", ["de", "es", "id", "hi"])
def test_other_languages_work_by_name(language: str) -> None:
    population = Population.embedded(language, 1000)
    assert len(population.words) > 1000
    assert population.draw(0, 1000).users == 1000


def test_impossible_populations_are_refused() -> None:
    with pytest.raises(LanguageError, match="'xx'"):
        Population.embedded("xx", 10)
    with pytest.raises(ParameterError, match="not 0"):
        Population.embedded("en", 0)
    with pytest.raises(DataError, match="fewer known words"):
        Population.embedded("en", 10, known=Vocabulary(typed_words("en")))
    with pytest.raises(DataError, match="no word at all"):
        Population.from_words({"u": {" ": 1}})


def test_users_in_memory_are_each_asked_once_in_an_order_that_the_seed_fixes() -> None:
    users = {f"user{number}": {f"word{number}": 1, "lol": 2} for number in range(50)}
    population = Population.from_words(users, seed=1)
    drawn = population.draw(0, 50)
    own = [population.words[word] for word in drawn.words if population.words[word] != "lol"]
    assert sorted(own) == sorted(f"word{number}" for number in range(50))
    assert own != sorted(own)
    again = Population.from_words(dict(reversed(users.items())), seed=1).draw(0, 50)
    assert np.array_equal(again.words, drawn.words)
    assert population.holders()[population.words.index("lol")] == 50


def test_spellings_that_are_the_same_word_are_counted_together() -> None:
    population = Population.from_words({"u": {"nin\u0303o": 1, "niño": 2, " niño": 4}})
    assert population.words == ["niño"]
    assert population.draw(0, 1).counts.tolist() == [7]


def test_words_of_one_form_are_counted_together_and_signs_alone_are_the_empty_word() -> None:
    form = WordForm.chosen("fold", "strip", without_capitals(Alphabet.named("en")))
    typed = {"u": {"Yeet": 1, "yeet!": 2, "rizz": 1, "…": 1}, "v": {"YEET": 4, "_": 1, "—": 2}}
    population = Population.from_words(typed).in_form(form)
    assert population.words == ["", "rizz", "yeet"]
    assert population.holders().tolist() == [2, 1, 2]
    drawn = population.draw(0, 2)
    assert sorted(zip(drawn.words.tolist(), drawn.counts.tolist(), strict=True)) == [
        (0, 1),
        (0, 3),
        (1, 1),
        (2, 3),
        (2, 4),
    ]
    assert population.in_form(form) is population


def test_simulated_users_type_a_form_as_often_as_all_that_become_it() -> None:
    form = WordForm.chosen("fold", "strip", without_capitals(Alphabet.named("en")))
    population = EmbeddedPopulation("en", 100, {"Yeet": 0.01, "rizz": 0.02, "yeet": 0.03}, Vocabulary.empty(), 60, 0)
    formed = population.in_form(form)
    assert formed.words == ["rizz", "yeet"]
    assert formed.model.shares.tolist() == pytest.approx([1 / 3, 2 / 3])


def test_more_days_of_typing_make_more_words() -> None:
    week, quarter = (Population.embedded("en", 2000, days=days).draw(0, 2000) for days in (7, 90))
    assert 2 * len(week.words) < len(quarter.words)


@pytest.mark.parametrize("times", [0, -3, 1.5, 2**31])
def test_counts_that_nobody_can_type_are_refused(times: int) -> None:
    with pytest.raises(DataError, match=f"{times} times"):
        Population.from_words({"u": {"lol": times}})


def test_an_embedded_population_brings_its_known_words_and_alphabet() -> None:
    german = Population.embedded("de", 1000)
    assert german.alphabet is not None
    assert german.alphabet.expresses("größe")
    assert "und" in german.known
