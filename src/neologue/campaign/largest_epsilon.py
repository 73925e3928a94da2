"""The largest local ε with which a campaign keeps to a limit."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from neologue.campaign.campaign import Campaign

STEP: Final = 0.05
"""A chosen local ε is a multiple of this."""
FIRST_SLOPE: Final = 2.0
"""The central ε grows about with this power of the local one, as long as nothing is known …"""
LEAST_SLOPE: Final = 0.5
"""… and at least with this one, so that no step is too long."""


def largest_epsilon(
    campaigns: "Callable[[float], Campaign]", cost: "Callable[[Campaign], float]", limit: float, most: float
) -> "Campaign | None":
    """The campaign with the largest local ε, at most `most`, that costs at most the limit; None if none does."""
    best: Campaign | None = None
    keeps, step = 0, math.ceil(round(most / STEP, 6))
    breaks, slope = step + 1, FIRST_SLOPE
    before: tuple[int, float] | None = None
    while breaks - keeps > 1:
        campaign = campaigns(min(most, round(step * STEP, 2)))
        excess = math.log(max(cost(campaign), 1e-12) / limit)
        if excess <= 0:
            keeps, best = step, campaign
        else:
            breaks = step
        if before:
            # On logarithmic scales the central ε is nearly a line.
            slope = max((excess - before[1]) / math.log(step / before[0]), LEAST_SLOPE)
        before = step, excess
        step = min(max(int(step * math.exp(-excess / slope)), keeps + 1), breaks - 1)
    return best
