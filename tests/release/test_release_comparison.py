"""What changed between two releases, beyond chance."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from neologue.discovery.result import ReleasedWord
from neologue.errors import ReleaseError
from neologue.release.comparison import ChangeKind, compare_releases
from neologue.release.trends import word_trends


@dataclass(frozen=True)
class Document:
    """What is read of a release."""

    digest: str
    users: int
    words: tuple[ReleasedWord, ...]


def word(text: str, estimate: float, error: float) -> ReleasedWord:
    return ReleasedWord(text, 0, estimate, estimate - 1.96 * error, estimate + 1.96 * error, 1, 1, 1)


def changes(
    before: list[ReleasedWord], after: list[ReleasedWord], users: tuple[int, int] = (1000, 1000)
) -> dict[str, ChangeKind]:
    first, second = Document("a", users[0], tuple(before)), Document("b", users[1], tuple(after))
    return {change.word: change.kind for change in compare_releases(first, second)}  # type: ignore[arg-type]


def test_words_are_new_gone_risen_fallen_or_steady() -> None:
    before = [word("up", 100, 10), word("down", 200, 10), word("same", 100, 10), word("gone", 50, 5)]
    after = [word("up", 200, 10), word("down", 100, 10), word("same", 115, 10), word("new", 50, 5)]
    assert changes(before, after) == {
        "new": ChangeKind.NEW,
        "up": ChangeKind.RISEN,
        "down": ChangeKind.FALLEN,
        "same": ChangeKind.STEADY,
        "gone": ChangeKind.GONE,
    }


def test_releases_of_other_sizes_are_compared_by_shares() -> None:
    assert changes([word("x", 100, 5)], [word("x", 1000, 50)], (1000, 10_000)) == {"x": ChangeKind.STEADY}
    assert changes([word("x", 100, 5)], [word("x", 100, 5)], (1000, 10_000)) == {"x": ChangeKind.FALLEN}


def test_the_largest_changes_come_first_and_kinds_in_their_order() -> None:
    before = Document("a", 1000, (word("b", 100, 1), word("a", 100, 1)))
    after = Document("b", 1000, (word("a", 300, 1), word("b", 200, 1), word("n", 9, 1)))
    assert [change.word for change in compare_releases(before, after)] == ["n", "a", "b"]  # type: ignore[arg-type]


def test_a_release_is_not_compared_with_itself() -> None:
    same = Document("a", 1000, ())
    with pytest.raises(ReleaseError, match="the same release"):
        compare_releases(same, same)  # type: ignore[arg-type]


def test_the_interval_of_a_difference_holds_for_19_of_20() -> None:
    """2,000 pairs of estimates with different errors: the share that is covered is within 4 errors of 95 %."""
    dice, pairs, held = np.random.default_rng(7), 2000, 0
    for _ in range(pairs):
        first, second = word("x", dice.normal(300, 12), 12), word("x", dice.normal(330, 30), 30)
        documents = (Document("a", 1000, (first,)), Document("b", 1000, (second,)))
        (change,) = compare_releases(*documents)  # type: ignore[arg-type]
        assert change.low is not None
        assert change.high is not None
        held += change.low <= 0.03 <= change.high
    assert abs(held / pairs - 0.95) < 4 * math.sqrt(0.95 * 0.05 / pairs)


def test_a_word_is_compared_with_the_latest_release_that_has_it() -> None:
    releases = [
        Document("a", 1000, (word("back", 100, 5), word("gone", 40, 5), word("up", 100, 5))),
        Document("b", 2000, (word("up", 200, 5),)),
        Document("c", 1000, (word("up", 300, 5), word("back", 101, 5), word("new", 20, 5))),
    ]
    trends = {trend.word: trend for trend in word_trends(releases)}  # type: ignore[arg-type]
    assert {text: trend.change.kind for text, trend in trends.items()} == {
        "new": ChangeKind.NEW,
        "up": ChangeKind.RISEN,
        "back": ChangeKind.STEADY,
        "gone": ChangeKind.GONE,
    }
    assert list(trends) == ["new", "up", "back", "gone"]
    assert [point and point.share for point in trends["up"].points] == [0.1, 0.1, 0.3]
    assert [point and point.share for point in trends["back"].points] == [0.1, None, 0.101]
    assert trends["up"].change.before == pytest.approx(0.1)
    assert trends["gone"].change.before == pytest.approx(0.04)


def test_one_release_has_no_trend() -> None:
    with pytest.raises(ValueError, match="at least 2 releases, not 1"):
        word_trends([Document("a", 1000, ())])  # type: ignore[list-item]
