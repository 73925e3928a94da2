"""The cost of secure aggregation for a device: bytes, and CPU time measured on this machine."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Final, TypeVar

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.aggregation.masked_group import GroupServer
from neologue.device.masked import Ballot, Identity, Member
from neologue.ed25519 import forget_signatures
from neologue.masking.agreement import ShareRequest, Survivors, signed_shared, signed_survivors
from neologue.masking.messages import Deal, Delivery, Sharing
from neologue.masking.roster import Roster
from neologue.masking.rules import GroupRules
from neologue.masking.terms import GROUP_BYTES, LAYER_BYTES, MaskingGroup, Promise, Terms
from neologue.masking.traffic import download_bytes, entries_within, upload_bytes
from neologue.masking.voucher import Issuers, vouch
from neologue.protocol.invitation import CAMPAIGN_BYTES

_ROUNDS: Final = 3

T = TypeVar("T")


@dataclass(frozen=True)
class MaskingCost:
    """The cost for one device in a full group without dropouts."""

    candidates: int
    neighbours: int
    threshold: int
    sent_bytes: int
    received_bytes: int
    milliseconds: float
    """The time of one core of this machine for all messages together."""


def masking_cost(rules: GroupRules, candidates: int, votes: int) -> MaskingCost:
    """The cost for a device with this many candidates, and at most `votes` from a device for each."""
    group = _group(rules, candidates, votes)
    return MaskingCost(
        candidates=candidates,
        neighbours=group.neighbourhood.degree,
        threshold=group.neighbourhood.threshold,
        sent_bytes=upload_bytes(group),
        received_bytes=download_bytes(group),
        milliseconds=round(median(1000 * device_seconds(group) for _ in range(_ROUNDS)), 2),
    )


def candidates_within(upload: int, rules: GroupRules, votes: int) -> int:
    """The most candidates with which a device sends at most `upload` bytes."""
    return entries_within(upload, _group(rules, 1, votes))


def _group(rules: GroupRules, candidates: int, votes: int) -> MaskingGroup:
    terms = Terms(
        os.urandom(GROUP_BYTES), bytes(LAYER_BYTES), candidates, votes, rules.smallest, rules.dropout, rules.corrupt
    )
    return MaskingGroup(terms, rules.size)


def device_seconds(group: MaskingGroup) -> float:
    """The CPU time of one device in a full group, of which all devices stay."""
    terms, everybody = group.terms, frozenset(range(group.size))
    issuer = Ed25519PrivateKey.generate()
    issuers = Issuers(bytes(CAMPAIGN_BYTES), (issuer.public_key().public_bytes_raw(),))
    promise = Promise(terms.smallest, terms.dropout, terms.corrupt, issuers.keys)
    server = GroupServer(terms, issuers)
    counts = np.zeros(terms.entries, np.int64)
    took = 0.0

    def timed(work: Callable[[], T]) -> T:
        nonlocal took
        forget_signatures()  # a device knows nothing of what others in this process have verified
        began = time.thread_time()
        done = work()
        took += time.thread_time() - began
        return done

    def member(signer: Ed25519PrivateKey) -> Member:
        voucher = vouch(issuers.campaign_id, signer.public_key().public_bytes_raw(), issuer)
        ballot = Ballot.of_votes(terms.layer, counts, terms.votes)
        return Member(terms, ballot, promise, Identity(issuers.campaign_id, signer, voucher))

    signers = [Ed25519PrivateKey.generate() for _ in range(group.size)]
    names = [number.to_bytes(2, "big") for number in range(group.size)]
    first = timed(lambda: member(signers[0]))
    members = [first, *map(member, signers[1:])]
    for name, each in zip(names, members, strict=True):
        server.receive(name, timed(each.advertise) if each is first else each.advertise())
    server.advance()
    told = server.message_for(names[0])
    assert told is not None
    roster = Roster.parse(told, terms)
    server.receive(names[0], timed(lambda: first.share(told)))
    # Only its neighbours seal shares for this device; of the others it has signatures, which their keys alone make.
    deals: list[Deal] = []
    for other in roster.neighbours:
        message = server.message_for(names[other])
        assert message is not None
        around = Roster.parse(message, terms).neighbours
        deals.append(Sharing.parse(members[other].share(message), group).deal(around.index(0)))
    delivery = Delivery(0, everybody, tuple(deals)).body(group)
    timed(lambda: first.mask(delivery))
    shared = signed_shared(roster.digest, group, everybody)
    survivors = Survivors(0, {index: signer.sign(shared) for index, signer in enumerate(signers)}).body(group)
    timed(lambda: first.confirm(survivors))
    agreed = signed_survivors(roster.digest, group, everybody, everybody)
    request = ShareRequest(0, {index: signer.sign(agreed) for index, signer in enumerate(signers)}).body(group)
    timed(lambda: first.unmask(request))
    return took
