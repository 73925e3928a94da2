"""A device in a group of secure aggregation: messages in, messages out, and what it refuses.

Its votes are randomized once, and masked for one group: two sums with the same votes would reveal more than one, and a
device can't know that a group yielded nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from numpy.typing import NDArray

from neologue.ed25519 import is_signed
from neologue.entropy import Entropy, SecureEntropy
from neologue.errors import MaskingError
from neologue.masking import field, shamir
from neologue.masking.agreement import Confirmation, ShareRequest, Survivors, signed_shared, signed_survivors
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
from neologue.masking.messages import Deal, Delivery, MaskedVector, ShareKind, Sharing, Unmasking
from neologue.masking.roster import Advertisement, Roster
from neologue.masking.terms import MaskingGroup, Promise, Terms
from neologue.masking.vote_packing import pack
from neologue.masking.voucher import Issuers
from neologue.protocol.report import Asks, read_report


class Ballot:
    """The randomized votes of a device in a layer, and the group that may have them in its sum."""

    def __init__(self, layer: bytes, entries: int, votes: Callable[[], NDArray[np.int64]], most: int) -> None:
        self.layer = layer
        self.entries = entries
        self.votes = votes
        """Returns the votes for each candidate, from 0 to `most`, the same on every call."""
        self.most = most
        self.group: bytes | None = None
        """The identity of the group they were masked for; recorded on disk before the masked vector is sent."""

    @classmethod
    def of_votes(cls, layer: bytes, counts: NDArray[np.int64], most: int) -> Self:
        """A ballot of given votes."""
        return cls(layer, len(counts), lambda: counts, most)

    @classmethod
    def of_report(cls, layer: Asks, report: Callable[[], bytes]) -> Self:
        """A ballot of the votes in the device's report, which is made when they are masked and not before."""
        randomizer = layer.randomizer
        entries = randomizer.candidates

        def votes() -> NDArray[np.int64]:
            return np.bincount(read_report(layer, report()), minlength=entries)

        return cls(layer.digest, entries, votes, randomizer.channel.contributions)

    def check(self, terms: Terms) -> None:
        """Refuse terms that are for other votes than these, or after the votes were masked."""
        if (terms.layer, terms.entries, terms.votes) != (self.layer, self.entries, self.most):
            raise MaskingError("the group answers another layer than these votes")
        if self.group is not None:
            raise MaskingError(
                f"the votes were masked for the group {self.group.hex()}, and are masked for no other: the difference "
                "of two sums could be the votes of one device"
            )


@dataclass(frozen=True)
class Identity:
    """By what the other devices of a campaign know that this one belongs to it."""

    campaign_id: bytes
    signer: Ed25519PrivateKey
    voucher: bytes
    """An issuer's, for the signer's public key."""


