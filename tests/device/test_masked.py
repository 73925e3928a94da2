"""What a device gives away in a group, and what it refuses, whatever the server sends."""

from contextlib import suppress
from functools import partial

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from groups import ISSUERS, Run, ballot, identity, name, promise_of, some_terms
from layers import small_layer
from neologue.aggregation.masked_aggregator import terms_for
from neologue.aggregation.masked_group import Stage
from neologue.device.contribution import contribute
from neologue.device.masked import Ballot, Member
from neologue.entropy import SeededEntropy
from neologue.errors import MaskingError
from neologue.masking.agreement import Confirmation, ShareRequest, Survivors
from neologue.masking.keys import PublicKeys
from neologue.masking.messages import Deal, Delivery, MaskedVector, ShareKind, Unmasking
from neologue.masking.roster import Advertisement, Roster
from neologue.masking.terms import MaskingGroup, Promise
from neologue.protocol.report import read_report

FIRST = name(0)
DEVICES = 10
TERMS = some_terms(dropout=20, corrupt=1, smallest=6)
COHORT = MaskingGroup(TERMS, DEVICES)


def at(stage: Stage, devices: int = DEVICES) -> tuple[Run, Member, bytes]:
    """A group in a stage, one of its devices, and what that device is told."""
    run = Run(TERMS, [[1, 0, 1, 0, 0]] * devices).go_to(stage)
    message = run.server.message_for(FIRST)
    assert message is not None
    return run, run.members[FIRST], message


def delivered(run: Run, device: bytes = FIRST) -> tuple[tuple[int, ...], Delivery]:
    """The neighbours of a device of a group that masks, and what it is delivered."""
    around = run.server._neighbours[run.server._index[device]]
    return around, Delivery.parse(run.server.message_for(device) or b"", COHORT, around)


class TestJoining:
    def test_a_worse_group_than_promised_is_refused(self) -> None:
        with pytest.raises(MaskingError, match="6 devices, and 7 were promised"):
            Member(TERMS, ballot([0] * 5), Promise(7, 20, 1, ISSUERS.keys), identity(0))

    @pytest.mark.parametrize(("dropout", "corrupt"), [(19, 1), (21, 1), (20, 0), (20, 2)])
    def test_numbers_that_the_threshold_follows_from_are_those_that_were_promised(
        self, dropout: int, corrupt: int
    ) -> None:
        """Not even a group that withstands more is joined: who chose these numbers would choose the threshold."""
        with pytest.raises(MaskingError, match="were promised"):
            Member(TERMS, ballot([0] * 5), Promise(6, dropout, corrupt, ISSUERS.keys), identity(0))

    def test_a_device_for_which_no_issuer_vouches_does_not_join(self) -> None:
        with pytest.raises(MaskingError, match="vouches for this device"):
            Member(TERMS, ballot([0] * 5), Promise(6, 20, 1, (bytes(32),)), identity(0))

    def test_other_votes_than_the_group_asks_for_are_not_given(self) -> None:
        for other in (
            ballot([0] * 4),
            ballot([0] * 5, most=2),
            Ballot.of_votes(bytes(32), np.zeros(5, int), 1),
        ):
            with pytest.raises(MaskingError, match="another layer"):
                Member(TERMS, other, promise_of(TERMS), identity(0))

    @pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
    def test_votes_come_from_the_device_s_own_report(self, mechanism: str) -> None:
        layer = small_layer(["a", "b"], mechanism=mechanism, bound=2)
        report = contribute({"ab": 1, "ba": 1}, layer, SeededEntropy(5))
        terms = terms_for(layer, bytes(16), smallest=3, dropout=0, corrupt=0)
        votes = Ballot.of_report(layer, partial(bytes, report))
        assert np.repeat(np.arange(terms.entries), votes.votes()).tolist() == sorted(read_report(layer, report))
        assert terms.votes == votes.most == (1 if mechanism == "unary" else 2)
        Member(terms, votes, promise_of(terms), identity(0))


class TestSharing:
    def test_it_is_done_once(self) -> None:
        _, member, roster = at(Stage.SHARING)
        member.share(roster)
        with pytest.raises(MaskingError, match="does so once"):
            member.share(roster)

    def test_a_refused_roster_changes_nothing(self) -> None:
        _, member, roster = at(Stage.SHARING)
        with pytest.raises(MaskingError):
            member.share(roster[:-1])
        member.share(roster)


