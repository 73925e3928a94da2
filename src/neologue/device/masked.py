"""A device in a group of secure aggregation: messages in, messages out, and what it refuses.

Its votes are randomized once and stay the same. Each group that it joins gets them under fresh masks. Once it has
masked them for a group, it joins another only with the operator's signed statement that the first one failed: two sums
with the same votes would reveal more than one.
"""

from collections.abc import Callable
from typing import Self

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from numpy.typing import NDArray

from neologue.entropy import Entropy, SecureEntropy
from neologue.errors import MaskingError
from neologue.masking import field, shamir
from neologue.masking.keys import (
    KEY_BYTES,
    PublicKeys,
    mask_pair,
    pairwise_mask_key,
    seal,
    self_mask_key,
    tag,
    unseal,
)
from neologue.masking.masks import add_mask, subtract_mask
from neologue.masking.messages import (
    Advertisement,
    Deal,
    Delivery,
    Kind,
    MaskedVector,
    Request,
    Roster,
    Sharing,
    Unmasking,
)
from neologue.masking.terms import MaskingGroup, Promise, Terms
from neologue.masking.void_group import is_void_statement
from neologue.masking.vote_packing import pack
from neologue.protocol.report import Asks, read_report


class Ballot:
    """The randomized votes of a device in a layer, and the group that may have them in its sum."""

    def __init__(
        self,
        layer: bytes,
        entries: int,
        votes: Callable[[], NDArray[np.int64]],
        most: int,
        operator: bytes,
        pending: Terms | None = None,
    ) -> None:
        self.layer = layer
        self.entries = entries
        self.votes = votes
        """Returns the votes for each candidate, from 0 to `most`, the same on every call."""
        self.most = most
        self._operator = operator
        self.pending = pending
        """The terms of the group they were masked for; recorded on disk before the masked vector is sent."""

    @classmethod
    def of_votes(
        cls, layer: bytes, counts: NDArray[np.int64], most: int, operator: bytes, pending: Terms | None = None
    ) -> Self:
        """A ballot of given votes."""
        return cls(layer, len(counts), lambda: counts, most, operator, pending)

    @classmethod
    def of_report(cls, layer: Asks, report: Callable[[], bytes], operator: bytes, pending: Terms | None = None) -> Self:
        """A ballot of the votes in the device's report, which is made when they are masked and not before."""
        randomizer = layer.randomizer
        entries = randomizer.candidates

        def votes() -> NDArray[np.int64]:
            return np.bincount(read_report(layer, report()), minlength=entries)

        return cls(layer.digest, entries, votes, randomizer.channel.contributions, operator, pending)

    def check(self, terms: Terms) -> None:
        """Refuse terms that are for other votes than these, or while an earlier group may have them in its sum."""
        if (terms.layer, terms.entries, terms.votes) != (self.layer, self.entries, self.most):
            raise MaskingError("the group answers another layer than these votes")
        if self.pending is not None:
            raise MaskingError(
                f"the votes are masked for the group {self.pending.group_id.hex()}: join another one with the "
                "operator's signed statement that it failed"
            )

    def release(self, statement: bytes) -> None:
        """Allow the votes to be masked again, if the operator has signed that the group failed."""
        if self.pending is None or not is_void_statement(statement, self.pending, self._operator):
            raise MaskingError("the statement is not the operator's, or not about the group that has these votes")
        self.pending = None


