"""A masking group in the memory of a worker, and the stage to which each message of a device belongs."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Final

from neologue.aggregation.masked_aggregator import GatheringLayer
from neologue.aggregation.masked_group import GroupServer, Stage
from neologue.errors import MaskingError
from neologue.masking.agreement import Confirmation
from neologue.masking.messages import MaskedVector, Sharing, Unmasking
from neologue.masking.roster import Advertisement
from neologue.service.masked.group_store import GroupState

_STAGES: Final = {
    Advertisement.number: Stage.ADVERTISING,
    Sharing.number: Stage.SHARING,
    MaskedVector.number: Stage.MASKING,
    Confirmation.number: Stage.CONFIRMING,
    Unmasking.number: Stage.UNMASKING,
}
"""The stage that awaits each message of a device."""


@dataclass(eq=False)
class LiveGroup:
    """A group in the memory of this worker."""

    layer: GatheringLayer
    group: GroupServer
    size: int
    """How many devices it waits for."""
    deadline: float
    formed: bool = False
    """Whether it is on record."""
    ended: GroupState | None = None
    """What is on record of its end; before it is formed, that there will be none."""
    counted: frozenset[bytes] = frozenset()
    struck: set[bytes] = field(default_factory=set)
    """The devices that it has missed, once that is on record."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    """Set, and replaced, when it goes on to another stage or to its end."""

    @property
    def complete(self) -> bool:
        """Whether it has as many devices as it waits for."""
        return self.group.devices >= self.size

    @property
    def due(self) -> bool:
        """Whether it can go on to its next stage, or must."""
        if self.group.stage is Stage.ADVERTISING:
            done = self.complete
        else:
            done = self.group.ready or self.group.stage is Stage.OVER
        return done or time.monotonic() >= self.deadline


def stage_of(message: bytes) -> Stage | None:
    """The stage that awaits a message; None for no message at all."""
    if not message:
        return None
    stage = _STAGES.get(message[1]) if len(message) > 1 else None
    if stage is None:
        raise MaskingError("the message is none that a device sends")
    return stage