class TestMasking:
    def test_it_is_done_once_even_with_another_delivery(self) -> None:
        """Two vectors under different sets of masks would tell the masks apart."""
        run, member, message = at(Stage.MASKING)
        around, delivery = delivered(run)
        member.mask(message)
        with pytest.raises(MaskingError, match="once"):
            member.mask(message)
        with pytest.raises(MaskingError, match="once"):
            member.mask(Delivery(0, delivery.shared - {around[0]}, delivery.deals[1:]).body(COHORT))

    def test_too_few_shares_that_can_be_read_are_refused(self) -> None:
        """A list of neighbours that the neighbours don't share can't bring any that can be read."""
        run, member, message = at(Stage.MASKING)
        degree, threshold = COHORT.neighbourhood.degree, COHORT.neighbourhood.threshold
        _, delivery = delivered(run)
        missing = degree - threshold + 1
        swapped = delivery.deals[1:missing] + delivery.deals[:1] + delivery.deals[missing:]
        with pytest.raises(MaskingError, match=f"{threshold - 1} neighbours have shared"):
            member.mask(Delivery(0, delivery.shared, swapped).body(COHORT))
        member.mask(message)

    @pytest.mark.parametrize("left_out", [{0}, {6, 7, 8, 9, 1}])
    def test_a_set_without_the_device_or_without_a_quorum_is_refused(self, left_out: set[int]) -> None:
        run, member, _ = at(Stage.MASKING)
        around, delivery = delivered(run)
        deals = tuple(deal for other, deal in zip(around, delivery.deals, strict=True) if other not in left_out)
        with pytest.raises(MaskingError, match=r"not among those that have shared|5 devices have shared .* it takes 6"):
            member.mask(Delivery(0, delivery.shared - left_out, deals).body(COHORT))

    def test_a_key_that_leads_to_no_secret_is_refused_before_anything_is_masked(self) -> None:
        run = Run(TERMS, [[0] * 5] * DEVICES)
        votes = ballot([0] * 5)
        member = run.members[FIRST] = run.member(0, votes)
        run.go_to(Stage.SHARING)
        roster = Roster.parse(run.server.message_for(FIRST) or b"", TERMS)
        other, who = 5, identity(5)
        keys = PublicKeys(roster.advertised[other].keys.sealing, bytes(32))
        small = Advertisement.sign(keys, TERMS, who.signer, 0, who.voucher)
        forged = Roster(COHORT, 0, (*roster.advertised[:other], small, *roster.advertised[other + 1 :]))
        assert other in forged.neighbours
        member.share(forged.body())
        deals = tuple(Deal(bytes(80), (bytes(16),) * 2) for _ in forged.neighbours)
        with pytest.raises(MaskingError, match=r"leads to no secret|neighbours have shared"):
            member.mask(Delivery(0, frozenset(range(DEVICES)), deals).body(COHORT))
        assert votes.group is None

    def test_a_delivery_for_another_device_is_refused(self) -> None:
        run, member, _ = at(Stage.MASKING)
        other = run.server.message_for(name(1))
        assert other is not None
        with pytest.raises(MaskingError, match="for device 1, and this is device 0"):
            member.mask(other)

    def test_votes_are_not_masked_before_secrets_are_shared(self) -> None:
        member = Member(TERMS, ballot([0] * 5), promise_of(TERMS), identity(0))
        with pytest.raises(MaskingError, match="after sharing"):
            member.mask(b"")


