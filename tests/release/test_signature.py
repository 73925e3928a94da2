"""Signatures: what they cover, whom they convince, and the files that keys are in."""

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric import dsa, ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from hypothesis import given
from hypothesis import strategies as st

from neologue.errors import SignatureError
from neologue.protocol.signed_document import PURPOSE, canonical_json, check_signature, digest
from neologue.release.signature import generate_key, private_key, public_key, sign_document

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
DOCUMENT: dict[str, Any] = {"format": 1, "words": [{"word": "ε/ß", "votes": 7, "low": 0.1}], "privacy": {"k": None}}


def test_a_signed_document_is_as_before_with_a_digest_and_a_signature_that_holds() -> None:
    whole = sign_document(DOCUMENT, KEY)
    assert {name: whole[name] for name in DOCUMENT} == DOCUMENT
    assert set(whole) == {*DOCUMENT, "digest", "signature"}
    assert whole["digest"] == digest(DOCUMENT) == digest(whole)
    assert check_signature(whole, KEY.public_key()) is None


def test_another_language_verifies_with_sha_256_and_ed25519_alone() -> None:
    whole: dict[str, Any] = sign_document(DOCUMENT, KEY)
    canonical = '{"format":1,"privacy":{"k":null},"words":[{"low":0.1,"votes":7,"word":"ε/ß"}]}'.encode()
    hashed = hashlib.sha256(canonical).digest()
    assert whole["digest"] == hashed.hex()
    assert whole["signature"]["key"] == KEY.public_key().public_bytes_raw().hex()
    value = bytes.fromhex(whole["signature"]["value"])
    KEY.public_key().verify(value, b"neologue release v1\0" + hashed)
    assert PURPOSE == b"neologue release v1\0"


def test_signing_again_replaces_the_signature() -> None:
    assert sign_document(sign_document(DOCUMENT, OTHER), KEY) == sign_document(DOCUMENT, KEY)


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"words": []},
        {"more": None},
        {"privacy": {"k": 1}},
        {"words": [{"word": "ε/ß", "votes": 8, "low": 0.1}]},
    ],
    ids=str,
)
def test_whatever_is_changed_breaks_the_signature_even_with_a_new_digest(change: dict[str, Any]) -> None:
    forged = sign_document(DOCUMENT, KEY) | change
    assert "over what the release says" in str(check_signature(forged, KEY.public_key()))
    forged["digest"] = digest(forged)
    assert "over what the release says" in str(check_signature(forged, KEY.public_key()))


@pytest.mark.parametrize(
    "change", [{"value": "00" * 64}, {"value": "zz"}, {"value": ""}, {"key": "00" * 32}, {"algorithm": "none"}], ids=str
)
def test_a_signature_that_was_changed_does_not_hold(change: dict[str, str]) -> None:
    whole: dict[str, Any] = sign_document(DOCUMENT, KEY)
    assert check_signature(whole | {"signature": whole["signature"] | change}, KEY.public_key()) is not None


def test_a_signature_by_another_key_does_not_hold() -> None:
    objection = check_signature(sign_document(DOCUMENT, OTHER), KEY.public_key())
    assert KEY.public_key().public_bytes_raw().hex() in str(objection)


def test_another_signer_can_t_be_passed_off_as_the_one_expected() -> None:
    forged: dict[str, Any] = sign_document(DOCUMENT, OTHER)
    forged["signature"]["key"] = KEY.public_key().public_bytes_raw().hex()
    assert check_signature(forged, KEY.public_key()) is not None


def test_a_signature_for_another_purpose_does_not_hold() -> None:
    whole: dict[str, Any] = sign_document(DOCUMENT, KEY)
    whole["signature"]["value"] = KEY.sign(bytes.fromhex(whole["digest"])).hex()
    assert check_signature(whole, KEY.public_key()) is not None


@pytest.mark.parametrize("signature", [None, "abc", {}, {"value": 7}, []])
def test_a_document_without_a_signature_is_named_as_such(signature: object) -> None:
    with pytest.raises(SignatureError, match="not signed"):
        check_signature(DOCUMENT | {"signature": signature}, KEY.public_key())
    with pytest.raises(SignatureError, match="not signed"):
        check_signature(DOCUMENT, KEY.public_key())


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    # No surrogates: they are no text that a file could hold.
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(plain)
def test_the_canonical_form_is_that_of_the_reference_implementation(value: Any) -> None:  # noqa: ANN401
    assert canonical_json(value) == rfc8785.dumps(value)


@pytest.mark.parametrize("value", [1e21, 1e-7, 123456789012345680000.0, 0.000001, 1.5e300, 5e-324, -0.0, 4.35, 100.0])
def test_numbers_are_written_as_javascript_does(value: float) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)


