"""How long a campaign takes if so many of its devices check in on a day."""

import math
from dataclasses import dataclass
from typing import Final

from neologue.campaign.campaign import Campaign

AWAITED: Final = 0.95
"""The share of a layer's devices that it waits for: plans allow for so many."""
HOURS: Final = 24


@dataclass(frozen=True)
class Duration:
    """The hours of one layer, and the days of all, which come one after the other."""

    check_ins: int
    layer_hours: int
    days: float


def duration(campaign: Campaign, check_ins: int) -> Duration:
    """How long a campaign takes if each device has the same chance to check in on any day, whatever it did before."""
    silent = max(1 - check_ins / campaign.users, 1 - AWAITED)
    hours = math.ceil(HOURS * math.log(1 - AWAITED) / math.log(silent))
    parameters = campaign.parameters
    layers = parameters.passes * (parameters.layers or parameters.depth)
    return Duration(check_ins, hours, layers * hours / HOURS)
