"""A made-up sum has the law of the reports of as many devices that hold nothing."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from layers import small_layer
from neologue.aggregation.made_up import check_can_make_up, made_up_votes
from neologue.entropy import SeededEntropy
from neologue.errors import ParameterError
from neologue.protocol.layer import ExtendingLayer
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary

REPORTS = 400
DRAWN = 300


def deviations(sums: NDArray[np.float64], layer: ExtendingLayer) -> tuple[float, float]:
    """How far mean and variance of votes are from those of devices that hold nothing, in standard errors."""
    q = float(layer.randomizer.channel.q)
    mean, variance = REPORTS * q, REPORTS * q * (1 - q)
    fourth = variance * (1 + 3 * variance * (1 - 2 / REPORTS))
    return (
        float((sums.mean() - mean) / np.sqrt(variance / sums.size)),
        float((sums.var() - variance) / np.sqrt((fourth - variance**2) / sums.size)),
    )


def made_up(layer: ExtendingLayer) -> NDArray[np.float64]:
    entropy = SeededEntropy(11)
    return np.array([made_up_votes(layer, REPORTS, entropy) for _ in range(DRAWN)], np.float64)


def test_sums_have_the_law_of_devices_that_hold_nothing_and_of_no_other_epsilon() -> None:
    # Both figures are normal to within a percent; 4 standard errors are exceeded with a chance of 1.3e-4. At another ε
    # by .2 the mean is off by .2·√(n·reports·q) = .2·√(300·candidates·400·.018) > 20 of them.
    layer = small_layer(["a"], epsilon=4.0)
    sums = made_up(layer)
    assert sums.shape == (DRAWN, layer.randomizer.candidates)
    assert np.abs(deviations(sums, layer)).max() < 4
    assert abs(deviations(made_up(replace(layer, epsilon=4.2)), layer)[0]) > 4


def test_sums_are_those_of_real_reports() -> None:
    # A two-sample comparison of means with the device's own randomizer: 4 standard errors of the difference.
    layer = small_layer(["a"], epsilon=4.0)
    randomizer, entropy = layer.randomizer, SeededEntropy(12)
    nothing = np.empty(0, np.int64)
    counts = np.zeros(randomizer.candidates)
    for _ in range(REPORTS * 20):
        np.add.at(counts, randomizer.votes(randomizer.randomize(nothing, entropy)), 1)
    sums = made_up(layer)
    q = float(randomizer.channel.q)
    error = np.sqrt(q * (1 - q) * (1 / (REPORTS * 20) + 1 / (REPORTS * DRAWN)) / randomizer.candidates)
    assert abs(counts.mean() / (REPORTS * 20) - sums.mean() / REPORTS) < 4 * error


def test_without_an_argument_nobody_can_know_what_was_drawn() -> None:
    layer = small_layer(["a"], epsilon=2.0)
    assert not np.array_equal(made_up_votes(layer, 10_000), made_up_votes(layer, 10_000))


def test_a_randomizer_whose_reports_cannot_be_made_up_is_refused() -> None:
    check_can_make_up(Unary.name)
    with pytest.raises(ParameterError, match=r"subset-selection can't be made up.*take the randomizer unary"):
        check_can_make_up(SubsetSelection.name)
