"""New words that are probably known words mistyped: a wrong letter, a letter held down, other capitals or accents.

Both sides are folded first, so that case and accents never count as a difference. Then a word is near a known one if
one letter was changed, omitted, inserted or swapped with its neighbour. Look-ups alone decide this: the new words,
whole and without each of their letters, form an index in which each known word is looked up in the same forms. So the
work grows with the letters of both lists, not with their product.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from unicodedata import combining, normalize

CASE, HELD, SWAPPED, EDITED = "capitals or accents", "a letter held down", "two letters swapped", "one letter"
_ORDER = {how: position for position, how in enumerate((CASE, HELD, SWAPPED, EDITED))}
SHORTEST_EDITED = 5
"""Nearly all shorter words have a known neighbour, so that it means nothing."""
SHORTEST_SWAPPED = 3
_HELD = re.compile(r"(.)\1\1", re.DOTALL)
_BETWEEN = "\n"
_RUN = re.compile(r"(.)\1*", re.DOTALL)
MOST_RUNS = 6


@dataclass(frozen=True)
class NearWord:
    """A known word that a new one is near to, and the difference."""

    known: str
    how: str

    @property
    def rank(self) -> tuple[int, int, str]:
        """Sorts the nearest first: by the kind of difference, then the shortest, then alphabetically."""
        return _ORDER[self.how], len(self.known), self.known.swapcase()


def near_words(words: Collection[str], known: Iterable[str]) -> dict[str, NearWord]:
    """For each word that is near a known one, the nearest of those."""
    spelled: dict[str, str] = {}
    for other in known:
        form = fold(other)
        # One of several spellings is enough, the one with the fewest capitals.
        spelled[form] = min(other, spelled.get(form, other), key=str.swapcase)
    found: dict[str, NearWord] = {}
    unlike: dict[str, list[str]] = {}
    for word in words:
        form = fold(word)
        if form not in spelled:
            unlike.setdefault(form, []).append(word)
        elif spelled[form] != word:
            found[word] = NearWord(spelled[form], CASE)
    for form, other, how in _slips(unlike, spelled):
        near = NearWord(spelled[other], how)
        for word in unlike[form]:
            if word not in found or near.rank < found[word].rank:
                found[word] = near
    return found


def _slips(words: Collection[str], known: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """Yield each word with each known word that is one slip away, and the kind of slip."""
    for word in words:
        for other in _shorten_runs(word):
            if other in known:
                yield word, other, HELD
    forms = _index_forms(words)
    for other in known:
        length = len(other)
        if other in forms:
            for word in forms[other].split(_BETWEEN):
                if len(word) >= SHORTEST_EDITED:
                    yield word, other, EDITED
        for position in range(length):
            shorter = other[:position] + other[position + 1 :]
            if shorter in forms:
                for word in forms[shorter].split(_BETWEEN):
                    if how := _slip(word, other, position):
                        yield word, other, how


def _shorten_runs(word: str) -> Iterator[str]:
    """The words that may have been meant if a letter occurs three times in a row: each run once or twice."""
    if not _HELD.search(word):
        return
    meant = [sorted({run[0][:1], run[0][:2]}) for run in _RUN.finditer(word)]
    # No word has more doubled letters than that, and the combinations double with each.
    if sum(len(each) - 1 for each in meant) <= MOST_RUNS:
        yield from map("".join, product(*meant))


def _index_forms(words: Iterable[str]) -> dict[str, str]:
    """The words by themselves and by each form without one letter; several words are joined in one text.

    Lists instead of texts would be half a million objects for the garbage collector to scan.
    """
    forms: dict[str, str] = {}
    for word in words:
        keys = [word]
        if len(word) >= SHORTEST_SWAPPED:
            keys += [word[:position] + word[position + 1 :] for position in range(len(word))]
        for key in keys:
            forms[key] = f"{forms[key]}{_BETWEEN}{word}" if key in forms else word
    return forms


def _slip(word: str, known: str, position: int) -> str | None:
    """The slip at that position of a known word that gives the word, if there is one."""
    if len(word) > len(known):
        return None
    behind = known[position + 1 :]
    if len(word) < len(known) or (word[position + 1 :] == behind and word[:position] == known[:position]):
        return EDITED if len(word) >= SHORTEST_EDITED else None
    swapped = known[:position] + behind[:1] + known[position] + behind[1:]
    return SWAPPED if word == swapped else None


def fold(word: str) -> str:
    """The word without case and accents."""
    if word.isascii():
        return word.lower()
    return "".join(letter for letter in normalize("NFKD", word.casefold()) if not combining(letter))
