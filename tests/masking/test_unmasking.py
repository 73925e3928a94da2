"""A lying server with corrupt devices takes all it can get, and computes one device's votes from it, if it can.

Each attack runs twice: against devices as they are, where it must fail, and against devices that lack the one rule
which stands in its way, where it must read the votes. The second shows that the first could have failed.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from groups import CAMPAIGN, Counts, ballot, identity, promise_of, some_terms
from neologue.device.masked import Ballot, Identity, Member
from neologue.entropy import SeededEntropy
from neologue.errors import MaskingError
from neologue.masking import shamir
from neologue.masking.agreement import Confirmation, ShareRequest, Survivors, signed_survivors
from neologue.masking.field import to_bytes
from neologue.masking.graph import circle, neighbours_at
from neologue.masking.keys import PublicKeys, mask_pair, pairwise_mask_key, seal, self_mask_key, tag
from neologue.masking.masks import add_mask, subtract_mask
from neologue.masking.messages import Deal, Delivery, MaskedVector, ShareKind, Sharing, Unmasking
from neologue.masking.neighbourhood import Neighbourhood
from neologue.masking.roster import Advertisement, Roster
from neologue.masking.terms import MaskingGroup, Terms
from neologue.masking.vote_packing import Entries, unpack
from neologue.masking.voucher import vouch

TERMS = some_terms(entries=12, dropout=30, corrupt=3)
DEVICES = 9
CORRUPT = (0, 1, 2)
VICTIM = 3
EVERYBODY = frozenset(range(DEVICES))


def votes_of(number: int) -> Counts:
    return np.random.default_rng(number).integers(0, 2, TERMS.entries)


def device(number: int, terms: Terms = TERMS, votes: Ballot | None = None) -> Member:
    """The device with a number: the same one, with the same secrets, whenever it is asked for."""
    votes = votes or ballot(votes_of(number))
    return Member(terms, votes, promise_of(terms), identity(number), SeededEntropy(7, number))


def advertised(member: Member, terms: Terms = TERMS) -> Advertisement:
    return Advertisement.parse(member.advertise(), terms)


@dataclass
class Story:
    """A roster that some devices are told, and all that the server and its devices get to know under it."""

    roster: tuple[Advertisement, ...]
    terms: Terms = TERMS
    sharings: dict[int, Sharing] = field(default_factory=dict)
    vectors: dict[int, tuple[MaskedVector, frozenset[int]]] = field(default_factory=dict)
    """By device its masked vector, and for whom it has put masks on."""
    confirmations: dict[frozenset[int], dict[int, bytes]] = field(default_factory=dict)
    shares: dict[tuple[int, ShareKind], dict[int, int]] = field(default_factory=dict)
    """Of each secret of a device the shares at hand, by point."""
    keys: dict[int, X25519PrivateKey] = field(default_factory=dict)
    """The keys for masks of the server's own devices."""

    def __post_init__(self) -> None:
        self.group = MaskingGroup(self.terms, len(self.roster))
        self.digest = Roster(self.group, 0, self.roster).digest
        order = circle(self.group.size, self.digest)
        degree = self.group.neighbourhood.degree
        self.around = {index: neighbours_at(order, place, degree) for place, index in enumerate(order)}

    def share(self, index: int, member: Member) -> None:
        told = Roster(self.group, index, self.roster).body()
        self.sharings[index] = Sharing.parse(member.share(told), self.group)

    def deals_for(self, index: int, shared: Collection[int]) -> dict[int, Deal]:
        return {
            other: self.sharings[other].deal(self.around[other].index(index))
            for other in self.around[index]
            if other in shared
        }

    def mask(self, index: int, member: Member, shared: frozenset[int] = EVERYBODY) -> None:
        deals = tuple(self.deals_for(index, shared).values())
        answer = member.mask(Delivery(index, shared, deals).body(self.group))
        self.vectors[index] = MaskedVector.parse(answer, self.group), shared

    def confirm(self, index: int, member: Member, survivors: frozenset[int]) -> None:
        signatures = {other: self.vectors[other][0].signature for other in sorted(survivors)}
        answer = member.confirm(Survivors(index, signatures).body(self.group))
        self.confirmations.setdefault(survivors, {})[index] = Confirmation.parse(answer, self.group).signature

    def unmask(self, index: int, member: Member, survivors: frozenset[int]) -> None:
        signatures = dict(sorted(self.confirmations.get(survivors, {}).items()))
        answer = Unmasking.parse(member.unmask(ShareRequest(index, signatures).body(self.group)), self.group)
        for owner, (kind, share) in zip(self.around[index], answer.shares, strict=True):
            if kind:
                self.shares.setdefault((owner, kind), {})[index + 1] = share

    def corrupt(self, index: int, member: Member) -> None:
        """Take what a corrupt device knows: its key for masks, and both shares of everybody who has shared with it."""
        self.keys[index] = member._masking
        told = Roster(self.group, index, self.roster)
        for owner, deal in self.deals_for(index, self.sharings.keys()).items():
            for kind, share in member._open(deal, told, owner).items():
                self.shares.setdefault((owner, kind), {})[index + 1] = share

    def corrupt_signature(self, index: int, shared: frozenset[int], survivors: frozenset[int]) -> None:
        """A corrupt device signs whatever it is asked to."""
        message = signed_survivors(self.digest, self.group, shared, survivors)
        self.confirmations.setdefault(survivors, {})[index] = identity(index).signer.sign(message)

    def secret(self, owner: int, kind: ShareKind) -> int | None:
        held, threshold = self.shares.get((owner, kind), {}), self.group.neighbourhood.threshold
        return shamir.reconstruct(held, threshold) if len(held) >= threshold else None

    def key(self, owner: int) -> X25519PrivateKey | None:
        secret = self.secret(owner, ShareKind.KEY)
        return self.keys.get(owner) if secret is None else mask_pair(secret, self.terms.digest)

    def bare_votes(self, victim: int) -> Counts | None:
        """The votes of one device, if all masks on its vector can be computed."""
        seed = self.secret(victim, ShareKind.SEED)
        if victim not in self.vectors or seed is None:
            return None
        vector, shared = self.vectors[victim]
        entries: Entries = unpack(vector.packed, self.group.bits, self.terms.entries)
        subtract_mask(entries, self_mask_key(seed, self.digest, victim))
        for other in self.around[victim]:
            if other not in shared:
                continue
            if (own := self.key(victim)) is not None:
                key = pairwise_mask_key(own, self.roster[other].keys.masking, self.digest, (victim, other))
            elif (theirs := self.key(other)) is not None:
                key = pairwise_mask_key(theirs, self.roster[victim].keys.masking, self.digest, (victim, other))
            else:
                return None
            (subtract_mask if victim < other else add_mask)(entries, key)
        return self.reduced(entries)

    def reduced(self, entries: Entries) -> Counts:
        return entries.astype(np.int64) & ((1 << self.group.bits) - 1)