class Member:
    """A device's part in one group, with secrets that are drawn for it and never leave the memory.

    A message that is refused changes nothing. One that comes too early, or for the second time, is refused.
    """

    def __init__(
        self, terms: Terms, ballot: Ballot, promise: Promise, identity: Identity, entropy: Entropy | None = None
    ) -> None:
        promise.check(terms)
        ballot.check(terms)
        self._terms = terms
        self._ballot = ballot
        self._entropy = SecureEntropy() if entropy is None else entropy
        self._issuers = Issuers(identity.campaign_id, promise.issuers)
        self._signer = identity.signer
        self._sealing = X25519PrivateKey.from_private_bytes(self._entropy.octets(KEY_BYTES))
        self._secrets = {ShareKind.SEED: field.draw(self._entropy), ShareKind.KEY: field.draw(self._entropy)}
        self._masking = mask_pair(self._secrets[ShareKind.KEY], terms.digest)
        self._advertised = self._sign_keys(identity.voucher)
        self._roster: Roster | None = None
        self._shared: frozenset[int] | None = None
        """The devices of the whole group that have shared, once the votes are masked for them."""
        self._held: dict[int, dict[ShareKind, int]] = {}
        """By neighbour that has shared, its shares; nothing if they can't be read."""
        self._survivors: frozenset[int] | None = None
        """The one set of survivors that this device has signed."""

    def advertise(self) -> bytes:
        """The first message: this device's public keys."""
        return self._advertised.body(self._terms)

    def share(self, message: bytes) -> bytes:
        """The answer to a roster: shares of both secrets, sealed for the neighbours."""
        if self._roster is not None:
            raise MaskingError("this device has shared its secrets already, and does so once")
        roster = Roster.parse(message, self._terms)
        self._check_roster(roster)
        group, index = roster.group, roster.index
        points = [_point(other) for other in roster.neighbours]
        dealt = {
            kind: shamir.shares(secret, points, group.neighbourhood.threshold, self._entropy)
            for kind, secret in self._secrets.items()
        }
        deals: list[Deal] = []
        for position, other in enumerate(roster.neighbours):
            pair = {kind: shares[position] for kind, shares in dealt.items()}
            plain = b"".join(map(field.to_bytes, pair.values()))
            sealed = seal(plain, self._sealing, roster.advertised[other].keys.sealing, roster.digest, index, other)
            seed_tag, key_tag = (tag(share, roster.digest, kind, index, other) for kind, share in pair.items())
            deals.append(Deal(sealed, (seed_tag, key_tag)))
        self._roster = roster
        seed_tag = tag(self._secrets[ShareKind.SEED], roster.digest, ShareKind.SEED, index, index)
        return Sharing(index, seed_tag, b"".join(map(bytes, deals))).body(group)

    def mask(self, message: bytes) -> bytes:
        """The answer to a delivery: the votes under all masks, and a signature of whom they are masked with.

        Before it is sent, `Ballot.group` must be on the disk: after a crash the device would not know that it was.
        """
        roster = self._roster
        if roster is None or self._shared is not None:
            raise MaskingError("this device masks its votes once, after sharing its secrets")
        group, index = roster.group, roster.index
        delivery = Delivery.parse(message, group, roster.neighbours)
        _check_index(delivery.index, index)
        _check_set("have shared their secrets", delivery.shared, group, index)
        around = [other for other in roster.neighbours if other in delivery.shared]
        held = {other: self._open(deal, roster, other) for other, deal in zip(around, delivery.deals, strict=True)}
        if (readable := sum(map(bool, held.values()))) < group.neighbourhood.threshold:
            raise MaskingError(
                f"{readable} neighbours have shared their secrets with this device, "
                f"and it takes {group.neighbourhood.threshold}"
            )
        keys = {
            other: pairwise_mask_key(
                self._masking, roster.advertised[other].keys.masking, roster.digest, (index, other)
            )
            for other in around
        }
        self._ballot.check(self._terms)
        votes = self._ballot.votes()
        # From here on nothing is refused.
        self._ballot.group = self._terms.group_id
        self._shared, self._held = delivery.shared, held
        entries = votes.astype(group.entry_dtype)
        add_mask(entries, self_mask_key(self._secrets[ShareKind.SEED], roster.digest, index))
        for other, key in keys.items():
            (add_mask if index < other else subtract_mask)(entries, key)
        signature = self._signer.sign(signed_shared(roster.digest, group, delivery.shared))
        return MaskedVector(index, signature, pack(entries, group.bits)).body(group)

    def confirm(self, message: bytes) -> bytes:
        """The answer to the survivors: this device's signature of them.

        The same survivors are signed again; others are refused once some were signed.
        """
        roster, shared = self._masked()
        group, index = roster.group, roster.index
        told = Survivors.parse(message, group)
        _check_index(told.index, index)
        survivors = frozenset(told.signatures)
        if self._survivors not in (None, survivors):
            raise MaskingError("this device has signed other survivors in this group, and signs no second ones")
        _check_set("are in the sum", survivors, group, index)
        if not survivors <= shared:
            raise MaskingError("the survivors contradict the delivery about who has shared")
        around = sum(other in survivors for other in roster.neighbours)
        if around < group.neighbourhood.threshold:
            raise MaskingError(
                f"the votes of {around} neighbours have arrived, and it takes {group.neighbourhood.threshold}"
            )
        # Whoever masked for others than this device would not be hidden among those it can see.
        self._check_signatures(told.signatures, signed_shared(roster.digest, group, shared))
        self._survivors = survivors
        return Confirmation(index, self._signer.sign(self._signed_survivors(roster, shared, survivors))).body(group)

    def unmask(self, message: bytes) -> bytes:
        """The answer to a request: of each neighbour a share of one of its secrets, as the survivors determine."""
        roster, shared = self._masked()
        if self._survivors is None:
            raise MaskingError("this device gives no shares away before it has signed the survivors")
        group, index, survivors = roster.group, roster.index, self._survivors
        request = ShareRequest.parse(message, group)
        _check_index(request.index, index)
        if len(request.signatures) < group.quorum:
            raise MaskingError(
                f"{len(request.signatures):,} devices have signed the survivors, and it takes {group.quorum:,}"
            )
        self._check_signatures(request.signatures, self._signed_survivors(roster, shared, survivors))
        shares: list[tuple[ShareKind, int]] = []
        for other in roster.neighbours:
            kind = ShareKind.SEED if other in survivors else ShareKind.KEY
            held = self._held.get(other)
            shares.append((kind, held[kind]) if held else (ShareKind.NEITHER, 0))
        return Unmasking(index, tuple(shares)).body(group)

    def _sign_keys(self, voucher: bytes) -> Advertisement:
        issuer = self._issuers.issuer_of(self._signer.public_key().public_bytes_raw(), voucher)
        if issuer is None:
            raise MaskingError("no issuer of the campaign vouches for this device's signing key")
        keys = PublicKeys(self._sealing.public_key().public_bytes_raw(), self._masking.public_key().public_bytes_raw())
        return Advertisement.sign(keys, self._terms, self._signer, issuer, voucher)

    def _check_roster(self, roster: Roster) -> None:
        """Refuse a roster without this device, with strangers, or with false keys of a neighbour."""
        if roster.advertised[roster.index] != self._advertised:
            raise MaskingError(f"device {roster.index} of the roster has other keys than this device")
        for other, advertised in enumerate(roster.advertised):
            if not advertised.is_vouched(self._issuers):
                raise MaskingError(f"nobody whom this device trusts vouches for device {other}")
        for other in roster.neighbours:
            if not roster.advertised[other].is_genuine(self._terms):
                raise MaskingError(f"the keys of device {other} are not signed by it")

    def _check_signatures(self, signatures: Mapping[int, bytes], message: bytes) -> None:
        assert self._roster is not None
        for other, signature in signatures.items():
            if not is_signed(self._roster.advertised[other].signer, signature, message):
                raise MaskingError(f"device {other} has not signed what this device was told")

    def _masked(self) -> tuple[Roster, frozenset[int]]:
        """The roster and who has shared, once the votes are masked."""
        if self._roster is None or self._shared is None:
            raise MaskingError("this device signs no survivors and gives no shares away before its votes are masked")
        return self._roster, self._shared

    @staticmethod
    def _signed_survivors(roster: Roster, shared: frozenset[int], survivors: frozenset[int]) -> bytes:
        return signed_survivors(roster.digest, roster.group, shared, survivors)

    def _open(self, deal: Deal, roster: Roster, other: int) -> dict[ShareKind, int]:
        """The shares in a deal; none if the neighbour has sealed nonsense, which must not stop the others."""
        digest, index = roster.digest, roster.index
        try:
            plain = unseal(deal.sealed, self._sealing, roster.advertised[other].keys.sealing, digest, other, index)
            seed, key = field.from_bytes(plain[: field.ELEMENT_BYTES]), field.from_bytes(plain[field.ELEMENT_BYTES :])
        except MaskingError:
            return {}
        opened = {ShareKind.SEED: seed, ShareKind.KEY: key}
        tags = tuple(tag(share, digest, kind, other, index) for kind, share in opened.items())
        return opened if tags == deal.tags else {}


def _point(index: int) -> int:
    """The point at which a device's neighbours evaluate their polynomials for it."""
    return index + 1


def _check_index(given: int, own: int) -> None:
    if given != own:
        raise MaskingError(f"a message for device {given}, and this is device {own}")


def _check_set(what: str, devices: frozenset[int], group: MaskingGroup, own: int) -> None:
    if own not in devices:
        raise MaskingError(f"this device is not among those that {what}")
    if len(devices) < group.quorum:
        raise MaskingError(f"{len(devices):,} devices {what}, and it takes {group.quorum:,}")
