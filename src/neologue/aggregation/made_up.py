"""Reports of devices that hold nothing, which the server makes up: all of them at once, as one sum.

They make the reports of a layer as many as were planned, and the last reports of a worker as many as a batch. They are
drawn from secure entropy by the exact law of a device's report, so that a sum does not tell them from others.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from neologue.aggregation.kernels import Votes
from neologue.entropy import Entropy, SecureEntropy
from neologue.errors import ParameterError
from neologue.protocol.report import Asks
from neologue.randomizers.binomial import draw_binomials
from neologue.randomizers.unary import Unary
from neologue.table import Table


def _unary_sum(randomizer: Unary, reports: int, entropy: Entropy) -> Votes:
    """Votes for two candidates are independent, so each sum is a binomial of its own."""
    return draw_binomials(reports, randomizer.noise, randomizer.candidates, entropy).astype(np.uint32)


MADE_UP: Table[Callable[[Any, int, Entropy], Votes]] = Table(
    "sum of made-up reports for the randomizer", "neologue.aggregation.made_up", {Unary.name: _unary_sum}
)


def check_can_make_up(randomizer: str) -> None:
    """Refuse a randomizer for whose planned layers nothing is proved."""
    if randomizer not in MADE_UP:
        raise ParameterError(
            f"reports of {randomizer} can't be made up, so its layers can't count a planned number: take the "
            f"randomizer {' or '.join(MADE_UP)}, or close layers by count (allocation filled)",
            parameter="parameters",
        )


def made_up_votes(layer: Asks, reports: int, entropy: Entropy | None = None) -> Votes:
    """The votes of so many devices that hold nothing; from secure entropy, unless a test gives another."""
    return MADE_UP[layer.randomizer.name](layer.randomizer, reports, entropy or SecureEntropy())
