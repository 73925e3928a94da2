"""What a device gives away in a group, and what it refuses, whatever the server sends."""

from functools import partial

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from groups import OPERATOR, OPERATOR_KEY, PROMISE, Run, ballot, name, some_terms
from layers import small_layer
from neologue.aggregation.masked_group import GroupServer, Stage, terms_for
from neologue.device.contribution import contribute
from neologue.device.masked import Ballot, Member
from neologue.entropy import SeededEntropy
from neologue.errors import MaskingError
from neologue.masking.keys import PublicKeys
from neologue.masking.messages import Advertisement, Delivery, Kind, MaskedVector, Request, Roster, Unmasking
from neologue.masking.terms import MaskingGroup, Promise
from neologue.masking.void_group import sign_void_statement
from neologue.protocol.report import read_report

FIRST = name(0)
DEVICES = 10
TERMS = some_terms(dropout=20, corruption=10, smallest=6)
COHORT = MaskingGroup(TERMS, DEVICES)


def at(stage: Stage, devices: int = DEVICES) -> tuple[Run, Member, bytes]:
    """A group in a stage, one of its devices, and what that device is told."""
    run = Run(TERMS, [[1, 0, 1, 0, 0]] * devices).go_to(stage)
    message = run.server.message_for(FIRST)
    assert message is not None
    return run, run.members[FIRST], message


class TestJoining:
    def test_a_smaller_group_than_promised_is_refused(self) -> None:
        with pytest.raises(MaskingError, match="6 devices, and 7 were promised"):
            Member(TERMS, ballot([0] * 5), Promise(smallest=7, corruption=0))

    def test_other_votes_than_the_group_asks_for_are_not_given(self) -> None:
        for other in (
            ballot([0] * 4),
            ballot([0] * 5, most=2),
            Ballot.of_votes(bytes(32), np.zeros(5, int), 1, OPERATOR_KEY),
        ):
            with pytest.raises(MaskingError, match="another layer"):
                Member(TERMS, other, PROMISE)

    @pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
    def test_votes_come_from_the_device_s_own_report(self, mechanism: str) -> None:
        layer = small_layer(["a", "b"], mechanism=mechanism, bound=2)
        report = contribute({"ab": 1, "ba": 1}, layer, SeededEntropy(5))
        terms = terms_for(layer, bytes(16), smallest=3, dropout=0, corruption=0)
        votes = Ballot.of_report(layer, partial(bytes, report), OPERATOR_KEY)
        assert np.repeat(np.arange(terms.entries), votes.votes()).tolist() == sorted(read_report(layer, report))
        assert terms.votes == votes.most == (1 if mechanism == "unary" else 2)
        Member(terms, votes, PROMISE)


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

    def test_unsigned_keys_are_refused_by_a_device_that_wants_signatures(self) -> None:
        server = GroupServer(TERMS, SeededEntropy(1))
        signers = [Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in range(DEVICES)]
        trusted = {signer.public_key().public_bytes_raw() for signer in signers[:-1]}
        members = [
            Member(TERMS, ballot([0] * 5), PROMISE, signer=signer, trusts=trusted.__contains__) for signer in signers
        ]
        for number, member in enumerate(members):
            server.receive(name(number), member.advertise())
        server.advance()
        for number, member in enumerate(members):
            message = server.message_for(name(number))
            assert message is not None
            if DEVICES - 1 in Roster.parse(message, TERMS).neighbours:
                with pytest.raises(MaskingError, match="anyone this device trusts"):
                    member.share(message)
            else:
                member.share(message)

    def test_keys_that_the_server_has_changed_are_refused_by_a_device_that_wants_signatures(self) -> None:
        run = Run(TERMS, [[0] * 5] * DEVICES)
        signer = Ed25519PrivateKey.generate()
        member = Member(TERMS, ballot([0] * 5), PROMISE, trusts=lambda key: True)
        run.members[FIRST] = member
        run.go_to(Stage.SHARING)
        message = run.server.message_for(FIRST)
        assert message is not None
        roster = Roster.parse(message, TERMS)
        signed = {other: Advertisement.sign(keys.keys, TERMS, signer) for other, keys in roster.neighbours.items()}
        other = next(iter(signed))
        forged = dict(signed) | {other: Advertisement(signed[other].keys, signed[other].signer, bytes(64))}
        with pytest.raises(MaskingError, match=f"keys of device {other}"):
            member.share(Roster(roster.group, roster.index, forged).body())
        member.share(Roster(roster.group, roster.index, signed).body())


