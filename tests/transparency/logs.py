"""A log in memory for tests: an operator's tree, the tree of one campaign, and witnesses that co-sign both."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.transparency.checkpoint import Checkpoint, campaign_origin, operator_origin, sign_checkpoint
from neologue.transparency.inclusion_proof import HINT_BYTES, InclusionProof, TreeProof
from neologue.transparency.log_entry import Deed, LogEntry
from neologue.transparency.merkle import prove_inclusion, tree_root
from neologue.transparency.signed_note import Cosignature, cosign_note, cosigned_message
from neologue.transparency.tiles import subtrees_of_entries
from transparency.test_tiles import files_of

CAMPAIGN = bytes(range(16))
NAMES = ["w1.example", "w2.example", "w3.example"]
WITNESSES = [Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in (1, 2, 3)]


@dataclass
class Log:
    """The log; its keys are fixed, so that what it gives are vectors."""

    witnesses: Sequence[Ed25519PrivateKey] = tuple(WITNESSES)
    campaign_id: bytes = CAMPAIGN
    operator: list[bytes] = field(default_factory=list)
    campaign: list[bytes] = field(default_factory=list)
    time: int = 1000

    def __post_init__(self) -> None:
        self.private = Ed25519PrivateKey.from_private_bytes(bytes([200]) * 32)
        self.key = self.private.public_key().public_bytes_raw()

    def layer(self, index: int, digest: bytes | None = None, promise: bytes | None = None) -> LogEntry:
        return LogEntry(Deed.OPENED, digest or bytes([index]) * 32, self.campaign_id, index, promise)

    def open(self, entry: LogEntry) -> "Log":
        self.operator.append(bytes(entry))
        self.campaign.append(bytes(entry))
        return self

    def open_layers(self, count: int) -> "Log":
        self.operator.append(bytes(LogEntry(Deed.CREATED, bytes(32), self.campaign_id)))
        for index in range(count):
            self.open(self.layer(index))
            self.operator.append(bytes(LogEntry(Deed.CLOSED, campaign=self.campaign_id, layer=index)))
        return self

    def proof(self, layer: int, cosigners: int | None = None) -> InclusionProof:
        entry = self.campaign[layer]
        index = self.operator.index(entry)
        return InclusionProof(
            layer,
            index,
            self._tree(operator_origin(self.key), self.operator, index, cosigners),
            self._tree(campaign_origin(self.key, self.campaign_id), self.campaign, layer, cosigners),
        )

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

    def files(self) -> dict[str, bytes]:
        """The log as it is published."""
        return published_files(self.private, self.campaign_id, self.operator, self.campaign, self.witnesses, self.time)


def published_files(
    private: Ed25519PrivateKey,
    campaign_id: bytes,
    operator: Sequence[bytes],
    campaign: Sequence[bytes],
    witnesses: Sequence[Ed25519PrivateKey],
    time: int,
) -> dict[str, bytes]:
    """The files of both trees, co-signed by some witnesses."""
    key, files = private.public_key().public_bytes_raw(), {}
    for prefix, origin, entries in (
        ("", operator_origin(key), operator),
        (f"campaigns/{campaign_id.hex()}/", campaign_origin(key, campaign_id), campaign),
    ):
        root = tree_root(len(entries), subtrees_of_entries(entries))
        note = sign_checkpoint(Checkpoint(origin, len(entries), root), private)
        lines = [cosign_note(note.text, *pair, time) for pair in zip(NAMES, witnesses, strict=False)]
        files[prefix + "checkpoint"] = bytes(note.with_signatures(lines))
        files |= {prefix + path: content for path, content in files_of(list(entries)).items()}
    return files
