"""The client, which an app embeds: it notes what is typed, talks to a service, and enforces its owner's policy.

It makes at most one report for a campaign. The report and its cost are on the disk before a byte is sent, and the same
bytes are sent again until the service says that they are final or no longer of use. Randomness comes from the system,
and no other source can be given. Whether and when the client talks, and what it asks for, does not depend on a typed
word: a report leaves at a moment that was drawn before it was made (`neologue.device.sending_time`).
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from neologue.clock import SECONDS_PER_DAY, Clock, system_days
from neologue.device import receipt
from neologue.device.answer_outcome import LATE, OVER, Ended, group_outcome, report_outcome
from neologue.device.check_in import check_in, invitation_of, parse_promise
from neologue.device.library import Library
from neologue.device.log_check import check_log
from neologue.device.network.answers import LATEST, retry_after_seconds
from neologue.device.network.backoff import Backoff
from neologue.device.network.transport import OCTETS, HttpTransport, Transport
from neologue.device.operator_keys import OperatorKeys
from neologue.device.participation import Participation, Refused, identity_of
from neologue.device.policy import SWITCHED_OFF, Policy
from neologue.device.release_check import ReleaseCheck, check_release
from neologue.device.sending_time import SendingTime
from neologue.device.storage.diary import Diary
from neologue.device.storage.log_record import LogRecord
from neologue.device.storage.membership import AnsweredInvitation, End, Joined, Membership
from neologue.device.storage.spending_record import SpendingRecord
from neologue.device.tick import OUT, State, Tick
from neologue.errors import (
    AnsweredError,
    DocumentError,
    LaterError,
    MembershipError,
    ParameterError,
    PolicyError,
    SpendingRecordError,
)
from neologue.masking.terms import Terms
from neologue.protocol.credential import Credential
from neologue.protocol.invitation import Invitation, signed_message
from neologue.protocol.submission import Submission
from neologue.transparency.read_log import ReadLog


class _OptedOutError(Exception):
    """The owner has opted out during a step."""


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
        known: bytes | None = None,
        clock: Clock = system_days,
        sending_time: SendingTime | None = None,
    ) -> None:
        """`server` is the address of the service, or what talks to it; with a `key` of 32 bytes the diary is sealed.

        Clients of one process may share a `library`. An app may come with a list of `known` words, the bytes that the
        service serves under its digest: a layer that names this digest then costs no fetch of them.
        Without a `sending_time`, reports are sent in the usual window.
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
        self._library = Library(folder / "library", known) if library is None else library
        self._owns_library = library is None
        self._clock = clock
        self._sending_time = SendingTime() if sending_time is None else sending_time
        self._backoff = Backoff()
        self._participation: Participation | None = None
        self._group_invitation: AnsweredInvitation | None = None
        """The invitation of a device that is in a group and has no votes yet; it is in memory only."""
        self._record = SpendingRecord(folder / "account.db", clock)
        self._operator_keys = OperatorKeys(folder / "operators.db")
        self._log_record = LogRecord(folder / "checkpoints.db")
        self._membership = Membership(folder / "membership.db")
        try:
            self._diary = Diary(folder / "diary.db", key, clock=clock)
        except BaseException:
            self._membership.close()
            raise

    # For the app

    def typed(self, word: str, times: int = 1, private: bool = False) -> None:
        """Note that a word was typed; nothing is kept of a private field, nor while the owner has opted out."""
        self.typed_all({word: times}, private)

    def typed_all(self, words: Mapping[str, int], private: bool = False) -> None:
        """Note several words at once with how often each was typed; for apps that count themselves."""
        if not private and not self._membership.withdrawn:
            self._diary.typed_all(words)

    def join(self, credential: str) -> None:
        """Take part in the campaign of a credential.

        A device is in one campaign at a time: it leaves an earlier one, unless a report still waits there.
        """
        campaign = Credential.parse(credential).campaign_id
        joined = self._membership.joined()
        if joined is not None:
            if joined.credential == credential:
                return
            earlier = Credential.parse(joined.credential).campaign_id
            if joined.ended is None and self._record.answer_to(earlier) is not None:
                raise ParameterError(
                    f"the report for the campaign {earlier.hex()} is not confirmed yet: join the campaign "
                    f"{campaign.hex()} when it is, or leave the earlier one first, which discards its report"
                )
        self._participation = None
        self._membership.join(credential)

    def leave(self) -> None:
        """Leave the campaign; a report that waits is erased unsent. What it cost stays, and it makes no other."""
        joined = self._membership.joined()
        if joined is not None:
            campaign = Credential.parse(joined.credential).campaign_id
            waited = self._give_up(campaign)
            self._membership.leave(receipt.abandoned_receipt(self._clock(), campaign) if waited else None)

    # For the owner

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

        The spending record stays: which campaigns were answered, when, and the ε spent. It holds nothing that was
        typed, and without it this device could answer a campaign twice and give away more. So does what is known of
        operators' keys that were replaced, without which it would trust them again, and of their logs, without which it
        could be shown others.
        """
        self._diary.forget_all()
        for answer in self._record.answers():
            self._give_up(answer.campaign_id)
        self._membership.erase()
        if self._owns_library:
            self._library.clear()

    def receipts(self) -> list[str]:
        """What left this device and what it could reveal, in a few sentences each, the oldest first."""
        return self._membership.receipts()

    def check_release(self, content: bytes) -> ReleaseCheck:
        """Whether a release, a release.json as it is, has the layer that was answered, as this device was told.

        All on the device: nothing is sent. What came of the votes it can't show.
        """
        signers = partial(self._operator_keys.signers, policy=self._policy)
        return check_release(content, self._record.answers(), signers)

    def check_log(self, campaign: str, log: ReadLog) -> tuple[str, ...]:
        """What is wrong with an operator's log, in sentences; nothing if it has what this device was asked."""
        return tuple(check_log(log, campaign, self._record.answers(), self._log_record))

    def follow(self, succession: bytes) -> None:
        """Follow an operator whose key was replaced, by the succession document that the service publishes.

        A check-in does the same; this is for a device that checks in no more.
        """
        self._operator_keys.learn(succession, self._policy)

    @property
    def in_group(self) -> bool:
        """Whether others of a group wait for this device: it drops out if it is closed now."""
        return self._participation is not None and self._participation.in_group

    @property
    def spent(self) -> float:
        """The sum of the local ε of all campaigns ever answered."""
        return self._record.spent

    # Steps

    def tick(self) -> Tick:
        """Take the next step, and say when to call again. Raises only if the device's own files can't be used.

        A step that sends votes waits for their moment, some seconds.
        """
        joined = self._membership.joined()
        if self._membership.withdrawn:
            return OUT
        if joined is None:
            return Tick(State.ALONE, None, "no campaign is joined; join one with a credential")
        if joined.ended is not None:
            return Tick(State.OVER, None, OVER)
        if not self._policy.enabled:
            return Tick(State.REFUSED, None, SWITCHED_OFF)
        try:
            done = self._advance(joined)
        except LaterError as error:
            return Tick(State.LATER, self._backoff.delay(error), str(error))
        except _OptedOutError:
            self._participation = None
            done = OUT
        except (PolicyError, DocumentError) as error:
            done = Tick(State.REFUSED, LATEST, str(error))
        self._backoff.reset()
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

    def _advance(self, joined: Joined) -> Tick:
        """Take one step in a campaign that is not over."""
        credential = Credential.parse(joined.credential)
        campaign = credential.campaign_id
        answer = self._record.answer_to(campaign)
        asked = joined.answered
        if answer is not None and answer.confirmed:
            return self._settle(Ended(End.OVER, OVER, waited=False), campaign)
        if answer is None and asked is not None:
            raise SpendingRecordError(
                f"the spending record of this device has lost its answer to the campaign {campaign.hex()}: answer "
                "no more campaigns; it is unknown what this device has spent"
            )
        part = self._participation
        if asked is None and part is not None and part.in_group and part.invitation.campaign_id == campaign:
            asked = self._group_invitation
        if asked is None or not asked.ticket or self._operator_keys.was_replaced(asked.operator, self._policy):
            reply = check_in(self._transport, credential)
            if reply.succession:
                # Before anything else: a key that was revoked is not trusted even for this answer.
                self._operator_keys.learn(reply.succession, self._policy)
            told = reply.told
            if isinstance(told, Tick):
                ended = Ended(End.OVER, told.message, waited=answer is not None)
                return self._settle(ended if told.state is State.OVER else told, campaign)
            if asked is not None and asked.layer == told.layer:
                # What it has answered stays as it was asked: votes that were to be masked are never sent without.
                same = asked.masked == told.masked
                told = told if same else replace(asked, ticket=told.ticket)
                self._membership.renew(told)
            asked = told
        promise = parse_promise(asked)
        # Before anything is fetched: whoever is not the operator costs this device nothing.
        self._operator_keys.check(asked.operator, self._policy)
        policy = self._operator_keys.apply(self._policy)
        policy.check_origin(asked.operator, asked.signature, signed_message(campaign, asked.layer, promise))
        if answer is None:
            tomorrow = (self._clock() + 1) * SECONDS_PER_DAY
            self._log_record.check(asked, campaign, policy, tomorrow, self._fetch)
        invited = partial(invitation_of, asked, campaign, promise)
        spent = self._record.spent_besides(campaign)
        layer = self._library.layer(
            asked.layer, self._fetch, policy, lambda unread: policy.check(invited(unread), spent)
        )
        invitation = invited(layer)
        self._check_consent()  # the owner may have opted out while it was fetched, in another process
        if invitation.masked is not None:
            return self._take_part(invitation, asked, credential)
        with self._hide():
            report = self._report(invitation, asked)
        body = bytes(Submission(campaign, credential.serial, asked.ticket, report))
        response = self._transport.request("POST", "/v1/reports", body, OCTETS)
        if response.status == 401:
            # The service may have lost the secret of its tickets; the credential earns another one.
            self._membership.drop_ticket()
        return self._settle(report_outcome(response), campaign)

    @contextmanager
    def _hide(self) -> Iterator[None]:
        """Hide how long it takes to make votes, whether they are made now or were made before."""
        with self._sending_time.hide():
            yield
        self._check_consent()

    def _check_consent(self) -> None:
        if self._membership.withdrawn:
            raise _OptedOutError

    def _report(self, invitation: Invitation, asked: AnsweredInvitation) -> bytes:
        """The report of this device, on the disk with its cost when this returns; the same bytes every time.

        The diary is read only when there is no report yet.
        """
        self._check_consent()  # it may have waited for others
        made = self._record.answer_to(invitation.campaign_id) is not None
        policy = self._operator_keys.apply(self._policy)
        report = self._record.answer(invitation, {} if made else self._diary.words(), policy)
        joined = self._membership.joined()
        if joined is not None and joined.answered is None:
            sentence = receipt.report_receipt(
                self._clock(), invitation, len(report), self._record.spent, self._policy.lifetime_epsilon
            )
            self._membership.send(asked, sentence)
        return report

    def _take_part(self, invitation: Invitation, asked: AnsweredInvitation, credential: Credential) -> Tick:
        """Take one step in a group, or towards one."""
        campaign = invitation.campaign_id
        identity = identity_of(credential)
        try:
            # Now, and not when others wait for its votes.
            self._record.check(invitation, self._operator_keys.apply(self._policy))
        except AnsweredError:
            return self._settle(LATE, campaign)
        part = self._participation
        if part is None or not part.in_group or part.invitation.campaign_id != campaign:
            report = partial(self._report, invitation, asked)
            part = self._participation = Participation(
                invitation, identity, report, self._record, self._file_masking_receipt, self._hide
            )
        self._group_invitation = asked
        result = part.advance(self._transport, campaign + credential.serial + asked.ticket)
        if isinstance(result, Refused) and result.status == 401:
            self._membership.drop_ticket()
        return self._settle(group_outcome(result, made=self._record.answer_to(campaign) is not None), campaign)

    def _file_masking_receipt(self, terms: Terms, size: int) -> None:
        self._membership.file(receipt.masking_receipt(self._clock(), terms, size))

    def _fetch(self, path: str, most: int) -> bytes:
        response = self._transport.request("GET", path, most=most)
        if response.status != 200:
            # Gone, or not there yet; the next check-in will say.
            raise LaterError(f"the service answers {response.status} for {path}", retry_after_seconds(response))
        return response.body

    def _settle(self, outcome: Tick | Ended, campaign: bytes) -> Tick:
        """The tick of an outcome; at the end of a campaign votes that wait are erased before it is recorded."""
        if isinstance(outcome, Tick):
            return outcome
        sentence = None
        if outcome.waited:
            self._record.confirm(campaign)
            sentence = (receipt.counted_receipt if outcome.how is End.FINAL else receipt.abandoned_receipt)(
                self._clock(), campaign
            )
        self._participation = None
        self._membership.end(outcome.how, sentence)
        return Tick(State(outcome.how), None, outcome.message)

    def _give_up(self, campaign: bytes) -> bool:
        """Erase a report that is still kept; returns whether there was one."""
        self._participation = None
        answer = self._record.answer_to(campaign)
        if answer is None or answer.confirmed:
            return False
        self._record.confirm(campaign)
        return True
