"""Planning: ε for a population, and the shape and size of layers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neologue.errors import ParameterError
from neologue.language.candidates import extensions
from neologue.privacy.planning import layer_weights, local_epsilon, longest_extension, next_cohort


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
def test_an_extension_is_the_longest_that_fits(prefixes: int, characters: int, candidates: int, left: int) -> None:
    extension = longest_extension(prefixes, characters, candidates, left)
    assert 1 <= extension <= left
    if extension > 1:
        assert prefixes * extensions(characters, extension) <= candidates
    if extension < left:
        assert prefixes * extensions(characters, extension + 1) > candidates


def test_layers_that_decide_more_words_get_more_users_but_less_than_in_proportion() -> None:
    lengths = [3] * 900 + [10] * 100
    early, late = layer_weights(lengths, (2, 8))
    assert early > late > early * 0.1
    (twentieth, thirtieth) = layer_weights(lengths, (20, 30))
    assert twentieth == thirtieth == 0.6 * early
    assert len(set(layer_weights([], (1, 2, 3)))) == 1


def test_the_last_layer_gets_all_users_left() -> None:
    assert next_cohort(1234, [0.3]) == 1234
    assert next_cohort(1000, [1.0, 3.0]) == 250
