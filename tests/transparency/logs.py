"""The log of a campaign in tests, as it is published."""

from collections.abc import Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.conformance.scripted_log import ScriptedLog, tile_files
from neologue.transparency.checkpoint import Checkpoint, campaign_origin, operator_origin, sign_checkpoint
from neologue.transparency.log_entry import Deed, LogEntry
from neologue.transparency.merkle import tree_root
from neologue.transparency.signed_note import cosign_note
from neologue.transparency.tiles import subtrees_of_entries

CAMPAIGN = bytes(range(16))
NAMES = ["w1.example", "w2.example", "w3.example"]


def log_of_layers(count: int) -> ScriptedLog:
    """The log of a campaign with so many layers, which are closed."""
    log = ScriptedLog(CAMPAIGN)
    log.operator.append(bytes(LogEntry(Deed.CREATED, bytes(32), CAMPAIGN)))
    for index in range(count):
        log.open(log.layer(index))
        log.operator.append(bytes(LogEntry(Deed.CLOSED, campaign=CAMPAIGN, layer=index)))
    return log


def published(log: ScriptedLog) -> dict[str, bytes]:
    """The files of a log."""
    return published_files(log.private, log.campaign_id, log.operator, log.campaign, log.witnesses, log.time)


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
        files |= {prefix + path: content for path, content in tile_files(entries).items()}
    return files
