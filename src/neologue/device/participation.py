"""A device's part in the groups of a layer: it joins one, answers its messages, and joins again where it may.

Its votes are made when they are masked, and not before: a device that waits for a group, or whose group is never
formed, has spent nothing. What it must remember when it is started anew is in the account before its votes leave: the
votes, and for which group they are masked. All else is in memory alone, so that a device that ends in between has
dropped out of its group, and asks what became of it when it comes back.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from neologue.device.answers import SOONEST, bounded, json_object, misunderstood, octets, refusal
from neologue.device.masked import Ballot, Member
from neologue.device.spending_record import SpendingRecord
from neologue.device.transport import OCTETS, SMALL_ANSWER, Response, Transport
from neologue.errors import LaterError, MaskingError, PolicyError
from neologue.masking.messages import DEAL_BYTES, Delivery, Request, Roster
from neologue.masking.neighbourhood import LARGEST_GROUP
from neologue.masking.terms import TERMS_BYTES, Promise, Terms
from neologue.protocol.invitation import SIGNATURE_BYTES, Invitation

MOST_TIMES = 5
"""For how many groups votes are masked, at most: each that yields nothing costs its devices time and traffic."""

_PATH: Final = "/v1/cohorts"
_MESSAGE_BYTES: Final = SMALL_ANSWER + 2 * LARGEST_GROUP * DEAL_BYTES
"""The most bytes of a message of the service: no group has a longer one."""


@dataclass(frozen=True)
class Waits:
    """The others are waited for, or another group."""

    again: float


@dataclass(frozen=True)
class Refused:
    """The service wants nothing of this device as it is."""

    status: int
    message: str


Went = Waits | Refused | Literal["final", "closed", "given up"]
"""What a step came to: at its end the votes are counted, or not, or were masked often enough.

A layer may be "closed" before a device has any votes: then it may be asked about another one."""


@dataclass
class _Seat:
    """A place in a group."""

    terms: Terms
    ballot: Ballot
    member: Member
    message: bytes
    """What is sent until it is answered."""


class Participation:
    """The part of a device in a layer; of one thread at a time."""

    def __init__(
        self,
        invitation: Invitation,
        report: Callable[[], bytes],
        account: SpendingRecord,
        masks: Callable[[Terms, int, int], None],
    ) -> None:
        """`report` gives the device's report for the layer, on record: the same whenever it is asked.

        `masks` is told, before it happens, that a vector of so many bytes leaves for a group, the how manieth.
        """
        if invitation.masked is None:
            raise PolicyError("the operator invites to send a report as it is, and promises nothing of a group")
        self.invitation = invitation
        self._promise: Promise = invitation.masked
        self._report, self._account, self._masks = report, account, masks
        self._seat: _Seat | None = None

    @property
    def is_seated(self) -> bool:
        """Whether the device is in a group now, which it leaves if it ends."""
        return self._seat is not None

    def go_on(self, transport: Transport, head: bytes) -> Went:
        """Do what can be done now; `head` is what all of this device's messages begin with, up to the ticket."""
        head += self.invitation.layer.digest
        if self._seat is None:
            waiting = self._account.masking(self.invitation.campaign_id)
            if waiting.terms is not None:
                return self._told(self._sent(transport, head, waiting.terms, b""), self._ballot(waiting.terms))
            if waiting.times >= MOST_TIMES:
                return "given up"
            joined = self._joined(transport, head)
            if not isinstance(joined, _Seat):
                return joined
            self._seat = joined
        while True:
            seat = self._seat
            response = self._sent(transport, head, seat.terms, seat.message)
            if response.status != 200 or response.body[:1] == b"{":
                return self._told(response, seat.ballot)
            try:
                self._answer(seat, response.body)
            except MaskingError as error:
                # It has dropped out. What was masked before is asked for when it comes back.
                self._seat = None
                raise LaterError(f"this device has left its group: {error}") from None

    def _joined(self, transport: Transport, head: bytes) -> _Seat | Went:
        response = transport.request("POST", _PATH, head, OCTETS)
        if response.status == 410:
            return "closed"
        if response.status != 200:
            return Refused(response.status, refusal(response, "group's new member"))
        told = json_object(response)
        if told.get("state") == "final":
            return "final"
        if told.get("state") != "cohort":
            raise misunderstood()
        ballot = self._ballot(None)
        try:
            terms = Terms.parse(octets(told, "terms", TERMS_BYTES))
            member = Member(terms, ballot, self._promise)
        except MaskingError as error:
            raise PolicyError(f"this device does not join the group: {error}") from None
        return _Seat(terms, ballot, member, member.advertise())

    def _answer(self, seat: _Seat, message: bytes) -> None:
        """Answer a message of the service; what was masked is on record when this returns."""
        match message[1] if len(message) > 1 else None:
            case Roster.number:
                seat.message = seat.member.share(message)
            case Delivery.number:
                masked = seat.member.mask(message)
                self._account.mask(self.invitation.campaign_id, seat.terms)
                self._masks(seat.terms, len(masked), self._account.masking(self.invitation.campaign_id).times)
                seat.message = masked
            case Request.number:
                seat.message = seat.member.unmask(message)
            case _:
                raise misunderstood()

    def _told(self, response: Response, ballot: Ballot) -> Went:
        """What became of a group, or that it is waited for."""
        if response.status == 202:
            return Waits(bounded(json_object(response).get("retry_after")))
        if response.status in (409, 410):
            self._seat = None
            # Votes that may be in a sum are masked for no other group, whatever is said of this one.
            return Waits(SOONEST) if response.status == 409 and ballot.pending is None else "closed"
        if response.status != 200:
            refused = refusal(response, "message to a group")
            self._seat = None
            return Refused(response.status, refused)
        told = json_object(response)
        if told.get("state") == "final":
            return "final"
        if told.get("state") != "nothing":
            raise misunderstood()
        return self._released(octets(told, "statement", SIGNATURE_BYTES), ballot)

    def _released(self, statement: bytes, ballot: Ballot) -> Waits:
        """Let the votes be masked once more, if the operator has signed that the group yielded nothing."""
        self._seat = None
        if ballot.pending is not None:
            terms = ballot.pending
            try:
                ballot.release(statement)
            except MaskingError as error:
                raise PolicyError(f"this device joins no other group: {error}") from None
            self._account.release(self.invitation.campaign_id, terms)
        return Waits(SOONEST)

    def _ballot(self, pending: Terms | None) -> Ballot:
        return Ballot.of_report(self.invitation.layer, self._report, self.invitation.operator, pending)

    @staticmethod
    def _sent(transport: Transport, head: bytes, terms: Terms, message: bytes) -> Response:
        path = f"{_PATH}/{terms.group_id.hex()}"
        return transport.request("POST", path, head + message, OCTETS, _MESSAGE_BYTES)