class TestConfirming:
    def test_nothing_is_signed_before_the_votes_are_masked(self) -> None:
        _, _, message = at(Stage.CONFIRMING)
        _, member, _ = at(Stage.MASKING)
        with pytest.raises(MaskingError, match="before its votes are masked"):
            member.confirm(message)

    def test_the_same_survivors_get_the_same_signature_and_others_none(self) -> None:
        _, member, message = at(Stage.CONFIRMING)
        answer = member.confirm(message)
        assert member.confirm(message) == answer
        told = dict(Survivors.parse(message, COHORT).signatures)
        del told[9]
        with pytest.raises(MaskingError, match="no second ones"):
            member.confirm(Survivors(0, told).body(COHORT))

    @pytest.mark.parametrize(
        ("gone", "reason"),
        [
            ({0}, "not among those that are in the sum"),
            ({5, 6, 7, 8, 9}, "5 devices are in the sum, and it takes 6"),
        ],
    )
    def test_survivors_without_the_device_or_without_a_quorum_are_refused(self, gone: set[int], reason: str) -> None:
        _, member, message = at(Stage.CONFIRMING)
        told = Survivors.parse(message, COHORT).signatures
        with pytest.raises(MaskingError, match=reason):
            member.confirm(Survivors(0, {index: told[index] for index in told if index not in gone}).body(COHORT))

    def test_too_few_neighbours_among_the_survivors_are_refused(self) -> None:
        terms = some_terms(dropout=0, smallest=6)
        run = Run(terms, [[0] * 5] * 20).go_to(Stage.CONFIRMING)
        group = MaskingGroup(terms, 20)
        around = run.server._neighbours[0]
        told = Survivors.parse(run.server.message_for(FIRST) or b"", group).signatures
        kept = {index: told[index] for index in told if index not in around[:1]}
        assert len(around) == group.neighbourhood.threshold
        with pytest.raises(MaskingError, match=f"votes of {len(around) - 1} neighbours"):
            run.members[FIRST].confirm(Survivors(0, kept).body(group))

    def test_a_survivor_that_has_signed_something_else_is_refused(self) -> None:
        _, member, message = at(Stage.CONFIRMING)
        told = dict(Survivors.parse(message, COHORT).signatures)
        told[7] = told[8]
        with pytest.raises(MaskingError, match="device 7 has not signed"):
            member.confirm(Survivors(0, told).body(COHORT))

    def test_a_survivor_that_has_not_shared_is_refused(self) -> None:
        run = Run(TERMS, [[0] * 5] * DEVICES).go_to(Stage.SHARING)
        run.step([name(number) for number in range(DEVICES - 1)])
        run.step()
        told = dict(Survivors.parse(run.server.message_for(FIRST) or b"", COHORT).signatures)
        with pytest.raises(MaskingError, match="contradict the delivery"):
            run.members[FIRST].confirm(Survivors(0, told | {9: bytes(64)}).body(COHORT))


class TestUnmasking:
    def test_nothing_is_given_away_before_the_survivors_are_signed(self) -> None:
        _, _, message = at(Stage.UNMASKING)
        for stage, reason in ((Stage.MASKING, "before its votes are masked"), (Stage.CONFIRMING, "has signed")):
            _, member, _ = at(stage)
            with pytest.raises(MaskingError, match=reason):
                member.unmask(message)

    def test_a_quorum_must_have_signed_the_same_survivors(self) -> None:
        run, member, message = at(Stage.UNMASKING)
        told = dict(ShareRequest.parse(message, COHORT).signatures)
        quorum = COHORT.quorum
        few = {index: told[index] for index in list(told)[: quorum - 1]}
        with pytest.raises(
            MaskingError, match=f"{quorum - 1} devices have signed the survivors, and it takes {quorum}"
        ):
            member.unmask(ShareRequest(0, few).body(COHORT))
        with pytest.raises(MaskingError, match="device 9 has not signed"):
            member.unmask(ShareRequest(0, told | {9: told[8]}).body(COHORT))
        enough = ShareRequest(0, {index: told[index] for index in list(told)[:quorum]}).body(COHORT)
        assert member.unmask(enough) == member.unmask(message)
        assert run.server.stage is Stage.UNMASKING

    def test_the_survivors_say_which_share_is_given(self) -> None:
        run = Run(TERMS, [[0] * 5] * DEVICES).go_to(Stage.MASKING)
        run.step([name(number) for number in range(DEVICES - 1)])
        run.step()
        around = run.server._neighbours[0]
        shares = Unmasking.parse(run.answer(FIRST) or b"", COHORT).shares
        given = {other: kind for other, (kind, _) in zip(around, shares, strict=True)}
        assert given == {other: ShareKind.KEY if other == DEVICES - 1 else ShareKind.SEED for other in around}
        assert DEVICES - 1 in given

    def test_a_request_to_another_device_is_refused(self) -> None:
        _, member, message = at(Stage.UNMASKING)
        request = ShareRequest.parse(message, COHORT)
        with pytest.raises(MaskingError, match="for device 1, and this is device 0"):
            member.unmask(ShareRequest(1, request.signatures).body(COHORT))


