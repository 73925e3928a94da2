"""Flags: what may belong to one person, what is profane, and what is not."""

import pytest

from neologue.language.vocabulary import Vocabulary
from neologue.service.review.flags import Flag, flags, personal, profane


@pytest.mark.parametrize(
    ("word", "what"),
    [
        ("jo@x.org", "an e-mail address"),
        ("Jo.Smith@mail.example.org", "an e-mail address"),
        ("https://x.org/a", "a web address"),
        ("www.example.org", "a web address"),
        ("example.com/jo", "a web address"),
        ("10.0.0.1", "an IP address"),
        ("2001:db8:0:1", "an IP address"),
        ("GB82WEST12345698765432", "a bank account"),
        ("gb82west12345698765432", "a bank account"),
        ("4111111111111111", "a payment card"),
        ("4111-1111-1111-1111", "a payment card"),
        ("550e8400-e29b-41d4-a716-446655440000", "an identifier"),
        ("+491701234567", "a phone number or another long number"),
        ("(0170)123-4567", "a phone number or another long number"),
        ("01/02/1984", "a phone number or another long number"),
        ("4111111111111112", "a phone number or another long number"),
        ("@jo_smith", "a handle"),
        ("jo.smith", "a first and a last name"),
        ("jürgen_groß", "a first and a last name"),
        ("jo1984", "a name with a number"),
    ],
)
def test_what_may_belong_to_one_person_is_named(word: str, what: str) -> None:
    assert personal(word) == what


@pytest.mark.parametrize(
    "word",
    ["lol", "u.s", "e.g", "windows10", "covid19", "2026", "=1+1", "@", "<img", "facade", "日本語", "", "GB82WEST1234"],
)
def test_other_words_belong_to_nobody(word: str) -> None:
    assert personal(word) is None


def test_swear_words_are_found_in_disguise_and_innocent_ones_are_not() -> None:
    innocent = ["cockpit", "scunthorpe", "assassin", "therapist", "colour", "<img", "", "💩x"]
    assert profane(["fuck", "sh1t", "fuckkk", *innocent], "en") == ["fuck", "sh1t", "fuckkk"]


def test_each_language_has_its_own_and_those_of_english() -> None:
    assert profane(["arschloch", "shit", "haus"], "de") == ["arschloch", "shit"]
    assert profane(["arschloch", "shit"], "en") == ["shit"]
    assert profane(["shit"], "tlh") == profane(["shit"], None) == ["shit"]


def test_a_word_may_have_several_flags_and_most_have_none() -> None:
    found = flags(["fuckkk", "lol", "adress"], Vocabulary(["fuck", "address"]), "en")
    assert [flag.kind for flag in found["fuckkk"]] == ["profanity", "near"]
    assert found["adress"] == (Flag("near", "“address” but for one letter"),)
    assert "lol" not in found
