"""Candidates: one canonical order that device and server derive from the frontier alone."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neologue.language.alphabet import Alphabet
from neologue.language.candidates import Candidates, extensions, root, strings

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
