"""Right signatures are checked once a process, and each signature stays what it is."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from neologue import ed25519
from neologue.ed25519 import MOST_REMEMBERED, forget_signatures, is_signed


def test_a_signature_is_of_one_key_and_one_message_whatever_was_checked_before() -> None:
    mine, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    key, signature = mine.public_key().public_bytes_raw(), mine.sign(b"votes")
    forget_signatures()
    for _ in range(2):  # the second time from memory
        assert is_signed(key, signature, b"votes")
        assert not is_signed(key, signature, b"vote")
        assert not is_signed(key, other.sign(b"votes"), b"votes")
        assert not is_signed(other.public_key().public_bytes_raw(), signature, b"votes")
        assert not is_signed(key, signature[:-1], signature[-1:] + b"votes")
        assert not is_signed(key + signature[:1], signature[1:] + b"v", b"otes")
        assert not is_signed(b"no key", signature, b"votes")
        assert not is_signed(bytes(31) + b"\xff", signature, b"votes")


def test_a_right_signature_is_verified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = Ed25519PrivateKey.generate()
    key, signature = mine.public_key().public_bytes_raw(), mine.sign(b"votes")
    verified: list[bytes] = []

    class Counting:
        @staticmethod
        def from_public_bytes(raw: bytes) -> Ed25519PublicKey:
            verified.append(raw)
            return Ed25519PublicKey.from_public_bytes(raw)

    monkeypatch.setattr(ed25519, "Ed25519PublicKey", Counting)
    assert is_signed(key, signature, b"votes")
    assert is_signed(key, signature, b"votes")
    assert len(verified) == 1
    forget_signatures()
    assert is_signed(key, signature, b"votes")
    assert len(verified) == 2


def test_what_is_remembered_is_so_many_digests_and_nothing_that_is_forged() -> None:
    mine = Ed25519PrivateKey.generate()
    key = mine.public_key().public_bytes_raw()
    forget_signatures()
    for number in range(10):
        assert not is_signed(key, bytes(64), bytes((number,)))
    assert not ed25519._remembered
    for number in range(MOST_REMEMBERED + 10):
        message = number.to_bytes(4, "big") + bytes(1000)
        assert is_signed(key, mine.sign(message), message)
    assert len(ed25519._remembered) == MOST_REMEMBERED
    assert {len(each) for each in ed25519._remembered} == {32}
    forget_signatures()
