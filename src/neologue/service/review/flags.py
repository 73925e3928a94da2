"""Flags: what a reviewer had better look at twice, with the reason. They are hints, made anew and never stored.

A word that many people hold can still be the address of one: a celebrity, a support desk, a joke. And a word that is
released says nothing of whether a keyboard should propose it.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from neologue.language.near_words import near_words
from neologue.language.vocabulary import Vocabulary

Kind = Literal["personal", "profanity", "near"]

PROFANE_LANGUAGES = {
    "ar": "arabic",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "hi": "hindi",
    "hu": "hungarian",
    "it": "italian",
    "ja": "japanese",
    "ko": "korean",
    "nb": "norwegian",
    "nl": "dutch",
    "pl": "polish",
    "pt": "portuguese",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
    "zh": "chinese",
}
"""The languages that there is a list of swear words for, as the package that has the lists calls them."""
LONG_NUMBER = 6
"""From so many digits on a number may single somebody out."""
_CARD = range(13, 20)
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[ ./()-]+(?=\d)")
_DIGITS = re.compile(r"\d+")
_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")


@dataclass(frozen=True)
class Flag:
    """Why a word is flagged."""

    kind: Kind
    reason: str


def flags(words: Collection[str], known: Vocabulary, language: str | None) -> dict[str, tuple[Flag, ...]]:
    """The flags of each word that has any."""
    near = near_words(words, known.words)
    swears = set(profane(words, language))
    found: dict[str, tuple[Flag, ...]] = {}
    for word in words:
        own = [Flag("personal", f"may be {what}")] if (what := personal(word)) else []
        if word in swears:
            own.append(Flag("profanity", "a swear word, or like one"))
        if word in near:
            own.append(Flag("near", f"“{near[word].known}” but for {near[word].how}"))
        if own:
            found[word] = tuple(own)
    return found


def personal(word: str) -> str | None:
    """What a word may be that belongs to one person; the first that fits."""
    return next((what for what, fits in _PERSONAL if fits(word)), None)


def profane(words: Collection[str], language: str | None) -> list[str]:
    """The words that are on a list of swear words of the language or of English, also in disguise."""
    judge = _judge(PROFANE_LANGUAGES.get(language or "", "english"))
    return [word for word in words if judge(word)]


@lru_cache(maxsize=4)
def _judge(language: str) -> Callable[[str], bool]:
    from glin_profanity import Filter

    judge: Callable[[str], bool] = Filter({"languages": sorted({"english", language})}).is_profane
    return judge


def _matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda word: compiled.fullmatch(word) is not None


def _is_card(word: str) -> bool:
    """Whether it is as long as a card's number and its check digit is right, by Luhn's rule."""
    digits = _longest_number(word)
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return len(digits) in _CARD and (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0


def _is_iban(word: str) -> bool:
    """Whether it has the form and the check digits of an international bank account number (ISO 13616)."""
    text = word.upper()
    return bool(_IBAN.fullmatch(text)) and int("".join(str(int(sign, 36)) for sign in text[4:] + text[:4])) % 97 == 1


def _longest_number(word: str) -> str:
    """The most digits in a row, whatever people put between them."""
    return max(_DIGITS.findall(_BETWEEN_DIGITS.sub("", word)), key=len, default="")


_PERSONAL: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("an e-mail address", _matches(r"[^@\s]+@[^@\s]+")),
    ("a web address", _matches(r"(?:https?:/|www\.).+|(?:[\w-]+\.)+(?:com|net|org|info|io)(?:/.*)?")),
    ("an IP address", _matches(r"\d{1,3}(?:\.\d{1,3}){3}|(?:[0-9a-f]{0,4}:){3,}[0-9a-f]{0,4}")),
    ("a bank account", _is_iban),
    ("a payment card", _is_card),
    ("an identifier", _matches(r"(?=.*\d)(?=.*[a-f])[0-9a-f-]{16,}")),
    ("a phone number or another long number", lambda word: len(_longest_number(word)) >= LONG_NUMBER),
    ("a handle", _matches(r"@[\w.-]{2,}")),
    ("a first and a last name", _matches(r"[^\W\d_]{2,}[._][^\W\d_]{2,}")),
    ("a name with a number", _matches(r"[^\W\d]{2,}[._-]?\d{3,}")),
)