def tried(step: Callable[..., None], *given: Any) -> None:  # noqa: ANN401
    """A step that a device may refuse: then the server goes on with what it has."""
    with suppress(MaskingError):
        step(*given)


def honest_story(told: Iterable[int] = EVERYBODY) -> tuple[Story, dict[int, Member]]:
    """Everybody is told the truth until the votes are masked; the corrupt tell the server all they know."""
    members = {number: device(number) for number in EVERYBODY}
    story = Story(tuple(advertised(member) for member in members.values()))
    for index in told:
        story.share(index, members[index])
    for index in told:
        story.mask(index, members[index])
    for index in CORRUPT:
        story.corrupt(index, members[index])
    return story, members


def two_rosters() -> Counts | None:
    """The victim survives under one roster, and is gone under another, which others are told.

    Both have the same terms, size and corrupt devices. The deals that the victim made under the first are passed on to
    those who are told the second: could they open them, they would give shares of its key away.
    """
    members = {number: device(number) for number in (*EVERYBODY, 104, 105, 106)}
    names = [*EVERYBODY], [0, 1, 2, 3, 104, 105, 106, 7, 8]
    first, second = (Story(tuple(advertised(members[number]) for number in roster)) for roster in names)
    told = frozenset({*CORRUPT, VICTIM, 4, 5, 6})
    corrupt_again = {number: device(number) for number in CORRUPT}
    for step in (first.share, partial(first.mask, shared=told), partial(first.confirm, survivors=told)):
        for index in sorted(told):
            step(index, members[index])
    for index in sorted(told):
        tried(first.unmask, index, members[index], told)
    for index in CORRUPT:
        first.corrupt(index, members[index])

    there = {index: (members | corrupt_again)[number] for index, number in enumerate(names[1]) if index != VICTIM}
    for index, member in there.items():
        second.share(index, member)
    second.sharings[VICTIM] = first.sharings[VICTIM]
    survivors = EVERYBODY - {VICTIM}
    for step in (partial(second.mask, shared=EVERYBODY), partial(second.confirm, survivors=survivors)):
        for index, member in there.items():
            tried(step, index, member)
    for index, member in there.items():
        tried(second.unmask, index, member, survivors)
    for point, share in second.shares.get((VICTIM, ShareKind.KEY), {}).items():
        first.shares.setdefault((VICTIM, ShareKind.KEY), {})[point] = share
    return first.bare_votes(VICTIM)


