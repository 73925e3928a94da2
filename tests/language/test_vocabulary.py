import gzip
import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neologue.errors import LanguageError
from neologue.language.vocabulary import Vocabulary

LOWER_WORDS = st.text("abcdeéßøñ'’1жя", min_size=1).filter(str.islower)


@pytest.mark.parametrize(
    ("known", "word", "expected"),
    [
        ("the", "the", True),
        ("the", "The", True),
        ("the", "THE", True),
        ("the", "tHe", False),
        ("the", "THe", False),
        ("Georgetown", "Georgetown", True),
        ("Georgetown", "georgetown", False),
        ("Georgetown", "GEORGETOWN", True),
        ("London", "LONDON", True),
        ("McDonald", "McDonald", True),
        ("McDonald", "Mcdonald", False),
        ("McDonald", "MCDONALD", False),
        ("NASA", "NASA", True),
        ("NASA", "Nasa", False),
        ("NASA", "nasa", False),
        ("iPhone", "IPhone", False),
        ("a", "A", True),
        ("I", "i", False),
        ("i'm", "I'm", True),
        ("i'm", "I'M", True),
        ("I'm", "I'M", True),
        ("I'm", "i'm", False),
        ("'tis", "'TIS", True),
        ("'tis", "'Tis", False),
        ("don't", "Don't", True),
        ("b2b", "B2B", True),
        ("b2b", "B2b", True),
        ("7th", "7TH", True),
        ("42", "42", True),
        ("straße", "Straße", True),
        ("straße", "STRAẞE", True),
        ("straße", "STRAßE", False),
        ("straße", "STRASSE", False),
        ("ß", "SS", False),
        ("İzmir", "İZMİR", False),
        ("İzmit", "İZMIT", True),
        ("λόγος", "ΛΌΓΟΣ", True),
        ("Κος", "ΚΟΣ", True),
        ("école", "École", True),
    ],
)
def test_a_capital_may_be_added_but_never_lost(known: str, word: str, expected: bool) -> None:
    assert (word in Vocabulary([known])) is expected


@given(LOWER_WORDS)
def test_a_lower_case_word_is_also_known_capitalised(word: str) -> None:
    assert word[0].upper() + word[1:] in Vocabulary([word]) or word[0] == "ß"


@given(LOWER_WORDS.filter(lambda word: "ß" not in word))
def test_a_known_word_is_also_known_when_shouted(word: str) -> None:
    assert word.upper() in Vocabulary([word])
    assert word.upper() in Vocabulary([word[0].upper() + word[1:]])


@given(LOWER_WORDS)
def test_a_lower_case_word_is_known_only_exactly(word: str) -> None:
    other_cases = {word.upper(), word.title(), word.swapcase(), word.capitalize()} - {word}
    assert word not in Vocabulary(other_cases)


def test_words_meet_in_their_composed_form_without_white_space_around_them() -> None:
    vocabulary = Vocabulary(["cafe\N{COMBINING ACUTE ACCENT}", " tea\r\n", "", "  "])
    assert vocabulary.known(["café", "cafe\N{COMBINING ACUTE ACCENT}", "tea", "", "cafe"]) == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert len(vocabulary) == 2


def test_the_second_opinion_is_asked_once_and_only_about_words_that_the_set_does_not_settle() -> None:
    asked = []

    def accepts(word: str) -> bool:
        asked.append(word)
        return word == "ice-creamé"

    vocabulary = Vocabulary(["ice"], accepts)
    decomposed = "ice-creame\N{COMBINING ACUTE ACCENT}"
    assert vocabulary.known(["ice", "Ice", "ICE", decomposed, decomposed, "no", "no"]) == [
        True,
        True,
        True,
        True,
        True,
        False,
        False,
    ]
    assert asked == ["ice-creamé", "no"]


