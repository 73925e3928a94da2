"""A release is verified from a key that was replaced since: by the succession that leads from it to the signer."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.cli import main
from neologue.errors import SignatureError
from neologue.protocol.signed_document import check_signature
from neologue.protocol.succession import Link, recovery_digest, revoke, succeed
from neologue.release.key_file import read_succession
from neologue.release.signature import sign_document, signing_key

FIRST, SECOND, THIRD, THIEF, RECOVERY = (
    Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in range(5)
)
RELEASE = {"format": 3, "words": []}


def raw(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes_raw()


DIGEST = recovery_digest(raw(RECOVERY)).hex()
ROTATED: list[Link] = [succeed(FIRST, raw(SECOND)), succeed(SECOND, raw(THIRD))]


def verified(signer: Ed25519PrivateKey, links: list[Link], recovery: str | None = None) -> bool:
    """Whether a release by a key is accepted by somebody who has the first one."""
    document = sign_document(RELEASE, signer)
    key = signing_key(document, FIRST.public_key(), b"".join(map(bytes, links)), recovery)
    return check_signature(document, key) is None


@pytest.mark.parametrize("signer", [FIRST, SECOND, THIRD])
def test_each_key_of_the_succession_may_have_signed(signer: Ed25519PrivateKey) -> None:
    assert verified(signer, ROTATED)


def test_nobody_else_may() -> None:
    assert not verified(THIEF, ROTATED)
    assert not verified(THIEF, [*ROTATED, succeed(FIRST, raw(THIEF))])
    assert not verified(SECOND, [])


def test_a_revoked_key_may_not_and_its_successor_may() -> None:
    links: list[Link] = [succeed(FIRST, raw(THIEF)), revoke(RECOVERY, raw(FIRST), raw(SECOND))]
    assert [verified(signer, links, DIGEST) for signer in (FIRST, THIEF, SECOND)] == [False, False, True]


@pytest.mark.parametrize("recovery", [None, "00" * 32])
def test_a_revocation_is_neither_believed_nor_passed_over_without_the_right_digest(recovery: str | None) -> None:
    with pytest.raises(SignatureError, match="give the digest of that one with --recovery"):
        verified(FIRST, [revoke(RECOVERY, raw(FIRST), raw(SECOND))], recovery)
    with pytest.raises(SignatureError, match="64 hexadecimal digits, and 'zz' has not"):
        verified(FIRST, ROTATED, "zz")


def test_a_circle_trusts_nobody() -> None:
    circle: list[Link] = [revoke(RECOVERY, raw(FIRST), raw(SECOND)), revoke(RECOVERY, raw(SECOND), raw(FIRST))]
    with pytest.raises(SignatureError, match="goes round in a circle"):
        verified(FIRST, circle, DIGEST)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"succession": 7}', '{"succession": "zz"}', "[" * 50_000])
def test_a_file_without_a_succession_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "keys.json").write_text(content)
    with pytest.raises(SignatureError, match=r"keys\.json has no succession"):
        read_succession(tmp_path / "keys.json")


def test_a_succession_needs_a_key_to_begin_with(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_text(json.dumps({"succession": ""}))
    done = CliRunner().invoke(main, ["certify", "release.json", "--succession", str(tmp_path / "keys.json")])
    assert done.exit_code == 2
    assert "give that with --verify" in done.stderr
