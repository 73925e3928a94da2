"""What a service's answer to votes means for a device: its next tick, or the end of its part in the campaign."""

from dataclasses import dataclass

from neologue.device.network.answers import SOONEST, bad_answer, clamp_delay, json_object
from neologue.device.network.transport import Response
from neologue.device.participation import GroupOutcome, Refused, StepResult, Waiting
from neologue.device.storage.membership import End
from neologue.device.tick import REFUSED_DELAY, State, Tick, refusal_tick


@dataclass(frozen=True)
class Ended:
    """The end of a device's part in a campaign."""

    how: End
    message: str
    waited: bool = True
    """Whether votes are kept that are to be erased now."""


OVER = "this device has done its part in the campaign"
LATE = Ended(End.CLOSED, "the votes came too late and were not counted; they were erased")
"""The end if votes under masks are for an earlier layer, which nobody waits for any more."""


def report_outcome(response: Response) -> Tick | Ended:
    """What a service says of a report that was sent."""
    if response.status == 410:
        return Ended(End.CLOSED, "the report came too late and was not counted; it was erased")
    if response.status not in (200, 202):
        return refusal_tick(response, "report")
    reply = json_object(response)
    match response.status, reply.get("state"):
        case 200, "final":
            return Ended(End.FINAL, "the report was counted and erased from this device")
        case 202, "received":
            again = clamp_delay(reply.get("retry_after"))
            return Tick(State.RECEIVED, again, "the report has arrived and is not final yet; it is kept")
    raise bad_answer()


def group_outcome(result: StepResult, *, made: bool) -> Tick | Ended:
    """What a step in a group, or towards one, led to; for a device that has `made` its votes, or not yet."""
    match result:
        case GroupOutcome.CLOSED if not made:
            # Nothing was spent, and the next check-in may ask about another layer.
            return Tick(State.WAIT, SOONEST, "the layer was closed before this device made its votes")
        case GroupOutcome.FINAL if not made:
            return Ended(End.OVER, "the service has votes of this device already", waited=False)
        case Waiting(again) if not made:
            return Tick(State.RECEIVED, again, "this device waits for others to be summed with; nothing was sent yet")
        case Waiting(again):
            return Tick(State.RECEIVED, again, "the votes wait for others to be summed with; they are kept")
        case Refused(_, message):
            return Tick(State.REFUSED, REFUSED_DELAY, message)
        case GroupOutcome.FINAL:
            return Ended(End.FINAL, "the votes were counted in a sum and erased from this device")
    return Ended(End.CLOSED, "the votes are not in a sum that is counted; they were erased")
