"""What a worker tells a device about a group, by what is on record of the group and of the device."""

from enum import StrEnum
from typing import Final

from neologue.service.masked.group_store import GroupState, SerialState


class GroupAnswer(StrEnum):
    """A reply without a message for the device to answer."""

    WAIT = "wait"
    """The others are waited for: the same is to be sent again."""
    OUT = "out"
    """The group goes on without it, or was never formed: it may join another, unless its votes are masked."""
    FINAL = "final"
    """Its votes are in a sum that is counted and durable."""
    CLOSED = "closed"
    """Its votes are not counted, and never will be."""
    BUSY = "busy"
    """There is no group for it now, or another worker has it."""


GroupReply = bytes | GroupAnswer
"""A reply to a device: the next message of its group, or a word."""

ANSWERS_BY_STATE: Final = {
    GroupState.UNFORMED: GroupAnswer.OUT,
    GroupState.MASKING: GroupAnswer.BUSY,
    GroupState.UNMASKING: GroupAnswer.BUSY,
    GroupState.SUMMED: GroupAnswer.FINAL,
    GroupState.REFUSED: GroupAnswer.CLOSED,
    GroupState.NOTHING: GroupAnswer.CLOSED,
    GroupState.LOST: GroupAnswer.CLOSED,
}
"""What a device that may have masked votes for a group is told, by what is on record of it."""
ANSWERS_BY_STANDING: Final = {
    SerialState.FREE: None,
    SerialState.SPENT: GroupAnswer.FINAL,
    SerialState.VOID: GroupAnswer.CLOSED,
    SerialState.BARRED: GroupAnswer.CLOSED,
}
"""What a device is told that wants to join a group; None if it may."""
