"""Words over several releases: the share of users of each, and how the last release differs from the one before.

The releases have to be of different reports, and are comparable only if they ask the same people in the same language.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from neologue.discovery.result import ReleasedWord
from neologue.release.codec import ReleaseDocument
from neologue.release.comparison import ChangeKind, WordChange, change_of_word

FEWEST_RELEASES: Final = 2


@dataclass(frozen=True)
class SharePoint:
    """The share of the users of one release who would report a word, with its 95 % interval."""

    share: float
    low: float
    high: float

    @classmethod
    def of(cls, word: ReleasedWord, users: int) -> "SharePoint":
        """The point of a released word."""
        return cls(word.estimate / users, word.low / users, word.high / users)


@dataclass(frozen=True)
class WordTrend:
    """A word in a series of releases."""

    points: Sequence[SharePoint | None]
    """One for each release; None where the word was not released."""
    change: WordChange
    """The last release against the latest one before it that has the word."""

    @property
    def word(self) -> str:
        """The word itself."""
        return self.change.word


def word_trends(releases: Sequence[ReleaseDocument]) -> list[WordTrend]:
    """The trends of all words, the largest changes of a kind first; the releases begin with the earliest."""
    if len(releases) < FEWEST_RELEASES:
        raise ValueError(f"a trend needs at least {FEWEST_RELEASES} releases, not {len(releases)}")
    found = [{word.word: word for word in release.words} for release in releases]
    trends = [_trend(text, releases, found) for text in dict.fromkeys(text for words in found for text in words)]
    order = list(ChangeKind)
    return sorted(trends, key=lambda one: (order.index(one.change.kind), -one.change.weight, one.word))


def _trend(text: str, releases: Sequence[ReleaseDocument], found: Sequence[dict[str, ReleasedWord]]) -> WordTrend:
    words = [each.get(text) for each in found]
    points = [
        SharePoint.of(word, release.users) if word else None for word, release in zip(words, releases, strict=True)
    ]
    earlier = next((index for index in reversed(range(len(words) - 1)) if words[index]), 0)
    change = change_of_word(text, words[earlier], words[-1], releases[earlier].users, releases[-1].users)
    return WordTrend(points, change)
