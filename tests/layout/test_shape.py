"""Planning: ε for a population, and the shape and size of layers."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neologue.campaign.local_epsilon import local_epsilon
from neologue.errors import ParameterError
from neologue.language.candidates import extensions
from neologue.language.lists import MOST_LISTED, can_be_listed
from neologue.layout.shape import TELLING_LENGTH, Shape, longest_extension


def test_epsilon_is_7_at_15_million_users_and_10_at_most() -> None:
    assert local_epsilon(15_000_000) == 7.0
    assert local_epsilon(1_500_000) == 9.3
    assert local_epsilon(200_000) == local_epsilon(1) == 10.0
    assert local_epsilon(10**12) == 1.0
    with pytest.raises(ParameterError, match="not 0"):
        local_epsilon(0)


@given(st.integers(1, 10**9), st.integers(1, 10**9))
def test_more_users_never_need_a_larger_epsilon(one: int, other: int) -> None:
    assert (local_epsilon(one) <= local_epsilon(other)) or one < other


@given(st.integers(1, 10_000), st.integers(2, 200), st.integers(1, 10**7), st.integers(1, 20))
def test_an_extension_in_every_way_is_the_longest_that_fits(
    prefixes: int, characters: int, candidates: int, left: int
) -> None:
    extension = longest_extension(prefixes, characters, candidates, left)
    assert 1 <= extension <= left
    if extension > 1:
        assert prefixes * extensions(characters, extension) <= candidates
    if extension < left:
        assert prefixes * extensions(characters, extension + 1) > candidates


@given(st.integers(1, 10_000), st.integers(2, 5000), st.integers(1, 10**7), st.integers(1, 15))
def test_a_layer_never_votes_on_more_than_fits(prefixes: int, characters: int, candidates: int, length: int) -> None:
    shape = Shape(characters, candidates, depth=15, known_lengths=Counter({3: 900, 7: 500, 10: 100}))
    extension = shape.extension(prefixes, length)
    every, ways = extensions(characters, extension), shape.ways(prefixes, extension)
    assert 1 <= extension <= 16 - length
    assert 1 <= ways <= every
    if extension == 1:
        assert ways == every
    else:
        assert prefixes * ways <= candidates
    if ways < every:
        assert every * characters < 2**63, "their numbers fit"
        assert ways * characters <= MOST_LISTED, "devices can be told them"
        assert extension == 2 or length >= TELLING_LENGTH


def test_an_alphabet_with_thousands_of_characters_has_no_long_lists() -> None:
    assert can_be_listed(94, 8)
    assert not can_be_listed(94, 9)
    assert not can_be_listed(1500, 5), "T(5) after each of 1,500 characters is beyond 62 bits"
    assert not can_be_listed(2, 10**9), "which is not counted to the end"


def test_prefixes_whose_words_are_about_to_end_are_extended_to_the_end() -> None:
    shape = Shape(94, 1 << 24, depth=15, known_lengths=Counter({5: 5, 7: 35, 9: 40, 11: 15, 15: 5}))
    assert shape.extension(94, 1) == 2, "all pairs fit"
    assert shape.extension(1000, TELLING_LENGTH - 1) == 2, "so few characters tell little"
    assert shape.extension(2000, 5) == 3
    assert shape.extension(1000, 9) == 7, "to the end"
    assert shape.extension(200_000, 5) == 1


@given(st.integers(1, 10_000), st.integers(2, 200), st.integers(1, 10**7), st.integers(1, 20))
def test_without_lists_every_extension_has_to_fit(prefixes: int, characters: int, candidates: int, left: int) -> None:
    extension = longest_extension(prefixes, characters, candidates, left)
    assert extension == 1 or prefixes * extensions(characters, extension) <= candidates
    assert extension == left or prefixes * extensions(characters, extension + 1) > candidates


SHAPE = Shape(characters=30, candidates=100_000, depth=12, known_lengths=Counter({3: 900, 10: 100}))


def test_layers_that_decide_more_words_get_more_users_but_less_than_in_proportion() -> None:
    assert SHAPE.weight(2) > SHAPE.weight(8) == SHAPE.weight(12) == 0.6
    uneven = Shape(characters=30, candidates=100_000, depth=12, known_lengths=Counter({3: 50, 10: 50}))
    assert SHAPE.weight(2) > uneven.weight(8) > 0.6
    silent = Shape(characters=30, candidates=100_000, depth=12, known_lengths=Counter())
    assert silent.weight(1) == silent.weight(12)


@given(st.integers(1, 100_000), st.integers(1, 12))
def test_the_layers_to_come_begin_where_the_one_before_ends_and_reach_the_depth(prefixes: int, length: int) -> None:
    lengths = SHAPE.coming(prefixes, length)
    assert lengths[0] == length
    assert lengths == sorted(set(lengths))
    assert lengths[-1] <= SHAPE.depth
    if len(lengths) > 1:
        assert lengths[1] == length + SHAPE.extension(prefixes, length)


def test_fewer_layers_are_expected_where_prefixes_die_out() -> None:
    lasting = Shape(characters=30, candidates=100_000, depth=12, known_lengths=Counter({12: 1}))
    assert len(SHAPE.coming(10_000, 2)) < len(lasting.coming(10_000, 2)) == 11


def test_the_last_layer_gets_all_users_left() -> None:
    assert SHAPE.layer_size(1234, 5, 12) == 1234
    assert SHAPE.layer_size(1000, 3000, 2) < 500
