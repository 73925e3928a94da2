"""Lists of words as other programs read them."""

import csv
import io

import pytest

from neologue.discovery.result import ReleasedPrefix, ReleasedWord
from neologue.release.word_lists import aosp_combined, aosp_frequency, hunspell_dic, prefixes_csv, words_csv


def word(text: str, estimate: float = 10.0) -> ReleasedWord:
    return ReleasedWord(word=text, votes=3, estimate=estimate, low=1.0, high=20.0, layer=1, pass_number=1, since=1)


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(1)", "＝1", "＠a", "\t=1"])
def test_a_spreadsheet_calculates_nothing(text: str) -> None:
    assert f"'{text}" in words_csv([word(text)])


def test_a_spreadsheet_calculates_no_prefix_either() -> None:
    rows = prefixes_csv([ReleasedPrefix("=x", 30, 10.0, 1.0, 20.0, 3, 1), ReleasedPrefix("xq", 9, 2.0, 1.0, 3.0, 3, 2)])
    assert rows.splitlines() == [
        "prefix,votes,would_report,would_report_low,would_report_high,layer,pass",
        "'=x,30,10.0,1.0,20.0,3,1",
        "xq,9,2.0,1.0,3.0,3,2",
    ]


def test_other_words_stand_as_they_are() -> None:
    assert words_csv([word("'tis"), word('a"b,c')]).splitlines()[1:] == [
        "'tis,3,10.0,1.0,20.0,1,1",
        '"a""b,c",3,10.0,1.0,20.0,1,1',
    ]


def test_a_slash_of_a_word_begins_no_flags() -> None:
    assert hunspell_dic(["b", "a/c"]) == "2\na\\/c\nb\n"


def test_a_keyboard_gets_words_with_frequencies() -> None:
    text = aosp_combined([word("lol", 300.0), word("a,b"), word("x=y", 3.0)], 1000, "en", 7)
    assert text.splitlines() == [
        "dictionary=main:en,locale=en,description=New words,date=7,version=1",
        f" word=lol,f={aosp_frequency(0.3)}",
        f" word=x=y,f={aosp_frequency(0.003)}",
    ]


@pytest.mark.parametrize("blank", ["\n", "\r", "\t", " ", "\v", "\x85", "\u2028"])
def test_white_space_in_a_word_adds_nothing_to_a_dictionary(blank: str) -> None:
    hostile = [f"a{blank}word=evil", f"{blank}b", f"c{blank}"]
    assert hunspell_dic([*hostile, "lol"]) == "1\nlol\n"
    _, *entries = aosp_combined([*map(word, hostile), word("lol")], 1000, "en", 7).split("\n")
    assert entries == [f" word=lol,f={aosp_frequency(0.01)}", ""]
    rows = list(csv.reader(io.StringIO(words_csv(map(word, hostile)), newline="")))
    assert [row[0] for row in rows[1:]] == hostile, "a table can hold them"


def test_frequencies_are_logarithms_from_1_to_255() -> None:
    assert aosp_frequency(1.0) == 255 - 66
    assert aosp_frequency(0.1) == pytest.approx(aosp_frequency(1.0) - 16, abs=1)
    assert aosp_frequency(0.0) == aosp_frequency(-1.0) == aosp_frequency(1e-300) == 1
    assert aosp_frequency(1e9) == 255