class TestJoiningAgain:
    def test_votes_are_masked_for_one_group_ever(self) -> None:
        """The sums of two groups with the same votes could differ in the votes of one device."""
        votes, again = ballot([1, 0, 1, 0, 0]), some_terms(group_id=b"again")
        run = Run(TERMS, [[0] * 5] * DEVICES)
        run.members[FIRST] = run.member(0, votes)
        groups = [votes.group]
        for stage in (Stage.MASKING, Stage.CONFIRMING):
            run.go_to(stage)
            groups.append(votes.group)
        assert groups == [None, None, TERMS.group_id]
        with pytest.raises(MaskingError, match="masked for no other"):
            Member(again, votes, promise_of(again), identity(0))

    def test_of_two_groups_joined_at_once_one_gets_the_votes(self) -> None:
        votes, other = ballot([1, 0, 1, 0, 0]), some_terms(dropout=20, smallest=6, group_id=b"other")
        runs = [Run(terms, [[0] * 5] * DEVICES) for terms in (TERMS, other)]
        for run in runs:
            run.members[FIRST] = run.member(0, votes)
            run.go_to(Stage.MASKING)
        assert runs[0].answer(FIRST)
        with pytest.raises(MaskingError, match="masked for no other"):
            runs[1].answer(FIRST)

    def test_a_group_that_failed_before_costs_nothing(self) -> None:
        votes = ballot([1, 0, 1, 0, 0])
        first = Run(TERMS, [[0] * 5] * DEVICES)
        first.members[FIRST] = first.member(0, votes)
        first.go_to(Stage.MASKING).server.abandon("too few")
        second = Run(some_terms(smallest=6, group_id=b"second"), [[0] * 5] * DEVICES)
        second.members[FIRST] = second.member(0, votes)
        second.go_to(Stage.MASKING)
        assert second.answer(FIRST)


class Server(RuleBasedStateMachine):
    """A server that tells a device whatever it likes, in any order, as often as it likes."""

    @initialize(left_out=st.sets(st.integers(1, DEVICES - 1), max_size=2))
    def joined(self, left_out: set[int]) -> None:
        run = Run(TERMS, [[1, 0, 0, 0, 1]] * DEVICES).go_to(Stage.SHARING)
        roster = run.server.message_for(FIRST)
        assert roster is not None
        self.around = Roster.parse(roster, TERMS).neighbours
        self.run = run
        run.step([name(number) for number in range(DEVICES) if number not in left_out])
        self.member = run.members[FIRST]
        message = run.server.message_for(FIRST)
        assert message is not None
        delivery = Delivery.parse(message, COHORT, self.around)
        shared = [other for other in self.around if other in delivery.shared]
        self.shared, self.deals = delivery.shared, dict(zip(shared, delivery.deals, strict=True))
        self.messages = [roster, message]
        self.revealed: dict[int, set[ShareKind]] = {other: set() for other in self.around}
        self.masked: set[bytes] = set()
        self.confirmed: set[bytes] = set()

    @rule(data=st.data())
    def deliver(self, data: st.DataObject) -> None:
        gone = data.draw(st.sets(st.integers(0, DEVICES - 1), max_size=4))
        deals = tuple(deal for other, deal in self.deals.items() if other not in gone)
        self.try_all(Delivery(0, self.shared - gone, deals).body(COHORT))

    @rule()
    def go_on(self) -> None:
        """All others do what they are asked for, and this device gets what an honest server tells it."""
        if self.run.server.stage is not Stage.OVER:
            self.run.step([device for device in self.run.members if device != FIRST])
            told = self.run.server.message_for(FIRST)
            self.messages += [told] if told else []

    @rule()
    def repeat(self) -> None:
        for message in list(self.messages):
            self.try_all(message)

    @rule(data=st.data(), kind=st.sampled_from([Survivors, ShareRequest]))
    def announce(self, data: st.DataObject, kind: type[Survivors | ShareRequest]) -> None:
        """Signatures that the server has, for others than they are of."""
        for message in [message for message in self.messages if message[1] == kind.number]:
            told = dict(kind.parse(message, COHORT).signatures)
            for index in data.draw(st.sets(st.sampled_from(sorted(told)), max_size=2)):
                del told[index]
            self.try_all(kind(0, told).body(COHORT))

    def try_all(self, message: bytes) -> None:
        for method in (self.member.share, self.member.mask, self.member.confirm, self.member.unmask):
            try:
                answer = method(message)
            except MaskingError:
                continue
            if answer[1] == MaskedVector.number:
                self.masked.add(answer)
                with suppress(MaskingError):
                    self.run.server.receive(FIRST, answer)
            if answer[1] == Confirmation.number:
                self.confirmed.add(answer)
            if answer[1] == Unmasking.number:
                for other, (kind, _) in zip(self.around, Unmasking.parse(answer, COHORT).shares, strict=True):
                    self.revealed[other] |= {kind} - {ShareKind.NEITHER}

    @invariant()
    def never_both(self) -> None:
        assert all(len(kinds) <= 1 for kinds in getattr(self, "revealed", {}).values())

    @invariant()
    def one_of_each(self) -> None:
        assert len(getattr(self, "masked", ())) <= 1
        assert len(getattr(self, "confirmed", ())) <= 1


TestServer = Server.TestCase
TestServer.settings = settings(max_examples=15, stateful_step_count=12, deadline=None)
