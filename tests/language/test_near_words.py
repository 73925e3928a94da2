"""Known words in disguise are found, by rules that a slow comparison confirms."""

import itertools
import random

import pytest

from neologue.language.near_words import CASE, EDITED, HELD, SWAPPED, NearWord, near_words


@pytest.mark.parametrize(
    ("word", "known", "how"),
    [
        ("georgetown", "Georgetown", CASE),
        ("cafe", "café", CASE),
        ("STRASSE", "straße", CASE),
        ("sooo", "so", HELD),
        ("helllo", "hello", HELD),
        ("gooood", "good", HELD),
        ("teh", "the", SWAPPED),
        ("recieve", "receive", SWAPPED),
        ("adress", "address", EDITED),
        ("colour", "color", EDITED),
        ("definately", "definitely", EDITED),
        ("Recieve", "receive", SWAPPED),
    ],
)
def test_each_disguise_is_seen_through(word: str, known: str, how: str) -> None:
    assert near_words([word], ["banana", known]) == {word: NearWord(known, how)}


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("lol", "lot"),  # short words have too many neighbours
        ("yeet", "meet"),
        ("hello", "hello"),
        ("abcde", "badce"),  # two swaps
        ("planet", "plants"),  # a swap that is none
        ("soo", "so"),
        ("aaa", "b"),
    ],
)
def test_other_words_are_left_alone(word: str, known: str) -> None:
    assert near_words([word], [known]) == {}


def test_the_nearest_is_named() -> None:
    known = ["receipe", "recipe", "Recipe", "recipes"]
    assert near_words(["RECIPE", "recipee"], known) == {
        "RECIPE": NearWord("recipe", CASE),
        "recipee": NearWord("recipe", EDITED),
    }
    assert near_words(["recipee"], reversed(known)) == {"recipee": NearWord("recipe", EDITED)}


def distance(one: str, other: str) -> int:
    """How many letters to change, put in, leave out or swap with their neighbours, each letter once at most."""
    rows = [list(range(len(other) + 1))]
    for place, letter in enumerate(one, 1):
        row = [place]
        for there, sign in enumerate(other, 1):
            best = min(row[-1] + 1, rows[-1][there] + 1, rows[-1][there - 1] + (letter != sign))
            if place > 1 and there > 1 and letter == other[there - 2] and one[place - 2] == sign:
                best = min(best, rows[-2][there - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]


def test_it_finds_what_a_slow_comparison_finds() -> None:
    chance = random.Random(5)
    words = {"".join(chance.choices("abc", k=chance.randint(5, 7))) for _ in range(500)}
    words = {word for word in words if not any(sign * 3 in word for sign in "abc")}
    known = {"".join(chance.choices("abc", k=chance.randint(5, 8))) for _ in range(60)} - words
    near = {word for word, other in itertools.product(words, known) if distance(word, other) == 1}
    assert 20 < len(near) < len(words)
    assert set(near_words(words, known)) == near
