"""Alphabets: which symbols there are, and in which order."""

import string
from pathlib import Path

import numpy as np
import pytest

from neologue.errors import LanguageError
from neologue.language.alphabet import NAMED, Alphabet, normalise


def test_the_papers_alphabet_has_100_symbols_and_the_default_95() -> None:
    assert Alphabet.named("paper").size == 100
    assert set(Alphabet.named("paper").characters) < set(string.printable)
    assert Alphabet.named("ascii").size == 95


@pytest.mark.parametrize("name", NAMED)
def test_characters_are_distinct_in_code_point_order_and_in_nfc(name: str) -> None:
    characters = Alphabet.named(name).characters
    assert list(characters) == sorted(set(characters))
    visible = characters.strip(string.whitespace)
    assert all(normalise(character) == character for character in visible)


@pytest.mark.parametrize(
    ("name", "word"),
    [("de", "Straßenköter"), ("es", "niñería"), ("id", "anak2"), ("en", "y'all'd've"), ("hi", "नमस्ते"), ("ru", "ёлка")],
)
def test_an_alphabet_expresses_words_of_its_language(name: str, word: str) -> None:
    assert Alphabet.named(name).expresses(normalise(word))


def test_an_accent_typed_apart_is_the_same_character() -> None:
    assert Alphabet.named("es").expresses(normalise("nin\u0303o"))


def test_a_sample_gives_the_characters_that_occur_in_it(tmp_path: Path) -> None:
    sample = tmp_path / "sample.txt"
    sample.write_text("\ufeffžába dům\tŘeka\n", encoding="utf-8")
    assert Alphabet.from_file(sample).characters == "".join(sorted(set("žábadůmŘeka")))


def test_codes_are_zero_for_the_end_and_minus_one_for_strangers() -> None:
    alphabet = Alphabet("abz")
    points = np.array([0, ord("a"), ord("b"), ord("z"), ord("c"), ord("€"), 0x10FFFF], np.uint32)
    assert alphabet.codes(points).tolist() == [0, 1, 2, 3, -1, -1, -1]


@pytest.mark.parametrize("characters", ["", "a", "aaaa", "ab\0"])
def test_an_alphabet_without_room_is_refused(characters: str) -> None:
    with pytest.raises(LanguageError):
        Alphabet(characters)


def test_unknown_names_and_unreadable_samples_are_refused_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(LanguageError, match=r"'klingon'.*ascii"):
        Alphabet.named("klingon")
    with pytest.raises(LanguageError, match="can't read"):
        Alphabet.from_file(tmp_path / "none.txt")
    (tmp_path / "latin1.txt").write_bytes("grüße".encode("latin-1"))
    with pytest.raises(LanguageError, match="not UTF-8"):
        Alphabet.from_file(tmp_path / "latin1.txt")