class TestMasking:
    def test_it_is_done_once_even_with_another_delivery(self) -> None:
        """Two vectors under different sets of masks would tell the masks apart."""
        _, member, message = at(Stage.MASKING)
        delivery = Delivery.parse(message, COHORT)
        member.mask(message)
        with pytest.raises(MaskingError, match="once"):
            member.mask(message)
        with pytest.raises(MaskingError, match="once"):
            member.mask(Delivery(delivery.index, (None, *delivery.deals[1:])).body(COHORT))

    def test_too_few_shares_or_too_few_that_can_be_read_are_refused(self) -> None:
        """A list of neighbours that the neighbours don't share can't bring any that can be read."""
        _, member, message = at(Stage.MASKING)
        degree, threshold = COHORT.neighbourhood.degree, COHORT.neighbourhood.threshold
        deals = Delivery.parse(message, COHORT).deals
        missing = degree - threshold + 1
        swapped = deals[1:missing] + deals[:1] + deals[missing:]
        for wrong in ((None,) * missing + deals[missing:], swapped):
            with pytest.raises(MaskingError, match=f"{threshold - 1} neighbours have shared"):
                member.mask(Delivery(0, wrong).body(COHORT))
        member.mask(Delivery(0, (None,) * (missing - 1) + deals[missing - 1 :]).body(COHORT))

    def test_a_key_that_leads_to_no_secret_is_refused_before_anything_is_masked(self) -> None:
        run = Run(TERMS, [[0] * 5] * DEVICES)
        votes = ballot([0] * 5)
        member = run.members[FIRST] = Member(TERMS, votes, PROMISE)
        run.go_to(Stage.SHARING)
        roster = Roster.parse(run.server.message_for(FIRST) or b"", TERMS)
        other, advertised = next(iter(roster.neighbours.items()))
        small = {**roster.neighbours, other: Advertisement(PublicKeys(advertised.keys.sealing, bytes(32)))}
        run.server.receive(FIRST, member.share(Roster(COHORT, 0, small).body()))
        run.step(device for device in run.members if device != FIRST)
        with pytest.raises(MaskingError, match="leads to no secret"):
            run.answer(FIRST)
        assert votes.pending is None

    def test_a_delivery_for_another_device_is_refused(self) -> None:
        run, member, _ = at(Stage.MASKING)
        other = run.server.message_for(name(1))
        assert other is not None
        with pytest.raises(MaskingError, match="for device 1, and this is device 0"):
            member.mask(other)

    def test_votes_are_not_masked_before_secrets_are_shared(self) -> None:
        member = Member(TERMS, ballot([0] * 5), PROMISE)
        with pytest.raises(MaskingError, match="after sharing"):
            member.mask(b"")


