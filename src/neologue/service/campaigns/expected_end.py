"""When a running campaign is expected to end, by how fast reports come, and when at the latest."""

import math
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from neologue.campaign.parameters import Parameters
from neologue.service.campaigns.definition import Definition
from neologue.service.campaigns.layer_store import LayerRow
from neologue.service.campaigns.planned_rounds import PlannedRounds
from neologue.service.storage.states import LayerState


class ExpectedEnd(msgspec.Struct, frozen=True):
    """Unix times; null for what nothing is known of yet, or any more."""

    layer: float | None = None
    """When the open layer is expected to be full, at the latest at its deadline."""
    campaign: float | None = None
    """When the last layer is expected to be full; null if the votes decide how many layers there are."""
    latest: float | None = None
    """The latest end, if no layer is extended and all layers come that may."""

    def to_the_minute(self) -> "ExpectedEnd":
        """The same times, rounded up to whole minutes."""
        times = (self.layer, self.campaign, self.latest)
        return ExpectedEnd(*(None if time is None else 60.0 * math.ceil(time / 60) for time in times))


def expected_end(definition: Definition, layers: Sequence[LayerRow], now: float) -> ExpectedEnd:
    """When the open layer and the whole campaign are expected to end."""
    if not layers or layers[-1].state is LayerState.DECIDED:
        return ExpectedEnd()
    current = layers[-1].round
    passed = max(0.0, now - current.opened)
    planned = PlannedRounds(definition) if definition.drawn else None
    closes = planned.closes(current) if planned else current.deadline
    lasted = [after.round.opened - before.round.opened for before, after in pairwise(layers)]
    full = closes
    if layers[-1].state is not LayerState.OPEN:
        full = now
    elif current.reports and not planned:
        full = min(current.deadline, current.opened + passed * current.layer_size / current.reports)
    elif lasted and not planned:
        # A layer without a report says nothing yet, and the layers before it do.
        full = min(current.deadline, current.opened + max(passed, sum(lasted) / len(lasted)))
    full = max(full, now)
    left = max(0, _most_layers(definition) - len(layers))
    longest = closes - current.opened if planned else definition.seconds
    latest = max(closes, now) + left * longest
    if planned:
        return ExpectedEnd(full, latest, latest)
    if definition.campaign.parameters.layers is None:
        return ExpectedEnd(full, None, latest)
    usual = sum((*lasted, full - current.opened)) / (len(lasted) + 1)
    return ExpectedEnd(full, full + left * usual, latest)


def _most_layers(definition: Definition) -> int:
    """As many layers as there may be, with the measurement."""
    parameters: Parameters = definition.campaign.parameters
    return parameters.passes * (parameters.layers or parameters.depth) + (1 if definition.measuring else 0)
