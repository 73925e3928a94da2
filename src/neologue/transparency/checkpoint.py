"""Checkpoints (c2sp.org/tlog-checkpoint): the origin of a log, how many entries it has, and the root of their tree.

An operator has one key for all of its logs, and the origin of each is made of it, so that whoever knows the key knows
which logs there can be: `neologue.log/KEY` for the operator's own, with the key in hexadecimal, and behind it
`/CAMPAIGN` for the tree of a campaign, with its identity in hexadecimal.
"""

from dataclasses import dataclass
from typing import Final, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.errors import LogError
from neologue.transparency.merkle import HASH_BYTES
from neologue.transparency.signed_note import ED25519, Note, NoteKey, decode_base64, encode_base64, sign_note

PREFIX: Final = "neologue.log/"
MOST_ENTRIES: Final = 1 << 62


@dataclass(frozen=True)
class Checkpoint:
    """The state of a log."""

    origin: str
    size: int
    root: bytes

    @classmethod
    def parse(cls, text: str) -> Self:
        """The checkpoint in the text of a note; a LogError if it is none."""
        lines = text.split("\n")
        try:
            origin, size, root, *_ = lines
            checkpoint = cls(origin, parse_size(size), decode_base64(root))
        except ValueError:
            raise LogError("a checkpoint has an origin, a size and a root, each in a line; get it anew") from None
        if not origin or lines[-1] or not all(lines[:-1]) or len(checkpoint.root) != HASH_BYTES:
            raise LogError("a checkpoint has no empty line, and a root of 32 bytes; get it anew")
        return checkpoint

    def __str__(self) -> str:
        return f"{self.origin}\n{self.size}\n{encode_base64(self.root)}\n"


def operator_origin(log_key: bytes) -> str:
    """The origin of the log of the operator with this log key."""
    return f"{PREFIX}{log_key.hex()}"


def campaign_origin(log_key: bytes, campaign: bytes) -> str:
    """The origin of the tree of one of its campaigns."""
    return f"{operator_origin(log_key)}/{campaign.hex()}"


def log_verifier(log_key: bytes) -> NoteKey:
    """The key of an operator's log as witnesses and others are given it."""
    return NoteKey(operator_origin(log_key), ED25519, log_key)


def sign_checkpoint(checkpoint: Checkpoint, private: Ed25519PrivateKey) -> Note:
    """The note of a checkpoint, signed by its log."""
    text = str(checkpoint)
    return Note(text, (sign_note(text, checkpoint.origin, private),))


def open_checkpoint(content: bytes, origin: str, log_key: bytes) -> tuple[Checkpoint, Note]:
    """The checkpoint in a note that this log must have signed; a LogError if it has not."""
    note = Note.parse(content)
    checkpoint = Checkpoint.parse(note.text)
    if checkpoint.origin != origin:
        raise LogError(f"the checkpoint is one of {checkpoint.origin[:200]}, not of {origin}: get that of this log")
    if not note.signed_by(NoteKey(origin, ED25519, log_key)):
        raise LogError(f"the checkpoint is not signed by its log, {origin}: get it anew, and do not rely on it")
    return checkpoint, note


def parse_size(text: str) -> int:
    """The number of entries in decimal, without zeros before it; a ValueError if it is none."""
    if not (text.isascii() and text.isdigit() and len(text) < 20 and str(int(text)) == text):
        raise ValueError(text)
    size = int(text)
    if size > MOST_ENTRIES:
        raise ValueError(text)
    return size
