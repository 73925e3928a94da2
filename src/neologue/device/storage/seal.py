"""A seal: deterministic encryption of words, so that an encrypted word can be looked up.

AES-SIV (RFC 5297) under a key derived from the app's, so that the app's key can have other uses. Words are padded to a
multiple of 32 bytes, which hides the length of most words.
"""

from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from neologue.errors import ParameterError

KEY_BYTES = 32

_PURPOSE: Final = b"neologue diary v1"
_MARK: Final = [b"mark"]
_WORD: Final = [b"word"]
_BLOCK: Final = 32
_END: Final = b"\x80"  # before the padding: a word may end in zeros itself


class Seal:
    """Encrypts and decrypts words."""

    def __init__(self, key: bytes) -> None:
        if not isinstance(key, bytes) or len(key) != KEY_BYTES:
            raise ParameterError(f"the key of a diary must be {KEY_BYTES} bytes; draw them with secrets.token_bytes")
        self._cipher = AESSIV(HKDF(SHA256(), 64, salt=None, info=_PURPOSE).derive(key))
        self.mark = self._cipher.encrypt(_END, _MARK)
        """A value that only this key gives, to recognise it."""

    def close(self, word: str) -> bytes:
        """The word, sealed."""
        content = word.encode() + _END
        return self._cipher.encrypt(content + bytes(-len(content) % _BLOCK), _WORD)

    def open(self, sealed: object) -> str:
        """The word that was sealed; or a ValueError that reveals nothing about it."""
        try:
            if isinstance(sealed, bytes):
                return self._cipher.decrypt(sealed, _WORD).rstrip(b"\0")[: -len(_END)].decode()
        except (InvalidTag, ValueError):
            pass
        raise ValueError("not sealed by this key")
