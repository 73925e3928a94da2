"""A log in memory, with the tree of one campaign and witnesses that co-sign whatever it has, forks too."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.transparency.checkpoint import Checkpoint, campaign_origin, operator_origin
from neologue.transparency.inclusion_proof import HINT_BYTES, InclusionProof, TreeProof
from neologue.transparency.log_entry import Deed, LogEntry
from neologue.transparency.merkle import prove_inclusion, tree_root
from neologue.transparency.signed_note import Cosignature, cosigned_message
from neologue.transparency.tiles import pack_entries, subtrees_of_entries, tiles_of

WITNESSES: Final = tuple(Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in (1, 2, 3))
QUORUM: Final = 2


@dataclass
class ScriptedLog:
    """The log of an operator; its keys are always the same."""

    campaign_id: bytes
    witnesses: Sequence[Ed25519PrivateKey] = WITNESSES
    operator: list[bytes] = field(default_factory=list)
    """The entries of the operator's tree."""
    campaign: list[bytes] = field(default_factory=list)
    """And of the campaign's."""
    time: int = 1000
    """When the witnesses co-sign."""

    def __post_init__(self) -> None:
        self.private = Ed25519PrivateKey.from_private_bytes(bytes([200]) * 32)
        self.key = self.private.public_key().public_bytes_raw()

    def layer(self, index: int, digest: bytes | None = None, promise: bytes | None = None) -> LogEntry:
        """The entry that opens a layer."""
        return LogEntry(Deed.OPENED, digest or bytes([index]) * 32, self.campaign_id, index, promise)

    def open(self, entry: LogEntry) -> "ScriptedLog":
        """Write an entry into both trees."""
        self.operator.append(bytes(entry))
        self.campaign.append(bytes(entry))
        return self

    def proof(self, layer: int, cosigners: int | None = None) -> InclusionProof:
        """The proof of a layer, co-signed by so many witnesses or all."""
        entry = self.campaign[layer]
        index = self.operator.index(entry)
        return InclusionProof(
            layer,
            index,
            self._tree(operator_origin(self.key), self.operator, index, cosigners),
            self._tree(campaign_origin(self.key, self.campaign_id), self.campaign, layer, cosigners),
        )

    def files(self) -> dict[str, bytes]:
        """The tiles of both trees, by their paths below the log."""
        own = f"campaigns/{self.campaign_id.hex()}/"
        return tile_files(self.operator) | {own + path: tile for path, tile in tile_files(self.campaign).items()}

    def _tree(self, origin: str, entries: list[bytes], index: int, cosigners: int | None) -> TreeProof:
        subtrees, size = subtrees_of_entries(entries), len(entries)
        text = str(Checkpoint(origin, size, tree_root(size, subtrees)))
        cosignatures = tuple(
            (
                witness.public_key().public_bytes_raw()[:HINT_BYTES],
                Cosignature(self.time, witness.sign(cosigned_message(text, self.time))),
            )
            for witness in self.witnesses[:cosigners]
        )
        path = tuple(prove_inclusion(index, size, subtrees))
        return TreeProof(size, path, self.private.sign(text.encode()), cosignatures)


def tile_files(entries: Sequence[bytes]) -> dict[str, bytes]:
    """The tiles of a tree with some entries, by their paths."""
    subtrees, files = subtrees_of_entries(entries), {}
    for tile in tiles_of(len(entries)):
        numbers = range(tile.index * 256, tile.index * 256 + tile.width)
        level = tile.level
        files[tile.path] = (
            pack_entries([entries[number] for number in numbers])
            if level is None
            else b"".join(subtrees(8 * level, number) for number in numbers)
        )
    return files
