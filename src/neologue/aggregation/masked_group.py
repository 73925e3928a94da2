"""A group of secure aggregation at the server: it learns the sum of the vectors that arrive, or nothing.

A masked vector is added to the sum as it arrives, and kept nowhere. A message that is refused changes nothing: a device
that sends no other one in time is treated as one that has dropped out, and the group goes on without it.
"""

import hashlib
from bisect import bisect_left
from collections.abc import Container
from enum import IntEnum

import numpy as np

from neologue.aggregation.group_outcome import GroupSum, NoSum
from neologue.ed25519 import is_signed
from neologue.errors import MaskingError
from neologue.masking import shamir
from neologue.masking.agreement import Confirmation, ShareRequest, Survivors, signed_shared, signed_survivors
from neologue.masking.graph import circle, neighbours_at
from neologue.masking.keys import mask_pair, pairwise_mask_key, self_mask_key, tag
from neologue.masking.masks import add_mask, subtract_mask
from neologue.masking.messages import Deal, Delivery, MaskedVector, ShareKind, Sharing, Unmasking
from neologue.masking.neighbourhood import LARGEST_GROUP
from neologue.masking.roster import Advertisement, Roster, roster_digest
from neologue.masking.terms import MaskingGroup, Terms
from neologue.masking.vote_packing import Entries, unpack
from neologue.masking.voucher import Issuers


class Stage(IntEnum):
    """What a group waits for."""

    ADVERTISING = 1
    SHARING = 2
    MASKING = 3
    CONFIRMING = 4
    UNMASKING = 5
    OVER = 6


