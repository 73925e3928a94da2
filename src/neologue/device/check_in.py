"""The check-in of a device: it shows its credential and is told to wait, invited to a layer, or that all is over."""

import json
from dataclasses import dataclass
from typing import Any, Final

from neologue.device.network.answers import bad_answer, clamp_delay, hex_bytes, json_object, optional_hex_bytes
from neologue.device.network.transport import Transport
from neologue.device.storage.membership import AnsweredInvitation
from neologue.device.tick import State, Tick, refusal_tick
from neologue.errors import MaskingError, PolicyError
from neologue.masking.terms import Promise
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.credential import Credential
from neologue.protocol.invitation import KEY_BYTES, SIGNATURE_BYTES, Invitation
from neologue.protocol.layer import Layer
from neologue.protocol.ticket import TICKET_BYTES

_DIGEST_BYTES: Final = 32


@dataclass(frozen=True)
class CheckInReply:
    """What a service says to a check-in."""

    told: AnsweredInvitation | Tick
    """The invitation; a Tick if there is none."""
    succession: bytes = b""
    """How the operator's key was replaced; it is looked at first."""


def check_in(transport: Transport, credential: Credential) -> CheckInReply:
    """Ask the service for an invitation."""
    response = transport.request("POST", "/v1/check-in", json.dumps({"credential": credential.text}).encode())
    if response.status != 200:
        return CheckInReply(refusal_tick(response, "check-in"))
    reply = json_object(response)
    return CheckInReply(_told(reply), optional_hex_bytes(reply, "succession") or b"")


def _told(reply: dict[str, Any]) -> AnsweredInvitation | Tick:
    match reply.get("state"):
        case "wait":
            again = clamp_delay(reply.get("retry_after"))
            return Tick(State.WAIT, again, "the service asks nothing of this device yet")
        case "over":
            return Tick(State.OVER, None, "nothing is asked of this device in the campaign")
        case "invited":
            return AnsweredInvitation(
                hex_bytes(reply, "layer", _DIGEST_BYTES),
                hex_bytes(reply, "operator", KEY_BYTES),
                hex_bytes(reply, "signature", SIGNATURE_BYTES),
                hex_bytes(reply, "ticket", TICKET_BYTES),
                optional_hex_bytes(reply, "masked"),
                optional_hex_bytes(reply, "proof"),
            )
    raise bad_answer()


def parse_promise(asked: AnsweredInvitation) -> Promise | None:
    """The promise in a check-in, if votes are to be masked."""
    try:
        return None if asked.masked is None else Promise.parse(asked.masked)
    except MaskingError as error:
        raise PolicyError(f"the invitation can't be used: {error}") from None


def invitation_of(
    asked: AnsweredInvitation, campaign: bytes, promise: Promise | None, layer: Layer | ClosedLayer
) -> Invitation:
    """The invitation of a check-in, once its layer is at hand."""
    return Invitation(layer, campaign, asked.operator, asked.signature, promise, asked.proof)
