"""Small groups of secure aggregation, with dropouts at every stage, for tests."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import InitVar, dataclass, field, replace
from functools import cache

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from numpy.typing import NDArray

from neologue.aggregation.masked_group import GroupServer, Stage
from neologue.device.masked import Ballot, Identity, Member
from neologue.entropy import Entropy, SeededEntropy
from neologue.errors import MaskingError
from neologue.masking.terms import Promise, Terms
from neologue.masking.voucher import Issuers, vouch
from neologue.protocol.credential import Credential

ISSUER = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
CAMPAIGN = b"a campaign, 16 b"
ISSUERS = Issuers(CAMPAIGN, (ISSUER.public_key().public_bytes_raw(),))
LAYER = bytes(range(32))

Counts = NDArray[np.int64]


def some_terms(
    entries: int = 5,
    votes: int = 1,
    smallest: int = 3,
    dropout: int = 20,
    corrupt: int = 0,
    group_id: bytes = b"a cohort, 16 b.",
) -> Terms:
    return Terms(group_id.ljust(16), LAYER, entries, votes, smallest, dropout, corrupt)


def promise_of(terms: Terms) -> Promise:
    """The promise that terms keep to the letter."""
    return Promise(terms.smallest, terms.dropout, terms.corrupt, ISSUERS.keys)


def ballot(counts: Sequence[int] | Counts, most: int = 1) -> Ballot:
    return Ballot.of_votes(LAYER, np.asarray(counts, np.int64), most)


@cache
def identity(number: int, issuer: Ed25519PrivateKey = ISSUER) -> Identity:
    """Of a device for whose key an issuer vouches."""
    signer = Ed25519PrivateKey.from_private_bytes(number.to_bytes(32, "big"))
    return Identity(CAMPAIGN, signer, vouch(CAMPAIGN, signer.public_key().public_bytes_raw(), issuer))


def with_key(credential: Credential) -> Credential:
    """A credential with a signing key for which the issuer vouches."""
    key = Ed25519PrivateKey.generate()
    voucher = vouch(credential.campaign_id, key.public_key().public_bytes_raw(), ISSUER)
    return replace(credential, signing_key=key.private_bytes_raw(), voucher=voucher)


def name(number: int) -> bytes:
    """By what a service may know a device."""
    return b"device %d" % number


@dataclass
class Run:
    """A group and its devices, moved by a test one stage at a time."""

    terms: Terms
    votes: InitVar[Sequence[Sequence[int] | Counts]]
    seed: int = 0
    vectors: list[Counts] = field(init=False)
    server: GroupServer = field(init=False)
    members: dict[bytes, Member] = field(init=False)

    def __post_init__(self, votes: Sequence[Sequence[int] | Counts]) -> None:
        self.vectors = [np.asarray(vector, np.int64) for vector in votes]
        self.server = GroupServer(self.terms, ISSUERS)
        self.members = {
            name(number): self.member(number, ballot(vector, self.terms.votes))
            for number, vector in enumerate(self.vectors)
        }

    def member(self, number: int, votes: Ballot) -> Member:
        """The device with a number."""
        return Member(self.terms, votes, promise_of(self.terms), identity(number), self._entropy(1 + number))

    def _entropy(self, part: int) -> Entropy:
        return SeededEntropy(self.seed, part)

    def answers(self, devices: Iterable[bytes] | None = None) -> dict[bytes, bytes]:
        """What devices answer in this stage; without those that are out or refuse."""
        told: dict[bytes, bytes] = {}
        for device in self.members if devices is None else devices:
            with suppress(MaskingError):
                answer = self.answer(device)
                if answer is not None:
                    told[device] = answer
        return told

    def answer(self, device: bytes) -> bytes | None:
        member = self.members[device]
        if self.server.stage is Stage.ADVERTISING:
            return member.advertise()
        message = self.server.message_for(device)
        if message is None:
            return None
        steps: Mapping[Stage, Callable[[bytes], bytes]] = {
            Stage.SHARING: member.share,
            Stage.MASKING: member.mask,
            Stage.CONFIRMING: member.confirm,
            Stage.UNMASKING: member.unmask,
        }
        return steps[self.server.stage](message)

    def step(self, devices: Iterable[bytes] | None = None) -> None:
        """One stage, in which these devices answer in this order, and no others."""
        for device, answer in self.answers(devices).items():
            self.server.receive(device, answer)
        self.server.advance()

    def go_to(self, stage: Stage) -> "Run":
        while self.server.stage < stage:
            self.step()
        return self
