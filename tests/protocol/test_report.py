"""Reports carry the version and the layer they answer, and look alike whatever a device holds."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from laws import array
from neologue.device.contribution import contribute, held_prefixes
from neologue.entropy import SecureEntropy, SeededEntropy
from neologue.errors import ReportError
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import strings
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.layer import ExtendingLayer, Layer
from neologue.protocol.report import HEADER_BYTES, header, make_report, read_report
from neologue.randomizers.registry import RANDOMIZERS


@pytest.fixture(params=list(RANDOMIZERS))
def layer(request: pytest.FixtureRequest) -> ExtendingLayer:
    """Three prefixes and six letters: 21 candidates."""
    return ExtendingLayer(
        pass_number=1,
        number=2,
        layer_size=1000,
        alphabet=Alphabet("abcdef"),
        frontier=strings(["ab", "be", "fa"]),
        extension=1,
        depth=6,
        mechanism=request.param,
        epsilon=4.0,
        bound=3,
        sampler="greedy",
        known=Vocabulary(["fade"]),
    )


# The header


def test_a_report_begins_with_the_version_and_the_tag_of_its_layer(layer: ExtendingLayer) -> None:
    report = make_report(layer, array([4]), SeededEntropy(1))
    assert report[0] == 2
    assert report[1:9] == layer.digest[:8]
    assert report[:HEADER_BYTES] == header(layer)


def test_the_votes_in_a_report_are_those_of_its_payload(layer: ExtendingLayer) -> None:
    report = make_report(layer, array([4, 9]), SeededEntropy(1))
    randomizer = layer.randomizer
    drawn = randomizer.randomize(array([4, 9]), SeededEntropy(1))
    assert read_report(layer, report).tolist() == randomizer.votes(drawn).tolist()
    assert report[HEADER_BYTES:] == randomizer.encode(drawn)


def test_held_candidates_come_through_to_the_votes(layer: ExtendingLayer) -> None:
    # 300 reports on candidate 4: it gets about 150 votes or more, and every other at most about 40.
    source = SeededEntropy(2)
    votes = np.concatenate([read_report(layer, make_report(layer, array([4]), source)) for _ in range(300)])
    tally = np.bincount(votes, minlength=21)
    assert len(tally) == 21
    assert tally[4] > 110
    assert np.delete(tally, 4).max() < 40


def test_another_version_is_named_and_refused(layer: ExtendingLayer) -> None:
    report = make_report(layer, array([]), SeededEntropy(1))
    for version in (0, 1, 255):
        with pytest.raises(ReportError, match=f"version {version}"):
            read_report(layer, bytes([version]) + report[1:])


CHANGES: dict[str, Callable[[ExtendingLayer], Layer]] = {
    "pass": lambda layer: replace(layer, pass_number=2),
    "number": lambda layer: replace(layer, number=3),
    "cohort": lambda layer: replace(layer, layer_size=1001),
    "alphabet": lambda layer: replace(layer, alphabet=Alphabet("abcdefg")),
    "frontier": lambda layer: replace(layer, frontier=strings(["ab", "be", "fb"])),
    "extension": lambda layer: replace(layer, extension=2),
    "depth": lambda layer: replace(layer, depth=7),
    "epsilon": lambda layer: replace(layer, epsilon=4.5),
    "bound": lambda layer: replace(layer, bound=4),
    "sampler": lambda layer: replace(layer, sampler="random"),
    "known": lambda layer: replace(layer, known=Vocabulary(["faded"])),
    "found": lambda layer: replace(layer, found=Vocabulary({"bead"})),
    "targets": lambda layer: replace(layer, targets=frozenset({"bead"})),
    "no targets": lambda layer: replace(layer, targets=frozenset()),
    "mechanism": lambda layer: replace(
        layer, mechanism={"unary": "subset-selection", "subset-selection": "unary"}[layer.mechanism]
    ),
}


@pytest.mark.parametrize("change", list(CHANGES))
def test_a_layer_that_differs_in_anything_told_has_another_tag_and_refuses_the_report(
    layer: ExtendingLayer, change: str
) -> None:
    other = CHANGES[change](layer)
    assert other.digest != layer.digest
    with pytest.raises(ReportError, match="another layer"):
        read_report(other, make_report(layer, array([4]), SeededEntropy(1)))


def test_the_same_layer_told_again_has_the_same_tag(layer: ExtendingLayer) -> None:
    again = replace(layer, alphabet=Alphabet("fedcba", name="other"), known=Vocabulary(["fade"], source="elsewhere"))
    assert again.digest == layer.digest


def test_a_report_cut_anywhere_or_extended_is_refused(layer: ExtendingLayer) -> None:
    report = make_report(layer, array([4]), SeededEntropy(1))
    for length in range(len(report)):
        with pytest.raises(ReportError):
            read_report(layer, report[:length])
    for length in range(HEADER_BYTES):
        with pytest.raises(ReportError, match=f"{length} bytes are too few"):
            read_report(layer, report[:length])
    with pytest.raises(ReportError):
        read_report(layer, report + b"\0")


# What a device gives away without saying it


def test_reports_have_one_length_whatever_a_device_holds(layer: ExtendingLayer) -> None:
    diaries: list[dict[str, int]] = [
        {},
        {"fade": 9},
        {"bead": 1},
        {"abc": 1, "bead": 2, "faced": 1},
        {"abc": 1, "abd": 1, "bead": 2, "bed": 4, "faced": 1, "fab": 10**6, "zzz": 1, "abcdefa": 1},
    ]
    lengths = {len(contribute(words, layer, SeededEntropy(3, turn))) for words in diaries for turn in range(20)}
    assert len(lengths) == 1


def test_typings_of_one_form_and_of_one_candidate_add_up(layer: ExtendingLayer) -> None:
    # "bea" is candidate 1·7 + 1; "fade" is known and "zoo" has foreign letters.
    typed = {"bead": 1, " bead ": 2, "beaf": 4, "abc": 8, "fade": 16, "zoo": 32, "a": 64}
    prefixes, times = held_prefixes(typed, layer)
    assert dict(zip(prefixes.tolist(), times.tolist(), strict=True)) == {3: 8, 8: 7}


def test_a_device_with_nothing_to_say_answers_all_the_same(layer: ExtendingLayer) -> None:
    nothing = contribute({"fade": 3, "unknown letters": 1, "": 5}, layer, SeededEntropy(4))
    assert nothing == contribute({}, layer, SeededEntropy(4))
    assert (read_report(layer, nothing) >= 0).all()


def test_a_device_uses_fresh_randomness_unless_told_otherwise(layer: ExtendingLayer) -> None:
    assert len({contribute({"bead": 1}, layer) for _ in range(200)}) > 1
    read_report(layer, contribute({"bead": 1}, layer, SecureEntropy()))


def test_a_refusal_never_quotes_what_was_held(layer: ExtendingLayer) -> None:
    with pytest.raises(ValueError, match="at most 3") as caught:
        make_report(layer, array([4, 17, 18, 19]), SeededEntropy(1))
    assert not {"17", "18", "19"} & set(str(caught.value).split())
