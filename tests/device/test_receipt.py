"""Receipts are true for every layer that can be sent."""

import numpy as np
import pytest

from closed import small_closed_layer
from invitations import OPERATOR, campaign_id
from layers import small_layer
from neologue.aggregation.masked_aggregator import terms_for
from neologue.device.contribution import contribute
from neologue.device.receipt import HOW_TO_CHECK, masking_receipt, report_receipt
from neologue.entropy import SeededEntropy
from neologue.language.vocabulary import Vocabulary
from neologue.masking.terms import Promise
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.invitation import invite
from neologue.protocol.layer import Layer
from neologue.protocol.report import read_report


def receipt(layer: Layer | ClosedLayer, spent: float = 3.0, lifetime: float = 20.0) -> str:
    """The receipt of a report for a layer."""
    return report_receipt(0, invite(campaign_id(1), layer, OPERATOR), 100, spent, lifetime)


LAYERS: list[Layer | ClosedLayer] = [
    small_layer(["ab", "ca"], 3),
    small_layer(["ab"], 1, epsilon=10.0),
    small_layer(["ab"], 1, targets=frozenset({"abc", "abca"})),
    small_layer(["ab", "ca"], 5, mechanism="subset-selection", epsilon=0.7),
    small_closed_layer(["abc"], epsilon=10.0, bound=1),
    small_closed_layer(["abc", "cba"], mechanism="subset-selection", targets=frozenset({"abc", "cba"})),
]


@pytest.mark.parametrize("layer", LAYERS)
def test_nothing_is_said_of_who_found_the_words_and_no_noise_is_called_zero(layer: Layer | ClosedLayer) -> None:
    sentence = receipt(layer)
    assert "others have found" not in sentence
    assert "about 0 " not in sentence
    assert "that the operator chose" in sentence
    assert ("Only words of a list of 2 that the operator made" in sentence) is (layer.targets is not None)


def test_a_layer_with_hardly_any_noise_says_that_votes_are_not_hidden() -> None:
    assert "Chance alone gives less than 0.01 of such votes" in receipt(small_layer(["ab"], 1, epsilon=10.0))
    hint = "whoever reads a vote may take it for yours"
    assert hint in receipt(small_layer(["ab"], 1, epsilon=10.0))
    assert hint not in receipt(small_layer(["ab", "ca"], 3, epsilon=1.0))


@pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
def test_so_many_votes_are_noise_as_the_receipt_says(mechanism: str) -> None:
    layer = small_layer(["ab", "ca"], 3, mechanism=mechanism, epsilon=1.0, known=Vocabulary.empty())
    votes = [len(read_report(layer, contribute({}, layer, SeededEntropy(seed)))) for seed in range(300)]
    said = float(receipt(layer).split("Chance alone gives about ")[1].split(" of such votes")[0])
    assert abs(np.mean(votes) - said) < 0.5 + 5 * np.std(votes) / 300**0.5


def test_the_receipt_says_what_is_left_of_the_lifetime() -> None:
    layer = LAYERS[0]
    assert receipt(layer, 17.5).endswith(
        f"has spent an ε of 17.5 of the 20 in its lifetime: 2.5 is left. {HOW_TO_CHECK}"
    )
    # An owner may have lowered the limit since.
    assert receipt(layer, 17.5, 15.0).endswith(f"0 is left. {HOW_TO_CHECK}")


def test_what_it_can_reveal_is_rounded_up_and_what_is_left_is_rounded_down() -> None:
    sentence = receipt(small_layer(["ab"], 1, epsilon=7.0000004), 12.3456719, 20.0)
    assert "a factor of e^7.00001;" in sentence
    assert "by e^28.0001." in sentence
    assert "an ε of 12.3457 of the 20 in its lifetime: 7.65432 is left." in sentence


def test_a_receipt_of_masked_votes_promises_no_more_than_the_protocol() -> None:
    masked = invite(campaign_id(1), LAYERS[0], OPERATOR, Promise(50, 20, 5, (bytes(32),)))
    sentence = report_receipt(0, masked, 100, 3.0, 20.0)
    assert "an operator that keeps to the protocol reads sums of at least 50 devices and no single votes" in sentence
    group = masking_receipt(0, terms_for(LAYERS[0], bytes(16), 50, 10, 5), 900)
    assert "if not more than 5 of these work with the operator and those who admit devices do not" in group
    assert "sent" not in group, "it is filed before"
