"""Likely candidates are what a plain enumeration gives, and nothing is asked about in two ways."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from neologue.errors import ParameterError
from neologue.language import likely_roots, likely_strings
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import Strings, strings
from neologue.language.likely_candidates import LikelyCandidates, RootRound
from neologue.language.likely_roots import NEVER, NO_PREFIXES, UNASKED, Flags, Roots
from neologue.language.likely_strings import LikelyStrings
from neologue.language.spelling_costs import MOST_STRINGS, SpellingCosts
from plain_likely import PlainLikely

ALPHABET = Alphabet("ab𐐀")
EVERY_WORD = ["".join(letters) for length in range(1, 6) for letters in product("ab𐐀", repeat=length)]


@st.composite
def spellings(draw: st.DrawFn) -> SpellingCosts:
    """Models with contexts of every length, all their endings among them, and all that they need listed."""
    symbols = ["\0", *ALPHABET.characters]
    contexts = {"", "\0"}
    for _ in range(draw(st.integers(0, 6))):
        text = draw(st.sampled_from(symbols)) + draw(st.text(ALPHABET.characters, max_size=2))
        parts = {text[begin:end] for begin in range(3) for end in range(begin + 1, 4)} - {""}
        contexts |= parts
    ordered = sorted(contexts, key=lambda context: (len(context), context))
    lists = [
        "".join(symbols)
        if context == ""
        else "".join(
            symbol
            for symbol in symbols
            if (context + symbol in contexts and symbol != "\0") or draw(st.integers(0, 2)) == 0
        )
        for context in ordered
    ]
    backoffs = [0, *(draw(st.integers(0, 4)) for _ in ordered[1:])]
    costs = [draw(st.integers(1, 9)) for listed in lists for _ in listed]
    return SpellingCosts(ALPHABET, tuple(ordered), np.array(backoffs), tuple(lists), np.array(costs))


@st.composite
def candidates(draw: st.DrawFn) -> LikelyCandidates:
    """Up to three rounds, whose roots are escapes of the round before."""
    spelling = draw(spellings())
    limit = draw(st.integers(1, 9))
    rounds = [RootRound(strings([""]), np.array([0]), np.array([NEVER]), limit, draw(st.integers(1, limit)))]
    for _ in range(draw(st.integers(0, 2))):
        before = LikelyCandidates(spelling, tuple(rounds)).fresh
        texts, ended = before.strings(np.arange(before.size))
        escapes = texts[~ended].tolist()
        kept = sorted(draw(st.sets(st.sampled_from(escapes), max_size=4))) if escapes else []
        rounds[-1] = replace(rounds[-1], again=draw(st.integers(0, rounds[-1].limit)))
        costs = [draw(st.integers(0, 6)) for _ in kept]
        even_costs = [draw(st.integers(1, 12)) for _ in kept]
        limit = draw(st.integers(1, 9))
        prefix_limit = draw(st.integers(1, limit))
        rounds.append(
            RootRound(strings(kept), np.array(costs, np.int64), np.array(even_costs, np.int64), limit, prefix_limit)
        )
    if draw(st.booleans()):
        rounds[-1] = replace(rounds[-1], prefix_limit=NO_PREFIXES)
    return LikelyCandidates(spelling, tuple(rounds))


def told(asked: LikelyCandidates) -> dict[str, Any]:
    """What the document of a layer says of its candidates."""
    spelling, rounds = asked.spelling, asked.rounds
    return {
        "alphabet": asked.alphabet.characters,
        "contexts": list(spelling.contexts),
        "backoffs": spelling.backoffs.tolist(),
        "symbols": list(spelling.symbols),
        "costs": spelling.costs.tolist(),
        "roots": [each.prefixes.tolist() for each in rounds],
        "root_costs": [each.costs.tolist() for each in rounds],
        "even_costs": [each.even_costs.tolist() for each in rounds],
        "limits": [each.limit for each in rounds],
        "again": [each.again for each in rounds],
        "prefix_limits": [each.prefix_limit for each in rounds],
    }


def check(asked: LikelyCandidates) -> None:
    """Hold candidates to the plain enumeration."""
    plain = PlainLikely(told(asked))
    assert np.diff(asked.starts).tolist() == list(map(len, plain.parts))
    texts, ended = asked.prefixes(np.arange(asked.size))
    found = list(zip(texts.tolist(), ended.tolist(), strict=True))
    assert found == plain.candidates
    assert len(set(found)) == len(found), "nothing is asked about in two ways"
    words = [text for text, end in found if end]
    assert asked.index(strings(words)).tolist() == [place for place, (_, end) in enumerate(found) if end]
    some = EVERY_WORD[:: max(1, len(found) // 20)]
    assert asked.index(strings(some)).tolist() == [-1 if (i := plain.index(word)) is None else i for word in some]


@settings(max_examples=60)
@given(asked=candidates())
def test_candidates_are_those_of_a_plain_enumeration(asked: LikelyCandidates) -> None:
    check(asked)


@settings(max_examples=40)
@given(spelling=spellings(), limit=st.integers(1, 9))
def test_in_the_first_round_every_word_belongs_to_one_candidate(spelling: SpellingCosts, limit: int) -> None:
    beginning = Roots.beginning(spelling)
    first = LikelyStrings(beginning, limit, (limit + 1) // 2)
    index = first.index(strings(EVERY_WORD))
    assert ((index >= 0) & (index < first.size)).all()
    texts, ended = first.strings(index)
    for word, text, end in zip(EVERY_WORD, texts.tolist(), ended.tolist(), strict=True):
        assert word == text if end else word.startswith(text)


def two_rounds() -> LikelyCandidates:
    spelling = SpellingCosts(
        ALPHABET,
        ("", "\0", "a"),
        np.array([0, 1, 2]),
        ("\0ab𐐀", "a", "\0b"),
        np.array([3, 2, 4, 6, 1, 2, 3]),
    )
    first = RootRound(strings([""]), np.array([0]), np.array([NEVER]), 9, 7, 9)
    second = RootRound(strings(["", "a", "ab"]), np.array([2, 2, 2]), np.array([8, 8, 8]), 12, 9)
    return LikelyCandidates(spelling, (first, second))


def test_many_words_belong_where_each_of_them_does(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = two_rounds()
    alone = [asked.index(strings([word])).tolist() for word in EVERY_WORD]
    monkeypatch.setattr(likely_strings, "WORDS", 100)
    for module in (likely_roots, likely_strings):
        monkeypatch.setattr(module, "BLOCK", 7)
    assert asked.index(strings(EVERY_WORD)).tolist() == [number for (number,) in alone]


@pytest.mark.parametrize(
    "forgotten", [lambda asked: asked == NEVER, lambda asked: asked < NEVER], ids=["prefixes", "words"]
)
def test_who_forgets_what_was_asked_before_is_caught(
    monkeypatch: pytest.MonkeyPatch, forgotten: Callable[[NDArray[np.int16]], Flags]
) -> None:
    check(two_rounds())

    whole = Roots.asked_after

    def forgetting(roots: Roots, prefixes: Strings, limit: int, prefix_limit: int) -> NDArray[np.int16]:
        asked = whole(roots, prefixes, limit, prefix_limit)
        return np.where(forgotten(asked), UNASKED, asked)

    monkeypatch.setattr(Roots, "asked_after", forgetting)
    with pytest.raises(AssertionError):
        check(two_rounds())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prefixes": strings(["", "a", "𐐀𐐀"])}, "the round before asked about"),
        ({"prefixes": strings(["a", "", "ab"])}, "in order"),
        ({"costs": np.array([2, 2])}, "two costs"),
        ({"costs": np.array([2, -1, 2])}, "from 0 to 16,384"),
        ({"even_costs": np.array([8, 0, 8])}, "from 1"),
        ({"even_costs": np.array([8, 1 << 40, 8])}, "from 0 to 16,384"),
        ({"limit": NEVER}, "as far as tables go"),
        ({"limit": -1}, "as far as tables go"),
        ({"prefix_limit": 13}, "at least that of its prefixes"),
        ({"again": 1}, "only words that an earlier round"),
    ],
)
def test_a_wrong_round_is_refused(change: dict[str, Any], message: str) -> None:
    asked = two_rounds()
    with pytest.raises(ParameterError, match=message):
        LikelyCandidates(asked.spelling, (asked.rounds[0], replace(asked.rounds[1], **change)))


def test_what_an_earlier_round_asked_about_is_no_root_of_a_later_one_unless_it_was_kept() -> None:
    asked = two_rounds()
    without = replace(asked.rounds[1], prefixes=strings([""]), costs=np.array([2]), even_costs=np.array([8]))
    third = RootRound(strings(["ab"]), np.array([0]), np.array([9]), 5, 5)
    with pytest.raises(ParameterError, match="the round before asked about"):
        LikelyCandidates(asked.spelling, (asked.rounds[0], without, third))


def test_sizes_beyond_all_bounds_do_not_overflow() -> None:
    cheap = SpellingCosts(ALPHABET, ("", "\0"), np.array([0, 0]), ("\0ab𐐀", ""), np.ones(4, np.int64))
    beginning = Roots.beginning(cheap)
    sizes = [LikelyStrings(beginning, limit, limit).size for limit in (5, 15, 30, 60, 200, 1000)]
    assert sizes[0] == 1 + sum(3**length for length in range(1, 6)) + sum(3**length for length in range(1, 5))
    assert sizes == sorted(sizes)
    assert all(size >= MOST_STRINGS for size in sizes[2:])
