"""Which users of a simulated campaign are in which layer, and how many reports the layer counts."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from neologue.campaign.campaign import Campaign
from neologue.campaign.measuring import Measuring
from neologue.populations.streams import Stream, generator
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import Layer


@dataclass(frozen=True)
class Cohort:
    """The users of one layer, who are next to each other in their random order."""

    first: int
    users: int
    reports: int
    """What the layer counts: the reports of these users, and of devices that hold nothing."""

    @property
    def end(self) -> int:
        """The first user behind them."""
        return self.first + self.users

    @property
    def made_up(self) -> int:
        """How many of the reports are of devices that hold nothing."""
        return self.reports - self.users


class Cohorts(Protocol):
    """Says who is in which layer; nobody is in two."""

    def of_layer(self, layer: Layer) -> Cohort:
        """The users of a layer; layers are asked in order."""

    def measuring(self, layer: ClosedLayer, first: int) -> Cohort:
        """The users who measure, the first of whom is given."""


class FilledCohorts:
    """Every layer has exactly as many users as it asks: the next ones in order."""

    def __init__(self) -> None:
        self._next = 0

    def of_layer(self, layer: Layer) -> Cohort:
        """The next users."""
        cohort = Cohort(self._next, layer.layer_size, layer.layer_size)
        self._next = cohort.end
        return cohort

    def measuring(self, layer: ClosedLayer, first: int) -> Cohort:
        """So many users from the first on."""
        if self._next > first:
            raise ValueError(f"user {first:,} was asked before, and nobody is asked twice")
        return Cohort(first, layer.layer_size, layer.layer_size)


class DrawnCohorts:
    """Every user has a slot of their own, drawn independently of all others.

    Users are in a random order that readers do not know, so it is enough to draw how many have a slot in each layer.
    """

    def __init__(self, campaign: Campaign, measure: Measuring | None, seed: int) -> None:
        parameters = campaign.parameters
        assert parameters.layers is not None
        self._parameters, self._layers_of_pass = parameters, parameters.layers
        layers = parameters.passes * parameters.layers
        measuring = measure.users if measure else 0
        everybody = campaign.users + measuring
        asked = np.array([campaign.users // layers] * layers + [campaign.users % layers, measuring])
        *self._users, _, self._measuring = (
            generator(Stream.SLOTS, seed).multinomial(everybody, asked / everybody).tolist()
        )
        self.campaign_users = everybody - self._measuring
        """Those who do not measure, who come before those who do."""

    def of_layer(self, layer: Layer) -> Cohort:
        """Whoever has a slot in it."""
        index = (layer.pass_number - 1) * self._layers_of_pass + layer.number - 1
        return self._cohort(sum(self._users[:index]), self._users[index], layer.layer_size)

    def measuring(self, layer: ClosedLayer, first: int) -> Cohort:
        """Whoever has a slot to measure."""
        return self._cohort(first, self._measuring, layer.layer_size)

    def _cohort(self, first: int, users: int, asked: int) -> Cohort:
        """All are counted even if they are more than planned: then the release does not claim that slots hide them."""
        return Cohort(first, users, max(users, self._parameters.counted_reports(asked)))