class TestUnmasking:
    def test_nothing_is_given_away_before_the_votes_are_masked(self) -> None:
        _, _, message = at(Stage.UNMASKING)
        _, member, _ = at(Stage.MASKING)
        with pytest.raises(MaskingError, match="before its votes are masked"):
            member.unmask(message)

    def test_the_same_request_gets_the_same_answer_and_another_none(self) -> None:
        _, member, message = at(Stage.UNMASKING)
        answer = member.unmask(message)
        assert member.unmask(message) == answer
        request = Request.parse(message, COHORT)
        other = Request(0, request.arrived, (Kind.KEY, *request.wanted[1:]))
        with pytest.raises(MaskingError, match="no second one"):
            member.unmask(other.body(COHORT))

    def test_a_request_below_the_threshold_is_refused(self) -> None:
        _, member, _ = at(Stage.UNMASKING)
        degree, threshold = COHORT.neighbourhood.degree, COHORT.neighbourhood.threshold
        for arrived in range(threshold):
            wanted = (Kind.SEED,) * arrived + (Kind.KEY,) * (degree - arrived)
            with pytest.raises(MaskingError, match=f"votes of {arrived} neighbours"):
                member.unmask(Request(0, DEVICES, wanted).body(COHORT))
        wanted = (Kind.SEED,) * threshold + (Kind.KEY,) * (degree - threshold)
        member.unmask(Request(0, DEVICES, wanted).body(COHORT))

    @pytest.mark.parametrize("arrived", [0, 5, DEVICES + 1])
    def test_a_sum_of_fewer_than_promised_is_refused(self, arrived: int) -> None:
        _, member, message = at(Stage.UNMASKING)
        wanted = Request.parse(message, COHORT).wanted
        with pytest.raises(MaskingError, match=f"a sum of {arrived} devices"):
            member.unmask(Request(0, arrived, wanted).body(COHORT))

    def test_a_request_to_another_device_is_refused(self) -> None:
        _, member, message = at(Stage.UNMASKING)
        request = Request.parse(message, COHORT)
        with pytest.raises(MaskingError, match="for device 1, and this is device 0"):
            member.unmask(Request(1, request.arrived, request.wanted).body(COHORT))

    def test_a_request_that_contradicts_the_delivery_is_refused(self) -> None:
        _, member, message = at(Stage.UNMASKING)
        wanted = Request.parse(message, COHORT).wanted
        with pytest.raises(MaskingError, match="contradicts the delivery"):
            member.unmask(Request(0, DEVICES, (Kind.NEITHER, *wanted[1:])).body(COHORT))


class TestJoiningAgain:
    def masked(self) -> Ballot:
        """Votes that were masked for a group."""
        votes = ballot([1, 0, 1, 0, 0])
        run = Run(TERMS, [[0] * 5] * DEVICES)
        run.members[FIRST] = Member(TERMS, votes, PROMISE)
        pending = [votes.pending]
        for stage in (Stage.MASKING, Stage.UNMASKING):
            run.go_to(stage)
            pending.append(votes.pending)
        assert pending == [None, None, TERMS]
        return votes

    def test_it_takes_the_operators_word_about_this_group(self) -> None:
        votes, again = self.masked(), some_terms(group_id=b"again")
        with pytest.raises(MaskingError, match="signed statement"):
            Member(again, votes, PROMISE)
        wrong = [
            b"",
            bytes(64),
            sign_void_statement(again, OPERATOR),
            sign_void_statement(TERMS, Ed25519PrivateKey.generate()),
        ]
        for statement in wrong:
            with pytest.raises(MaskingError, match="not the operator's"):
                votes.release(statement)
        votes.release(sign_void_statement(TERMS, OPERATOR))
        Member(again, votes, PROMISE)
        with pytest.raises(MaskingError, match="not the operator's"):
            votes.release(sign_void_statement(TERMS, OPERATOR))

    def test_of_two_groups_joined_at_once_one_gets_the_votes(self) -> None:
        votes, other = ballot([1, 0, 1, 0, 0]), some_terms(dropout=20, smallest=6, group_id=b"other")
        runs = [Run(terms, [[0] * 5] * DEVICES) for terms in (TERMS, other)]
        for run in runs:
            run.members[FIRST] = Member(run.terms, votes, PROMISE)
            run.go_to(Stage.MASKING)
        assert runs[0].answer(FIRST)
        with pytest.raises(MaskingError, match="signed statement"):
            runs[1].answer(FIRST)

    def test_the_same_votes_come_under_fresh_masks(self) -> None:
        votes = ballot(np.arange(400) % 2)
        vectors = []
        for group_id in (b"one", b"two"):
            terms = some_terms(entries=400, group_id=group_id)
            run = Run(terms, [[0] * 400] * 5)
            run.members[FIRST] = Member(terms, votes, PROMISE)
            run.go_to(Stage.SHARING)
            group = Roster.parse(run.server.message_for(FIRST) or b"", terms).group
            run.step()
            vectors.append(MaskedVector.parse(run.answer(FIRST) or b"", group).packed)
            votes.release(sign_void_statement(terms, OPERATOR))
        same = sum(one == two for one, two in zip(*vectors, strict=True))
        assert same < 20  # of 150 bytes, about one in 256 by chance
        assert (votes.votes() == np.arange(400) % 2).all()