class Member:
    """A device's part in one group, with secrets that are drawn for it and never leave the memory.

    A message that is refused changes nothing. One that comes too early, or for the second time, is refused.
    """

    def __init__(
        self,
        terms: Terms,
        ballot: Ballot,
        promise: Promise,
        entropy: Entropy | None = None,
        *,
        signer: Ed25519PrivateKey | None = None,
        trusts: Callable[[bytes], bool] | None = None,
    ) -> None:
        """With a `signer` the device signs its keys; with `trusts` it takes only keys whose signer that accepts."""
        promise.check(terms)
        ballot.check(terms)
        self._terms = terms
        self._ballot = ballot
        self._entropy = SecureEntropy() if entropy is None else entropy
        self._signer = signer
        self._trusts = trusts
        self._sealing = X25519PrivateKey.from_private_bytes(self._entropy.octets(KEY_BYTES))
        self._secrets = {Kind.SEED: field.draw(self._entropy), Kind.KEY: field.draw(self._entropy)}
        self._masking = mask_pair(self._secrets[Kind.KEY], terms.digest)
        self._roster: Roster | None = None
        self._shared: dict[int, dict[Kind, int]] | None = None
        """The neighbours that have shared, and what they have; nothing if it can't be read."""
        self._answered: Request | None = None

    def advertise(self) -> bytes:
        """The first message: this device's public keys."""
        keys = PublicKeys(self._sealing.public_key().public_bytes_raw(), self._masking.public_key().public_bytes_raw())
        if self._signer is None:
            return Advertisement(keys).body(self._terms)
        return Advertisement.sign(keys, self._terms, self._signer).body(self._terms)

    def share(self, message: bytes) -> bytes:
        """The answer to a roster: shares of both secrets, sealed for the neighbours."""
        if self._roster is not None:
            raise MaskingError("this device has shared its secrets already, and does so once")
        roster = Roster.parse(message, self._terms)
        self._check_signatures(roster)
        group, index = roster.group, roster.index
        points = [_point(other) for other in roster.neighbours]
        dealt = {
            kind: shamir.shares(secret, points, group.neighbourhood.threshold, self._entropy)
            for kind, secret in self._secrets.items()
        }
        deals: list[Deal] = []
        for position, (other, advertised) in enumerate(roster.neighbours.items()):
            pair = {kind: shares[position] for kind, shares in dealt.items()}
            plain = b"".join(map(field.to_bytes, pair.values()))
            sealed = seal(plain, self._sealing, advertised.keys.sealing, group, index, other)
            seed_tag, key_tag = (tag(share, group, kind, index, other) for kind, share in pair.items())
            deals.append(Deal(sealed, (seed_tag, key_tag)))
        self._roster = roster
        seed_tag = tag(self._secrets[Kind.SEED], group, Kind.SEED, index, index)
        return Sharing(index, seed_tag, tuple(deals)).body(group)

    def mask(self, message: bytes) -> bytes:
        """The answer to a delivery: the votes under all masks.

        Before it is sent, `Ballot.pending` must be on the disk: after a crash the device would not know that it was.
        """
        roster = self._roster
        if roster is None or self._shared is not None:
            raise MaskingError("this device masks its votes once, after sharing its secrets")
        group, index = roster.group, roster.index
        delivery = Delivery.parse(message, group)
        _check_index(delivery.index, index)
        shared = {
            other: self._open(deal, group, other, index)
            for other, deal in zip(roster.neighbours, delivery.deals, strict=True)
            if deal is not None
        }
        if (readable := sum(map(bool, shared.values()))) < group.neighbourhood.threshold:
            raise MaskingError(
                f"{readable} neighbours have shared their secrets with this device, "
                f"and it takes {group.neighbourhood.threshold}"
            )
        keys = {
            other: pairwise_mask_key(self._masking, roster.neighbours[other].keys.masking, group, (index, other))
            for other in shared
        }
        self._ballot.check(self._terms)
        votes = self._ballot.votes()
        # From here on nothing is refused.
        self._ballot.pending = self._terms
        self._shared = shared
        entries = votes.astype(group.entry_dtype)
        add_mask(entries, self_mask_key(self._secrets[Kind.SEED], group, index))
        for other, key in keys.items():
            (add_mask if index < other else subtract_mask)(entries, key)
        return MaskedVector(index, pack(entries, group.bits)).body(group)

    def unmask(self, message: bytes) -> bytes:
        """The answer to a request: of each neighbour a share of one of its secrets, and never of both.

        The same request gets the same answer again; another one is refused once one was answered.
        """
        if self._roster is None or self._shared is None:
            raise MaskingError("this device gives no shares away before its votes are masked")
        group, index = self._roster.group, self._roster.index
        request = Request.parse(message, group)
        _check_index(request.index, index)
        if self._answered is not None and request != self._answered:
            raise MaskingError("this device has answered another request in this group, and answers no second one")
        for other, kind in zip(self._roster.neighbours, request.wanted, strict=True):
            if (kind is not Kind.NEITHER) != (other in self._shared):
                raise MaskingError(f"the request contradicts the delivery about whether device {other} has shared")
        arrived = request.wanted.count(Kind.SEED)
        if arrived < group.neighbourhood.threshold:
            raise MaskingError(
                f"the votes of {arrived} neighbours have arrived, and it takes {group.neighbourhood.threshold}"
            )
        if not max(self._terms.smallest, arrived + 1) <= request.arrived <= group.size:
            raise MaskingError(
                f"a sum of {request.arrived:,} devices, where {self._terms.smallest:,} were promised, "
                f"the group has {group.size:,} and {arrived + 1:,} are in sight"
            )
        self._answered = request
        return Unmasking(
            index,
            tuple(
                (kind, self._shared[other][kind]) if self._shared.get(other) else (Kind.NEITHER, 0)
                for other, kind in zip(self._roster.neighbours, request.wanted, strict=True)
            ),
        ).body(group)

    def _check_signatures(self, roster: Roster) -> None:
        if self._trusts is None:
            return
        for other, advertised in roster.neighbours.items():
            if not advertised.is_genuine(self._terms) or not self._trusts(advertised.signer):
                raise MaskingError(f"the keys of device {other} are not signed by anyone this device trusts")

    def _open(self, deal: Deal, group: MaskingGroup, other: int, index: int) -> dict[Kind, int]:
        """The shares in a deal; none if the neighbour has sealed nonsense, which must not stop the others."""
        assert self._roster is not None
        try:
            plain = unseal(deal.sealed, self._sealing, self._roster.neighbours[other].keys.sealing, group, other, index)
            seed, key = field.from_bytes(plain[: field.ELEMENT_BYTES]), field.from_bytes(plain[field.ELEMENT_BYTES :])
        except MaskingError:
            return {}
        opened = {Kind.SEED: seed, Kind.KEY: key}
        tags = tuple(tag(share, group, kind, other, index) for kind, share in opened.items())
        return opened if tags == deal.tags else {}


def _point(index: int) -> int:
    """The point at which a device's neighbours evaluate their polynomials for it."""
    return index + 1


def _check_index(given: int, own: int) -> None:
    if given != own:
        raise MaskingError(f"a message for device {given}, and this is device {own}")