class GroupServer:
    """The server's side of a group. Whoever holds it brings messages, and moves it on when their time is over.

    A device is known by whatever bytes the service knows it by; the other devices never see them.
    """

    def __init__(self, terms: Terms, issuers: Issuers) -> None:
        """`issuers` vouch for its devices."""
        self.terms = terms
        self._issuers = issuers
        self.stage = Stage.ADVERTISING
        self.outcome: GroupSum | NoSum | None = None
        """None until the group is over."""
        self._received: dict[bytes, set[bytes]] = {}
        """By device, the digests of all messages taken: one that comes again is taken, and does nothing."""
        self._forget()

    def _forget(self) -> None:
        """Drop all that devices have sent, and what follows from it."""
        self._group: MaskingGroup | None = None
        self._index: dict[bytes, int] = {}
        self._advertised: list[Advertisement] = []
        self._keys: set[bytes] = set()
        self._roster = b""
        """The digest of the roster."""
        self._neighbours: list[tuple[int, ...]] = []
        self._shared: dict[int, Sharing] = {}
        self._arrived: dict[int, bytes] = {}
        """By device whose vector has arrived, its signature of who has shared."""
        self._confirmed: dict[int, bytes] = {}
        """By device that has signed the survivors, its signature."""
        self._total: Entries = np.zeros(0, np.uint8)
        self._shares: dict[int, dict[int, int]] = {}
        """By owner, its shares at hand, by point: of the seed if its vector has arrived, of the key if not."""
        self._unreadable: dict[int, int] = {}
        """By owner, how many of its neighbours have answered that they could not read its share."""
        self._answered: set[int] = set()

    # What a service asks

    @property
    def ready(self) -> bool:
        """Whether there is nothing to wait for: everybody has sent what is awaited, or enough for the sum is there.

        While keys are advertised a group can always grow, so that then only its owner can tell.
        """
        match self.stage:
            case Stage.SHARING:
                return len(self._shared) == len(self._index)
            case Stage.MASKING:
                return len(self._arrived) == len(self._shared)
            case Stage.CONFIRMING:
                return len(self._confirmed) == len(self._arrived)
            case Stage.UNMASKING:
                return self._missing_secret() is None or len(self._answered) == len(self._confirmed)
        return False

    @property
    def devices(self) -> int:
        """How many devices have sent what is awaited in this stage."""
        taken = (self._index, self._shared, self._arrived, self._confirmed, self._answered, ())
        return len(taken[self.stage - 1])

    def awaits(self, device: bytes) -> bool:
        """Whether a message of this device is missing in this stage."""
        index = self._index.get(device)
        match self.stage:
            case Stage.ADVERTISING:
                return index is None
            case Stage.SHARING:
                return index is not None and index not in self._shared
            case Stage.MASKING:
                return index in self._shared and index not in self._arrived
            case Stage.CONFIRMING:
                return index in self._arrived and index not in self._confirmed
            case Stage.UNMASKING:
                return index in self._confirmed and index not in self._answered
        return False

    @property
    def missing(self) -> frozenset[bytes]:
        """The devices without whose message the group has to go on; of shares there may be enough without some."""
        awaited = Stage.ADVERTISING < self.stage < Stage.UNMASKING
        return frozenset(device for device in self._index if self.awaits(device)) if awaited else frozenset()

    @property
    def in_sum(self) -> frozenset[bytes]:
        """The devices whose vectors have arrived."""
        return self._devices(self._arrived)

    def message_for(self, device: bytes) -> bytes | None:
        """What a device is to answer in this stage; None if it is out."""
        index = self._index.get(device)
        if index is None or self._group is None:
            return None
        match self.stage:
            case Stage.SHARING:
                return Roster(self._group, index, tuple(self._advertised)).body()
            case Stage.MASKING if index in self._shared:
                deals = tuple(self._deal(other, index) for other in self._neighbours[index] if other in self._shared)
                return Delivery(index, frozenset(self._shared), deals).body(self._group)
            case Stage.CONFIRMING if index in self._arrived:
                return Survivors(index, self._arrived).body(self._group)
            case Stage.UNMASKING if index in self._confirmed:
                return ShareRequest(index, self._confirmed).body(self._group)
        return None

    def receive(self, device: bytes, message: bytes) -> None:
        """Take a message of a device; or a MaskingError, and nothing has changed."""
        digest = hashlib.sha256(message).digest()
        taken = self._received.get(device, set())
        if digest in taken:
            return
        match self.stage:
            case Stage.ADVERTISING:
                self._take_keys(device, message)
            case Stage.SHARING:
                self._take_sharing(device, message)
            case Stage.MASKING:
                self._take_vector(device, message)
            case Stage.CONFIRMING:
                self._take_confirmation(device, message)
            case Stage.UNMASKING:
                self._take_unmasking(device, message)
            case Stage.OVER:
                raise MaskingError("the group is over")
        self._received[device] = taken | {digest}

    def advance(self) -> None:
        """Go on to the next stage with whom has come so far; at the end, or if they are too few, to the outcome."""
        match self.stage:
            case Stage.ADVERTISING:
                self._form()
            case Stage.SHARING:
                self._begin_masking()
            case Stage.MASKING:
                self._begin_confirming()
            case Stage.CONFIRMING:
                self._begin_unmasking()
            case Stage.UNMASKING:
                self._finish()
            case Stage.OVER:
                raise MaskingError("the group is over")

    def abandon(self, reason: str) -> None:
        """Give the group up, whatever its stage; one that is over has its outcome."""
        if self.stage is not Stage.OVER:
            self._end(NoSum(reason))

    @property
    def _formed_group(self) -> MaskingGroup:
        """The group, in all stages but the first and the last."""
        assert self._group is not None
        return self._group

    # What it takes

    def _take_keys(self, device: bytes, message: bytes) -> None:
        if device in self._index:
            raise MaskingError("the device has advertised other keys before")
        if len(self._index) == LARGEST_GROUP:
            raise MaskingError(f"the group has {LARGEST_GROUP:,} devices, and no room for more")
        advertised = Advertisement.parse(message, self.terms)
        if not advertised.keys.usable:
            raise MaskingError("a public key leads to no secret")
        if not advertised.is_vouched(self._issuers):
            raise MaskingError("no issuer of the campaign vouches for the signing key")
        if not advertised.is_genuine(self.terms):
            raise MaskingError("the keys are not signed by the signer that is named")
        keys = {advertised.signer, advertised.keys.sealing, advertised.keys.masking}
        if len(keys) < 3 or keys & self._keys:
            raise MaskingError("a public key that is in the group already")
        self._keys |= keys
        self._index[device] = len(self._advertised)
        self._advertised.append(advertised)

    def _take_sharing(self, device: bytes, message: bytes) -> None:
        index, group = self._expected(device, self._index.values(), self._shared)
        sharing = Sharing.parse(message, group)
        _check_sender(sharing.index, index)
        self._shared[index] = sharing

    def _take_vector(self, device: bytes, message: bytes) -> None:
        index, group = self._expected(device, self._shared, self._arrived)
        vector = MaskedVector.parse(message, group)
        _check_sender(vector.index, index)
        self._check_signature(index, vector.signature, signed_shared(self._roster, group, frozenset(self._shared)))
        entries = unpack(vector.packed, group.bits, self.terms.entries)
        self._total += entries
        self._arrived[index] = vector.signature

    def _take_confirmation(self, device: bytes, message: bytes) -> None:
        index, group = self._expected(device, self._arrived, self._confirmed)
        confirmation = Confirmation.parse(message, group)
        _check_sender(confirmation.index, index)
        agreed = signed_survivors(self._roster, group, frozenset(self._shared), frozenset(self._arrived))
        self._check_signature(index, confirmation.signature, agreed)
        self._confirmed[index] = confirmation.signature

    def _take_unmasking(self, device: bytes, message: bytes) -> None:
        index, group = self._expected(device, self._confirmed, self._answered)
        unmasking = Unmasking.parse(message, group)
        _check_sender(unmasking.index, index)
        around = self._neighbours[index]
        given = {
            owner: (kind, share)
            for owner, (kind, share) in zip(around, unmasking.shares, strict=True)
            if kind is not ShareKind.NEITHER
        }
        for owner, (kind, share) in given.items():
            if kind is not self._wanted_share(owner):
                raise MaskingError(f"a share of device {owner} that was not asked for")
            if tag(share, self._roster, kind, owner, index) != self._deal(owner, index).tags[kind - 1]:
                raise MaskingError(f"the share of device {owner} is not the one that it gave")
        for owner, (_, share) in given.items():
            self._shares[owner][index + 1] = share
        for owner in self._shared.keys() & set(around) - given.keys():
            self._unreadable[owner] = self._unreadable.get(owner, 0) + 1
        self._answered.add(index)

    def _expected(self, device: bytes, awaited: Container[int], done: Container[int]) -> tuple[int, MaskingGroup]:
        """The index of a device that is awaited in this stage, and the group; or a MaskingError."""
        index = self._index.get(device)
        if index is None or index not in awaited or self._group is None:
            raise MaskingError("the device is not, or no longer, in the group")
        if index in done:
            raise MaskingError("the device has sent another message in this stage before")
        return index, self._group

    def _check_signature(self, index: int, signature: bytes, message: bytes) -> None:
        if not is_signed(self._advertised[index].signer, signature, message):
            raise MaskingError(f"device {index} has not signed what it was told")

    def _deal(self, owner: int, holder: int) -> Deal:
        """What a device that has shared gave one of its neighbours."""
        return self._shared[owner].deal(bisect_left(self._neighbours[owner], holder))

    def _wanted_share(self, owner: int) -> ShareKind:
        """Of which secret of a device shares are asked for."""
        if owner not in self._shared:
            return ShareKind.NEITHER
        return ShareKind.SEED if owner in self._arrived else ShareKind.KEY

    # How it goes on

    def _form(self) -> None:
        size = len(self._advertised)
        try:
            group = MaskingGroup(self.terms, size)
            degree = group.neighbourhood.degree
        except MaskingError as error:
            self._end(NoSum(str(error)))
            return
        self._group = group
        self._roster = roster_digest(group, tuple(self._advertised))
        order = circle(size, self._roster)
        around = {device: neighbours_at(order, place, degree) for place, device in enumerate(order)}
        self._neighbours = [around[device] for device in range(size)]
        self.stage = Stage.SHARING

    def _begin_masking(self) -> None:
        if self._too_few(len(self._shared), "have shared their secrets"):
            return
        self._total = np.zeros(self.terms.entries, self._formed_group.entry_dtype)
        self.stage = Stage.MASKING

    def _begin_confirming(self) -> None:
        if not self._too_few(len(self._arrived), "have sent their votes") and not self._out_of_reach(self._arrived):
            self.stage = Stage.CONFIRMING

    def _begin_unmasking(self) -> None:
        if self._too_few(len(self._confirmed), "have signed the survivors") or self._out_of_reach(self._confirmed):
            return
        self._shares = {owner: {} for owner in self._shared}
        self.stage = Stage.UNMASKING

    def _too_few(self, devices: int, what: str) -> bool:
        """Whether so many devices can't go on; then the group is over."""
        if devices < self._formed_group.quorum:
            self._end(NoSum(f"{devices:,} devices {what}, and it takes {self._formed_group.quorum:,}"))
        return self.stage is Stage.OVER

    def _out_of_reach(self, left: Container[int]) -> bool:
        """Whether a secret can't be had from the devices that are left; then the group is over."""
        threshold = self._formed_group.neighbourhood.threshold
        holders = min(sum(other in left for other in self._neighbours[owner]) for owner in self._shared)
        if holders < threshold:
            self._end(NoSum(f"{holders} neighbours of a device are left, and it takes {threshold}"))
        return self.stage is Stage.OVER

    def _finish(self) -> None:
        """Take all masks off the sum; or leave them on for ever."""
        threshold = self._formed_group.neighbourhood.threshold
        if (missing := self._missing_secret()) is not None:
            reason = f"{len(self._shares[missing])} shares of a secret have come, and it takes {threshold}"
            self._end(NoSum(reason, self._devices(self._sealed_nonsense())))
            return
        secrets = {owner: shamir.reconstruct(held, threshold) for owner, held in self._shares.items()}
        false = {owner for owner, secret in secrets.items() if not self._is_secret(owner, secret)}
        if false:
            self._end(NoSum("a device has shared something else than its secret", self._devices(false)))
            return
        for owner, secret in secrets.items():
            if owner in self._arrived:
                subtract_mask(self._total, self_mask_key(secret, self._roster, owner))
            else:
                self._take_off_pairwise(owner, secret)
        votes = self._total.astype(np.uint32) & np.uint32((1 << self._formed_group.bits) - 1)
        self._end(GroupSum(votes, self.in_sum))

    def _missing_secret(self) -> int | None:
        """A device of whose secret too few shares are at hand, if there is one."""
        threshold = self._formed_group.neighbourhood.threshold
        return next((owner for owner, held in self._shares.items() if len(held) < threshold), None)

    def _sealed_nonsense(self) -> set[int]:
        """The devices whose secret can't be had because of what their neighbours could not read, whoever else left.

        So many neighbours lie about an honest one only if they could as well have left together.
        """
        around = self._formed_group.neighbourhood
        return {owner for owner, count in self._unreadable.items() if count > around.degree - around.threshold}

    def _devices(self, indices: Container[int]) -> frozenset[bytes]:
        return frozenset(device for device, index in self._index.items() if index in indices)

    def _is_secret(self, owner: int, secret: int) -> bool:
        """Whether this is what a device has vouched for, before anybody could know it."""
        if owner in self._arrived:
            return tag(secret, self._roster, ShareKind.SEED, owner, owner) == self._shared[owner].seed_tag
        public = mask_pair(secret, self.terms.digest).public_key().public_bytes_raw()
        return public == self._advertised[owner].keys.masking

    def _take_off_pairwise(self, gone: int, secret: int) -> None:
        """The masks that were to cancel out against those of a device whose vector has not arrived."""
        pair = mask_pair(secret, self.terms.digest)
        for other in self._neighbours[gone]:
            if other in self._arrived:
                key = pairwise_mask_key(pair, self._advertised[other].keys.masking, self._roster, (gone, other))
                (subtract_mask if other < gone else add_mask)(self._total, key)

    def _end(self, outcome: GroupSum | NoSum) -> None:
        self._forget()
        self.outcome = outcome
        self.stage = Stage.OVER


def _check_sender(told: int, known: int) -> None:
    if told != known:
        raise MaskingError(f"a message of device {told}, sent by device {known}")
