"""What a device is told of a closed layer: the same for all, and nothing that can't be."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from closed import small_closed_layer
from layers import small_layer
from neologue.errors import ParameterError, ReportError
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import strings
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.report import header, read_report

LAYER = small_closed_layer(["ab", "bc"])


@pytest.mark.parametrize(
    "change",
    [
        {"layer_size": 999},
        {"alphabet": Alphabet("abcd")},
        {"words": strings(["ab", "bb"])},
        {"depth": 5},
        {"mechanism": "subset-selection"},
        {"epsilon": 3.5},
        {"bound": 5},
        {"known": Vocabulary(["known"])},
        {"targets": frozenset({"ab"})},
        {"rate": 0.5},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_digest_tells_whatever_is_told(change: dict[str, Any]) -> None:
    assert replace(LAYER, **change).digest != LAYER.digest
    assert replace(LAYER).digest == LAYER.digest


@pytest.mark.parametrize(
    "words",
    [[], ["bc", "ab"], ["ab", "ab"], ["xy"], ["abcabca"], [""], ["a b"]],
    ids=["none", "out of order", "twice", "foreign", "too long", "empty", "with a space"],
)
def test_a_list_that_no_device_could_answer_is_refused(words: list[str]) -> None:
    with pytest.raises(ParameterError, match="a closed layer"):
        replace(LAYER, words=strings(words))


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.01, float("nan")])
def test_a_rate_is_a_share(rate: float) -> None:
    with pytest.raises(ParameterError, match="rate of a measurement must be a share"):
        replace(LAYER, rate=rate)


@pytest.mark.parametrize("targets", [None, frozenset({"ab", "cab"})])
def test_the_words_that_count_are_those_of_the_campaigns_first_layer(targets: frozenset[str] | None) -> None:
    first = small_layer(["a"], targets=targets)
    closed = replace(LAYER, targets=targets)
    words = ["ab", "cab", "Cab", "CAB", "known", "abcabca", "abcabc", "x", "", "a b", "bb"]
    assert [closed.counts(word) for word in words] == [first.counts(word) for word in words]
    assert {closed.counts(word) for word in words} == {True, False}


def test_a_report_for_another_layer_is_refused() -> None:
    other = replace(LAYER, layer_size=7)
    with pytest.raises(ReportError, match="another layer"):
        read_report(LAYER, header(other) + bytes(50))


def test_words_are_found_whatever_their_length() -> None:
    words = np.array(["ab", "bc", "abcabc", "b"])
    assert LAYER.index(words).tolist() == [0, 1, -1, -1]
    assert LAYER.index(strings([])).tolist() == []
