"""A plain reading of what docs/protocol.md says about proofs from a log (V2 to V6), with nothing of neologue."""

import base64
import hashlib
import json
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

DAY = 86_400


class WrongError(Exception):
    """A proof that a device refuses."""


class _Bytes:
    """What is left of a proof."""

    def __init__(self, content: bytes) -> None:
        self.left = content

    def take(self, count: int) -> bytes:
        if len(self.left) < count:
            raise WrongError("cut")
        taken, self.left = self.left[:count], self.left[count:]
        return taken

    def number(self, count: int, most: int | None = None) -> int:
        number = int.from_bytes(self.take(count), "big")
        if most is not None and number > most:
            raise WrongError("too many")
        return number


def checkpoints(told: dict[str, Any], case: dict[str, Any]) -> list[dict[str, Any]]:
    """The checkpoints that the proof of a case shows; `told` are the keys and the campaign of log.json."""
    proof = _Bytes(bytes.fromhex(case["proof"]))
    if proof.number(1) != 1:
        raise WrongError("version")
    layer, index = proof.number(2), proof.number(8)
    entry: dict[str, Any] = {
        "campaign": told["campaign"],
        "deed": "layer opened",
        "digest": case["layer"],
        "layer": layer,
    }
    if case["masked"] is not None:
        entry["promise"] = _sha256(bytes.fromhex(case["masked"])).hex()
    leaf = json.dumps(entry, separators=(",", ":")).encode()
    shown = []
    for place, origin in ((index, told["log"]), (layer, f"{told['log']}/{told['campaign']}")):
        size = proof.number(8)
        path = [proof.take(32) for _ in range(proof.number(1, 63))]
        root = _root(leaf, place, size, path)
        text = f"neologue.log/{origin}\n{size}\n{base64.b64encode(root).decode()}\n"
        if not _is_signed(told["log"], proof.take(64), text):
            raise WrongError("log")
        cosignatures = [(proof.take(4), proof.number(8), proof.take(64)) for _ in range(proof.number(1, 16))]
        counted = {
            witness
            for witness in told["witnesses"]
            for hint, time, signature in cosignatures
            if hint.hex() == witness[:8]
            and time <= case["now"] + DAY
            and _is_signed(witness, signature, f"cosignature/v1\ntime {time}\n{text}")
        }
        if len(counted) < case["quorum"]:
            raise WrongError("witnesses")
        shown.append({"origin": f"neologue.log/{origin}", "size": size, "root": root.hex()})
    if proof.left:
        raise WrongError("more")
    return shown


def goes_on(known: dict[str, Any], after: dict[str, Any], tiles: dict[str, str]) -> bool:
    """Whether a log goes on, by all leaves that its tiles have."""
    leaves: list[bytes] = []
    for path in sorted(path for path in tiles if path.startswith("tile/0/")):
        tile = bytes.fromhex(tiles[path])
        leaves += [tile[start : start + 32] for start in range(0, len(tile), 32)]
    return known["size"] <= after["size"] <= len(leaves) and all(
        _tree(leaves[: each["size"]]).hex() == each["root"] for each in (known, after)
    )


def binding(log: str) -> str:
    """What evidence must be over."""
    return hashlib.sha512(b"neologue evidence v1\0" + bytes.fromhex(log)).hexdigest()


def _root(leaf: bytes, index: int, size: int, path: list[bytes]) -> bytes:
    """The root by the recursion of RFC 6962 for audit paths, from the top down."""
    if index >= size:
        raise WrongError("index")
    if size == 1:
        if path:
            raise WrongError("too many hashes")
        return _sha256(b"\0" + leaf)
    if not path:
        raise WrongError("too few hashes")
    left = _left(size)
    *below, sibling = path
    if index < left:
        return _sha256(b"\1" + _root(leaf, index, left, below) + sibling)
    return _sha256(b"\1" + sibling + _root(leaf, index - left, size - left, below))


def _tree(leaves: list[bytes]) -> bytes:
    """The root of a tree with these hashes of leaves."""
    if len(leaves) == 1:
        return leaves[0]
    left = _left(len(leaves))
    return _sha256(b"\1" + _tree(leaves[:left]) + _tree(leaves[left:]))


def _left(size: int) -> int:
    """The largest power of two below a size."""
    return 1 << ((size - 1).bit_length() - 1)


def _sha256(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _is_signed(key: str, signature: bytes, text: str) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(signature, text.encode())
    except InvalidSignature:
        return False
    return True
