"""Signed documents: a digest and an Ed25519 signature over one canonical form (RFC 8785) that any language can make.

The digest is the SHA-256 of the document without `digest` and `signature`. The signature is over `neologue release v1`,
a zero byte, and the 32 bytes of the digest.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from neologue.errors import SignatureError

PURPOSE = b"neologue release v1\0"
ALGORITHM = "Ed25519"
APART = ("digest", "signature")
LARGEST_INTEGER = (1 << 53) - 1
"""Not every JSON reader has larger exact integers."""
MOST_PLAIN_DIGITS = 21
"""ECMAScript writes larger numbers with an exponent."""
FEWEST_PLAIN_PLACES = -6
"""And smaller ones too."""


def digest(document: Mapping[str, object]) -> str:
    """The digest of everything that a document says, in hexadecimal."""
    said = {name: value for name, value in document.items() if name not in APART}
    try:
        return hashlib.sha256(canonical_json(said)).hexdigest()
    except (ValueError, TypeError, RecursionError) as error:
        raise SignatureError(f"the document has no canonical form ({error}); keep whole numbers below 2^53") from error


def signature_said(signer: str, value: str) -> dict[str, str]:
    """A signature as it stands in a document."""
    return {"algorithm": ALGORITHM, "key": signer, "value": value}


def check_signature(document: Mapping[str, object], key: Ed25519PublicKey) -> str | None:
    """What is wrong with the signature of a document that this key should have signed; None if nothing is."""
    signature = document.get("signature")
    if not isinstance(signature, Mapping) or not isinstance(signature.get("value"), str):
        raise SignatureError("the release is not signed, and a signature is required; get the signed one")
    signer = key.public_bytes_raw().hex()
    if signature != signature_said(signer, signature["value"]):
        return f"the signature does not say that it is one by {signer}"
    try:
        key.verify(bytes.fromhex(signature["value"]), PURPOSE + bytes.fromhex(digest(document)))
    except (InvalidSignature, ValueError):
        return f"the signature is not one by {signer} over what the release says"
    return None


def canonical_json(value: object) -> bytes:
    """The canonical form of RFC 8785; a ValueError or TypeError for what has none."""
    return "".join(_parts(value)).encode()


def _parts(value: object) -> Iterator[str]:
    if value is None or isinstance(value, bool | str):
        yield json.dumps(value, ensure_ascii=False)
    elif isinstance(value, int):
        if abs(value) > LARGEST_INTEGER:
            raise ValueError("a whole number is 2^53 or larger")
        yield str(value)
    elif isinstance(value, float):
        yield _number(value)
    elif isinstance(value, Mapping):
        yield "{"
        # By UTF-16 code units, as JavaScript sorts.
        for place, name in enumerate(sorted(value, key=lambda name: str.encode(name, "utf-16-be"))):
            yield f"{',' if place else ''}{json.dumps(name, ensure_ascii=False)}:"
            yield from _parts(value[name])
        yield "}"
    elif isinstance(value, list | tuple):
        yield "["
        for place, item in enumerate(value):
            if place:
                yield ","
            yield from _parts(item)
        yield "]"
    else:
        raise TypeError(f"JSON has no {type(value).__name__}")


def _number(value: float) -> str:
    """A number as ECMAScript writes it: the fewest digits that give it back, as Python's `repr` has them."""
    sign, digit_tuple, exponent = Decimal(repr(value)).normalize().as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"{value} is not a number of JSON")
    if not any(digit_tuple):
        return "0"
    digits = "".join(map(str, digit_tuple))
    point = len(digits) + exponent
    if len(digits) <= point <= MOST_PLAIN_DIGITS:
        text = digits + "0" * (point - len(digits))
    elif 0 < point <= MOST_PLAIN_DIGITS:
        text = f"{digits[:point]}.{digits[point:]}"
    elif FEWEST_PLAIN_PLACES < point <= 0:
        text = f"0.{'0' * -point}{digits}"
    else:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        text = f"{digits[0]}{fraction}e{point - 1:+d}"
    return f"-{text}" if sign else text


def unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names are all different: of equal ones, another reader may take another."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return found
