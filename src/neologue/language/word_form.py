"""What counts as one word: how what is typed becomes the form that is compared and sent.

A layer carries its form as two tables, so that every device computes the same form, whatever version of Unicode its
platform knows: which character takes the place of which, and which characters are taken off at both ends.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import pairwise

from neologue.errors import LanguageError
from neologue.language.alphabet import Alphabet

CASES = ("fold", "keep")
PUNCTUATIONS = ("strip", "keep")
REMEMBERED_CHARACTERS = 1 << 12
"""For how many characters it is remembered whether they are taken off; a simulation asks about every word again."""

# Characters with a case whose pairs are all older than Unicode 12: any Python that is supported has the same ones.
_CASED = (range(0x1C80), range(0x1C90, 0x1CC0), range(0x1E00, 0x2000), range(0xFF21, 0xFF3B))
_TYPOGRAPHIC = {"‘": "'", "’": "'", "ʼ": "'", "＇": "'", "‐": "-", "‑": "-"}
_PUNCTUATION = (
    *("!/", ":@", "[`", "{~", "¡©", "«±", "´´", "¶¸", "»»", "¿¿", "××", "÷÷"),  # Basic Latin and Latin-1
    *("՚՟", "։֊", "־־", "׀׀", "׃׃", "׳״", "،،", "؛؛", "؝؟", "٪٭", "۔۔"),  # Armenian, Hebrew, Arabic
    *("।॥", "॰॰", "๏๏", "๚๛", "჻჻", "።፨"),  # Devanagari, Thai, Georgian, Ethiopic
    *("\u2000\u206f", "⸀\u2e7f", "\u3000〃", "〈〠", "〰〰"),  # General and supplemental punctuation, Chinese, Japanese
    *("！／", "：＠", "［｀", "｛･"),  # Full-width forms
)
_SYMBOLS = ("₠\u20cf", "\u2190\u245f", "─⯿", "\ufe0e\ufe0f", "\U0001f000\U0001faff", "\U000e0020\U000e007f")
"""Currency, arrows, mathematics, drawing and emoji with what modifies these; stripped unless the alphabet has one."""


@dataclass(frozen=True)
class WordForm:
    """The form of words; by default as they are typed, in NFC and without white space around them."""

    replaced: str = ""
    """Pairs of a character and the one that takes its place, in order of the first."""
    stripped: str = ""
    """Pairs of the first and the last of a range of characters that are taken off at both ends, in order."""

    def __post_init__(self) -> None:
        if len(self.replaced) % 2 or len(self.stripped) % 2:
            raise LanguageError("the characters that a form replaces or strips must come in pairs")
        firsts = self.replaced[::2]
        if any(before >= after for before, after in pairwise(firsts)):
            raise LanguageError("the characters that a form replaces must be in order, each once")
        ends = self.stripped
        if any(a > b for a, b in zip(ends[::2], ends[1::2], strict=True)) or any(
            before >= after for before, after in zip(ends[1::2], ends[2::2], strict=False)
        ):
            raise LanguageError("the ranges that a form strips must be in order and apart")

    @classmethod
    def chosen(cls, case: str, punctuation: str, alphabet: Alphabet) -> WordForm:
        """The form by the names of its parts, for the words of an alphabet without capitals to fold."""
        pairs: dict[str, str] = {}
        ranges: tuple[str, ...] = ()
        if case == "fold":
            pairs |= dict(_capitals(alphabet))
        if punctuation == "strip":
            pairs |= _TYPOGRAPHIC
            ranges = _PUNCTUATION if _has_any(alphabet, _SYMBOLS) else _PUNCTUATION + _SYMBOLS
        usable = {a: b for a, b in pairs.items() if alphabet.expresses(b) and not alphabet.expresses(a)}
        return cls("".join(a + usable[a] for a in sorted(usable)), "".join(sorted(ranges)))

    def of(self, typed: str) -> str:
        """The form of what was typed; empty if nothing is left of it."""
        word = unicodedata.normalize("NFC", typed)
        if not self._firsts.isdisjoint(word):
            word = unicodedata.normalize("NFC", word.translate(self._table))
        if self.leaves_ends(word):
            return word
        first, last = 0, len(word)
        while first < last and _is_taken_off(word[first], self.stripped):
            first += 1
        while first < last and _is_taken_off(word[last - 1], self.stripped):
            last -= 1
        return word[first:last]

    def leaves_ends(self, word: str) -> bool:
        """Whether nothing is taken off at the ends of a word."""
        return not word or not (_is_taken_off(word[0], self.stripped) or _is_taken_off(word[-1], self.stripped))

    def fits(self, alphabet: Alphabet) -> bool:
        """Whether it replaces only what the alphabet does not have, by what it has."""
        return alphabet.expresses(self.replaced[1::2]) and not any(map(alphabet.expresses, self.replaced[::2]))

    @cached_property
    def _firsts(self) -> frozenset[str]:
        return frozenset(self.replaced[::2])

    @cached_property
    def _table(self) -> dict[int, str]:
        return {ord(character): other for character, other in zip(*[iter(self.replaced)] * 2, strict=True)}


AS_TYPED = WordForm()


def without_capitals(alphabet: Alphabet) -> Alphabet:
    """The alphabet without the characters that another of it takes the place of when case is folded."""
    folded = {capital for capital, letter in _capitals(alphabet) if alphabet.expresses(letter)}
    if folded.isdisjoint(alphabet.characters):
        return alphabet
    return Alphabet("".join(set(alphabet.characters) - folded), alphabet.name)


def _capitals(alphabet: Alphabet) -> Iterator[tuple[str, str]]:
    """Each capital with its small letter (and ς with σ); I belongs to ı in alphabets that have it, as in Turkish."""
    dotless = alphabet.expresses("ı")
    for capital, letter in _case_pairs():
        yield capital, "ı" if dotless and capital == "I" else letter


@cache
def _case_pairs() -> tuple[tuple[str, str], ...]:
    characters = (chr(point) for points in _CASED for point in points)
    pairs = ((character, _small(character)) for character in characters)
    return tuple((capital, letter) for capital, letter in pairs if letter != capital)


def _small(character: str) -> str:
    """The letter that Unicode folds a character to, if it is one; ẞ and İ have a small letter still."""
    if not unicodedata.is_normalized("NFC", character):
        return character
    folded = character.casefold()
    return folded if len(folded) == 1 else character.lower()[0]


def _has_any(alphabet: Alphabet, ranges: tuple[str, ...]) -> bool:
    return any(ends[0] <= character <= ends[1] for ends in ranges for character in alphabet.characters)


@lru_cache(REMEMBERED_CHARACTERS)
def _is_taken_off(character: str, ranges: str) -> bool:
    """Whether a character is a space, or within one of the ranges."""
    # Within a range, an odd number of its ends is at or before the character, or it is the last one itself.
    before = bisect_right(ranges, character)
    return character.isspace() or before % 2 == 1 or (before > 0 and ranges[before - 1] == character)
