"""The largest local ε with which a campaign keeps to a limit."""

import math
from collections.abc import Callable
from typing import Final

from neologue.campaign.campaign import Campaign

STEP: Final = 0.05
"""A chosen local ε is a multiple of this."""


def largest_epsilon(
    campaigns: Callable[[float], Campaign], cost: Callable[[Campaign], float], limit: float, most: float
) -> Campaign | None:
    """The campaign with the largest local ε, at most `most`, that costs at most the limit; None if none does."""
    best: Campaign | None = None
    keeps, step = 0, math.ceil(round(most / STEP, 6))
    breaks = step + 1
    while breaks - keeps > 1:
        campaign = campaigns(min(most, round(step * STEP, 2)))
        excess = math.log(max(cost(campaign), 1e-12) / limit)
        if excess <= 0:
            keeps, best = step, campaign
        else:
            breaks = step
        # Increasing the local ε by 1 multiplies the central ε by about √e.
        step = min(max(step - math.ceil(2 * excess / STEP), keeps + 1), breaks - 1)
    return best
