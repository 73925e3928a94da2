"""Masked aggregation: devices in groups add masks that cancel out, and the service learns the sums of groups alone."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final

from neologue.aggregation.aggregator import AggregationSettings, Aggregator
from neologue.masking.messages import DEAL_BYTES
from neologue.masking.rules import GroupRules, groups_of
from neologue.masking.terms import Promise, Terms
from neologue.masking.vote_packing import packed_bytes
from neologue.masking.voucher import Issuers
from neologue.privacy.group_limits import SumLimits, sum_limits
from neologue.privacy.statement import Exposure
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.report import Asks

DEFAULT_STRIKES: Final = 3
"""A device that drops out as often as groups must survive, one time in five, is missed three times in 1 of 125."""
_MOST_BESIDES: Final = 256
"""The most bytes of a message beside its votes or shares."""


@dataclass(frozen=True, eq=False)
class GatheringLayer:
    """A layer that gathers groups of devices."""

    campaign: bytes
    layer_index: int
    asks: Asks
    issuers: Issuers
    rules: GroupRules
    gather_seconds: float
    stage_seconds: float
    strikes: int = DEFAULT_STRIKES
    """How many groups may miss a device before it finds no other."""

    @property
    def key(self) -> tuple[bytes, int]:
        """By what it is known."""
        return self.campaign, self.layer_index

    @cached_property
    def longest(self) -> int:
        """The most bytes that a message of its devices has."""
        channel = self.asks.randomizer.channel
        bits = (channel.contributions * self.rules.size).bit_length()
        vector = packed_bytes(self.asks.randomizer.candidates, bits)
        return _MOST_BESIDES + max(vector, self.rules.size * DEAL_BYTES)

    def limits(self, devices: int) -> SumLimits:
        """The most votes that a sum of so many honest devices has."""
        repeats = self.asks.domain.repeats if isinstance(self.asks, ClosedLayer) else 1
        return sum_limits(self.asks.randomizer, devices, self.rules.groups, repeats)


def terms_for(layer: Asks, group_id: bytes, smallest: int, dropout: int, corrupt: int) -> Terms:
    """The terms of a group that answers a layer; the dropouts in per cent."""
    randomizer = layer.randomizer
    return Terms(
        group_id,
        layer.digest,
        randomizer.candidates,
        randomizer.channel.contributions,
        smallest,
        dropout,
        corrupt,
    )


@dataclass(frozen=True)
class MaskedAggregator(Aggregator):
    """Groups of devices; `batch` limits nothing, but is part of the exposure that a release states."""

    rules: GroupRules
    gather_seconds: float
    stage_seconds: float
    batch: int
    strikes: int = DEFAULT_STRIKES

    unit: ClassVar[str] = "smallest group"
    parameter: ClassVar[str] = "smallest_cohort"
    # One that found no group has made no votes.
    invites_again: ClassVar[bool] = True
    keeps_places: ClassVar[bool] = False

    @classmethod
    def of(cls, settings: AggregationSettings) -> "MaskedAggregator":
        """The mode with the settings of a campaign; a ParameterError if groups of that size can't be safe."""
        rules = GroupRules(
            settings.cohort_size,
            settings.smallest_cohort,
            settings.dropout,
            settings.corruption,
            settings.corruption_risk,
            groups_of(settings.devices, settings.smallest_cohort),
            limited=True,
        )
        return cls(rules, settings.gather_seconds, settings.stage_seconds, settings.batch, settings.strikes)

    @property
    def fewest(self) -> int:
        """The fewest devices that a group begins with."""
        return self.rules.fewest

    @property
    def smallest_sum(self) -> int:
        """The fewest devices of a group whose votes are summed."""
        return self.rules.smallest

    @property
    def spoilt_by_one(self) -> int:
        """A whole group: under a mask no vote can be checked."""
        return self.rules.size

    def promise(self, issuers: tuple[bytes, ...]) -> Promise:
        """What devices hold the service to."""
        return self.rules.promise(issuers)

    @property
    def exposure(self) -> Exposure:
        """Sums of groups."""
        return Exposure(disk=self.batch, masked=self.rules)

    def collecting(self, campaign: bytes, layer_index: int, layer: Asks, issuers: tuple[bytes, ...]) -> GatheringLayer:
        """A layer that gathers groups."""
        vouching = Issuers(campaign, issuers)
        return GatheringLayer(
            campaign, layer_index, layer, vouching, self.rules, self.gather_seconds, self.stage_seconds, self.strikes
        )

    def has_room(self, missing: int, under_way: int) -> bool:
        """Whether another group would find room beside those under way."""
        return missing - under_way >= self.rules.fewest
