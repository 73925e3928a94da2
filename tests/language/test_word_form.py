"""What counts as one word: the form of what is typed."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neologue.errors import LanguageError
from neologue.language import builtin
from neologue.language.alphabet import NAMED, Alphabet
from neologue.language.vocabulary import Vocabulary
from neologue.language.word_form import AS_TYPED, WordForm, without_capitals


def form(alphabet: str = "en", case: str = "fold", punctuation: str = "strip") -> WordForm:
    letters = Alphabet.named(alphabet)
    return WordForm.chosen(case, punctuation, without_capitals(letters) if case == "fold" else letters)


@pytest.mark.parametrize("typed", ["yeet", "Yeet", "YEET", "yeet.", "“Yeet”", "#yeet", "(yeet)", "yeet😂", " yeet…"])
def test_a_word_is_one_word_however_it_is_typed(typed: str) -> None:
    assert form().of(typed) == "yeet"


@pytest.mark.parametrize(
    ("typed", "kept"),
    [("don’t", "don't"), ("co‑op", "co-op"), ("rock'n'roll", "rock'n'roll"), ("U.S.", "u.s"), ("CAFE\u0301", "café")],
)
def test_what_is_inside_a_word_stays_with_one_apostrophe_and_one_hyphen(typed: str, kept: str) -> None:
    assert form().of(typed) == kept


def test_case_and_punctuation_are_chosen_one_by_one() -> None:
    assert form(case="keep").of("Yeet!") == "Yeet"
    assert form(punctuation="keep").of("Yeet!") == "yeet!"
    assert form(case="keep", punctuation="keep") == AS_TYPED
    assert AS_TYPED.of(" Yeet! ") == "Yeet!"


def test_emoji_are_words_for_an_alphabet_that_has_them() -> None:
    assert form("en+emoji").of("😂!") == "😂"
    assert form("en").of("😂!") == ""


@pytest.mark.parametrize("name", NAMED)
@given(typed=st.text())
def test_a_form_is_its_own_form_if_the_alphabet_spells_it(name: str, typed: str) -> None:
    chosen, alphabet = form(name), without_capitals(Alphabet.named(name))
    assert chosen.fits(alphabet)
    if alphabet.expresses(once := chosen.of(typed)):
        assert chosen.of(once) == once


def test_an_alphabet_is_folded_once_and_keeps_what_has_no_case() -> None:
    assert without_capitals(Alphabet("abAB1'")).characters == "'1ab"
    assert without_capitals(Alphabet("AB")).characters == "AB", "no small letter could take their place"
    assert without_capitals(without_capitals(Alphabet.named("de"))) == without_capitals(Alphabet.named("de"))


def test_the_tables_are_the_same_on_every_python() -> None:
    every = "".join(form(name).replaced + form(name).stripped for name in NAMED)
    greek_and_more = form_of_all(range(0x250, 0x2000))
    digest = hashlib.sha256((every + greek_and_more).encode()).hexdigest()
    assert digest == "5350e9b05d687a5d793b92fa6d4a65a6f01bbebfe7d920798283b0d0a48b4375", (
        "a service and a certifier with different Pythons would disagree about documents"
    )


def form_of_all(points: range) -> str:
    letters = "".join(chr(point) for point in points if chr(point).isalpha() and len(chr(point).lower()) == 1)
    return WordForm.chosen("fold", "keep", without_capitals(Alphabet(letters))).replaced


@pytest.mark.parametrize(
    ("replaced", "stripped"), [("a", ""), ("", "!"), ("BbAa", ""), ("AaAb", ""), ("", "/!"), ("", "!/.:")]
)
def test_tables_that_are_not_in_order_are_refused(replaced: str, stripped: str) -> None:
    with pytest.raises(LanguageError):
        WordForm(replaced, stripped)


def test_known_words_are_compared_in_the_same_form() -> None:
    known = Vocabulary(["London", "NASA", "iPhone", "don't"]).in_form(form())
    assert all(word in known for word in ("london", "nasa", "iphone", "don't"))
    assert known.in_form(form()) is known
    assert "london" not in Vocabulary(["London"])


@pytest.mark.parametrize(
    "typed", ["Parisian", "MCDONALD'S", "Franco-German", "centre", "colour", "tyres", "21st", "I’ll"]
)
def test_what_a_dictionary_knows_in_some_case_is_known(typed: str) -> None:
    assert form().of(typed) in builtin.vocabulary("en").in_form(form())


@pytest.mark.parametrize("typed", ["yeet", "lol", "haha", "rizz"])
def test_what_no_dictionary_knows_is_not_known(typed: str) -> None:
    assert form().of(typed) not in builtin.vocabulary("en").in_form(form())