def reversed_names(value: object) -> object:
    """The same document with the names of every object in reverse."""
    if isinstance(value, dict):
        return {name: reversed_names(inner) for name, inner in reversed(value.items())}
    return [reversed_names(inner) for inner in value] if isinstance(value, list) else value


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), plain, max_size=5))
def test_a_digest_depends_on_neither_the_order_of_names_nor_white_space(document: dict[str, Any]) -> None:
    texts = (
        json.dumps(document),
        json.dumps(document, indent=3, ensure_ascii=False),
        json.dumps(reversed_names(document), separators=(",", ":"), sort_keys=False),
    )
    assert {digest(json.loads(text)) for text in texts} == {digest(document)}


def test_a_digest_tells_apart_what_readers_tell_apart() -> None:
    documents: list[dict[str, Any]] = [
        {"a": 1},
        {"a": "1"},
        {"a": [1]},
        {"a": None},
        {},
        {"b": 1},
        {"a": 1, "b": None},
        {"a": True},
    ]
    assert len({digest(document) for document in documents}) == len(documents)
    assert digest({"a": 1.0}) == digest({"a": 1}), "one number in JSON"


@pytest.mark.parametrize(
    "value", [2**53, -(2**53), 10**400, float("nan"), float("inf"), "\ud800", {1: 2}, {"\udfff": 1}]
)
def test_what_has_no_canonical_form_is_refused_with_a_sentence(value: object) -> None:
    with pytest.raises(SignatureError, match=r"no canonical form .* below 2\^53"):
        digest({"a": [value]})


def test_a_document_nested_without_end_is_refused_with_a_sentence() -> None:
    document: dict[str, object] = {}
    for _ in range(100_000):
        document = {"a": document}
    with pytest.raises(SignatureError, match="no canonical form"):
        digest(document)


class TestKeyFiles:
    def test_a_key_signs_what_its_public_key_verifies(self, tmp_path: Path) -> None:
        private, public = generate_key(tmp_path / "operator")
        assert (private, public) == (tmp_path / "operator", tmp_path / "operator.pub")
        assert check_signature(sign_document(DOCUMENT, private_key(private)), public_key(public)) is None
        other = generate_key(tmp_path / "other")[1]
        assert check_signature(sign_document(DOCUMENT, private_key(private)), public_key(other)) is not None

    @pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
    def test_a_private_key_is_its_owner_s_alone_whatever_the_umask(self, mask: int, tmp_path: Path) -> None:
        before = os.umask(mask)
        try:
            private, public = generate_key(tmp_path / "operator")
        finally:
            os.umask(before)
        assert stat.S_IMODE(private.stat().st_mode) == 0o600
        assert stat.S_IMODE(public.stat().st_mode) == 0o644 & ~mask

    @pytest.mark.parametrize("taken", ["operator", "operator.pub"])
    def test_a_key_is_never_overwritten(self, taken: str, tmp_path: Path) -> None:
        (tmp_path / taken).write_text("mine", "utf-8")
        with pytest.raises(SignatureError, match="never overwritten"):
            generate_key(tmp_path / "operator")
        assert {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()} == {taken: "mine"}

    def test_a_link_to_nowhere_is_not_followed(self, tmp_path: Path) -> None:
        (tmp_path / "operator").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(FileExistsError):
            generate_key(tmp_path / "operator")
        assert not (tmp_path / "elsewhere").exists()

    @pytest.mark.parametrize("path", [".", "/", ".."])
    def test_a_folder_is_no_name_for_a_key(self, path: str) -> None:
        with pytest.raises(SignatureError, match="give another name"):
            generate_key(Path(path))

    @pytest.mark.parametrize("content", [b"", b"secret", b"\x00\xff" * 50, b"-----BEGIN PRIVATE KEY-----\nAAAA\n"])
    def test_what_is_no_key_is_named_with_a_remedy(self, content: bytes, tmp_path: Path) -> None:
        path = tmp_path / "key"
        path.write_bytes(content)
        with pytest.raises(SignatureError, match=r"key is not a private key .* neologue keygen"):
            private_key(path)
        with pytest.raises(SignatureError, match=r"key is not a public key; give the \.pub file"):
            public_key(path)

    def test_private_and_public_keys_are_not_taken_for_each_other(self, tmp_path: Path) -> None:
        private, public = generate_key(tmp_path / "operator")
        with pytest.raises(SignatureError, match="not a private key"):
            private_key(public)
        with pytest.raises(SignatureError, match="not a public key"):
            public_key(private)

    @pytest.mark.parametrize("kind", ["RSA", "EC", "DSA"])
    def test_another_kind_of_key_is_refused(self, kind: str, tmp_path: Path) -> None:
        key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | dsa.DSAPrivateKey
        if kind == "RSA":
            key = rsa.generate_private_key(65537, 1024)
        elif kind == "EC":
            key = ec.generate_private_key(ec.SECP256R1())
        else:
            key = dsa.generate_private_key(1024)
        private, public = tmp_path / "key", tmp_path / "key.pub"
        private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
        with pytest.raises(SignatureError, match="not an Ed25519 key"):
            private_key(private)
        with pytest.raises(SignatureError, match="not an Ed25519 key"):
            public_key(public)

    def test_a_key_under_a_password_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "key"
        path.write_bytes(KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"password")))
        with pytest.raises(SignatureError, match="not a private key that can be used"):
            private_key(path)
