"""Layers: what a device is told is checked before it is believed."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from layers import small_layer
from neologue.errors import ParameterError
from neologue.language.candidates import strings
from neologue.language.lists import Lists


@pytest.mark.parametrize(
    "changes",
    [
        {"frontier": strings(["b", "a"])},
        {"frontier": strings(["a", "a"])},
        {"frontier": strings([])},
        {"frontier": strings(["a", "bc"])},
        {"frontier": strings(["x"])},
        {"extension": 0},
        {"sampler": "gredy"},
        {"lists": Lists((np.array([0, 1]), np.array([0, 1])), np.array([2]))},
        {"lists": Lists((np.array([0, 1]),), np.array([2, 2]))},
        {"lists": Lists((np.array([0, 1]),), np.array([1]))},
        {"lists": Lists((np.array([0, 1]),), np.array([3]))},
        {"lists": Lists((np.array([0, 1]),), np.array([-2]))},
        {"lists": Lists((np.array([[0, 1]]),), np.array([1]))},
        {"lists": Lists((np.array([], np.int64),), np.array([0]))},
        {"lists": Lists((), np.array([], np.int64))},
        {"lists": Lists((np.array([1, 1]),), np.array([2]))},
        {"lists": Lists((np.array([-1, 1]),), np.array([2]))},
        {"lists": Lists((np.array([0, 99]),), np.array([2]))},
        {"lists": Lists((np.array([0.0, 1.0]),), np.array([2]))},
        {"lists": Lists((np.array([0, 1]),), np.array([2.0]))},
        {"doubtful": strings(["b", "a"])},
        {"doubtful": strings(["a", "a"])},
        {"doubtful": strings(["ab"])},
        {"doubtful": strings(["x"])},
        {"doubtful": strings([""])},
    ],
)
def test_a_layer_that_makes_no_sense_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="a layer"):
        replace(small_layer(["ab"]), **changes)


def test_white_space_ends_a_word_even_where_the_alphabet_has_it() -> None:
    layer = small_layer(["ab"], alphabet=type(small_layer(["ab"]).alphabet)("ab \t"))
    assert layer.counts("abab")
    assert not layer.counts("ab a")
    assert not layer.counts("a\tb")
    assert not layer.counts("")


def test_lists_are_a_part_of_what_all_devices_are_told() -> None:
    layer = small_layer(["ab"], extension=2)
    first, second, third = (
        replace(layer, lists=Lists((np.array(row),), np.array([2]))) for row in ([0, 4], [0, 5], [4, 0])
    )
    assert len({layer.digest, first.digest, second.digest, third.digest}) == 4
    assert first.candidates.size == 2


def test_doubtful_words_are_a_part_of_what_all_devices_are_told() -> None:
    layer = small_layer(["abc"])
    first, second = (replace(layer, doubtful=strings(words)) for words in (["a"], ["a", "bc"]))
    assert len({layer.digest, first.digest, second.digest}) == 3
    assert second.randomizer.candidates == layer.randomizer.candidates + 2
