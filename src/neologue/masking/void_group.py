"""The operator's signed statement that a group failed, so that its devices may mask the same votes again.

The operator signs, with Ed25519, these 70 bytes, and sends the signature:

    bytes 0–21     "neologue no sum of v1" and a NUL byte, so that no other signature passes for this one
    bytes 22–37    the identity of the group
    bytes 38–69    SHA-256 of its terms

An operator who signs this and has the sum nevertheless could compare it with the next one; the signature is evidence of
the lie.
"""

from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from neologue.masking.terms import Terms

DOMAIN: Final = b"neologue no sum of v1\0"


def sign_void_statement(terms: Terms, operator: Ed25519PrivateKey) -> bytes:
    """The signed statement that the group with these terms has no sum and never will."""
    return operator.sign(_signed_message(terms))


def is_void_statement(statement: bytes, terms: Terms, operator: bytes) -> bool:
    """Whether the operator with this raw public key signed the statement about the group with these terms."""
    try:
        Ed25519PublicKey.from_public_bytes(operator).verify(statement, _signed_message(terms))
    except (InvalidSignature, ValueError):  # the second if the key is no point of the curve
        return False
    return True


def _signed_message(terms: Terms) -> bytes:
    return DOMAIN + terms.group_id + terms.digest
