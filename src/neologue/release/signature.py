"""Signing releases, and the key files that it takes."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from neologue.errors import SignatureError
from neologue.protocol.signed_document import APART, PURPOSE, digest, signature_said
from neologue.protocol.succession import KeyHistory, Revocation, read_links, recovery_digest

LARGEST_KEY_FILE = 10_000


def sign_document(document: Mapping[str, object], key: Ed25519PrivateKey) -> dict[str, object]:
    """The document with its signature."""
    value = digest(document)
    return {
        **{name: said for name, said in document.items() if name not in APART},
        "digest": value,
        "signature": signature_said(
            key.public_key().public_bytes_raw().hex(), key.sign(PURPOSE + bytes.fromhex(value)).hex()
        ),
    }


def generate_key(path: Path) -> tuple[Path, Path]:
    """Write a new private key, for its owner alone, and its public key beside it; never over an older one."""
    public = path.parent / (path.name + ".pub")
    for target in (path, public):
        if target.exists():
            raise SignatureError(f"{target} exists; give another name, a key is never overwritten")
    key = Ed25519PrivateKey.generate()
    texts = (
        (path, 0o600, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())),
        (public, 0o644, key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)),
    )
    for target, mode, text in texts:
        with os.fdopen(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "wb") as file:
            file.write(text)
    return path, public


def write_public_key(raw: bytes, path: Path) -> None:
    """Write a public key, given as its 32 bytes, to a new file."""
    if path.exists():
        raise SignatureError(f"{path} exists; give another name, a key is never overwritten")
    key = Ed25519PublicKey.from_public_bytes(raw)
    path.write_bytes(key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))


def private_key(path: Path) -> Ed25519PrivateKey:
    """The private key in a PEM file."""
    try:
        key = load_pem_private_key(_read(path), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise SignatureError(f"{path} is not a private key that can be used; make one with neologue keygen") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SignatureError(f"{path} is not an Ed25519 key; make one with neologue keygen")
    return key


def public_key(path: Path) -> Ed25519PublicKey:
    """The public key in a PEM file."""
    try:
        key = load_pem_public_key(_read(path))
    except (ValueError, UnsupportedAlgorithm) as error:
        raise SignatureError(f"{path} is not a public key; give the .pub file of neologue keygen") from error
    if not isinstance(key, Ed25519PublicKey):
        raise SignatureError(f"{path} is not an Ed25519 key; give the .pub file of neologue keygen")
    return key


def signing_key(
    document: Mapping[str, object], trusted: Ed25519PublicKey, succession: bytes, recovery: str | None
) -> Ed25519PublicKey:
    """The key by which a document must be signed: the one that it names, if a trusted key leads there; else that one.

    `recovery` is the digest of the recovery key, in hexadecimal, without which revocations can't be believed.
    """
    pinned = trusted.public_bytes_raw()
    digest = None if recovery is None else _digest(recovery)
    revoking = {recovery_digest(link.recovery) for link in read_links(succession) if isinstance(link, Revocation)}
    if revoking - {digest}:
        raise SignatureError(
            "the succession revokes a key, which only the operator's recovery key can: give the digest of that one "
            "with --recovery"
        )
    valid = KeyHistory().learn(succession, {pinned: digest}).valid_keys(pinned, digest)
    if not valid:
        raise SignatureError("the succession goes round in a circle, so that no key is trusted; get it anew")
    signature = document.get("signature")
    named = signature.get("key") if isinstance(signature, Mapping) else None
    chosen = next((key for key in valid if key.hex() == named), valid[-1])
    return Ed25519PublicKey.from_public_bytes(chosen)


def _digest(text: str) -> bytes:
    if not re.fullmatch("[0-9a-fA-F]{64}", text, re.ASCII):
        raise SignatureError(f"the digest of a recovery key has 64 hexadecimal digits, and {text[:200]!r} has not")
    return bytes.fromhex(text)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(LARGEST_KEY_FILE)
