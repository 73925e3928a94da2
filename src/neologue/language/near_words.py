"""Which new words are known ones in disguise: a slip of the finger, a letter held down, a capital or an accent.

Both sides are folded first, so that case and accents never count as a difference. Then a word is near a known one if
one letter was changed, left out, put in or swapped with its neighbour. That is settled by look-ups alone: the new
words, whole and without each of their letters, are an index, in which each known word is looked up in the same forms.
So the work grows with the letters of both lists, never with their product.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from unicodedata import combining, normalize

CASE, HELD, SWAPPED, EDITED = "capitals or accents", "a letter held down", "two letters swapped", "one letter"
_ORDER = {how: position for position, how in enumerate((CASE, HELD, SWAPPED, EDITED))}
SHORTEST_EDITED = 5
"""Of shorter words nearly all have a known neighbour, so that one says nothing."""
SHORTEST_SWAPPED = 3
_HELD = re.compile(r"(.)\1\1", re.DOTALL)
_BETWEEN = "\n"
_RUN = re.compile(r"(.)\1*", re.DOTALL)
MOST_RUNS = 6


@dataclass(frozen=True)
class NearWord:
    """A known word that a new one is near to, and what makes the difference."""

    known: str
    how: str

    @property
    def rank(self) -> tuple[int, int, str]:
        """The least of which is the nearest: what differs least, then the shortest, then the first in the alphabet."""
        return _ORDER[self.how], len(self.known), self.known.swapcase()


def near_words(words: Collection[str], known: Iterable[str]) -> dict[str, NearWord]:
    """For each word that is near a known one, the nearest of those."""
    spelled: dict[str, str] = {}
    for other in known:
        form = fold(other)
        # Of several spellings one is enough, the one with the fewest capitals.
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
    """Each word with each known one that it is but for one slip, and which slip it is."""
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
    """What a word with a letter three times in a row or more may have been meant to be: each run once or twice."""
    if not _HELD.search(word):
        return
    meant = [sorted({run[0][:1], run[0][:2]}) for run in _RUN.finditer(word)]
    # Nobody means a word with more doubled letters than that, and the ways double with each.
    if sum(len(each) - 1 for each in meant) <= MOST_RUNS:
        yield from map("".join, product(*meant))


def _index_forms(words: Iterable[str]) -> dict[str, str]:
    """The words by what they are, and by what they are without any one of their letters; several in one text.

    Lists instead of texts would be half a million objects for the garbage collector to look through again and again.
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
    """What was done to the letter in that place of a known word, if the word is what came of it."""
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
