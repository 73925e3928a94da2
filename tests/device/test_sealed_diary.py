"""A sealed diary remembers and forgets like any other, and shows no word to whoever has its file and not its key."""

import sqlite3
from pathlib import Path

import pytest

from neologue.device.storage.diary import Diary
from neologue.errors import DiaryError, ParameterError

SECRET = "xylomancytest"


def test_a_sealed_diary_remembers_forgets_and_looks_up(tmp_path: Path) -> None:
    path = tmp_path / "diary.db"
    words = {"a\0b", "𝔫𝔢𝔬", "नमस्ते", "a", "x" * 64, "a\u0080", "b\0\0"}
    with Diary(path, b"k" * 32) as diary:
        for word in words:
            diary.typed(word)
            diary.typed(word, 2)
        assert diary.words() == dict.fromkeys(words, 3)
    with Diary(path, b"k" * 32) as diary:
        diary.forget("a")
        assert diary.words() == dict.fromkeys(words - {"a"}, 3)
    content = path.read_bytes()
    assert not [word for word in words if len(word) > 2 and word.encode() in content]


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (b"k" * 32, b"x" * 32, "is sealed by another key: give that one"),
        (b"k" * 32, None, "is sealed: give its key"),
        (None, b"k" * 32, "is not sealed by a key: open it without one"),
    ],
)
def test_another_key_is_refused_with_the_remedy(
    tmp_path: Path, first: bytes | None, second: bytes | None, said: str
) -> None:
    path = tmp_path / "diary.db"
    with Diary(path, first) as diary:
        diary.typed(SECRET)
    with pytest.raises(DiaryError, match=said):
        Diary(path, second)
    with Diary(path, first) as diary:
        assert diary.words() == {SECRET: 1}


def test_a_key_of_another_length_is_refused() -> None:
    with pytest.raises(ParameterError, match="must be 32 bytes"):
        Diary(key=b"short")


def test_a_sealed_word_that_is_damaged_is_an_error_that_doesnt_quote_it(tmp_path: Path) -> None:
    path = tmp_path / "diary.db"
    with Diary(path, b"k" * 32) as diary:
        diary.typed(SECRET)
        with sqlite3.connect(path) as db:
            db.execute("UPDATE words SET word = x'00'")
        db.close()
        with pytest.raises(DiaryError, match="is damaged"):
            diary.words()


def test_sealed_words_of_about_a_length_take_the_same_room(tmp_path: Path) -> None:
    path = tmp_path / "diary.db"
    with Diary(path, b"k" * 32) as diary:
        for length in range(1, 32):
            diary.typed("x" * length)
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT DISTINCT LENGTH(word) FROM words").fetchall() == [(48,)]
    db.close()
