"""A tick: one step of a client, and the state that it leaves the device in."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from neologue.device.network.answers import refusal
from neologue.device.network.transport import Response

REFUSED_DELAY: Final = 3600.0


class State(StrEnum):
    """The state of a device after a tick."""

    OUT = "out"
    """The owner has opted out."""
    ALONE = "alone"
    """No campaign is joined."""
    WAIT = "wait"
    """The service asks nothing yet."""
    LATER = "later"
    """The service gave no usable answer."""
    REFUSED = "refused"
    """The device's own policy refuses, or the service does."""
    RECEIVED = "received"
    """The report has arrived and is not final yet."""
    FINAL = "final"
    """The report was counted."""
    CLOSED = "closed"
    """The report came too late and was not counted."""
    OVER = "over"
    """Nothing more will be asked."""


@dataclass(frozen=True)
class Tick:
    """The result of one step of a client."""

    state: State
    again: float | None
    """Seconds until the next tick; None if only the owner or another campaign changes anything."""
    message: str
    """The same as a sentence."""


OUT: Final = Tick(State.OUT, None, "the owner of this device has opted out; nothing is sent and nothing is stored")


def refusal_tick(response: Response, what: str) -> Tick:
    """The tick for a refusal that is not worth another try soon."""
    return Tick(State.REFUSED, REFUSED_DELAY, refusal(response, what))
