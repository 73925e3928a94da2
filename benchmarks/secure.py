"""The cost of secure aggregation for a device and a server, beside Flower's SecAgg+ with as many neighbours."""

import time
from collections.abc import Mapping
from functools import partial

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.measure import Measured, Part, Ratio, Work, measure_in_turn, ratio
from benchmarks.peers import Peer
from benchmarks.setting import Setting
from neologue.aggregation.group_outcome import GroupSum
from neologue.aggregation.masked_group import GroupServer
from neologue.device.masked import Ballot, Identity, Member
from neologue.ed25519 import forget_signatures
from neologue.masking.terms import MaskingGroup, Promise, Terms
from neologue.masking.traffic import download_bytes, upload_bytes
from neologue.masking.voucher import Issuers, vouch
from neologue.planning.masking_cost import device_seconds

PEER, WORK = "flwr", "secagg-plus"
DROPOUT, CORRUPTION = 10, 5
"""In per cent of a group."""
SMALLEST = 3
CAMPAIGN = bytes(16)


def measure(setting: Setting, peers: Mapping[str, Peer]) -> Part:
    """Measure a device, the peer's, and a server in turn, for groups of each size."""
    measured: list[Measured] = []
    ratios: list[Ratio] = []
    notes: list[str] = []
    peer = peers[PEER]
    for size, entries in setting.masked_groups:
        group = MaskingGroup(Terms(bytes(16), bytes(32), entries, 1, SMALLEST, DROPOUT, size * CORRUPTION // 100), size)
        degree, threshold = group.neighbourhood.degree, group.neighbourhood.threshold
        sizes = f"{size:,} devices, {entries:,} candidates"
        works = [
            Work(f"device, {sizes}", 1, "devices", partial(device_seconds, group)),
            Work(f"server, {sizes}", size, "devices", partial(server_seconds, group)),
        ]
        if peer.process:
            works.append(Work(f"{PEER}, device, {sizes}", 1, "devices", peer.round(WORK, entries, threshold, degree)))
        here = list(measure_in_turn(works, setting.masked_rounds).values())
        measured.extend(here)
        ratios.extend(ratio(here[0], theirs) for theirs in here[2:])
        notes.append(
            f"{sizes}: {degree} neighbours, {threshold} shares for a secret, {upload_bytes(group):,} bytes sent and "
            f"{download_bytes(group):,} received by a device"
        )
    notes.append(f"{PEER}: {peer.state}")
    return Part(
        title=f"Secure aggregation: {DROPOUT} % of dropouts, {CORRUPTION} % corrupt, CPU time",
        measured=measured,
        ratios=ratios,
        notes=notes,
    )


def server_seconds(group: MaskingGroup) -> float:
    """The CPU time of a server for one whole group, whose last devices drop out after sending their shares."""
    terms, took = group.terms, 0.0
    issuer = Ed25519PrivateKey.generate()
    issuers = Issuers(CAMPAIGN, (issuer.public_key().public_bytes_raw(),))
    server, promise = GroupServer(terms, issuers), Promise(SMALLEST, terms.dropout, terms.corrupt, issuers.keys)
    votes = np.zeros(terms.entries, np.int64)

    def member() -> Member:
        signer = Ed25519PrivateKey.generate()
        who = Identity(CAMPAIGN, signer, vouch(CAMPAIGN, signer.public_key().public_bytes_raw(), issuer))
        return Member(terms, Ballot.of_votes(terms.layer, votes, terms.votes), promise, who)

    members = {number.to_bytes(2, "big"): member() for number in range(group.size)}
    staying = list(members)[: group.size - -(-group.size * DROPOUT // 100)]
    steps = (Member.mask, Member.confirm, Member.unmask)
    for step, devices in ((None, members), (Member.share, members), *((step, staying) for step in steps)):
        for device in devices:
            began = time.thread_time()
            received = server.message_for(device)
            took += time.thread_time() - began
            message = members[device].advertise() if step is None else step(members[device], received or b"")
            forget_signatures()  # what devices of this process have verified, a server has not
            began = time.thread_time()
            server.receive(device, message)
            took += time.thread_time() - began
        began = time.thread_time()
        server.advance()
        took += time.thread_time() - began
    assert isinstance(server.outcome, GroupSum)
    return took
