"""What comes with neologue for a language: real word frequencies and a list of known words.

Frequencies are wordfreq's (Speer 2022, data under CC BY-SA 4.0), which folds case and replaces digits of
longer numbers by zeros. Known words are those of a Hunspell dictionary where one is at hand, and otherwise
wordfreq's own most frequent ones.
"""

import re
from collections import defaultdict
from functools import cache
from itertools import islice

from neologue.errors import LanguageError
from neologue.language import hunspell
from neologue.language.alphabet import NAMED, Alphabet, normalised
from neologue.language.vocabulary import Vocabulary

DICTIONARIES = {"en": "en_US", "ru": "ru", "sv": "sv_SE"}
FREQUENT_WORDS = 10_000
MOST_CHARACTERS = 1000

# wordfreq writes the digits of longer numbers as zeros: such tokens are classes of numbers, not words, as
# "0,000" is.
_NUMBER = re.compile(r"\d{2}|^[\d\W]*\d[\d\W]*$")


@cache
def languages() -> tuple[str, ...]:
    """The languages whose word frequencies are built in."""
    from wordfreq import available_languages

    return tuple(sorted(available_languages("small")))


def check_language(language: str) -> str:
    """The language itself, if it is built in."""
    if language not in languages():
        raise LanguageError(
            f"no language is called {language!r}; there are {', '.join(languages())}", parameter="language"
        )
    return language


@cache
def alphabet(language: str) -> Alphabet:
    """The alphabet that suits a language: a named one, or the characters that its words use most."""
    if language == "en":
        return Alphabet.named("ascii")
    if language in NAMED:
        return Alphabet.named(language)
    shares: defaultdict[str, float] = defaultdict(float)
    for word, share in frequencies(language).items():
        for character in normalised(word):
            shares[character] += share
    visible = Alphabet.from_words(shares).characters
    frequent = sorted(visible, key=lambda character: -shares[character])[:MOST_CHARACTERS]
    return Alphabet("".join(frequent), language)


@cache
def frequencies(language: str) -> dict[str, float]:
    """The share of each word among the words written in a language, the most frequent first."""
    from wordfreq import available_languages, get_frequency_dict

    size = "large" if check_language(language) in available_languages("large") else "small"
    shares = get_frequency_dict(language, wordlist=size)
    return {word: share for word, share in shares.items() if not _NUMBER.search(word)}


@cache
def vocabulary(language: str) -> Vocabulary:
    """The known words of a language: a dictionary's, or the most frequent ones."""
    from wordfreq import available_languages, get_frequency_dict

    if check_language(language) in DICTIONARIES:
        return hunspell.builtin(DICTIONARIES[language])
    if language in available_languages("large"):
        return Vocabulary(get_frequency_dict(language, wordlist="small"), source=f"wordfreq's small {language} list")
    frequent = islice(frequencies(language), FREQUENT_WORDS)
    return Vocabulary(frequent, source=f"the {FREQUENT_WORDS:,} most frequent words of wordfreq's {language} list")
