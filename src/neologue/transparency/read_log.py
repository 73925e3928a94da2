"""A log as an auditor reads it: every entry, under a checkpoint that the log and its witnesses have signed."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from neologue.errors import LogError
from neologue.transparency.checkpoint import (
    PREFIX,
    Checkpoint,
    campaign_origin,
    log_verifier,
    open_checkpoint,
    operator_origin,
)
from neologue.transparency.log_entry import LogEntry
from neologue.transparency.log_source import campaign_tree, document_path
from neologue.transparency.merkle import tree_root
from neologue.transparency.signed_note import ED25519, Note, NoteKey
from neologue.transparency.tiles import CHECKPOINT, Fetch, read_entries, subtrees_of_entries
from neologue.transparency.trust import Trust


@dataclass(frozen=True)
class ReadLog:
    """The operator's tree, verified from its first entry to its last."""

    key: bytes
    checkpoint: Checkpoint
    cosigners: tuple[str, ...]
    """The witnesses that have co-signed it, of those that are trusted."""
    quorum: int
    entries: tuple[LogEntry, ...]
    fetch: Fetch
    trust: Trust
    now: float

    @classmethod
    def read(cls, fetch: Fetch, trust: Trust, now: float) -> Self:
        """Read a log; a LogError if it is cut, forked, of another operator, or not co-signed by enough witnesses.

        Without a log in `trust`, the log is taken to be what it says it is.
        """
        content = fetch(CHECKPOINT)
        key = _key_of(content, trust)
        checkpoint, note = open_checkpoint(content, operator_origin(key), key)
        trust.check(note, now)
        entries = _entries(checkpoint, fetch)
        cosigners = tuple(trust.cosigners(note, now))
        return cls(key, checkpoint, cosigners, trust.quorum, entries, fetch, trust, now)

    def campaign(self, campaign: bytes) -> tuple[LogEntry, ...]:
        """The entries of the tree of a campaign, verified in the same way."""
        fetch = campaign_tree(self.fetch, campaign)
        checkpoint, note = open_checkpoint(fetch(CHECKPOINT), campaign_origin(self.key, campaign), self.key)
        self.trust.check(note, self.now)
        return _entries(checkpoint, fetch)

    def document(self, digest: bytes) -> bytes | None:
        """The document with this digest, if the log still has it; a LogError if it has another in its place."""
        try:
            content = self.fetch(document_path(digest))
        except LogError:
            return None
        if hashlib.sha256(content).digest() != digest:
            raise LogError(f"the log's document {digest.hex()} was changed: it has another digest")
        return content

    def root_of(self, size: int) -> bytes | None:
        """The root of the first entries; None if the log has fewer."""
        if size > len(self.entries):
            return None
        return tree_root(size, subtrees_of_entries([bytes(entry) for entry in self.entries[:size]]))


def _key_of(content: bytes, trust: Trust) -> bytes:
    """The key of the log, which its origin names."""
    origin = Checkpoint.parse(Note.parse(content).text).origin
    try:
        key = NoteKey(origin, ED25519, bytes.fromhex(origin.removeprefix(PREFIX))).public
    except ValueError:
        raise LogError(f"the log {origin[:200]} is not one of neologue") from None
    trusted = [server.key for server in trust.logs]
    if trusted and log_verifier(key) not in trusted:
        raise LogError(f"the log {origin} is of another operator than those that are trusted")
    return key


def _entries(checkpoint: Checkpoint, fetch: Fetch) -> tuple[LogEntry, ...]:
    contents: Sequence[bytes] = read_entries(checkpoint.size, fetch)
    if tree_root(checkpoint.size, subtrees_of_entries(contents)) != checkpoint.root:
        raise LogError(f"the entries of the log {checkpoint.origin} are not those of its checkpoint: it was changed")
    return tuple(map(LogEntry.parse, contents))