def two_sets_of_survivors() -> Counts | None:
    """Half of the honest devices are told that the victim is there, half that it is gone; the corrupt sign both."""
    story, members = honest_story()
    told = {EVERYBODY: (VICTIM, 4, 5), EVERYBODY - {VICTIM}: (6, 7, 8)}
    for survivors, devices in told.items():
        for index in devices:
            story.confirm(index, members[index], survivors)
        for index in CORRUPT:
            story.corrupt_signature(index, EVERYBODY, survivors)
        for index in devices:
            tried(story.unmask, index, members[index], survivors)
    return story.bare_votes(VICTIM)


def a_second_set_of_survivors() -> Counts | None:
    """When all shares of the victim's seed are there, everybody is told that it is gone after all."""
    story, members = honest_story()
    for survivors in (EVERYBODY, EVERYBODY - {VICTIM}):
        for index in sorted(survivors):
            tried(story.confirm, index, members[index], survivors)
        for index in sorted(survivors):
            tried(story.unmask, index, members[index], survivors)
    return story.bare_votes(VICTIM)


def different_deliveries() -> Counts | None:
    """The victim is told that few have shared, and each of these few is declared gone to enough of the others."""
    terms = replace(TERMS, smallest=26, dropout=30, corrupt=1)
    size = 48
    members = {number: device(number, terms) for number in range(size)}
    story = Story(tuple(advertised(member, terms) for member in members.values()), terms)
    everybody, around = frozenset(range(size)), story.around[VICTIM]
    threshold = story.group.neighbourhood.threshold
    for index, member in members.items():
        story.share(index, member)
    few = everybody - set(around[threshold:][: size - story.group.quorum])
    for index, member in members.items():
        story.mask(index, member, few if index == VICTIM else everybody)
    gone = [other for other in around if other in few]
    # Of the holders of each key just enough are told that its owner is gone.
    told = {index: set(everybody) for index in everybody}
    for owner in gone:
        holders = [index for index in story.around[owner] if index != VICTIM]
        holders.sort(key=lambda index: len(everybody) - len(told[index]))
        for index in holders[:threshold]:
            told[index].discard(owner)
    for index in sorted(everybody):
        tried(story.confirm, index, members[index], frozenset(told[index]))
    for index in sorted(everybody):
        # With whatever bytes: the signatures that there are, and others in the place of those that are missing.
        survivors = frozenset(told[index])
        signed = story.confirmations.get(survivors, {})
        story.confirmations[survivors] = {other: signed.get(other, bytes(64)) for other in everybody}
        tried(story.unmask, index, members[index], survivors)
    return story.bare_votes(VICTIM)


