"""The proof beside an invitation: that its layer is in the operator's log, as leaf `index` of its campaign's tree.

    byte 0         1, the version
    bytes 1–2      the index of the layer among all of its campaign
    bytes 3–10     the index of the entry in the operator's tree
    then for the operator's tree, and then for the campaign's:
      8 bytes      how many entries the tree has
      1 byte       the number of hashes, and 32 bytes for each: from the entry to the root
      64 bytes     the log's signature of the checkpoint
      1 byte       the number of co-signatures, and for each 4 bytes, with which the witness's public key begins; 8, its
                   time; and 64, the signature

All numbers are big-endian. The roots are not in it: they follow from the entry and the hashes, and the signatures are
over the checkpoints that have these roots.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Self

from neologue.ed25519 import is_signed
from neologue.errors import LogError
from neologue.transparency.checkpoint import Checkpoint, campaign_origin, operator_origin
from neologue.transparency.log_entry import LogEntry
from neologue.transparency.merkle import HASH_BYTES, MOST_HASHES, leaf_hash, root_of_inclusion
from neologue.transparency.signed_note import SIGNATURE_BYTES, TIME_BYTES, Cosignature
from neologue.transparency.trust import is_past

VERSION: Final = 1
HINT_BYTES: Final = 4
MOST_COSIGNATURES: Final = 16
_CUT: Final = "the proof beside the invitation is cut, or of a kind that this neologue does not know"


@dataclass(frozen=True)
class TreeProof:
    """That an entry is in a tree of some size, and who has signed its checkpoint."""

    size: int
    path: tuple[bytes, ...]
    signature: bytes
    """The log's."""
    cosignatures: tuple[tuple[bytes, Cosignature], ...]
    """By the beginning of each witness's key."""

    def checkpoint(self, origin: str, entry: bytes, index: int) -> Checkpoint:
        """The checkpoint that the signatures must be of."""
        return Checkpoint(origin, self.size, root_of_inclusion(leaf_hash(entry), index, self.size, self.path))

    def witnesses_of(self, checkpoint: Checkpoint, witnesses: Iterable[bytes], now: float, quorum: int) -> int:
        """How many of these witnesses have co-signed it, by now; it stops counting when there are enough."""
        text, counted = str(checkpoint), 0
        for key in witnesses:
            counted += any(
                is_past(cosignature.time, now) and cosignature.is_by(key, text)
                for hint, cosignature in self.cosignatures
                if hint == key[:HINT_BYTES]
            )
            if counted == quorum:
                break
        return counted

    def __bytes__(self) -> bytes:
        cosigned = b"".join(hint + bytes(cosignature) for hint, cosignature in self.cosignatures)
        return b"".join(
            (
                self.size.to_bytes(8, "big"),
                bytes([len(self.path)]),
                *self.path,
                self.signature,
                bytes([len(self.cosignatures)]),
                cosigned,
            )
        )


@dataclass(frozen=True)
class InclusionProof:
    """The proof of an entry that opens a layer, in both trees."""

    layer: int
    index: int
    """Of the entry in the operator's tree."""
    operator: TreeProof
    campaign: TreeProof

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """The proof in these bytes; a LogError if they are none."""
        reader = _Reader(content)
        if reader.number(1) != VERSION:
            raise LogError(_CUT)
        layer, index = reader.number(2), reader.number(8)
        operator, campaign = reader.tree(), reader.tree()
        reader.end()
        return cls(layer, index, operator, campaign)

    def check(
        self, entry: LogEntry, logs: Iterable[bytes], witnesses: Sequence[bytes], quorum: int, now: float
    ) -> tuple[bytes, tuple[Checkpoint, Checkpoint]]:
        """The log key and the checkpoints of both trees, if these prove the entry; else a LogError that says why.

        Each checkpoint must be signed by one of the logs, and co-signed by so many of the witnesses.
        """
        assert entry.campaign is not None
        content = bytes(entry)
        for log in logs:
            checkpoints = (
                self.operator.checkpoint(operator_origin(log), content, self.index),
                self.campaign.checkpoint(campaign_origin(log, entry.campaign), content, self.layer),
            )
            proofs = (self.operator, self.campaign)
            signed = zip(proofs, checkpoints, strict=True)
            if not all(is_signed(log, proof.signature, str(checkpoint).encode()) for proof, checkpoint in signed):
                continue
            for proof, checkpoint in zip(proofs, checkpoints, strict=True):
                counted = proof.witnesses_of(checkpoint, witnesses, now, quorum)
                if counted < quorum:
                    raise LogError(
                        f"{counted} of the {len(witnesses)} witnesses that this device knows have co-signed the log "
                        f"{checkpoint.origin} with {checkpoint.size:,} entries, and {quorum} must have"
                    )
            return log, checkpoints
        raise LogError("the layer is not in a log that this device knows, or not as it was asked about here")

    def __bytes__(self) -> bytes:
        head = bytes([VERSION]) + self.layer.to_bytes(2, "big") + self.index.to_bytes(8, "big")
        return head + bytes(self.operator) + bytes(self.campaign)


class _Reader:
    """Reads the parts of a proof one after the other."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def take(self, length: int) -> bytes:
        part = self._content[self._at : self._at + length]
        if len(part) < length:
            raise LogError(_CUT)
        self._at += length
        return part

    def number(self, length: int) -> int:
        return int.from_bytes(self.take(length), "big")

    def tree(self) -> TreeProof:
        size = self.number(8)
        path = tuple(self.take(HASH_BYTES) for _ in range(self._count(MOST_HASHES)))
        signature = self.take(SIGNATURE_BYTES)
        cosignatures = tuple(
            (self.take(HINT_BYTES), Cosignature.parse(self.take(TIME_BYTES + SIGNATURE_BYTES)))
            for _ in range(self._count(MOST_COSIGNATURES))
        )
        return TreeProof(size, path, signature, cosignatures)

    def end(self) -> None:
        if self._at != len(self._content):
            raise LogError(_CUT)

    def _count(self, most: int) -> int:
        count = self.number(1)
        if count > most:
            raise LogError(_CUT)
        return count
