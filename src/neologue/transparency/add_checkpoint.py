"""What a log asks of a witness (c2sp.org/tlog-witness): to co-sign a checkpoint, with a proof from the last one.

old SIZE
HASH in base64, 63 lines at most
(an empty line)
the checkpoint, a signed note
"""

from dataclasses import dataclass
from typing import Final, Self

from neologue.errors import LogError
from neologue.transparency.checkpoint import parse_size
from neologue.transparency.merkle import HASH_BYTES, MOST_HASHES
from neologue.transparency.signed_note import MOST_NOTE_BYTES, decode_base64, encode_base64

PATH: Final = "/add-checkpoint"
SIZE_MEDIA: Final = "text/x.tlog.size"
MOST_REQUEST_BYTES: Final = MOST_NOTE_BYTES + 4096


@dataclass(frozen=True)
class AddCheckpoint:
    """The request."""

    old: int
    """The size of the checkpoint that the witness has co-signed last; 0 if none."""
    path: tuple[bytes, ...]
    """The proof of consistency."""
    note: bytes

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """The request in these bytes; a LogError if they are none."""
        head, found, note = content.partition(b"\n\n")
        try:
            first, *lines = head.decode("ascii").split("\n")
            keyword, size = first.split(" ")
            request = cls(parse_size(size), tuple(map(decode_base64, lines)), note)
        except ValueError:
            raise _malformed() from None
        hashes = all(len(each) == HASH_BYTES for each in request.path) and len(request.path) <= MOST_HASHES
        if not found or keyword != "old" or not hashes:
            raise _malformed()
        return request

    def __bytes__(self) -> bytes:
        hashes = "".join(f"{encode_base64(each)}\n" for each in self.path)
        return f"old {self.old}\n{hashes}\n".encode() + self.note


def _malformed() -> LogError:
    return LogError("a request to co-sign has an old size, hashes, an empty line and a checkpoint; send that")
