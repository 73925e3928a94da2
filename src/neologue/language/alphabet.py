"""The symbols that words are made of: characters in NFC, and the end mark ⊥.

Symbols are ordered by code point and ⊥ comes before all of them, so that the order of prefixes is the order
of Python's strings, and any other language can derive it.
"""

import string
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from neologue.errors import LanguageError

END = "⊥"
"""How the end mark is displayed; it is a separate symbol, never a character of a word."""

JOINERS = "\u200c\u200d"
LATIN = string.ascii_letters + string.digits + "'-"
WESTERN = LATIN + "".join(chr(point) for point in range(0xC0, 0x100) if chr(point) not in "×÷") + "ŒœŸ"
"""Latin letters with the marks of Western European languages, whose names and loans travel."""
EMOJI = (
    "".join(
        chr(point) for first, last in ("👀💯", "😀🙏", "🤐🤯", "🥰🥺") for point in range(ord(first), ord(last) + 1)
    )
    + "☀☺♂♀♡♥♪♫✅✈✌✔✨❌❤⭐🌈🌙🌟🌸🌹🍀🍆🍑🍕🍻🎂🎄🎉🎮🎵🎶🏀🏆🏻🏼🏽🏾🏿💰💸📱📷📸🔥🖕🖤🚀🚨🤷🦄\ufe0f\u200d"
)
"""Faces, hands, hearts and other emoji in common use, with the signs that vary and join them."""
WITH_EMOJI = "+emoji"
"""Behind the name of an alphabet, adds the emoji."""


def is_letter(character: str) -> bool:
    """Whether words are spelled with it: a letter, a mark or a decimal digit."""
    category = unicodedata.category(character)
    return category[0] in "LM" or category == "Nd"


def _is_stable_letter(character: str) -> bool:
    """Whether a character is a letter, mark or digit that NFC leaves unchanged."""
    return is_letter(character) and unicodedata.is_normalized("NFC", character)


NAMED: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "ascii": (string.digits + string.ascii_letters + string.punctuation, "visible ASCII"),
        "paper": (
            # The paper's 100 symbols are string.printable; ⊥ is one of them and replaces form feed here.
            string.printable.replace("\f", ""),
            "the paper's 100 symbols, ⊥ among them",
        ),
        "en": (WESTERN, "English: letters with the marks of names and loans, digits, apostrophe, hyphen"),
        "de": (WESTERN + "ẞ", "German: the same and ẞ"),
        "es": (WESTERN + "ªº", "Spanish: as English, and ª, º"),
        "fr": (WESTERN, "French: as English"),
        "id": (LATIN, "Indonesian: letters without marks, digits as in anak2, apostrophe, hyphen"),
        "it": (WESTERN + "ªº", "Italian: as English, and ª, º"),
        "pt": (WESTERN + "ªº", "Portuguese: as English, and ª, º"),
        "sv": (WESTERN, "Swedish: as English"),
        "ru": (
            "".join(map(chr, range(0x410, 0x450))) + "Ёё" + LATIN,
            "Russian: Cyrillic and Latin letters, digits, apostrophe, hyphen",
        ),
        "hi": (
            "".join(filter(_is_stable_letter, map(chr, range(0x900, 0x980)))) + JOINERS + LATIN,
            "Hindi: Devanagari letters, signs, digits and joiners, and those of Indonesian",
        ),
    }
)


def normalise(word: str) -> str:
    """The form in which words are compared and sent: NFC, without surrounding white space."""
    return unicodedata.normalize("NFC", word).strip()


@dataclass(frozen=True)
class Alphabet:
    """An ordered set of characters; with ⊥ it is the paper's X."""

    characters: str
    name: str = "own"

    def __post_init__(self) -> None:
        ordered = "".join(sorted(set(self.characters)))
        object.__setattr__(self, "characters", ordered)
        if len(ordered) < 2:
            raise LanguageError(f"an alphabet needs at least 2 characters, not {len(ordered)}: {ordered!r}")
        if "\0" in ordered:
            raise LanguageError("an alphabet can't contain the NUL character; remove it")

    @classmethod
    def named(cls, name: str) -> "Alphabet":
        """One of the built-in alphabets, or one with emoji, such as en+emoji."""
        base = name.removesuffix(WITH_EMOJI)
        if base not in NAMED:
            raise LanguageError(
                f"no alphabet is called {name!r}; choose one of {', '.join(NAMED)}, with {WITH_EMOJI} behind it if "
                "emoji are words, or give a file",
                parameter="alphabet",
            )
        return cls(NAMED[base][0] + (EMOJI if name != base else ""), name)

    @classmethod
    def from_words(cls, words: Iterable[str], name: str = "own") -> "Alphabet":
        """The visible characters that occur in some words."""
        found = {character for word in words for character in normalise(word)}
        visible = {c for c in found if not c.isspace() and (unicodedata.category(c)[0] != "C" or c in JOINERS)}
        return cls("".join(visible), name)

    @classmethod
    def from_file(cls, path: Path) -> "Alphabet":
        """The visible characters that occur in a sample of the language, a UTF-8 text file."""
        try:
            sample = path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise LanguageError(f"can't read the alphabet sample {path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise LanguageError(f"the alphabet sample {path} is not UTF-8; convert it first") from error
        return cls.from_words(sample.split(), path.name)

    @property
    def size(self) -> int:
        """|X|: the characters and ⊥."""
        return len(self.characters) + 1

    @cached_property
    def _members(self) -> frozenset[str]:
        return frozenset(self.characters)

    @cached_property
    def _has_spaces(self) -> bool:
        return any(map(str.isspace, self.characters))

    def expresses(self, text: str) -> bool:
        """Whether every character of a text is in the alphabet."""
        return self._members.issuperset(text)

    def spells(self, word: str, depth: int) -> bool:
        """Whether this is a normalised word of 1 to `depth` characters of the alphabet.

        White space ends a word, even if the alphabet has it.
        """
        return (
            0 < len(word) <= depth
            and self.expresses(word)
            and not (self._has_spaces and word.split() != [word])
            and (word.isascii() or normalise(word) == word)
        )

    @cached_property
    def _code_of_point(self) -> NDArray[np.int64]:
        points = np.array([ord(c) for c in self.characters])
        codes = np.full(points.max() + 2, -1, np.int64)
        codes[points] = np.arange(1, self.size)
        codes[0] = 0
        return codes

    def codes(self, points: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Symbols as integers: 0 for ⊥ (the padding of a string), 1 to n for characters, -1 for others."""
        table = self._code_of_point
        return table[np.minimum(points, len(table) - 1)]

    @cached_property
    def points(self) -> NDArray[np.uint32]:
        """The code points of the characters, in order."""
        return np.array([ord(c) for c in self.characters], np.uint32)
