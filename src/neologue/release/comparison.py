"""Two releases side by side: which words are new, which are gone, and which rose or fell beyond chance.

The estimate of a word is compared as a share of the users of its release, so that releases of different sizes compare.
The interval of a difference follows from the two 95 % intervals by the method of variance estimates recovery (Zou and
Donner 2008): with shares p and intervals [l, u] before (1) and after (2), it goes from
d - sqrt((p2-l2)² + (u1-p1)²) to d + sqrt((u2-p2)² + (p1-l1)²), where d = p2 - p1. The two releases have to be of
different reports, which the ones of different campaigns are.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

from neologue.discovery.result import ReleasedWord
from neologue.errors import ReleaseError
from neologue.release.codec import ReleaseDocument


class ChangeKind(StrEnum):
    """What became of a word between two releases."""

    NEW = "new"
    """It is in the later release alone: more report it than before, or it was not asked about."""
    RISEN = "risen"
    FALLEN = "fallen"
    STEADY = "steady"
    """The difference is within chance."""
    GONE = "gone"
    """It is in the earlier release alone: fewer report it, or it is known by now."""


@dataclass(frozen=True)
class WordChange:
    """A word in two releases, in shares of their users."""

    word: str
    kind: ChangeKind
    before: float | None
    after: float | None
    difference: float | None = None
    low: float | None = None
    """The lower end of the 95 % interval of the difference."""
    high: float | None = None

    @property
    def weight(self) -> float:
        """By which words of a kind are ordered: the size of the change."""
        if self.difference is not None:
            return abs(self.difference)
        return self.after if self.after is not None else self.before or 0.0


def compare_releases(before: ReleaseDocument, after: ReleaseDocument) -> list[WordChange]:
    """What became of each word, the largest changes of a kind first."""
    if before.digest == after.digest:
        raise ReleaseError("both are the same release: give an earlier and a later one")
    earlier = {word.word: word for word in before.words}
    later = {word.word: word for word in after.words}
    changes = [
        change_of_word(text, earlier.get(text), later.get(text), before.users, after.users)
        for text in earlier.keys() | later.keys()
    ]
    order = list(ChangeKind)
    return sorted(changes, key=lambda change: (order.index(change.kind), -change.weight, change.word))


def change_of_word(
    text: str, before: ReleasedWord | None, after: ReleasedWord | None, users_before: int, users_after: int
) -> WordChange:
    """What became of one word; None where a release does not have it."""
    first = None if before is None else before.estimate / users_before
    second = None if after is None else after.estimate / users_after
    if before is None or first is None:
        return WordChange(text, ChangeKind.NEW, None, second)
    if after is None or second is None:
        return WordChange(text, ChangeKind.GONE, first, None)
    difference = second - first
    low = difference - math.hypot(second - after.low / users_after, before.high / users_before - first)
    high = difference + math.hypot(after.high / users_after - second, first - before.low / users_before)
    kind = ChangeKind.RISEN if low > 0 else ChangeKind.FALLEN if high < 0 else ChangeKind.STEADY
    return WordChange(text, kind, first, second, difference, low, high)
