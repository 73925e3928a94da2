"""A server that lies to honest devices learns nothing about one of them, whatever it tells whom.

Before devices agreed on who has shared and who survives, the first attack here read the votes of one device: it was
told that only t of its neighbours had shared, and these were declared gone to others of theirs.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groups import CAMPAIGN, ISSUER, Run, ballot, identity, name, promise_of, some_terms
from neologue.aggregation.masked_group import Stage
from neologue.device.masked import Identity, Member
from neologue.errors import MaskingError
from neologue.masking.agreement import Confirmation, ShareRequest, Survivors, signed_shared
from neologue.masking.messages import Deal, Delivery, MaskedVector, ShareKind, Unmasking
from neologue.masking.roster import Advertisement, Roster
from neologue.masking.terms import MaskingGroup, Promise, Terms
from neologue.masking.voucher import vouch

VICTIM = 0


class LyingServer:
    """All devices are honest and have shared; from there on each can be told anything."""

    def __init__(self, terms: Terms, devices: int) -> None:
        votes = [np.random.default_rng(number).integers(0, 2, terms.entries) for number in range(devices)]
        run = Run(terms, votes).go_to(Stage.SHARING)
        rosters = [Roster.parse(run.server.message_for(device) or b"", terms) for device in run.members]
        self.members = list(run.members.values())
        self.group = MaskingGroup(terms, devices)
        self.around = [roster.neighbours for roster in rosters]
        self.everybody = frozenset(range(devices))
        run.step()
        self.deals: list[dict[int, Deal]] = []
        for index, device in enumerate(run.members):
            delivery = Delivery.parse(run.server.message_for(device) or b"", self.group, self.around[index])
            self.deals.append(dict(zip(self.around[index], delivery.deals, strict=True)))
        self.masked: dict[int, frozenset[int]] = {}
        """By device whose vector has come, whom it was told to have shared."""
        self.signed: dict[int, bytes] = {}
        self.confirmed: dict[int, tuple[frozenset[int], bytes]] = {}
        self.given: dict[tuple[int, ShareKind], set[int]] = {}
        """Who has given a share of which secret of a device."""

    def deliver(self, index: int, shared: frozenset[int]) -> None:
        deals = tuple(deal for other, deal in self.deals[index].items() if other in shared)
        answer = self.members[index].mask(Delivery(index, shared, deals).body(self.group))
        self.masked[index] = shared
        self.signed[index] = MaskedVector.parse(answer, self.group).signature

    def announce(self, index: int, survivors: Collection[int]) -> None:
        signatures = {other: self.signed.get(other, bytes(64)) for other in survivors}
        answer = self.members[index].confirm(Survivors(index, signatures).body(self.group))
        self.confirmed[index] = frozenset(survivors), Confirmation.parse(answer, self.group).signature

    def ask(self, index: int, signers: Collection[int]) -> None:
        signatures = {other: self.confirmed[other][1] for other in signers if other in self.confirmed}
        answer = self.members[index].unmask(ShareRequest(index, signatures).body(self.group))
        for owner, (kind, _) in zip(self.around[index], Unmasking.parse(answer, self.group).shares, strict=True):
            if kind:
                self.given.setdefault((owner, kind), set()).add(index)

    def knows(self, owner: int, kind: ShareKind) -> bool:
        return len(self.given.get((owner, kind), ())) >= self.group.neighbourhood.threshold

    def parts(self) -> list[set[int]]:
        """The smallest sets of devices whose votes it can sum: with all masks gone, or cancelled by each other."""
        readable = {index for index in self.masked if self.knows(index, ShareKind.SEED)}
        hidden = {
            index: {
                other
                for other in self.around[index]
                if other in self.masked[index]
                and not self.knows(index, ShareKind.KEY)
                and not self.knows(other, ShareKind.KEY)
            }
            for index in readable
        }
        parts: list[set[int]] = []
        for index in readable:
            part, new = {index}, hidden[index]
            while new - part:
                part |= new
                new = set().union(*(hidden.get(other, set()) for other in part))
            if part <= readable:
                parts.append(part)
        return parts


def told_little(server: LyingServer) -> None:
    """The attack: the victim is told the fewest that it goes on with, and everybody else the truth."""
    around, group = server.around[VICTIM], server.group
    left_out = group.size - group.quorum
    untold = set(around[: min(left_out, group.neighbourhood.degree - group.neighbourhood.threshold)])
    server.deliver(VICTIM, server.everybody - untold)
    for index in server.everybody - {VICTIM}:
        server.deliver(index, server.everybody)


@pytest.fixture
def server() -> LyingServer:
    server = LyingServer(some_terms(smallest=14, corrupt=1), 26)
    assert server.group.neighbourhood.degree < server.group.size - 1
    return server


def try_all(server: LyingServer, survivors: Mapping[int, Collection[int]]) -> None:
    """Announce survivors to each device, and ask all of them for shares with all signatures of the same set."""
    for index, told in survivors.items():
        with suppress(MaskingError):
            server.announce(index, told)
    for index in server.everybody:
        for told in {told for told, _ in server.confirmed.values()}:
            with suppress(MaskingError):
                server.ask(index, [other for other, (signed, _) in server.confirmed.items() if signed == told])


def test_the_truth_gives_the_sum_of_all(server: LyingServer) -> None:
    for index in server.everybody:
        server.deliver(index, server.everybody)
    try_all(server, dict.fromkeys(server.everybody, server.everybody))
    assert all(part == server.everybody for part in server.parts())
    assert server.parts()


def test_a_device_that_is_told_little_is_given_away_by_nobody(server: LyingServer) -> None:
    told_little(server)
    try_all(server, dict.fromkeys(server.everybody, server.everybody))
    assert not server.confirmed, "everybody sees that the victim has signed another set"
    assert not server.given


def test_those_whom_the_victim_has_masked_with_can_not_be_declared_gone_to_some(server: LyingServer) -> None:
    """Half of the group is told that they are, the other half that the victim is there."""
    told_little(server)
    gone = server.everybody - server.masked[VICTIM]
    half = sorted(server.everybody)[: server.group.size // 2]
    try_all(
        server,
        {index: server.everybody - ({VICTIM} if index in half else gone) for index in server.everybody},
    )
    assert not server.parts()


def test_a_victim_that_is_left_out_stays_under_its_own_mask(server: LyingServer) -> None:
    told_little(server)
    survivors = server.everybody - {VICTIM}
    try_all(server, dict.fromkeys(survivors, survivors))
    assert server.knows(VICTIM, ShareKind.KEY)
    assert not server.knows(VICTIM, ShareKind.SEED)
    assert all(part == survivors for part in server.parts())


def test_two_sets_of_survivors_never_have_enough_signers(server: LyingServer) -> None:
    for index in server.everybody:
        server.deliver(index, server.everybody)
    one, two = server.everybody - {24}, server.everybody - {25}
    try_all(server, {index: one if index % 2 else two for index in server.everybody})
    assert len(server.confirmed) > 20
    assert not server.given


@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_no_lie_parts_the_group(data: st.DataObject) -> None:
    """Deliveries and survivors at random, often all alike but for a few devices."""
    server = LyingServer(some_terms(smallest=5, dropout=30), 9)
    missing = st.frozensets(st.sampled_from(sorted(server.everybody)), max_size=3)
    stories = data.draw(st.lists(missing, min_size=1, max_size=2), "who has not shared")
    for index in server.everybody:
        with suppress(MaskingError):
            server.deliver(index, server.everybody - data.draw(st.sampled_from(stories)))
    endings = data.draw(st.lists(missing, min_size=1, max_size=2), "who is gone")
    told = {index: server.everybody - data.draw(st.sampled_from(endings)) for index in server.everybody}
    try_all(server, {index: survivors & server.masked.keys() for index, survivors in told.items()})
    assert all(len(part) >= server.group.quorum for part in server.parts())
    assert not [
        index
        for index in server.everybody
        if server.knows(index, ShareKind.SEED) and server.knows(index, ShareKind.KEY)
    ]


class TestRosters:
    """What a device refuses to be told about who is in its group."""

    TERMS = some_terms(smallest=5)

    def told(self) -> tuple[Run, Member, Roster]:
        run = Run(self.TERMS, [[0] * 5] * 8).go_to(Stage.SHARING)
        return run, run.members[name(0)], Roster.parse(run.server.message_for(name(0)) or b"", self.TERMS)

    def changed(self, roster: Roster, index: int, other: Advertisement) -> bytes:
        advertised = (*roster.advertised[:index], other, *roster.advertised[index + 1 :])
        return Roster(roster.group, roster.index, advertised).body()

    def advertised_by(self, who: Identity, promise: Promise) -> Advertisement:
        return Advertisement.parse(Member(self.TERMS, ballot([0] * 5), promise, who).advertise(), self.TERMS)

    def test_a_device_for_which_no_trusted_issuer_vouches(self) -> None:
        _, member, roster = self.told()
        stranger = identity(99).signer
        forged = Identity(CAMPAIGN, identity(98).signer, vouch(CAMPAIGN, public(identity(98)), stranger))
        sybil = self.advertised_by(forged, Promise(5, 20, 0, (stranger.public_key().public_bytes_raw(),)))
        with pytest.raises(MaskingError, match="vouches for device 5"):
            member.share(self.changed(roster, 5, sybil))
        member.share(roster.body())

    def test_a_voucher_for_another_campaign(self) -> None:
        _, member, roster = self.told()
        elsewhere = b"another campaign"
        signer = identity(97).signer
        there = Identity(elsewhere, signer, vouch(elsewhere, public(identity(97)), ISSUER))
        with pytest.raises(MaskingError, match="vouches for device 5"):
            member.share(self.changed(roster, 5, self.advertised_by(there, promise_of(self.TERMS))))

    def test_a_neighbour_s_keys_that_the_server_has_made(self) -> None:
        _, member, roster = self.told()
        other = roster.neighbours[0]
        mine, theirs = (roster.advertised[index] for index in (roster.index, other))
        forged = Advertisement(theirs.signer, theirs.issuer, theirs.voucher, mine.keys, mine.signature)
        body = self.changed(roster, other, forged)
        # The circle follows from the roster, so that another one may be the neighbour there.
        if other in Roster.parse(body, self.TERMS).neighbours:
            with pytest.raises(MaskingError, match=f"keys of device {other} are not signed"):
                member.share(body)

    def test_one_device_in_two_places(self) -> None:
        _, member, roster = self.told()
        with pytest.raises(MaskingError, match="in the roster twice"):
            member.share(self.changed(roster, 5, roster.advertised[4]))

    def test_a_roster_without_the_device_itself(self) -> None:
        run, member, roster = self.told()
        for index in (1, 7):
            with pytest.raises(MaskingError, match="other keys than this device"):
                member.share(Roster(roster.group, index, roster.advertised).body())
        assert run.server.stage is Stage.SHARING

    def test_signatures_under_another_roster_do_not_count(self) -> None:
        """One device is told of a group with another member in it; to all others it has signed something else."""
        server = LyingServer(self.TERMS, 8)
        _, member, roster = self.told()
        body = self.changed(roster, 5, self.advertised_by(identity(50), promise_of(self.TERMS)))
        member.share(body)
        for index in server.everybody:
            server.deliver(index, server.everybody)
        elsewhere = signed_shared(Roster.parse(body, self.TERMS).digest, server.group, server.everybody)
        server.signed[0] = identity(0).signer.sign(elsewhere)
        with pytest.raises(MaskingError, match="device 0 has not signed what this device was told"):
            server.announce(1, server.everybody)


def public(who: Identity) -> bytes:
    return who.signer.public_key().public_bytes_raw()
