"""How an operator's key is replaced: by a succession that the old key signs, or by a revocation of an offline key.

A link is one of these; a succession document is links one after the other, the oldest first, 16,384 bytes at most.

    succession     1; the old key, 32 bytes; the new one, 32; the old key's signature, 64
    revocation     2; the revoked key, 32; its successor, 32; the recovery key, 32; the recovery key's signature, 64

All keys are Ed25519 public keys. What is signed is "neologue succession v1" or "neologue revocation v1", a NUL byte,
and the two operator keys. Devices know a recovery key by its digest, SHA-256 of its 32 bytes, from the start.

A key has one successor. The first succession that was seen counts, and no other replaces it: whoever steals a key that
was replaced can't lead anybody back. A revocation goes before all successions of the revoked key, also those that were
seen before it: whoever was led astray with a stolen key is led back, and nobody trusts that key again.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.ed25519 import is_signed
from neologue.errors import SignatureError
from neologue.protocol.invitation import KEY_BYTES, SIGNATURE_BYTES, check_bytes

SUCCESSION_DOMAIN: Final = b"neologue succession v1\0"
REVOCATION_DOMAIN: Final = b"neologue revocation v1\0"
MOST_SUCCESSION_BYTES: Final = 1 << 14
DIGEST_BYTES: Final = 32


@dataclass(frozen=True)
class Succession:
    """The old key names the new one; it proves nothing until `genuine` has checked the signature."""

    kind: ClassVar[int] = 1
    length: ClassVar[int] = 1 + 2 * KEY_BYTES + SIGNATURE_BYTES

    old: bytes
    new: bytes
    signature: bytes

    @classmethod
    def read(cls, body: bytes) -> Self:
        """The succession in the bytes behind its kind."""
        return cls(body[:KEY_BYTES], body[KEY_BYTES : 2 * KEY_BYTES], body[2 * KEY_BYTES :])

    @property
    def genuine(self) -> bool:
        """Whether the old key has signed it."""
        return is_signed(self.old, self.signature, SUCCESSION_DOMAIN + self.old + self.new)

    def __bytes__(self) -> bytes:
        return bytes([self.kind]) + self.old + self.new + self.signature


@dataclass(frozen=True)
class Revocation:
    """The recovery key revokes a key and names its successor; proves nothing until `genuine` has been checked."""

    kind: ClassVar[int] = 2
    length: ClassVar[int] = 1 + 3 * KEY_BYTES + SIGNATURE_BYTES

    old: bytes
    """The key that nobody may trust any more."""
    new: bytes
    recovery: bytes
    signature: bytes

    @classmethod
    def read(cls, body: bytes) -> Self:
        """The revocation in the bytes behind its kind."""
        old, new, recovery = (body[start : start + KEY_BYTES] for start in range(0, 3 * KEY_BYTES, KEY_BYTES))
        return cls(old, new, recovery, body[3 * KEY_BYTES :])

    @property
    def genuine(self) -> bool:
        """Whether the recovery key has signed it; whether that is the right one is for `KeyHistory` to say."""
        return is_signed(self.recovery, self.signature, REVOCATION_DOMAIN + self.old + self.new)

    def __bytes__(self) -> bytes:
        return bytes([self.kind]) + self.old + self.new + self.recovery + self.signature


Link = Succession | Revocation
_KINDS: Final[Mapping[int, type[Succession] | type[Revocation]]] = {
    kind.kind: kind for kind in (Succession, Revocation)
}


def succeed(old: Ed25519PrivateKey, new: bytes) -> Succession:
    """The succession by which a key names another one."""
    check_bytes("an operator's public key", new, KEY_BYTES)
    own = old.public_key().public_bytes_raw()
    return Succession(own, new, old.sign(SUCCESSION_DOMAIN + own + new))


def revoke(recovery: Ed25519PrivateKey, revoked: bytes, successor: bytes) -> Revocation:
    """The revocation of a key by a recovery key, which names the key that takes its place."""
    check_bytes("the key to revoke", revoked, KEY_BYTES)
    check_bytes("its successor", successor, KEY_BYTES)
    if revoked == successor:
        raise SignatureError("a key can't succeed itself: name another successor")
    own = recovery.public_key().public_bytes_raw()
    return Revocation(revoked, successor, own, recovery.sign(REVOCATION_DOMAIN + revoked + successor))


def recovery_digest(public: bytes) -> bytes:
    """By what devices know a recovery key."""
    return hashlib.sha256(public).digest()


def read_links(content: bytes) -> list[Link]:
    """The links of a succession document, not verified; or a SignatureError if it is none."""
    if len(content) > MOST_SUCCESSION_BYTES:
        raise SignatureError(
            f"a succession has at most {MOST_SUCCESSION_BYTES:,} bytes, not {len(content):,}: get it from the service"
        )
    return list(_links(content))


def _links(content: bytes) -> Iterator[Link]:
    while content:
        kind = _KINDS.get(content[0])
        if kind is None or len(content) < kind.length:
            raise SignatureError("the succession is cut, or of a kind that this neologue does not know; get it anew")
        yield kind.read(content[1 : kind.length])
        content = content[kind.length :]


@dataclass(frozen=True)
class KeyHistory:
    """What is known of how keys were replaced."""

    successions: Mapping[bytes, bytes] = field(default_factory=dict)
    """The new key by the old one."""
    revocations: Mapping[tuple[bytes, bytes], bytes] = field(default_factory=dict)
    """The successor by the digest of the recovery key and the revoked key."""

    def learn(self, content: bytes, pins: Mapping[bytes, bytes | None]) -> "KeyHistory":
        """What is known with a succession document; a SignatureError if it is none, or a signature is wrong.

        `pins` are the keys that were trusted from the start, each with the digest of its recovery key or None. Of the
        document, only what leads on from these is kept.
        """
        links = read_links(content)
        if not all(link.genuine for link in links if not self._knows(link, pins.values())):
            raise SignatureError("the succession has a signature that is wrong; get it anew from the operator")
        history = self
        for link in links:
            history = history._with(link, pins)
        return history

    def path(self, pinned: bytes, recovery: bytes | None) -> tuple[bytes, ...]:
        """The keys from a pinned one to the one that is trusted now; empty if they go round in a circle."""
        path = [pinned]
        while (successor := self._successor(path[-1], recovery)) is not None:
            if successor in path:
                return ()
            path.append(successor)
        return tuple(path)

    def trusted(self, pinned: bytes, recovery: bytes | None) -> bytes | None:
        """The key that is trusted now in the place of a pinned one, if any is."""
        path = self.path(pinned, recovery)
        return path[-1] if path else None

    def is_revoked(self, key: bytes, recovery: bytes | None) -> bool:
        """Whether a key was revoked by the recovery key with this digest."""
        return recovery is not None and (recovery, key) in self.revocations

    def valid_keys(self, pinned: bytes, recovery: bytes | None) -> tuple[bytes, ...]:
        """The keys on the path whose signatures of old still count: those that were not revoked."""
        return tuple(key for key in self.path(pinned, recovery) if not self.is_revoked(key, recovery))

    def _successor(self, key: bytes, recovery: bytes | None) -> bytes | None:
        if recovery is not None and (recovery, key) in self.revocations:
            return self.revocations[recovery, key]
        return self.successions.get(key)

    def _knows(self, link: Link, recoveries: Collection[bytes | None]) -> bool:
        """Whether a link need not be verified, because it changes nothing."""
        if isinstance(link, Succession):
            return link.old in self.successions
        digest = recovery_digest(link.recovery)
        return digest not in recoveries or (digest, link.old) in self.revocations

    def _with(self, link: Link, pins: Mapping[bytes, bytes | None]) -> "KeyHistory":
        if self._knows(link, pins.values()):
            return self
        if isinstance(link, Revocation):
            known = {**self.revocations, (recovery_digest(link.recovery), link.old): link.new}
            return KeyHistory(self.successions, known)
        # Only from a key that is trusted now, and never back to one that was.
        paths: Sequence[tuple[bytes, ...]] = [self.path(pinned, recovery) for pinned, recovery in pins.items()]
        if any(path and path[-1] == link.old and link.new not in path for path in paths):
            return KeyHistory({**self.successions, link.old: link.new}, self.revocations)
        return self
