"""The client: all that an app puts in. It notes what is typed, talks to a service, and keeps its owner's promises.

What it must never do decides its shape. It makes one report for a campaign, ever, on the disk with its cost before a
byte is sent, and sends these bytes again until the service says that they are final or of no more use. Its randomness
is the system's, and there is no way to give it any other. Whether it talks, and what it asks for, doesn't depend on a
word that was typed.
"""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self

from neologue.clock import Clock, system_days
from neologue.device import receipt
from neologue.device.answers import LATEST, SOONEST, bounded, json_object, misunderstood, octets, refusal, said
from neologue.device.diary import Diary
from neologue.device.library import Library
from neologue.device.membership import AnsweredInvitation, End, Joined, Membership
from neologue.device.participation import Participation, Refused, Waits
from neologue.device.policy import SWITCHED_OFF, Policy
from neologue.device.spending_record import Answer, SpendingRecord
from neologue.device.transport import OCTETS, HttpTransport, Response, Transport
from neologue.errors import (
    AnsweredError,
    DocumentError,
    LaterError,
    MaskingError,
    MembershipError,
    ParameterError,
    PolicyError,
    SpendingRecordError,
)
from neologue.masking.terms import PROMISE_BYTES, Promise, Terms
from neologue.protocol.credential import Credential
from neologue.protocol.invitation import KEY_BYTES, SIGNATURE_BYTES, Invitation
from neologue.protocol.submission import Submission
from neologue.protocol.ticket import TICKET_BYTES

State = Literal["out", "alone", "wait", "later", "refused", "received", "final", "closed", "over"]

_FIRST_DELAY: Final = 60.0
_LONGEST_DELAY: Final = 21_600.0
_REFUSED_DELAY: Final = 3600.0
_DIGEST_BYTES: Final = 32


@dataclass(frozen=True)
class Tick:
    """What one step of a client came to."""

    state: State
    """out: opted out; alone: no campaign joined; wait: nothing is asked yet; later: no usable answer; refused: by the
    device's own policy, or by the service; received: not yet final; final: counted; closed: too late, not counted;
    over: nothing more will be asked."""
    again: float | None
    """After how many seconds to tick again; None if only the owner or another campaign changes anything."""
    message: str
    """The same as a sentence."""


_OUT: Final = Tick("out", None, "the owner of this device has opted out; nothing is sent and nothing is stored")


