"""Signatures are checked once a process, and each stays what it is."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.ed25519 import is_signed


def test_a_signature_is_of_one_key_and_one_message_whatever_was_checked_before() -> None:
    mine, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    key, signature = mine.public_key().public_bytes_raw(), mine.sign(b"votes")
    is_signed.cache_clear()
    for _ in range(2):  # the second time from memory
        assert is_signed(key, signature, b"votes")
        assert not is_signed(key, signature, b"vote")
        assert not is_signed(key, other.sign(b"votes"), b"votes")
        assert not is_signed(other.public_key().public_bytes_raw(), signature, b"votes")
        assert not is_signed(key, signature[:-1], b"votes")
        assert not is_signed(b"no key", signature, b"votes")
    assert is_signed.cache_info().hits == 6


def test_what_is_remembered_does_not_grow_without_bound() -> None:
    most = is_signed.cache_info().maxsize
    assert most is not None
    for number in range(most + 10):
        is_signed(b"no key", b"", number.to_bytes(4, "big"))
    assert is_signed.cache_info().currsize == most
