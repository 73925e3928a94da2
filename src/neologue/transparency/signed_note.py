"""Signed notes (c2sp.org/signed-note): a text, an empty line, and lines of signatures.

A key has a name, a type and 32 bytes. Signatures of type 1 are Ed25519 over the text; those of type 4 are co-signatures
of witnesses (c2sp.org/tlog-cosignature), over a time and the text.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.ed25519 import is_signed
from neologue.errors import LogError

ED25519: Final = 1
COSIGNATURE: Final = 4
KEY_BYTES: Final = 32
ID_BYTES: Final = 4
TIME_BYTES: Final = 8
SIGNATURE_BYTES: Final = 64
MOST_NOTE_BYTES: Final = 1 << 16
MOST_SIGNATURES: Final = 100
_DASH: Final = "— "


@dataclass(frozen=True)
class NoteKey:
    """A public key by which notes are verified."""

    name: str
    type: int
    public: bytes

    def __post_init__(self) -> None:
        if not self.name or "+" in self.name or any(sign.isspace() for sign in self.name):
            raise LogError(
                f"the name of a key has neither spaces nor plus signs, unlike {self.name[:200]!r}: rename it"
            )
        if self.type not in (ED25519, COSIGNATURE) or len(self.public) != KEY_BYTES:
            raise LogError(f"the key of {self.name} is of a kind that this neologue does not know: give an Ed25519 key")

    @classmethod
    def parse(cls, text: str) -> Self:
        """The key of a vkey, such as `example.org/log+1a2b3c4d+AQ…`."""
        name, _, rest = text.strip().partition("+")
        identity, _, encoded = rest.partition("+")
        try:
            content = decode_base64(encoded)
            key = cls(name, content[0], content[1:])
        except (LogError, IndexError):
            raise LogError(f"this is not a verifier key, name+id+base64: {text[:200]!r}; copy it again") from None
        if identity != key.id.hex():
            raise LogError(f"the id in the verifier key of {name} is not its own: it is cut or changed; copy it again")
        return key

    @property
    def id(self) -> bytes:
        """By what its signatures are known, together with its name."""
        return hashlib.sha256(self.name.encode() + b"\n" + bytes([self.type]) + self.public).digest()[:ID_BYTES]

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{encode_base64(bytes([self.type]) + self.public)}"


@dataclass(frozen=True)
class NoteSignature:
    """A line below a note; it proves nothing until it was verified."""

    name: str
    id: bytes
    value: bytes

    def __str__(self) -> str:
        return f"{_DASH}{self.name} {encode_base64(self.id + self.value)}\n"


@dataclass(frozen=True)
class Note:
    """A text with signatures, which are not verified yet."""

    text: str
    signatures: tuple[NoteSignature, ...]

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """The note in these bytes; a LogError if there is none."""
        try:
            note = content[: MOST_NOTE_BYTES + 1].decode()
        except UnicodeDecodeError:
            raise LogError("a signed note is text in UTF-8; get it anew") from None
        text, found, lines = note.rpartition("\n\n")
        if len(content) > MOST_NOTE_BYTES or not found or any(sign < " " and sign != "\n" for sign in note):
            raise LogError("this is not a signed note: a text, an empty line and signatures; get it anew")
        return cls(text + "\n", tuple(parse_signatures(lines)))

    def signed_by(self, key: NoteKey) -> bool:
        """Whether a signature of this key, of type 1, is right."""
        return any(is_signed(key.public, line.value, self.text.encode()) for line in self._by(key))

    def cosignature_line(self, key: NoteKey) -> NoteSignature | None:
        """The line with the co-signature of a witness, if there is one and it is right."""
        right = (line for line in self._by(key) if Cosignature.parse(line.value).is_by(key.public, self.text))
        return next(right, None)

    def cosignature_by(self, key: NoteKey) -> "Cosignature | None":
        """The co-signature of a witness, if there is one and it is right."""
        line = self.cosignature_line(key)
        return None if line is None else Cosignature.parse(line.value)

    def with_signatures(self, more: Iterable[NoteSignature]) -> "Note":
        """The note with more lines, each once."""
        return Note(self.text, tuple(dict.fromkeys((*self.signatures, *more))))

    def _by(self, key: NoteKey) -> Iterator[NoteSignature]:
        return (line for line in self.signatures if line.name == key.name and line.id == key.id)

    def __bytes__(self) -> bytes:
        return f"{self.text}\n{''.join(map(str, self.signatures))}".encode()


@dataclass(frozen=True)
class Cosignature:
    """What a witness signs: that at this time no larger log was known to it than the one of the note."""

    time: int
    """In seconds since 1970."""
    signature: bytes

    @classmethod
    def parse(cls, value: bytes) -> Self:
        """The co-signature in the value of a line; one that is cut verifies never."""
        return cls(int.from_bytes(value[:TIME_BYTES], "big"), value[TIME_BYTES:])

    def is_by(self, public: bytes, text: str) -> bool:
        """Whether the witness with this key has signed this text."""
        return is_signed(public, self.signature, cosigned_message(text, self.time))

    def __bytes__(self) -> bytes:
        return self.time.to_bytes(TIME_BYTES, "big") + self.signature


def sign_note(text: str, name: str, private: Ed25519PrivateKey) -> NoteSignature:
    """The signature of a text, of type 1."""
    key = NoteKey(name, ED25519, private.public_key().public_bytes_raw())
    return NoteSignature(name, key.id, private.sign(text.encode()))


def cosign_note(text: str, name: str, private: Ed25519PrivateKey, time: int) -> NoteSignature:
    """The co-signature of a witness."""
    key = NoteKey(name, COSIGNATURE, private.public_key().public_bytes_raw())
    return NoteSignature(name, key.id, bytes(Cosignature(time, private.sign(cosigned_message(text, time)))))


def cosigned_message(text: str, time: int) -> bytes:
    """What a witness signs at a time."""
    return f"cosignature/v1\ntime {time}\n{text}".encode()


def parse_signatures(lines: str) -> Iterator[NoteSignature]:
    """The signatures in some lines; a LogError if one is none."""
    *parts, end = lines.split("\n")
    if end or not parts or len(parts) > MOST_SIGNATURES:
        raise LogError("a signed note ends with lines of signatures, and a line break; get it anew")
    for line in parts:
        name, _, encoded = line.removeprefix(_DASH).partition(" ")
        value = decode_base64(encoded)
        if not line.startswith(_DASH) or not name or len(value) <= ID_BYTES:
            raise LogError(f"this is not the signature of a note: {line[:200]!r}; get the note anew")
        yield NoteSignature(name, value[:ID_BYTES], value[ID_BYTES:])


def encode_base64(content: bytes) -> str:
    """Bytes in standard base64."""
    return base64.b64encode(content).decode()


def decode_base64(text: str) -> bytes:
    """The bytes of standard base64, in its one canonical spelling; a LogError if it is none."""
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        content = None
    if content is None or encode_base64(content) != text:
        raise LogError(f"this is not base64: {text[:100]!r}; get it anew")
    return content
