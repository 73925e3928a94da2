import itertools
import warnings
from collections.abc import Callable
from pathlib import Path
from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spylls.hunspell import Dictionary
from spylls.hunspell.algo.lookup import Lookup
from wordfreq import iter_wordlist

from neologue.errors import LanguageError
from neologue.language import hunspell
from neologue.language.vocabulary import Vocabulary


def spylls_lookup(path: str) -> Callable[[str], bool]:
    """The lookup of spylls itself, except that no lower-case stem is a homonym of each of its letters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # spylls leaves its files open
        dictionary = Dictionary.from_files(path)
    for key, words in dictionary.dic.lowercase_index.items():
        words[:] = [word for word in words if word.stem.lower() == key]
    lookup: Callable[[str], bool] = dictionary.lookup
    return lookup


def write_pair(folder: Path, aff: str, dic: str) -> Path:
    """Write a dictionary with the words of dic, separated by white space, and return its stem."""
    words = dic.split()
    (folder / "tiny.aff").write_text(f"SET UTF-8\n{aff}\n", encoding="utf-8")
    (folder / "tiny.dic").write_text("\n".join([str(len(words)), *words]), encoding="utf-8")
    return folder / "tiny"


SPECIAL_WORDS = """
McDonald MCDONALD mcdonald MCDONALD'S CDS CDs cds Cds PhD PHD Phd UNAMERICAN XED IPHONE IPhone
-ed- 1.5 1.5.5 . ' ---
"""


@pytest.fixture(scope="module")
def english() -> Vocabulary:
    return hunspell.builtin("en_US")


@pytest.fixture(scope="module")
def english_sample() -> list[str]:
    return list(itertools.islice(iter_wordlist("en"), 0, None, 100))


def test_english_agrees_with_spylls_on_every_word(english: Vocabulary, english_sample: list[str]) -> None:
    sample = english_sample
    some = sample[::3]
    words = [
        *sample,
        *(word.capitalize() for word in some),
        *(word.upper() for word in some),
        *(f"{word}'s" for word in some),
        *(f"{word}’s".upper() for word in some),
        *(f"re{word}ing" for word in some),
        *(f"{left}-{right}" for left, right in itertools.pairwise(some)),
        *(f"{left}-{right}".title() for left, right in itertools.pairwise(some[:300])),
        *(f"{n}{end}" for n in range(130) for end in ["", "st", "nd", "rd", "th", "TH", "s", ".5", "-th"]),
        *SPECIAL_WORDS.split(),
    ]
    lookup = spylls_lookup("en_US")
    known = english.known(words)
    assert 0.1 < sum(known) / len(known) < 0.9
    assert [word for word, ours in zip(words, known, strict=True) if ours != lookup(normalize("NFC", word))] == []


def test_few_english_words_need_the_second_opinion_of_spylls(
    monkeypatch: pytest.MonkeyPatch, english: Vocabulary
) -> None:
    asked = []
    monkeypatch.setattr(Lookup, "__call__", lambda _, word: asked.append(word))
    sample = list(itertools.islice(iter_wordlist("en"), 50, None, 100))  # nothing remembered from other tests
    english.known(sample)
    assert 0 < len(asked) < 0.06 * len(sample)


def test_english_knows_a_curly_apostrophe_as_a_straight_one(english: Vocabulary) -> None:
    assert english.known(["don't", "don’t", "Don’t", "DON’T", "dont’"]) == [True, True, True, True, False]


def test_english_keeps_its_names_capitalised_and_its_ordinals_right(english: Vocabulary) -> None:
    known = ["London", "LONDON", "the", "The", "21st", "112th", "21ST", "2024", "well-known", "anti-American"]
    unknown = ["london", "tHe", "21th", "112nd", "well-knwon", "", "skibidi"]
    assert english.known(known) == [True] * len(known)
    assert english.known(unknown) == [False] * len(unknown)


def test_a_shouted_affix_on_one_letter_is_no_word_although_spylls_thinks_so(english: Vocabulary) -> None:
    assert english.known(["XED", "QS", "DISX", "VLY"]) == [False] * 4


def test_a_word_with_many_breaks_is_refused_at_once_as_in_hunspell(english: Vocabulary) -> None:
    assert "-".join(["ha"] * 10) in english
    assert "-".join(["ha"] * 11) not in english
    assert "-".join(["xq"] * 40) not in english


PARADIGMS = """
NEEDAFFIX n
ONLYINCOMPOUND o
CIRCUMFIX x
PFX U Y 1
PFX U 0 un [^u]
PFX N N 1
PFX N 0 non .
PFX R Y 1
PFX R 0 re/S .
PFX G Y 1
PFX G 0 ge/x .
SFX D Y 2
SFX D e ing e
SFX D 0 ing [^e]
SFX S Y 2
SFX S y ies [^aeiou]y
SFX S 0 s [^y]
SFX B Y 1
SFX B 0 able/SU [^e-f]
SFX T Y 1
SFX T en t/x en
SFX F N 1
SFX F 0 fold .
SFX M Y 1
SFX M 0 mid/nE .
SFX E Y 1
SFX E 0 end .
SFX O Y 1
SFX O 0 only/o .
"""
STEMS = "make/UD undo/UD do/ND walk/RD drink/B machen/GT pity/S ten/FU tri/nF mor/M lone/nS part/oS cat/SO été/S"


@pytest.mark.parametrize(
    ("right", "wrong", "because"),
    [
        ("make making unmake unmaking", "makeing unmak", "prefixes and suffixes cross"),
        ("undo undoing", "unundo unundoing", "the condition of a prefix is not met"),
        ("do doing nondo", "nondoing", "this prefix does not cross"),
        ("ten tenfold unten", "untenfold", "this suffix does not cross"),
        ("walk walking rewalk rewalks rewalking", "walks", "only the prefix allows the suffix s"),
        ("drink drinkable drinkables undrinkable undrinkables", "drinks undrink", "the suffix allows more"),
        ("machen gemacht", "gemachen macht", "a circumfix needs both of its halves"),
        ("pity pities", "pitys", "the condition of a suffix is not met"),
        ("trifold lones", "tri lone", "the stem needs an affix"),
        ("mor mormidend", "mormid morend", "the suffix needs one more"),
        ("cat cats", "part parts catonly", "some words are only parts of compounds"),
        ("été étés Étés ÉTÉS", "étes", "letters are not bytes"),
    ],
)
def test_every_form_that_the_rules_make_is_known_and_no_other(
    tmp_path: Path, right: str, wrong: str, because: str
) -> None:
    vocabulary = hunspell.read(write_pair(tmp_path, PARADIGMS, STEMS))
    assert [word for word in right.split() if word not in vocabulary] == []
    assert [word for word in wrong.split() if word in vocabulary] == []


def test_the_forms_are_exactly_those_that_spylls_accepts(tmp_path: Path) -> None:
    stem = write_pair(tmp_path, PARADIGMS, STEMS)
    vocabulary = hunspell.read(stem)
    lookup = spylls_lookup(str(stem))
    beginnings = ["", "un", "non", "re", "ge", "unre"]
    roots = [entry.partition("/")[0] for entry in STEMS.split()]
    roots = [*roots, "mak", "mach", "pit"]
    endings = ["", "s", "ies", "ing", "able", "ables", "t", "fold", "mid", "end", "midend", "only", "ings"]
    words = ["".join(parts) for parts in itertools.product(beginnings, roots, endings)]
    words += [word.capitalize() for word in words] + [word.upper() for word in words]
    assert [word for word in words if (word in vocabulary) != lookup(word)] == []


def affix_rule(draw: st.DrawFn, kind: str, flag: str, lends: str) -> str:
    crossing = draw(st.sampled_from("YN"))
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["0", "a", "b", "ba"]),
                st.sampled_from(["a", "b", "ab", "c"]),
                st.text(lends, max_size=2),
                st.sampled_from([".", "a", "[^a]", "[ab]b", "a[^b]"]),
            ),
            min_size=1,
            max_size=2,
        )
    )
    lines = [f"{kind} {flag} {strip} {add}{'/' * bool(lent)}{lent} {condition}" for strip, add, lent, condition in rows]
    return "\n".join([f"{kind} {flag} {crossing} {len(rows)}", *lines])


@st.composite
def small_dictionaries(draw: st.DrawFn) -> tuple[str, str]:
    """An .aff and a .dic in which no affix allows itself, alone or through another one."""
    aff = [
        "NEEDAFFIX n\nONLYINCOMPOUND o\nCIRCUMFIX x\nKEEPCASE k",
        affix_rule(draw, "PFX", "P", "nox"),
        affix_rule(draw, "PFX", "Q", "Snox"),
        affix_rule(draw, "SFX", "S", "Tnox"),
        affix_rule(draw, "SFX", "T", "Pnox"),
    ]
    stems = draw(st.lists(st.text("abB", min_size=1, max_size=3), min_size=1, max_size=4))
    flags = [draw(st.text("PQSTnok", max_size=3)) for _ in stems]
    dic = [f"{stem}{'/' * bool(own)}{own}" for stem, own in zip(stems, flags, strict=True)]
    return "\n".join(aff), " ".join(dic)


SMALL_WORDS = ["".join(letters) for size in range(1, 5) for letters in itertools.product("abc", repeat=size)]


@given(small_dictionaries())
@settings(max_examples=50, deadline=None, derandomize=True)
def test_any_small_dictionary_agrees_with_spylls_on_all_short_words(
    tmp_path_factory: pytest.TempPathFactory, pair: tuple[str, str]
) -> None:
    stem = write_pair(tmp_path_factory.mktemp("pair"), *pair)
    vocabulary = hunspell.read(stem)
    lookup = spylls_lookup(str(stem))
    words = [cased for word in SMALL_WORDS for cased in (word, word.capitalize(), word.upper())]
    words += ["aB", "aBa", "BaB", "ABa", "aBB"]
    assert [word for word in words if (word in vocabulary) != lookup(word)] == []


JOINTS = (
    "COMPOUNDFLAG c",
    "COMPOUNDBEGIN g\nCOMPOUNDMIDDLE m\nCOMPOUNDEND e",
    "COMPOUNDRULE 2\nCOMPOUNDRULE ge\nCOMPOUNDRULE cm*",
)
JOINED_WORDS = ["".join(letters) for size in range(2, 8) for letters in itertools.product("ab", repeat=size)]


@st.composite
def joining_dictionaries(draw: st.DrawFn) -> tuple[str, str]:
    """An .aff and a .dic that make compounds in one way or in several."""
    aff = [
        *draw(st.lists(st.sampled_from(JOINTS), min_size=1, unique=True)),
        f"COMPOUNDMIN {draw(st.integers(1, 3))}",
        *draw(st.lists(st.sampled_from(["SIMPLIFIEDTRIPLE", "COMPOUNDPERMITFLAG p", "NEEDAFFIX n"]), unique=True)),
        "ONLYINCOMPOUND o\nKEEPCASE k",
        affix_rule(draw, "PFX", "P", "cgpo"),
        affix_rule(draw, "SFX", "S", "cempo"),
    ]
    stems = draw(st.lists(st.text("abB", min_size=1, max_size=3), min_size=2, max_size=4))
    flags = [draw(st.text("PScgmeonk", min_size=1, max_size=4)) for _ in stems]
    dic = [f"{stem}/{own}" for stem, own in zip(stems, flags, strict=True)]
    return "\n".join(aff), " ".join(dic)


@given(joining_dictionaries())
@settings(max_examples=80, deadline=None, derandomize=True)
def test_any_small_dictionary_with_compounds_agrees_with_spylls(
    tmp_path_factory: pytest.TempPathFactory, pair: tuple[str, str]
) -> None:
    stem = write_pair(tmp_path_factory.mktemp("pair"), *pair)
    vocabulary = hunspell.read(stem)
    lookup = spylls_lookup(str(stem))
    words = [cased for word in JOINED_WORDS for cased in (word, word.capitalize())]
    assert [word for word in words if (word in vocabulary) != lookup(word)] == []


def test_an_affix_may_let_a_word_stand_in_a_compound(tmp_path: Path) -> None:
    aff = "COMPOUNDBEGIN g\nCOMPOUNDEND e\nCOMPOUNDPERMITFLAG p\nONLYINCOMPOUND o\nSFX S Y 1\nSFX S 0 s/gpo ."
    stem = write_pair(tmp_path, aff, "arbete/S plats/e")
    words = ["arbetesplats", "Arbetesplats", "arbeteplats", "arbetes", "arbete", "platsarbete"]
    assert hunspell.read(stem).known(words) == [True, True, False, False, True, False]
    assert [spylls_lookup(str(stem))(word) for word in words] == [True, True, False, False, True, False]


def test_spylls_is_asked_about_a_compound_only_if_the_word_can_be_cut_into_parts(tmp_path: Path) -> None:
    vocabulary = hunspell.read(write_pair(tmp_path, "COMPOUNDFLAG c\nSIMPLIFIEDTRIPLE", "till/c lag/c sun"))
    asked: list[str] = []

    def refuse(_: Lookup, word: str) -> bool:
        asked.append(word)
        return False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lookup, "__call__", refuse)
        assert not any(vocabulary.known(["tillag", "tilllag", "lagtill", "tillsun", "sunlag", "tillagg", "flag", "la"]))
    assert asked == ["tillag", "tilllag", "lagtill"]


COMPOUNDS = """
COMPOUNDFLAG c
COMPOUNDMIN 2
FORBIDDENWORD f
KEEPCASE k
NEEDAFFIX n
SFX S Y 1
SFX S 0 s .
"""
PARTS = "sun/cS flower/cS sunflow/fS kw/k Polish/f polish/S beet/S beet/f hm/f Hm/S ltd/n McSun/kS moon/f"


@pytest.mark.parametrize(
    ("word", "expected", "because"),
    [
        ("sunflower", True, "a compound"),
        ("Sunflowers", True, "a compound at the start of a sentence"),
        ("SUNFLOWERSUN", True, "a compound of three"),
        ("sunpolish", False, "polish has no flag for compounds"),
        ("sunflow", False, "a forbidden word"),
        ("Sunflow", False, "a forbidden word at the start of a sentence, which spylls misses"),
        ("SUNFLOW", False, "a forbidden word shouted, which spylls misses"),
        ("sunflows", False, "a form of a forbidden word"),
        ("moon", False, "a forbidden word"),
        ("Moon", False, "a forbidden word at the start of a sentence, which spylls misses"),
        ("polish", True, "only the capitalised word is forbidden"),
        ("polishs", True, "a form of a word whose capitalised spelling is forbidden"),
        ("Polish", False, "a forbidden word that the lower-case word would excuse"),
        ("POLISH", True, "the shouted word may be the one in lower case"),
        ("beet", True, "one of two homonyms is not forbidden"),
        ("beets", False, "a homonym is forbidden, so the affixed forms are"),
        ("hm", False, "a forbidden word"),
        ("Hm", True, "only the lower-case word is forbidden"),
        ("Hms", True, "a form of a word whose lower-case spelling is forbidden"),
        ("HM", True, "the shouted word may be the one with a capital"),
        ("kw", True, "a word that keeps its case"),
        ("Kw", False, "a word that keeps its case"),
        ("KW", False, "a word that keeps its case"),
        ("McSuns", True, "the form of a word that keeps its case"),
        ("MCSUNS", False, "the form of a word that keeps its case"),
        ("ltd", False, "a stem that needs an affix"),
        ("sun-polish", True, "two words with a break"),
        ("sun-moon", False, "two words with a break, and one is forbidden"),
        ("2024", True, "a number"),
        ("", False, "no word, although spylls accepts it"),
    ],
)
def test_compounds_forbidden_words_and_kept_case(tmp_path: Path, word: str, expected: bool, because: str) -> None:
    assert (word in hunspell.read(write_pair(tmp_path, COMPOUNDS, PARTS))) is expected, because


def test_a_compound_rule_may_compose_letters_as_well_as_digits(tmp_path: Path) -> None:
    stem = write_pair(tmp_path, "COMPOUNDMIN 1\nCOMPOUNDRULE 1\nCOMPOUNDRULE ab*", "Twenty/a one/b two/b tea")
    vocabulary = hunspell.read(stem)
    assert vocabulary.known(["Twentyone", "Twentyonetwo", "TWENTYONE"]) == [True, True, True]
    assert vocabulary.known(["oneTwenty", "Twentytea", "teaone"]) == [False] * 3


def test_input_conversions_and_ignored_letters_are_applied(tmp_path: Path) -> None:
    vocabulary = hunspell.read(write_pair(tmp_path, "ICONV 1\nICONV œ_ oe\nIGNORE *", "oe cat c*ow"))
    assert vocabulary.known(["œ", "c*at", "cow", "*c*o*w", "dœ"]) == [True, True, True, True, False]


def test_a_dictionary_may_forbid_breaks(tmp_path: Path) -> None:
    assert "cat-cat" in hunspell.read(write_pair(tmp_path, "", "cat"))
    assert "cat-cat" not in hunspell.read(write_pair(tmp_path, "BREAK 0", "cat"))


def test_german_writes_a_sharp_s_as_two_when_it_shouts(tmp_path: Path) -> None:
    vocabulary = hunspell.read(write_pair(tmp_path, "CHECKSHARPS", "straße gasse"))
    assert vocabulary.known(["STRASSE", "STRAßE", "GASSE", "GAßE", "strasse"]) == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_a_word_at_which_spylls_stumbles_is_unknown(tmp_path: Path) -> None:
    stem = write_pair(tmp_path, "CHECKSHARPS", "gasse")
    with pytest.raises(IndexError):
        spylls_lookup(str(stem))("İ-gasse")
    assert "İ-gasse" not in hunspell.read(stem)


def test_too_many_forms_leave_the_stems_and_the_same_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stem = write_pair(tmp_path, "NEEDAFFIX n\nSFX S Y 1\nSFX S 0 s .", "cat/S dog/S elk/nS McFly/S")
    words = ["cat", "cats", "Dogs", "elk", "elks", "MCFLYS", "McFlys", "mcfly", "cat-dogs", "12", "dogss", ""]
    written_out = hunspell.read(stem)
    monkeypatch.setattr(hunspell, "MOST_FORMS", 3)
    stems = hunspell.read(stem)
    assert stems.words == {"cat", "dog", "McFly"}
    assert stems.known(words) == written_out.known(words)


def test_twofold_prefixes_are_left_to_spylls(tmp_path: Path) -> None:
    aff = "COMPLEXPREFIXES\nPFX A Y 1\nPFX A 0 a/B .\nPFX B Y 1\nPFX B 0 b ."
    vocabulary = hunspell.read(write_pair(tmp_path, aff, "cat/A"))
    assert vocabulary.known(["cat", "acat", "bacat", "bcat"]) == [True, True, True, False]


@pytest.mark.parametrize("encoding", ["ISO8859-1", "KOI8-R", "UTF-8"])
def test_a_dictionary_is_read_in_its_own_encoding(tmp_path: Path, encoding: str) -> None:
    word, ending = ("кот", "ы") if encoding == "KOI8-R" else ("né", "és")
    (tmp_path / "tiny.aff").write_bytes(f"SET {encoding}\nSFX S Y 1\nSFX S 0 {ending} .".encode(encoding))
    (tmp_path / "tiny.dic").write_bytes(f"1\n{word}/S".encode(encoding))
    assert hunspell.read(tmp_path / "tiny.dic").words == {word, word + ending}


def test_byte_order_marks_and_line_ends_of_windows_are_dropped(tmp_path: Path) -> None:
    (tmp_path / "tiny.aff").write_bytes("\N{BOM}SET UTF-8\r\nSFX S Y 1\r\nSFX S 0 s .\r\n".encode())
    (tmp_path / "tiny.dic").write_bytes("\N{BOM}1\r\n\r\nété/S\r\n".encode())
    assert hunspell.read(tmp_path / "tiny").words == {"été", "étés"}


def test_a_condition_that_looks_like_a_future_regular_expression_does_not_warn(tmp_path: Path) -> None:
    assert "cats" in hunspell.read(write_pair(tmp_path, "SFX S Y 1\nSFX S 0 s [[t]", "cat/S"))


AFF = b"SET UTF-8\n"
DIC = b"1\ncat\n"


@pytest.mark.parametrize(
    ("aff", "dic", "message"),
    [
        (None, DIC, r"tiny\.aff is missing; a Hunspell dictionary is"),
        (AFF, None, r"tiny\.dic is missing; a Hunspell dictionary is"),
        (b"SFX S Y many\n", DIC, r"tiny\.aff is not a Hunspell file .* \(ValueError: .*; replace it"),
        (b"SFX S Y 1\nSFX S\n", DIC, r"tiny\.aff is not a Hunspell file"),
        (b"SFX S Y 1\nSFX S 0 s [a\n", DIC, r"tiny\.aff is not a Hunspell file"),
        (b"COMPOUNDMIN\n", DIC, r"tiny\.aff is not a Hunspell file"),
        (b"SET Klingon\n", DIC, r"tiny\.(aff|dic) is not a Hunspell file .* Klingon"),
        (b"FLAG strange\n", b"1\ncat/S\n", r"tiny\.dic is not a Hunspell file .*strange"),
        (AFF, b"", r"tiny\.dic is not a Hunspell file .*number of words"),
        (AFF, b"cat\ndog\n", r"tiny\.dic is not a Hunspell file .*number of words"),
        (AFF, b"\x00\x01\xff", r"tiny\.dic is not a Hunspell file .*number of words"),
        (AFF, b"0\n", r"tiny\.dic has no words"),
        (AFF, "1\nété\n".encode("latin-1"), r"tiny\.dic is not in the encoding .* correct SET"),
    ],
)
def test_a_pair_that_is_no_dictionary_is_named_with_the_remedy(
    tmp_path: Path, aff: bytes | None, dic: bytes | None, message: str
) -> None:
    for suffix, content in ((".aff", aff), (".dic", dic)):
        if content is not None:
            (tmp_path / f"tiny{suffix}").write_bytes(content)
    for name in ("tiny", "tiny.aff", "tiny.dic"):
        with pytest.raises(LanguageError, match=message):
            hunspell.read(tmp_path / name)


def test_an_unknown_builtin_is_answered_with_those_that_exist() -> None:
    with pytest.raises(LanguageError, match="no dictionary 'tlh' is built in; choose one of en_US, ru, sv_SE"):
        hunspell.builtin("tlh")
