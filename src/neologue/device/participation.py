"""A device's part in the groups of a layer: it joins one after the other, until its votes are masked for one.

A device makes its votes when it masks them: while it waits for a group, or if its group is never formed, it has spent
nothing. Before the votes leave the device, they and the terms of their group are in the spending record. All else is in
memory only: a device that is stopped has dropped out of its group, and asks for the result when it is back.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.device.masked import Ballot, Identity, Member
from neologue.device.network.answers import SOONEST, bad_answer, clamp_delay, hex_bytes, json_object, refusal
from neologue.device.network.transport import OCTETS, SMALL_ANSWER, Response, Transport
from neologue.device.storage.spending_record import SpendingRecord
from neologue.errors import LaterError, MaskingError, PolicyError
from neologue.masking.agreement import ShareRequest, Survivors
from neologue.masking.messages import Delivery
from neologue.masking.neighbourhood import LARGEST_GROUP
from neologue.masking.roster import ADVERTISED_BYTES, Roster
from neologue.masking.terms import TERMS_BYTES, Promise, Terms
from neologue.protocol.credential import Credential
from neologue.protocol.invitation import Invitation

_PATH: Final = "/v1/cohorts"
_MESSAGE_BYTES: Final = SMALL_ANSWER + LARGEST_GROUP * ADVERTISED_BYTES
"""The most bytes of a message of the service: no group has a longer one."""


@dataclass(frozen=True)
class Waiting:
    """The device waits for other devices, or for another group."""

    again: float


@dataclass(frozen=True)
class Refused:
    """The service refuses what this device sends."""

    status: int
    message: str


class GroupOutcome(Enum):
    """How a device's part in a layer ends."""

    FINAL = "final"
    """The votes were counted."""
    CLOSED = "closed"
    """They were not. If the device has no votes yet, it may be asked about another layer."""


StepResult = Waiting | Refused | GroupOutcome


@dataclass
class _Seat:
    """The device's part in one group."""

    terms: Terms
    member: Member
    message: bytes
    """The message to send until it is answered."""


class Participation:
    """A device's part in a layer, for use by one thread at a time."""

    def __init__(
        self,
        invitation: Invitation,
        identity: Identity,
        report: Callable[[], bytes],
        record: SpendingRecord,
        on_masking: Callable[[Terms, int], None],
        hide: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """`report` returns the device's recorded report for the layer, the same on every call.

        `on_masking` is called before masked votes leave, with the terms and their size in bytes. Votes are masked
        within `hide`, which hides how long it takes.
        """
        if invitation.masked is None:
            raise PolicyError("the invitation is to a report without masks, and promises nothing about a group")
        self.invitation = invitation
        self._promise: Promise = invitation.masked
        self._identity = identity
        self._report, self._record, self._on_masking, self._hide = report, record, on_masking, hide
        self._seat: _Seat | None = None

    @property
    def in_group(self) -> bool:
        """Whether the device is in a group now; it drops out if it is stopped."""
        return self._seat is not None

    def advance(self, transport: Transport, head: bytes) -> StepResult:
        """Take all steps that are possible now; `head` is the campaign, the serial and the ticket."""
        head += self.invitation.layer.digest
        if self._seat is None:
            masked_for = self._record.masking_group(self.invitation.campaign_id)
            if masked_for is not None:
                return self._read_reply(self._send(transport, head, masked_for, b""))
            joined = self._join(transport, head)
            if not isinstance(joined, _Seat):
                return joined
            self._seat = joined
        while True:
            seat = self._seat
            response = self._send(transport, head, seat.terms.group_id, seat.message)
            if response.status != 200 or response.body[:1] == b"{":
                return self._read_reply(response)
            try:
                self._answer(seat, response.body)
            except MaskingError as error:
                # It has dropped out; it asks about votes that it masked before when it is back.
                self._seat = None
                raise LaterError(f"this device has left its group: {error}") from None

    def _join(self, transport: Transport, head: bytes) -> _Seat | StepResult:
        response = transport.request("POST", _PATH, head, OCTETS)
        if response.status == 410:
            return GroupOutcome.CLOSED
        if response.status != 200:
            return Refused(response.status, refusal(response, "group's new member"))
        reply = json_object(response)
        if reply.get("state") == "final":
            return GroupOutcome.FINAL
        if reply.get("state") != "cohort":
            raise bad_answer()
        ballot = Ballot.of_report(self.invitation.layer, self._report)
        try:
            terms = Terms.parse(hex_bytes(reply, "terms", TERMS_BYTES))
            member = Member(terms, ballot, self._promise, self._identity)
        except MaskingError as error:
            raise PolicyError(f"this device does not join the group: {error}") from None
        return _Seat(terms, member, member.advertise())

    def _answer(self, seat: _Seat, message: bytes) -> None:
        """Answer a message of the service; masked votes are on record when this returns."""
        match message[1] if len(message) > 1 else None:
            case Roster.number:
                seat.message = seat.member.share(message)
            case Delivery.number:
                with self._hide():
                    masked = seat.member.mask(message)
                    self._record.record_masking(self.invitation.campaign_id, seat.terms)
                    self._on_masking(seat.terms, len(masked))
                seat.message = masked
            case Survivors.number:
                seat.message = seat.member.confirm(message)
            case ShareRequest.number:
                seat.message = seat.member.unmask(message)
            case _:
                raise bad_answer()

    def _read_reply(self, response: Response) -> StepResult:
        """The result of a group, or that there is none yet."""
        if response.status == 202:
            return Waiting(clamp_delay(json_object(response).get("retry_after")))
        if response.status in (409, 410):
            self._seat = None
            # Votes that were masked are masked for no other group, whatever the service says of the first one.
            masked = self._record.masking_group(self.invitation.campaign_id) is not None
            return GroupOutcome.CLOSED if response.status == 410 or masked else Waiting(SOONEST)
        if response.status != 200:
            refused = refusal(response, "message to a group")
            self._seat = None
            return Refused(response.status, refused)
        if json_object(response).get("state") == "final":
            return GroupOutcome.FINAL
        raise bad_answer()

    @staticmethod
    def _send(transport: Transport, head: bytes, group_id: bytes, message: bytes) -> Response:
        path = f"{_PATH}/{group_id.hex()}"
        return transport.request("POST", path, head + message, OCTETS, _MESSAGE_BYTES)


def identity_of(credential: Credential) -> Identity:
    """By what the others of a group know this device."""
    if not credential.signing_key:
        raise PolicyError(
            "votes are masked together with devices that know each other by their signing keys, and nobody vouches for "
            "one of this device: join with a credential for campaigns under masks"
        )
    signer = Ed25519PrivateKey.from_private_bytes(credential.signing_key)
    return Identity(credential.campaign_id, signer, credential.voucher)
