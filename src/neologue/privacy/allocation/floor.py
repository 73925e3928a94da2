"""What a word surely costs if the layer of its user is not known: an ε that no analysis can go below.

It is what the sums of fixed questions show of a user with one word, if nobody else holds it or the word that replaces
it. Values of a law that are near each other are replaced by their mean, by which convex functions only lose; so do they
by what is left out.
"""

import math
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from neologue.privacy.allocation.planned_layers import Allocation
from neologue.privacy.bound import smallest_epsilon, surely_below
from neologue.privacy.repetition import repeated
from neologue.privacy.sums import LEFT_OUT, Sums
from neologue.randomizers.unary import Unary

Floats = NDArray[np.float64]
Law = tuple[Floats, Floats]
"""Values and their chances."""

CELLS = 300


def word_floor(unary: Unary, allocation: Allocation, delta: float) -> float:
    """An ε below that of one word, at δ."""
    laws = [
        (layer.share, times, *_merged(holds / lacks, lacks, around=1.0))
        for layer, times in allocation.different
        for holds, lacks in (Sums.of(unary, layer.reports).alone,)
    ]

    def delta_of(epsilon: float) -> float:
        factor = math.exp(epsilon)
        parts = [
            repeated(_merged(share * np.subtract.outer(ratios, factor * ratios), _pairs(lacks, lacks)), times, _sum)
            for share, times, ratios, lacks in laws
        ]
        values, chances = reduce(_sum, parts)
        # Values left out may have stood against those seen.
        missing = 2 * len(allocation.layers) * LEFT_OUT
        return float(chances @ np.maximum(values, 0.0)) - factor * missing

    most = math.log(float(unary.worst_ratio))
    return surely_below(smallest_epsilon(delta_of, delta, most, laws=2 * len(allocation.layers)))


def _merged(values: Floats, chances: Floats, around: float = 0.0) -> Law:
    """Neighbouring values replaced by their mean; they are told apart best around the given one."""
    values, chances = values.ravel(), chances.ravel()
    mean = float((values * chances).sum())
    spread = math.sqrt(float((np.square(values - mean) * chances).sum()))
    places = np.arcsinh((values - around) / spread)
    lowest, highest = float(places.min()), float(places.max())
    cells = np.minimum(((places - lowest) * (CELLS / (highest - lowest))).astype(np.int64), CELLS - 1)
    masses = np.asarray(np.bincount(cells, chances, CELLS), np.float64)
    inside = masses > 0
    return np.bincount(cells, chances * values, CELLS)[inside] / masses[inside], masses[inside]


def _sum(first: Law, second: Law) -> Law:
    return _merged(np.add.outer(first[0], second[0]), _pairs(first[1], second[1]))


def _pairs(first: Floats, second: Floats) -> Floats:
    return np.asarray(np.multiply.outer(first, second))
