"""Candidates: one canonical order that device and server derive from the frontier alone."""

from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from neologue.language.alphabet import Alphabet
from neologue.language.candidates import Candidates, extensions, last_characters, root, strings
from neologue.language.lists import Lists

ABC = Alphabet("abc")
EVERY_WORD = ["".join(letters) for length in range(1, 7) for letters in product("abc", repeat=length)]

frontiers = st.sets(st.sampled_from([word for word in EVERY_WORD if len(word) == 2]), min_size=1)


@given(frontier=frontiers, extension=st.integers(1, 3))
def test_candidates_are_distinct_prefix_free_and_in_lexicographic_order(frontier: set[str], extension: int) -> None:
    candidates = Candidates(ABC, strings(sorted(frontier)), extension)
    prefixes, ended = candidates.prefixes(np.arange(candidates.size))
    symbols = [prefix + "\0" * end for prefix, end in zip(prefixes.tolist(), ended.tolist(), strict=True)]
    assert symbols == sorted(set(symbols))
    assert not any(b.startswith(a) for a, b in pairwise(symbols))
    assert candidates.ended.tolist() == ended.tolist()


@given(frontier=frontiers, extension=st.integers(1, 3))
def test_every_word_belongs_to_the_one_candidate_that_it_begins_with(frontier: set[str], extension: int) -> None:
    candidates = Candidates(ABC, strings(sorted(frontier)), extension)
    prefixes, ended = candidates.prefixes(np.arange(candidates.size))
    for word, index in zip(EVERY_WORD, candidates.index(strings(EVERY_WORD)).tolist(), strict=True):
        fitting = [
            place
            for place, (prefix, end) in enumerate(zip(prefixes.tolist(), ended.tolist(), strict=True))
            if (word == prefix if end else word.startswith(prefix))
        ]
        assert fitting == ([] if index < 0 else [index])


def test_words_with_foreign_characters_belong_nowhere() -> None:
    candidates = Candidates(ABC, strings(["ab"]), 2)
    assert candidates.index(strings(["abx", "abax", "ab€c", "x", "ab"])).tolist()[:4] == [-1, -1, -1, -1]


def test_an_empty_frontier_or_no_words_give_nothing() -> None:
    nothing = Candidates(ABC, strings(["ab"])[:0], 1)
    assert nothing.size == 0
    assert nothing.index(strings(["ab"])).tolist() == [-1]
    assert Candidates(ABC, strings(["ab"]), 1).index(strings([])).tolist() == []


@pytest.mark.parametrize(("characters", "symbols", "count"), [(99, 1, 100), (94, 2, 8931), (3, 3, 40)])
def test_extensions_are_counted(characters: int, symbols: int, count: int) -> None:
    assert extensions(characters, symbols) == count


def test_the_papers_first_layer_has_9900_candidates() -> None:
    paper = Alphabet.named("paper")
    assert Candidates(paper, root(paper), 1).size == 9900


@st.composite
def listings(draw: st.DrawFn) -> Candidates:
    """Candidates of a few extensions, others for each last character and more of them for some prefixes."""
    frontier = strings(sorted(draw(frontiers)))
    extension = draw(st.integers(1, 3))
    every = extensions(3, extension)
    lasts, members = last_characters(frontier)
    rows = [np.array(draw(st.permutations(range(every))), np.int64) for _ in lasts]
    ways = np.array(draw(st.lists(st.integers(1, every), min_size=len(frontier), max_size=len(frontier))), np.int64)
    return Candidates(ABC, frontier, extension, Lists.cut(rows, ways, members))


def of_each(candidates: Candidates, values: NDArray[np.generic]) -> list[list[Any]]:
    """What there is for the candidates of each prefix."""
    return [part.tolist() for part in np.split(values, np.cumsum(candidates.ways)[:-1])]