def corrupt_neighbours() -> Counts | None:
    """The corrupt devices put together what they were given by the victim; nobody is asked anything."""
    story, _ = honest_story()
    return story.bare_votes(VICTIM)


def keys_of_the_server() -> Counts | None:
    """The victim is told the server's own keys in the place of those of all others, with their real vouchers."""
    victim = device(VICTIM)
    sealing = {index: X25519PrivateKey.generate() for index in EVERYBODY}
    masking = {index: X25519PrivateKey.generate() for index in EVERYBODY}

    def forged(index: int) -> Advertisement:
        pair = (keys[index].public_key().public_bytes_raw() for keys in (sealing, masking))
        return replace(advertised(device(index)), keys=PublicKeys(*pair))

    roster = tuple(advertised(victim) if index == VICTIM else forged(index) for index in EVERYBODY)
    story = Story(roster, keys={index: key for index, key in masking.items() if index != VICTIM})
    tried(story.share, VICTIM, victim)
    if VICTIM not in story.sharings:
        return None
    told = Roster(story.group, VICTIM, roster)
    for index in story.around[VICTIM]:
        # The server opens what was sealed for each of them.
        reader = device(index)
        reader._sealing = sealing[index]
        deal = story.sharings[VICTIM].deal(story.around[VICTIM].index(index))
        for kind, share in reader._open(deal, replace(told, index=index), VICTIM).items():
            story.shares.setdefault((VICTIM, kind), {})[index + 1] = share
    deals = []
    for index in story.around[VICTIM]:
        plain = to_bytes(1) + to_bytes(1)
        sealed = seal(plain, sealing[index], roster[VICTIM].keys.sealing, story.digest, index, VICTIM)
        tags = (tag(1, story.digest, kind, index, VICTIM) for kind in (ShareKind.SEED, ShareKind.KEY))
        deals.append(Deal(sealed, (next(tags), next(tags))))
    answer = victim.mask(Delivery(VICTIM, EVERYBODY, tuple(deals)).body(story.group))
    story.vectors[VICTIM] = MaskedVector.parse(answer, story.group), EVERYBODY
    return story.bare_votes(VICTIM)


def made_up_devices() -> Counts | None:
    """All others of the victim's group are the server's own, for which the server itself vouches."""
    server = Ed25519PrivateKey.generate()

    def made_up(number: int) -> Member:
        signer = identity(number).signer
        own = Identity(CAMPAIGN, signer, vouch(CAMPAIGN, signer.public_key().public_bytes_raw(), server))
        promise = replace(promise_of(TERMS), issuers=(server.public_key().public_bytes_raw(),))
        return Member(TERMS, ballot(votes_of(number)), promise, own, SeededEntropy(7, number))

    members = {index: device(index) if index == VICTIM else made_up(index) for index in EVERYBODY}
    story = Story(tuple(advertised(member) for member in members.values()))
    steps: tuple[Callable[[int, Member], None], ...] = (story.share, story.mask)
    for step in steps:
        tried(step, VICTIM, members[VICTIM])
        for index in sorted(EVERYBODY - {VICTIM}):
            # They check nothing.
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Advertisement, "is_vouched", lambda *given: True)
                tried(step, index, members[index]) if VICTIM in story.sharings else None
        if VICTIM not in story.sharings:
            return None
    for index in EVERYBODY - {VICTIM}:
        story.corrupt(index, members[index])
    return story.bare_votes(VICTIM)


