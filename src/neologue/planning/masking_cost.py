"""The cost of secure aggregation for a device: bytes, and CPU time measured on this machine."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Final, TypeVar

import numpy as np

from neologue.aggregation.masked_group import GroupServer
from neologue.device.masked import Ballot, Member
from neologue.masking.messages import Kind, Request, Roster
from neologue.masking.neighbourhood import SMALLEST_GROUP
from neologue.masking.rules import GroupRules
from neologue.masking.terms import GROUP_BYTES, LAYER_BYTES, MaskingGroup, Promise, Terms
from neologue.masking.traffic import download_bytes, entries_within, upload_bytes

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
        os.urandom(GROUP_BYTES), bytes(LAYER_BYTES), candidates, votes, rules.smallest, rules.dropout, rules.corruption
    )
    return MaskingGroup(terms, rules.size)


def device_seconds(full: MaskingGroup) -> float:
    """The CPU time of one device in a full group."""
    # Only the neighbours of this device exchange messages with it, so the others stop after the first message.
    terms = Terms(
        full.terms.group_id,
        full.terms.layer,
        full.terms.entries,
        full.terms.votes,
        SMALLEST_GROUP,
        full.terms.dropout,
        full.terms.corruption,
    )
    group, server = MaskingGroup(terms, full.size), GroupServer(terms)
    counts = np.zeros(terms.entries, np.int64)
    names = [number.to_bytes(2, "big") for number in range(full.size)]
    members: dict[bytes, Member] = {}
    took = 0.0

    def timed(work: Callable[[], T]) -> T:
        nonlocal took
        began = time.thread_time()
        done = work()
        took += time.thread_time() - began
        return done

    def member() -> Member:
        ballot = Ballot.of_votes(terms.layer, counts, terms.votes, bytes(32))
        return Member(terms, ballot, Promise(SMALLEST_GROUP, terms.corruption))

    members[names[0]] = timed(member)
    server.receive(names[0], timed(members[names[0]].advertise))
    for name in names[1:]:
        members[name] = member()
        server.receive(name, members[name].advertise())
    server.advance()
    roster = server.message_for(names[0])
    assert roster is not None
    server.receive(names[0], timed(lambda: members[names[0]].share(roster)))
    around = Roster.parse(roster, terms).neighbours
    for name in (names[index] for index in around):
        message = server.message_for(name)
        assert message is not None
        server.receive(name, members[name].share(message))
    server.advance()
    delivery = server.message_for(names[0])
    assert delivery is not None
    timed(lambda: members[names[0]].mask(delivery))
    request = Request(0, full.size, (Kind.SEED,) * len(around)).body(group)
    timed(lambda: members[names[0]].unmask(request))
    return took
