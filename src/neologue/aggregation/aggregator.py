"""How the reports of a campaign become sums: what the service asks of an aggregation mode, whichever it is.

`modes` has the table of all modes. What a mode does over HTTP and in a database is the service's; what follows for
devices, layers and the privacy statement is said here.
"""

from abc import ABC, abstractmethod
from typing import ClassVar, Protocol

from neologue.masking.terms import Promise
from neologue.privacy.statement import Exposure
from neologue.protocol.report import Asks


class AggregationSettings(Protocol):
    """What an operator has stated about a campaign; each mode reads what it needs."""

    @property
    def devices(self) -> int:
        """How many devices are expected."""

    @property
    def batch(self) -> int:
        """The fewest reports that are written together."""

    @property
    def cohort_size(self) -> int:
        """How many devices mask their votes for each other."""

    @property
    def smallest_cohort(self) -> int:
        """The fewest devices whose masked votes are summed."""

    @property
    def dropout(self) -> int:
        """The dropouts that a group survives, in per cent."""

    @property
    def corruption(self) -> int:
        """The share of all devices that may be corrupt, in per cent."""

    @property
    def corruption_risk(self) -> float:
        """The chance that any group has more corrupt devices than it withstands."""

    @property
    def gather_seconds(self) -> float:
        """How long a group waits for its devices."""

    @property
    def stage_seconds(self) -> float:
        """How long each later stage of a group waits."""

    @property
    def strikes(self) -> int:
        """How many groups may miss a device before it finds no other."""


class CollectingLayer(Protocol):
    """An open layer, as that part of the service needs it which takes what its devices send."""

    @property
    def asks(self) -> Asks:
        """The layer itself."""

    @property
    def longest(self) -> int:
        """The most bytes that a device sends at once."""


class Aggregator(ABC):
    """One aggregation mode with the settings of one campaign."""

    unit: ClassVar[str]
    """What the reports that are counted together are called in messages."""
    parameter: ClassVar[str]
    """The setting that says how many those are."""
    invites_again: ClassVar[bool]
    """Whether a device that was invited and sent nothing may be invited to a later layer."""
    keeps_places: ClassVar[bool]
    """Whether a place in the layer is kept for a device that is invited, because it spends its ε at once."""

    @property
    @abstractmethod
    def fewest(self) -> int:
        """The fewest reports that are counted together."""

    @property
    @abstractmethod
    def smallest_sum(self) -> int:
        """The fewest reports in a sum that is stored."""

    @property
    @abstractmethod
    def spoilt_by_one(self) -> int:
        """How many reports one hostile device can spoil."""

    @abstractmethod
    def promise(self, issuers: tuple[bytes, ...]) -> Promise | None:
        """What an invitation promises of groups, if there are any, of devices for which these issuers vouch."""

    @property
    @abstractmethod
    def exposure(self) -> Exposure:
        """What observers see before the release."""

    @abstractmethod
    def collecting(self, campaign: bytes, layer_index: int, layer: Asks, issuers: tuple[bytes, ...]) -> CollectingLayer:
        """An open layer that takes what its devices send, for whom these issuers vouch."""

    @abstractmethod
    def has_room(self, missing: int, under_way: int) -> bool:
        """Whether others are invited to a layer that misses so many reports, beside the devices under way."""