def two_groups() -> Counts | None:
    """Votes are summed in one group with the victim, and in a second one, after a pretended failure, without it."""
    sums: list[Counts] = []
    ballots = {number: ballot(votes_of(number)) for number in EVERYBODY}
    for group_id, counted in ((b"first", EVERYBODY), (b"second", EVERYBODY - {VICTIM})):
        terms = some_terms(entries=TERMS.entries, dropout=30, corrupt=3, group_id=group_id)
        members: dict[int, Member] = {}
        for number in EVERYBODY:
            with suppress(MaskingError):
                members[number] = device(number, terms, ballots[number])
        if len(members) < DEVICES:
            return None
        story = Story(tuple(advertised(member, terms) for member in members.values()), terms)
        for index, member in members.items():
            story.share(index, member)
        for step in (story.mask, partial(story.confirm, survivors=counted), partial(story.unmask, survivors=counted)):
            for index in sorted(counted):
                step(index, members[index])
        sums.append(sum_of(story, counted))
    return (sums[0] - sums[1]) & 1


def sum_of(story: Story, counted: Collection[int]) -> Counts:
    """What an honest server computes: the sum of vectors, less the masks of those who are there and of those gone."""
    total: Entries = np.zeros(story.terms.entries, story.group.entry_dtype)
    for index in counted:
        total += unpack(story.vectors[index][0].packed, story.group.bits, story.terms.entries)
        seed = story.secret(index, ShareKind.SEED)
        assert seed is not None
        subtract_mask(total, self_mask_key(seed, story.digest, index))
        for other in story.around[index]:
            if other not in counted:
                own = story.key(other)
                assert own is not None
                key = pairwise_mask_key(own, story.roster[index].keys.masking, story.digest, (index, other))
                (subtract_mask if index < other else add_mask)(total, key)
    return story.reduced(total)


def test_the_truth_gives_the_sum_and_no_single_votes() -> None:
    story, members = honest_story()
    for step in (partial(story.confirm, survivors=EVERYBODY), partial(story.unmask, survivors=EVERYBODY)):
        for index, member in members.items():
            step(index, member)
    expected = sum(votes_of(number) for number in EVERYBODY)
    assert sum_of(story, EVERYBODY).tolist() == np.asarray(expected).tolist()
    assert [index for index in EVERYBODY - {*CORRUPT} if story.bare_votes(index) is not None] == []


def confirm_anything(really: Callable[[Member, bytes], bytes]) -> Callable[[Member, bytes], bytes]:
    def confirm(self: Member, message: bytes) -> bytes:
        self._survivors = None
        return really(self, message)

    return confirm


def forgetful(really: Callable[[Ballot, Terms], None]) -> Callable[[Ballot, Terms], None]:
    def check(self: Ballot, terms: Terms) -> None:
        self.group = None
        really(self, terms)

    return check


WEAKENED: Mapping[Callable[[], Counts | None], tuple[str, object]] = {
    two_rosters: (
        "neologue.masking.roster.roster_digest",
        lambda group, advertised: hashlib.sha256(group.context).digest(),
    ),
    two_sets_of_survivors: ("neologue.masking.terms.MaskingGroup.quorum", property(lambda self: self.size // 2 + 1)),
    a_second_set_of_survivors: ("neologue.device.masked.Member.confirm", confirm_anything(Member.confirm)),
    different_deliveries: ("neologue.device.masked.Member._check_signatures", lambda *given: None),
    corrupt_neighbours: ("neologue.masking.terms.neighbourhood", lambda *given: Neighbourhood(DEVICES - 1, 3)),
    keys_of_the_server: ("neologue.masking.roster.Advertisement.is_genuine", lambda *given: True),
    made_up_devices: ("neologue.masking.roster.Advertisement.is_vouched", lambda *given: True),
    two_groups: ("neologue.device.masked.Ballot.check", forgetful(Ballot.check)),
}
"""By attack, the one rule that stands in its way, and what is there without it."""


@pytest.mark.parametrize("attack", WEAKENED, ids=lambda attack: attack.__name__)
def test_votes_stay_hidden(attack: Callable[[], Counts | None]) -> None:
    assert attack() is None


@pytest.mark.parametrize("attack", WEAKENED, ids=lambda attack: attack.__name__)
def test_without_the_rule_the_same_attack_reads_them(
    attack: Callable[[], Counts | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*WEAKENED[attack])
    read = attack()
    assert read is not None
    assert read.tolist() == votes_of(VICTIM).tolist()
