"""Reports of devices that hold nothing, which the server makes up: all of them at once, as one sum.

They make the reports of a layer as many as were planned, and the last reports of a worker as many as a batch. They are
drawn from secure entropy by the exact law of a device's report, so that a sum does not tell them from others.
"""

import numpy as np

from neologue.aggregation.kernels import Votes
from neologue.entropy import Entropy, SecureEntropy
from neologue.errors import ParameterError
from neologue.protocol.report import Asks
from neologue.randomizers.binomial import draw_binomials
from neologue.randomizers.unary import Unary


def check_can_make_up(randomizer: str) -> None:
    """Refuse a randomizer whose sums can't be drawn candidate by candidate."""
    if randomizer != Unary.name:
        raise ParameterError(
            f"votes of {randomizer} for two candidates are not independent, so nothing is proved for planned layers: "
            f"take the randomizer {Unary.name}, or close layers by count (allocation filled)",
            parameter="parameters",
        )


def made_up_votes(layer: Asks, reports: int, entropy: Entropy | None = None) -> Votes:
    """The votes of so many devices that hold nothing; from secure entropy, unless a test gives another."""
    randomizer = layer.randomizer
    assert isinstance(randomizer, Unary), randomizer
    votes = draw_binomials(reports, randomizer.noise, randomizer.candidates, entropy or SecureEntropy())
    return votes.astype(np.uint32)
