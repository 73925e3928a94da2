"""Layers: what a device is told is checked before it is believed."""

from dataclasses import replace
from typing import Any

import pytest

from layers import small_layer
from neologue.errors import ParameterError
from neologue.language.candidates import strings


@pytest.mark.parametrize(
    "changes",
    [
        {"frontier": strings(["b", "a"])},
        {"frontier": strings(["a", "a"])},
        {"frontier": strings([])},
        {"frontier": strings(["a", "bc"])},
        {"frontier": strings(["x"])},
        {"frontier": strings([""])},
        {"extension": 0},
        {"sampler": "gredy"},
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