class Client:
    """One device of a service's campaigns, with all its files in a folder; of one thread at a time.

    Make one only after the owner of the device has agreed, and call `opt_out` when they no longer do.
    """

    def __init__(
        self,
        folder: Path | str,
        server: str | Transport,
        policy: Policy,
        key: bytes | None = None,
        *,
        library: Library | None = None,
        clock: Clock = system_days,
    ) -> None:
        """`server` is the address of the service, or what talks to it; with a `key` of 32 bytes the diary is sealed.

        Clients of one process may share a `library`.
        """
        folder = Path(folder)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise MembershipError(f"can't use the folder {folder}: {error.strerror}; give another one") from error
        self._connection: HttpTransport | None = None
        if isinstance(server, str):
            self._transport: Transport = (connection := HttpTransport(server))
            self._connection = connection
        else:
            self._transport = server
        self._policy = policy
        self._library = Library(folder / "library") if library is None else library
        self._owns_library = library is None
        self._clock = clock
        self._failures = 0
        self._participation: Participation | None = None
        self._seated: AnsweredInvitation | None = None
        """What the device was asked that is in a group and has no votes yet; nothing of it is on the disk."""
        self._account = SpendingRecord(folder / "account.db", clock)
        self._membership = Membership(folder / "membership.db")
        try:
            self._diary = Diary(folder / "diary.db", key, clock=clock)
        except BaseException:
            self._membership.close()
            raise

    # What the app tells it

    def typed(self, word: str, times: int = 1, private: bool = False) -> None:
        """Note that a word was typed; nothing is kept of a private field, nor while the owner has opted out."""
        self.typed_all({word: times}, private)

    def typed_all(self, words: Mapping[str, int], private: bool = False) -> None:
        """Note at once that some words were typed, each so many times; for apps that count by themselves."""
        if not private and not self._membership.withdrawn:
            self._diary.typed_all(words)

    def join(self, credential: str) -> None:
        """Take part in the campaign of a credential, as soon as it asks.

        A device is in one campaign at a time. It leaves an earlier one, unless a report still waits there.
        """
        campaign = Credential.parse(credential).campaign_id
        joined = self._membership.joined()
        if joined is not None:
            if joined.credential == credential:
                return
            earlier = Credential.parse(joined.credential).campaign_id
            if joined.ended is None and self._answer(earlier) is not None:
                raise ParameterError(
                    f"the report for the campaign {earlier.hex()} still waits to be confirmed: join the campaign "
                    f"{campaign.hex()} when it is, or leave the earlier one first, which gives the report up"
                )
        self._participation = None
        self._membership.join(credential)

    def leave(self) -> None:
        """Leave the campaign; a report that waits is erased unsent. What it cost stays, and it makes no other."""
        joined = self._membership.joined()
        if joined is not None:
            campaign = Credential.parse(joined.credential).campaign_id
            waited = self._give_up(campaign)
            self._membership.leave(receipt.given_up(self._clock(), campaign) if waited else None)

    # What its owner tells it

    def opt_out(self) -> None:
        """Send nothing and store nothing from now on, and forget all words.

        A report that waits is held back; it is sent, as it is, if the owner opts in again while it is of use.
        """
        self._participation = None
        self._membership.withdraw(True)
        self._diary.forget_all()

    def opt_in(self) -> None:
        """Take part again, from what is typed from now on."""
        self._membership.withdraw(False)

    @property
    def opted_out(self) -> bool:
        """Whether the owner has opted out."""
        return self._membership.withdrawn

    def forget(self, word: str) -> None:
        """Forget one word; what was sent before can't be taken back."""
        self._diary.forget(word)

    def forget_me(self) -> None:
        """Erase all words, reports that wait, receipts, the credential and what was fetched.

        What stays is the account: which campaigns were answered, when, and the ε spent. It holds nothing that was
        typed, and without it this device could answer a campaign twice, which would give away more, not less.
        """
        self._diary.forget_all()
        for answer in self._account.answers():
            self._give_up(answer.campaign_id)
        self._membership.erase()
        if self._owns_library:
            self._library.clear()

    def receipts(self) -> list[str]:
        """What left this device and what it could have meant, a sentence or two for each time, the oldest first."""
        return self._membership.receipts()

    @property
    def in_group(self) -> bool:
        """Whether others of a group wait for this device: it drops out if it is closed now."""
        return self._participation is not None and self._participation.is_seated

    @property
    def spent(self) -> float:
        """The sum of the local ε of all campaigns ever answered."""
        return self._account.spent

    # What it does

    def tick(self) -> Tick:
        """Do the next thing there is to do, and say when to come again. Raises only if its own files can't be used."""
        joined = self._membership.joined()
        if self._membership.withdrawn:
            return _OUT
        if joined is None:
            return Tick("alone", None, "no campaign is joined; join one with a credential")
        if joined.ended is not None:
            return Tick("over", None, "this device has done its part in the campaign")
        if not self._policy.enabled:
            return Tick("refused", None, SWITCHED_OFF)
        try:
            done = self._advanced(joined)
        except LaterError as error:
            return Tick("later", self._delay(error), str(error))
        except (PolicyError, DocumentError) as error:
            done = Tick("refused", LATEST, str(error))
        self._failures = 0
        return done

    def close(self) -> None:
        """Close all files, and the connection unless it was given; closing twice is fine."""
        if self._connection is not None:
            self._connection.close()
        self._diary.close()
        self._membership.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _advanced(self, joined: Joined) -> Tick:
        """One step in a campaign that is not over."""
        credential = Credential.parse(joined.credential)
        campaign = credential.campaign_id
        answer = self._answer(campaign)
        asked = joined.answered
        if answer is not None and answer.confirmed:
            return self._ended("over", campaign, "this device has done its part in the campaign", waited=False)
        if answer is None and asked is not None:
            raise SpendingRecordError(
                f"the account of this device has lost its answer to the campaign {campaign.hex()}: answer no more "
                "campaigns; it can't be told what this device has spent"
            )
        part = self._participation
        if asked is None and part is not None and part.is_seated and part.invitation.campaign_id == campaign:
            asked = self._seated
        if asked is None or not asked.ticket:
            told = self._checked_in(credential, waits=answer is not None)
            if isinstance(told, Tick):
                return told
            if asked is not None and asked.layer == told.layer:
                self._membership.renew(told.ticket)
                # What it has answered stays as it was asked: votes that were to be masked are never sent without.
                told = replace(asked, ticket=told.ticket)
            asked = told
        self._policy.check_operator(asked.operator)
        layer = self._library.layer(asked.layer, self._fetched)
        invitation = Invitation(layer, campaign, asked.operator, asked.signature, _promised(asked))
        if self._membership.withdrawn:  # while it was fetched, in another process
            return _OUT
        if invitation.masked is not None:
            return self._took_part(invitation, asked, campaign + credential.serial + asked.ticket)
        body = bytes(Submission(campaign, credential.serial, asked.ticket, self._report(invitation, asked)))
        return self._received(self._transport.request("POST", "/v1/reports", body, OCTETS), campaign)

    def _report(self, invitation: Invitation, asked: AnsweredInvitation) -> bytes:
        """The report of this device: on the disk, with its cost, when this returns; the same as before if it is there.

        The diary is read for the first one alone.
        """
        if self._membership.withdrawn:  # while it waited for others, in another process
            raise PolicyError(_OUT.message)
        made = self._answer(invitation.campaign_id) is not None
        report = self._account.answer(invitation, {} if made else self._diary.words(), self._policy)
        joined = self._membership.joined()
        if joined is not None and joined.answered is None:
            self._membership.send(asked, receipt.sent(self._clock(), invitation, len(report)))
        return report

    def _took_part(self, invitation: Invitation, asked: AnsweredInvitation, head: bytes) -> Tick:
        """One step in a group, or towards one."""
        campaign = invitation.campaign_id
        try:
            # Now, and not when others wait for its votes.
            self._account.check(invitation, self._policy)
        except AnsweredError:
            # It was ended with votes for an earlier layer, which nobody waits for any more.
            return self._ended("closed", campaign, "the votes came too late and were not counted; they were erased")
        part = self._participation
        if part is None or not part.is_seated or part.invitation.campaign_id != campaign:
            report = partial(self._report, invitation, asked)
            part = self._participation = Participation(invitation, report, self._account, self._masked)
        self._seated = asked
        went = part.go_on(self._transport, head)
        made = self._answer(campaign) is not None
        match went:
            case "closed" if not made:
                # Nothing was spent, and the next check-in tells what else is asked.
                return Tick("wait", SOONEST, "the layer was closed before this device made its votes")
            case "final" if not made:
                return self._ended("over", campaign, "the service has votes of this device already", waited=False)
            case Waits(again) if not made:
                return Tick("received", again, "this device waits for others to be summed with; nothing was sent yet")
            case Waits(again):
                return Tick("received", again, "the votes wait for others to be summed with; they are kept")
            case Refused(status, message):
                if status == 401:
                    self._membership.renew(b"")
                return Tick("refused", _REFUSED_DELAY, message)
            case "final":
                return self._ended("final", campaign, "the votes were counted in a sum and erased from this device")
            case "closed":
                return self._ended("closed", campaign, "the votes are not in a sum that is counted; they were erased")
        return self._ended("closed", campaign, "too many groups with the votes yielded nothing; they were erased")

    def _masked(self, terms: Terms, size: int, times: int) -> None:
        self._membership.file(receipt.masked(self._clock(), terms, size, times))

    def _checked_in(self, credential: Credential, waits: bool) -> AnsweredInvitation | Tick:
        """What the service asks of this device, or the step's outcome if it asks nothing."""
        body = json.dumps({"credential": credential.text}).encode()
        response = self._transport.request("POST", "/v1/check-in", body)
        if response.status != 200:
            return _refused(response, "check-in")
        told = json_object(response)
        match told.get("state"):
            case "wait":
                return Tick("wait", bounded(told.get("retry_after")), "the service asks nothing of this device yet")
            case "over":
                message = "nothing is asked of this device in the campaign"
                return self._ended("over", credential.campaign_id, message, waits)
            case "invited":
                return AnsweredInvitation(
                    octets(told, "layer", _DIGEST_BYTES),
                    octets(told, "operator", KEY_BYTES),
                    octets(told, "signature", SIGNATURE_BYTES),
                    octets(told, "ticket", TICKET_BYTES),
                    None if told.get("masked") is None else octets(told, "masked", PROMISE_BYTES),
                )
        raise misunderstood()

    def _fetched(self, path: str, most: int) -> bytes:
        response = self._transport.request("GET", path, most=most)
        if response.status != 200:
            # Gone or not there yet: the next check-in tells.
            raise LaterError(f"the service answers {response.status} for {path}", said(response))
        return response.body

    def _received(self, response: Response, campaign: bytes) -> Tick:
        """What has become of a report that was sent."""
        if response.status == 410:
            return self._ended("closed", campaign, "the report came too late and was not counted; it was erased")
        if response.status == 401:
            # The service may have lost the secret of its tickets; the credential earns another one.
            self._membership.renew(b"")
        if response.status not in (200, 202):
            return _refused(response, "report")
        told = json_object(response)
        match response.status, told.get("state"):
            case 200, "final":
                return self._ended("final", campaign, "the report was counted and erased from this device")
            case 202, "received":
                again = bounded(told.get("retry_after"))
                return Tick("received", again, "the report has arrived and is not final yet; it is kept")
        raise misunderstood()

    def _ended(self, how: End, campaign: bytes, message: str, waited: bool = True) -> Tick:
        """Nothing more is to be sent in a campaign: first the bytes go, if any waited, then it is written down."""
        sentence = None
        if waited:
            self._account.confirm(campaign)
            sentence = (receipt.counted if how == "final" else receipt.given_up)(self._clock(), campaign)
        self._participation = None
        self._membership.end(how, sentence)
        return Tick(how, None, message)

    def _give_up(self, campaign: bytes) -> bool:
        """Erase the bytes of a report, if they are kept; whether they were."""
        self._participation = None
        answer = self._answer(campaign)
        if answer is None or answer.confirmed:
            return False
        self._account.confirm(campaign)
        return True

    def _answer(self, campaign: bytes) -> Answer | None:
        return next((answer for answer in self._account.answers() if answer.campaign_id == campaign), None)

    def _delay(self, error: LaterError) -> float:
        """After how long to try again: as the server says, or longer and longer, each device in its own time."""
        self._failures += 1
        if error.retry_after is not None:
            return error.retry_after
        longest: float = min(_LONGEST_DELAY, _FIRST_DELAY * 2 ** min(self._failures - 1, 16))
        return longest * (0.5 + secrets.randbelow(1000) / 2000)


def _promised(asked: AnsweredInvitation) -> Promise | None:
    """What a check-in says of groups, if votes are to be masked."""
    try:
        return None if asked.masked is None else Promise.parse(asked.masked)
    except MaskingError as error:
        raise PolicyError(f"the invitation can't be used: {error}") from None


def _refused(response: Response, what: str) -> Tick:
    """The tick of an answer that is no success, and not worth another try soon."""
    return Tick("refused", _REFUSED_DELAY, refusal(response, what))