class Server(RuleBasedStateMachine):
    """A server that asks a device for whatever it likes, in any order, as often as it likes."""

    @initialize(left_out=st.sets(st.integers(1, DEVICES - 1), max_size=2))
    def joined(self, left_out: set[int]) -> None:
        run = Run(TERMS, [[1, 0, 0, 0, 1]] * DEVICES).go_to(Stage.SHARING)
        roster = run.server.message_for(FIRST)
        assert roster is not None
        self.told = Roster.parse(roster, TERMS)
        run.step([name(number) for number in range(DEVICES) if number not in left_out])
        self.messages = [roster]
        self.member = run.members[FIRST]
        message = run.server.message_for(FIRST)
        assert message is not None
        self.deals = Delivery.parse(message, self.told.group).deals
        self.messages.append(message)
        self.revealed: dict[int, set[Kind]] = {other: set() for other in self.told.neighbours}
        self.masked: set[bytes] = set()

    @rule(data=st.data())
    def deliver(self, data: st.DataObject) -> None:
        kept = data.draw(st.lists(st.booleans(), min_size=len(self.deals), max_size=len(self.deals)))
        deals = tuple(deal if keep else None for keep, deal in zip(kept, self.deals, strict=True))
        self.try_all(Delivery(0, deals).body(self.told.group))

    @rule()
    def repeat(self) -> None:
        for message in list(self.messages):
            self.try_all(message)

    @rule(
        data=st.data(),
        index=st.sampled_from([0, 0, 0, 1]),
        arrived=st.sampled_from([DEVICES, DEVICES, DEVICES - 1, 6, 5, 0]),
    )
    def ask(self, data: st.DataObject, index: int, arrived: int) -> None:
        likely = st.sampled_from([Kind.SEED, Kind.SEED, Kind.KEY, Kind.NEITHER])
        told = [
            data.draw(likely) if deal is None or data.draw(st.integers(0, 9)) == 0
            else data.draw(st.sampled_from([Kind.SEED, Kind.SEED, Kind.SEED, Kind.KEY]))
            for deal in self.deals
        ]  # fmt: skip
        wanted = [Kind.NEITHER if deal is None and data.draw(st.booleans()) else kind
                  for kind, deal in zip(told, self.deals, strict=True)]  # fmt: skip
        message = Request(index, arrived, tuple(wanted)).body(self.told.group)
        self.messages.append(message)
        self.try_all(message)

    def try_all(self, message: bytes) -> None:
        for method in (self.member.share, self.member.mask, self.member.unmask):
            try:
                answer = method(message)
            except MaskingError:
                continue
            if answer[1] == MaskedVector.number:
                self.masked.add(answer)
            if answer[1] == Unmasking.number:
                self.look_at(Unmasking.parse(answer, self.told.group), Request.parse(message, self.told.group))

    def look_at(self, answer: Unmasking, request: Request) -> None:
        assert request.arrived >= TERMS.smallest
        assert request.wanted.count(Kind.SEED) >= self.told.group.neighbourhood.threshold
        for other, (kind, _) in zip(self.told.neighbours, answer.shares, strict=True):
            if kind:
                self.revealed[other].add(kind)

    @invariant()
    def never_both(self) -> None:
        assert all(len(kinds) <= 1 for kinds in getattr(self, "revealed", {}).values())

    @invariant()
    def one_vector(self) -> None:
        assert len(getattr(self, "masked", ())) <= 1


TestServer = Server.TestCase
TestServer.settings = settings(max_examples=25, stateful_step_count=15)
