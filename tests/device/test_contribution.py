"""Contributions: which words of a device reach its report."""

import numpy as np
import pytest

from layers import small_layer
from neologue.device.contribution import contribute, held_prefixes
from neologue.device.sampling import sample
from neologue.entropy import SeededEntropy
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.layer import Layer
from neologue.protocol.report import read_report


def held(words: dict[str, int], layer: Layer) -> dict[str, int]:
    """The prefixes held, ⊥ for the end, and how often words of each were typed."""
    index, times = held_prefixes(words, layer)
    prefixes, ended = layer.candidates.prefixes(index)
    return {
        prefix + "⊥" * end: int(count)
        for prefix, end, count in zip(prefixes.tolist(), ended.tolist(), times.tolist(), strict=True)
    }


def test_words_become_prefixes_and_those_with_the_same_prefix_are_counted_together() -> None:
    layer = small_layer(["ab", "ca"])
    assert held({"abc": 2, "abca": 3, "aba": 1, "ab": 7}, layer) == {"ab⊥": 7, "aba": 1, "abc": 5}


def test_known_words_do_not_count_in_any_case_that_a_dictionary_permits() -> None:
    layer = small_layer(["ca", "Ca"], alphabet=type(small_layer(["ab"]).alphabet)("abcC"))
    assert held({"cab": 5, "Cab": 3}, layer) == {}


def test_words_that_the_alphabet_or_the_depth_leaves_out_do_not_count_and_are_not_cut() -> None:
    layer = small_layer(["ab"])
    assert held({"abx": 1, "abcabca": 1, "": 4, "abé": 1}, layer) == {}


def test_words_shorter_than_the_layers_prefixes_do_not_count() -> None:
    assert held({"a": 3, "ab": 2}, small_layer(["aba"])) == {}


def test_words_found_in_an_earlier_pass_do_not_count() -> None:
    assert held({"abc": 1, "abb": 1}, small_layer(["ab"], found=Vocabulary(["abc"]))) == {"abb": 1}


def test_with_targets_only_they_count_even_if_known() -> None:
    layer = small_layer(["ab", "ca"], targets=frozenset({"cab", "abc"}))
    assert held({"cab": 1, "abc": 2, "abb": 3}, layer) == {"cab": 1, "abc": 2}


def test_words_are_the_same_however_their_accents_were_typed() -> None:
    layer = small_layer(["ñ"], alphabet=type(small_layer(["ab"]).alphabet)("abñ"))
    assert held({"n\u0303a": 1, "ña": 2, " ña ": 4}, layer) == {"ña": 7}


def test_greedy_takes_the_most_typed_and_breaks_ties_at_random() -> None:
    prefixes, times = np.arange(5), np.array([1, 9, 5, 5, 5])
    seen = {tuple(sorted(sample(prefixes, times, 3, "greedy", SeededEntropy(seed)).tolist())) for seed in range(200)}
    assert seen == {(1, 2, 3), (1, 2, 4), (1, 3, 4)}


def test_random_ignores_how_often_a_word_was_typed() -> None:
    prefixes, times = np.arange(4), np.array([1, 1000, 1, 1])
    drawn = np.concatenate([sample(prefixes, times, 2, "random", SeededEntropy(seed)) for seed in range(4000)])
    counts = np.bincount(drawn, minlength=4)
    # Each is in a sample with probability 1/2: sd 31.6 in 4000, so 200 is more than 6 sd; greedy would take 1 always.
    assert np.abs(counts - 2000).max() < 200


@pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
def test_a_device_without_words_sends_a_report_of_the_same_length(mechanism: str) -> None:
    layer = small_layer(["ab", "ca"], mechanism=mechanism)
    words = {"abc": 1, "aba": 2, "abb": 1, "caa": 1, "cac": 1, "ab": 1}
    empty, full = contribute({}, layer), contribute(words, layer)
    assert len(empty) == len(full)
    assert read_report(layer, empty) is not None


def test_reports_are_never_the_same_twice_with_secure_randomness() -> None:
    layer = small_layer(["ab", "ca"], extension=3, mechanism="subset-selection")
    assert len({contribute({"abc": 1}, layer) for _ in range(50)}) == 50


def test_counts_that_no_one_can_type_neither_silence_a_device_nor_move_other_words() -> None:
    layer = small_layer(["ab"])
    assert held({"aba": -10, "abb": 2**70, "abc": 0}, layer) == {"aba": 1, "abb": 2**31 - 1, "abc": 1}