def test_the_digest_is_that_of_the_sorted_lines_so_that_another_language_can_compute_it() -> None:
    vocabulary = Vocabulary(["éa", "b", "Z", "𝔞", "\uffee"])
    lines = "Z\nb\néa\n\uffee\n𝔞".encode()
    assert vocabulary.digest == hashlib.sha256(lines).hexdigest()


def test_the_digest_depends_on_the_words_and_the_rules_alone() -> None:
    one, other = Vocabulary(["b", "a", "a"], source="elsewhere"), Vocabulary(["a", "b"])
    assert one.digest == other.digest != Vocabulary(["a", "b", "c"]).digest
    ruled = Vocabulary(["a", "b"], lambda _: True, rules="all")
    assert ruled.digest != Vocabulary(["a", "b"], lambda _: False, rules="none").digest != one.digest


def test_a_lone_surrogate_is_a_word_like_any_other() -> None:
    vocabulary = Vocabulary(["\ud83d"])
    assert "\ud83d" in vocabulary
    assert len(vocabulary.digest) == 64


def test_the_empty_vocabulary_knows_nothing() -> None:
    empty = Vocabulary.empty()
    assert len(empty) == 0
    assert empty.known(["a", "", "1"]) == [False, False, False]


def test_the_representation_says_how_many_words_and_where_from() -> None:
    vocabulary = Vocabulary(["a "], lambda _: True, source="here")
    assert repr(vocabulary) == "<Vocabulary of 1 words from here>"
    assert (vocabulary.words, vocabulary.source) == (frozenset({"a"}), "here")


WORD_LIST = "\N{BOM}# my words\r\nthe\r\n\n   \n London \n#metoo\n# \nnaïve\n"


@pytest.mark.parametrize("name", ["words.txt", "words", "words.txt.gz"])
def test_a_word_list_is_read_without_its_mark_comments_and_blank_lines(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    content = WORD_LIST.encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert Vocabulary.from_file(path).digest == Vocabulary(["the", "London", "#metoo", "naïve"]).digest
    assert Vocabulary.from_file(str(path)).known(["LONDON", "london"]) == [True, False]


@pytest.mark.parametrize("name", ["tiny.dic", "tiny.aff"])
def test_a_hunspell_file_is_read_with_its_partner(tmp_path: Path, name: str) -> None:
    (tmp_path / "tiny.dic").write_text("1\ncat/S\n")
    (tmp_path / "tiny.aff").write_text("SFX S Y 1\nSFX S 0 s .\n")
    assert Vocabulary.from_file(tmp_path / name).words == {"cat", "cats"}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.txt", None, "does not exist; give a file"),
        ("latin.txt", "the\nnaïve\n".encode("latin-1"), "not UTF-8 in line 2; save it as UTF-8"),
        ("utf16.txt", "the\n".encode("utf-16"), "not UTF-8 in line 1; save it as UTF-8"),
        ("plain.gz", b"the\n", "broken gzip file; compress"),
        ("cut.gz", gzip.compress(b"the\n" * 1000, mtime=0)[:-12], "broken gzip file; compress"),
        ("scratched.gz", gzip.compress(b"the\n", mtime=0)[:10] + b"\xff" * 20, "broken gzip file; compress"),
        ("empty.txt", b"", "has no words; give a file"),
        ("comments.txt", b"# nothing\n\n", "has no words; give a file"),
        ("partnerless.dic", b"1\ncat\n", "partnerless.aff is missing"),
    ],
)
def test_a_file_that_gives_no_words_is_named_with_the_remedy(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(LanguageError, match=message) as caught:
        Vocabulary.from_file(path)
    assert str(path.with_suffix("")) in str(caught.value)


def test_a_directory_is_not_a_word_list(tmp_path: Path) -> None:
    with pytest.raises(LanguageError, match="is a directory; give a file"):
        Vocabulary.from_file(tmp_path)


def test_a_file_that_the_system_refuses_is_named_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(LanguageError, match=r"words\.txt can't be read \(Permission denied\)"):
        Vocabulary.from_file(tmp_path / "words.txt")
