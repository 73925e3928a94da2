"""What lies behind the prefixes of a release."""

from neologue.discovery.open_prefixes import OpenPrefix, open_prefixes
from neologue.discovery.result import ReleasedPrefix, ReleasedWord


def kept(prefix: str, estimate: float, *, layer: int = 3, pass_number: int = 1) -> ReleasedPrefix:
    return ReleasedPrefix(prefix, 99, estimate, estimate / 2, estimate * 2, layer, pass_number)


def found(word: str, estimate: float, *, layer: int = 4, since: int = 4, pass_number: int = 1) -> ReleasedWord:
    return ReleasedWord(word, 99, estimate, estimate / 2, estimate * 2, layer, pass_number, since)


def test_words_that_the_last_layer_was_first_to_ask_about_are_taken_off_their_longest_prefix() -> None:
    prefixes = [kept("x", 500.0), kept("xq", 300.0), kept("zz", 100.0)]
    words = [found("xqzjkv", 250.0), found("xa", 80.0), found("yeet", 900.0), found("zz", 30.0)]
    assert open_prefixes(prefixes, words) == [
        OpenPrefix("x", 500.0, 1, 420.0),
        OpenPrefix("zz", 100.0, 1, 70.0),
        OpenPrefix("xq", 300.0, 1, 50.0),
    ]


def test_words_that_were_asked_about_before_were_not_among_those_who_went_on() -> None:
    earlier = [found("xa", 80.0, since=2), found("xb", 80.0, layer=3, since=3), found("xc", 80.0, pass_number=2)]
    assert open_prefixes([kept("x", 500.0)], earlier) == [OpenPrefix("x", 500.0, 0, 500.0)]


def test_nobody_is_left_where_words_explain_more_than_went_on() -> None:
    (only,) = open_prefixes([kept("x", 100.0)], [found("xa", 80.0), found("xb", 70.0)])
    assert only == OpenPrefix("x", 100.0, 2, 0.0)


def test_a_prefix_of_several_passes_is_counted_by_the_last() -> None:
    passes = [kept("x", 500.0), kept("x", 60.0, layer=2, pass_number=2), kept("y", 50.0)]
    assert open_prefixes(passes, [found("xa", 450.0)]) == [
        OpenPrefix("x", 60.0, 0, 60.0),
        OpenPrefix("y", 50.0, 0, 50.0),
    ]


def test_a_release_without_prefixes_has_nothing_open() -> None:
    assert open_prefixes([], [found("xa", 80.0)]) == []
