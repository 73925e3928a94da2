"""The wrapping key, under which the service's keys are wrapped in its database, so that a copy of that has no key.

It comes from outside: `file:PATH`, `env:NAME`, or `command:COMMAND`, which is run and prints it, as the command lines
of secret stores do; it is 64 hexadecimal digits. `none` leaves keys raw. A database of SQLite has a file beside it
unless another source is named, made with the first key. It is in no backup that `neologue backup` writes.

    encryption key     HKDF-SHA256 of the 32 bytes, info "neologue key wrapping v1", 32 bytes
    name               the same with info "neologue wrapping key name v1", 8 bytes
    wrapped            12 random bytes, then ChaCha20-Poly1305 of the secret under the encryption key with these as the
                       nonce; the purpose of the key, a NUL byte and its public key are authenticated with it
"""

import os
import re
import secrets
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from neologue.errors import InputError, StorageError
from neologue.service.storage.database import Database
from neologue.service.storage.sqlite_database import SqliteDatabase
from neologue.table import Table

RAW: Final = "none"
_NONCE_BYTES: Final = 12
_LARGEST: Final = 1000
_SECONDS: Final = 60
_DIGITS: Final = re.compile("[0-9a-fA-F]{64}", re.ASCII)


@dataclass(frozen=True, repr=False)
class WrappingKey:
    """A key that wraps others."""

    material: bytes

    @property
    def name(self) -> bytes:
        """By what a database knows it; tells nothing of the key."""
        return _derive(self.material, b"neologue wrapping key name v1", 8)

    def wrap(self, secret: bytes, purpose: str, public: bytes) -> bytes:
        """The secret, for nobody without this key."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher().encrypt(nonce, secret, _bound(purpose, public))

    def unwrap(self, wrapped: bytes, purpose: str, public: bytes) -> bytes:
        """The secret; or a StorageError if these are not the bytes that were wrapped for it."""
        try:
            return self._cipher().decrypt(wrapped[:_NONCE_BYTES], wrapped[_NONCE_BYTES:], _bound(purpose, public))
        except (InvalidTag, ValueError):
            raise StorageError(f"the {purpose} key in the database is damaged: restore it from a copy") from None

    def _cipher(self) -> ChaCha20Poly1305:
        return ChaCha20Poly1305(_derive(self.material, b"neologue key wrapping v1", 32))


def _derive(material: bytes, info: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt=None, info=info).derive(material)


def _bound(purpose: str, public: bytes) -> bytes:
    return purpose.encode() + b"\0" + public


def source_for(database: Database, given: str | None) -> str:
    """The source of the wrapping key: the one that is given, or the file beside a database of SQLite."""
    if given is not None:
        return given
    beside = key_file_of(database)
    return RAW if beside is None else f"file:{beside}"


def read_wrapping_key(source: str) -> WrappingKey | None:
    """The wrapping key of a source; None if keys are to stay raw."""
    kind, _, where = source.partition(":")
    if source == RAW:
        return None
    if kind not in _SOURCES or not where:
        # Not quoted: it may be the key itself.
        raise InputError(
            f"a wrapping key comes from file:PATH, env:NAME, command:COMMAND or {RAW}, and this text of "
            f"{len(source):,} characters is none of these: name where the key is, and not the key"
        )
    text = _SOURCES[kind](where).strip()
    if not _DIGITS.fullmatch(text):
        raise InputError(
            f"the wrapping key of {source} must be 64 hexadecimal digits, not a text of {len(text):,} characters: "
            "make one with `openssl rand -hex 32`"
        )
    return WrappingKey(bytes.fromhex(text))


def make_missing_key(database: Database, source: str) -> None:
    """Make the file beside a database of SQLite if that is the source and it is not there."""
    path = key_file_of(database)
    if path is None or source != f"file:{path}" or path.exists():
        return
    # Complete from the first moment, and never over another one.
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write(secrets.token_hex(32) + "\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def key_file_of(database: Database) -> Path | None:
    """The file beside a database of SQLite that holds its wrapping key, unless another source is named."""
    return database.file.with_name(f"{database.file.name}.key") if isinstance(database, SqliteDatabase) else None


def _from_file(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            return file.read(_LARGEST).decode("utf-8", "replace")
    except OSError as error:
        raise InputError(
            f"can't read the wrapping key {path} ({error.strerror}): put back the file that the service was started "
            "with, or name it with --wrapping-key file:PATH; without it nobody can read the keys in the database"
        ) from error


def _from_environment(name: str) -> str:
    try:
        return os.environ[name]
    except KeyError:
        raise InputError(f"the environment has no {name}, which should hold the wrapping key: set it") from None


def _from_command(command: str) -> str:
    """What a command prints; its output and its errors are quoted nowhere."""
    try:
        words = shlex.split(command)
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise InputError(f"the command for the wrapping key can't be run ({why}): check {command!r}") from error
    if done.returncode:
        raise InputError(
            f"the command for the wrapping key ended with {done.returncode}: run {command!r} yourself to see why"
        )
    return done.stdout[:_LARGEST].decode("utf-8", "replace")


_SOURCES: Final[Table[Callable[[str], str]]] = Table(
    "source of a wrapping key",
    "service/ops/wrapping_key.py",
    {"file": _from_file, "env": _from_environment, "command": _from_command},
)
