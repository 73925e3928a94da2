"""Built-in languages: real word frequencies and a list of known words.

Frequencies are wordfreq's (Speer 2022, data under CC BY-SA 4.0), which folds case and replaces digits of
longer numbers by zeros. Known words are those of a Hunspell dictionary where one is available, and otherwise
wordfreq's own most frequent ones. English has two spellings: beside the American dictionary there is a list with those
of both sides of the Atlantic, from symspellpy (Google Books and SCOWL).
"""

import re
from collections import defaultdict
from functools import cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from neologue.errors import LanguageError
from neologue.language import hunspell
from neologue.language.alphabet import EMOJI, JOINERS, LATIN, NAMED, Alphabet, is_letter, normalise
from neologue.language.vocabulary import Vocabulary

DICTIONARIES = {"en": "en_US", "ru": "ru", "sv": "sv_SE"}
FREQUENT_WORDS = 10_000
UNUSUAL_CASES = {"ı": "İ", "σ": "ς"}
"""Letters that are written in another way in some places, which wordfreq never does."""
ENGLISH_LIST = "frequency_dictionary_en_82_765.txt"
MOST_CHARACTERS = 1000
USUAL_CHARACTERS = 0.9999
"""The share of all letters written that the characters of an alphabet make up; the rest is other languages'."""

# wordfreq writes the digits of longer numbers as zeros: a token such as "0,000" is a class of numbers, not a word.
_NUMBER = re.compile(r"\d{2}|^[\d\W]*\d[\d\W]*$")


@cache
def languages() -> tuple[str, ...]:
    """The languages whose word frequencies are built in, by the files of wordfreq, which takes long to import."""
    package = find_spec("wordfreq")
    assert package
    assert package.origin
    lists = (Path(package.origin).parent / "data").glob("small_*.msgpack.gz")
    return tuple(sorted(path.name.removeprefix("small_").partition(".")[0] for path in lists))


def check_language(language: str) -> str:
    """The name of a built-in language, given in any case; others are refused."""
    if language.lower() not in languages():
        raise LanguageError(
            f"no language is called {language!r}; choose one of {', '.join(languages())}", parameter="language"
        )
    return language.lower()


@cache
def alphabet(language: str) -> Alphabet:
    """The alphabet that suits a language: a named one, or the letters that its words use most and what all have."""
    if language in NAMED:
        return Alphabet.named(language)
    shares: defaultdict[str, float] = defaultdict(float)
    for word, share in frequencies(language).items():
        for character in filter(_spells_words, normalise(word)):
            shares[character] += share
    usual, left = LATIN, (1 - USUAL_CHARACTERS) * sum(shares.values())
    frequent = sorted(shares, key=lambda character: (-shares[character], character))
    written = sum(shares.values())
    for character in frequent[:MOST_CHARACTERS]:
        if written < left:
            break
        written -= shares[character]
        # wordfreq folds case; some letters have no capital of one character.
        usual += character + (character.upper() if len(character.upper()) == 1 else "")
    return Alphabet(usual + "".join(other for letter, other in UNUSUAL_CASES.items() if letter in usual), language)


def alphabet_of(profile: str, language: str) -> Alphabet:
    """The alphabet of a campaign: the profile's, named here, is for English."""
    return Alphabet.named(profile) if language == "en" else alphabet(language)


def _spells_words(character: str) -> bool:
    return is_letter(character) or character in JOINERS


@cache
def frequencies(language: str) -> dict[str, float]:
    """The share of each word among all words written in a language, the most frequent first.

    Without what only a tokenizer makes: classes of numbers, signs, and what it cut a sign off (`u.s`, `p.m`).
    """
    from wordfreq import available_languages, get_frequency_dict

    size = "large" if check_language(language) in available_languages("large") else "small"
    shares = get_frequency_dict(language, wordlist=size)
    # Languages have hundreds of thousands of words, and few characters.
    letters, emoji = frozenset(filter(_spells_words, set().union(*shares))), frozenset(EMOJI)

    def is_typed(token: str) -> bool:
        """Whether a token is spelled like a word, with apostrophes and hyphens inside at most, or is of emoji."""
        parts = token.replace("-", "'").split("'")
        return (all(parts) and letters.issuperset("".join(parts))) or emoji.issuperset(token)

    return {word: share for word, share in shares.items() if not _NUMBER.search(word) and is_typed(word)}


@cache
def vocabulary(language: str) -> Vocabulary:
    """The known words of a language: those of a dictionary, or the most frequent ones."""
    from wordfreq import available_languages, get_frequency_dict

    if check_language(language) in DICTIONARIES:
        dictionary = hunspell.builtin(DICTIONARIES[language])
        return _with_british_words(dictionary) if language == "en" else dictionary
    if language in available_languages("large"):
        return Vocabulary(get_frequency_dict(language, wordlist="small"), source=f"wordfreq's small {language} list")
    frequent = islice(frequencies(language), FREQUENT_WORDS)
    return Vocabulary(frequent, source=f"the {FREQUENT_WORDS:,} most frequent words of wordfreq's {language} list")


def _with_british_words(american: Vocabulary) -> Vocabulary:
    """The words of a dictionary and those of the English list that it has in no case: the list is in lower case."""
    import symspellpy

    content = (Path(symspellpy.__file__).parent / ENGLISH_LIST).read_text(encoding="utf-8-sig")
    listed = {line.split()[0] for line in content.splitlines()}
    return american.with_words(listed - {word.lower() for word in american.words}, "symspellpy's English list")