@given(listed=listings())
def test_listed_extensions_are_some_of_all_prefix_by_prefix(listed: Candidates) -> None:
    every = Candidates(ABC, listed.frontier, listed.extension)
    prefixes, ended = listed.prefixes(np.arange(listed.size))
    whole = list(zip(*(array.tolist() for array in every.prefixes(np.arange(every.size))), strict=True))
    places = [whole.index(one) for one in zip(prefixes.tolist(), ended.tolist(), strict=True)]
    assert len(set(places)) == len(places)
    assert [place // extensions(3, listed.extension) for place in places] == np.repeat(
        np.arange(len(listed.frontier)), listed.ways
    ).tolist()
    assert listed.ended.tolist() == ended.tolist()
    kept = {place: number for number, place in enumerate(places)}
    expected = [kept.get(index, -1) for index in every.index(strings(EVERY_WORD)).tolist()]
    assert listed.index(strings(EVERY_WORD)).tolist() == expected


def test_each_last_character_has_a_list_of_its_own() -> None:
    # After "a" a word ends after "c" or goes on by "ba"; after "b" it ends, or goes on by "cc". "ca" has one way only.
    lists = Lists((np.array([9, 6]), np.array([0, 12])), np.array([2, 2, 1]))
    candidates = Candidates(ABC, strings(["aa", "ab", "ca"]), 2, lists)
    texts, ended = candidates.prefixes(np.arange(candidates.size))
    assert texts.tolist() == ["aac", "aaba", "ab", "abcc", "cac"]
    assert ended.tolist() == [True, False, True, False, True]
    words = ["aabab", "aac", "aa", "abcca", "ab", "cac", "caba", "caca"]
    assert candidates.index(strings(words)).tolist() == [1, 0, -1, 3, 2, 4, -1, -1]


@given(extension=st.integers(1, 3))
def test_the_codes_of_extensions_are_those_of_their_symbols(extension: int) -> None:
    candidates = Candidates(ABC, strings(["a"]), extension)
    codes = candidates.codes(np.arange(candidates.size))
    prefixes, _ = candidates.prefixes(np.arange(candidates.size))
    assert ["".join("\0abc"[code] for code in row).rstrip("\0") for row in codes] == [word[1:] for word in prefixes]


@given(listed=listings(), data=st.data())
def test_those_among_some_prefixes_are_the_same_in_the_same_order(listed: Candidates, data: st.DataObject) -> None:
    places = sorted(data.draw(st.sets(st.sampled_from(range(len(listed.frontier))), min_size=1)))
    for candidates in (listed, Candidates(ABC, listed.frontier, listed.extension)):
        some = candidates.among(np.array(places))
        whole, ended = (of_each(candidates, array) for array in candidates.prefixes(np.arange(candidates.size)))
        texts, ends = some.prefixes(np.arange(some.size))
        assert of_each(some, texts) == [whole[place] for place in places]
        assert of_each(some, ends) == [ended[place] for place in places]
        assert some.index(texts[ends]).tolist() == np.flatnonzero(ends).tolist()
        assert some.lists is None or some.lists.serve(last_characters(some.frontier)[1])


@given(listed=listings())
def test_endings_are_counted_for_each_prefix(listed: Candidates) -> None:
    for candidates in (listed, Candidates(ABC, listed.frontier, listed.extension)):
        assert candidates.endings.tolist() == [sum(ended) for ended in of_each(candidates, candidates.ended)]


@pytest.mark.parametrize("lists", [None, Lists((np.array([2, 0]), np.array([4])), np.array([2, 1]))])
def test_doubtful_words_come_behind_all_others(lists: Lists | None) -> None:
    without = Candidates(Alphabet("ab"), strings(["aba", "abb"]), 2, lists)
    candidates = replace(without, doubtful=strings(["a", "ba", "bb"]))
    words = strings(["a", "ab", "aba", "abab", "abba", "abbba", "b", "ba", "baa", "bb", "bbb"])
    index, before = candidates.index(words), without.index(words)
    again = np.isin(words, candidates.doubtful)
    assert (before[again] == -1).all()
    assert index[again].tolist() == [without.size, without.size + 1, without.size + 2]
    assert (index[~again] == before[~again]).all()
    assert candidates.size == without.size + 3
    prefixes, ended = candidates.prefixes(np.arange(candidates.size))
    assert prefixes.tolist() == [*without.prefixes(np.arange(without.size))[0].tolist(), "a", "ba", "bb"]
    assert ended.tolist() == candidates.ended.tolist() == [*without.ended.tolist(), True, True, True]
    assert candidates.index(prefixes[ended]).tolist() == np.flatnonzero(ended).tolist()
