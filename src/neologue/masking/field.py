"""The prime field in which secrets are shared: integers modulo 2^255 - 19, in 32 bytes each."""

from typing import Final

from neologue.entropy import Entropy
from neologue.errors import MaskingError

PRIME: Final = 2**255 - 19
ELEMENT_BYTES: Final = 32


def draw(entropy: Entropy) -> int:
    """A uniform element of the field."""
    while True:
        element = int.from_bytes(entropy.octets(ELEMENT_BYTES), "big") >> 1
        if element < PRIME:
            return element


def to_bytes(element: int) -> bytes:
    """The one form of an element on the wire, big-endian."""
    return element.to_bytes(ELEMENT_BYTES, "big")


def from_bytes(octets: bytes) -> int:
    """The element in 32 bytes; or a MaskingError if they are none."""
    element = int.from_bytes(octets, "big")
    if len(octets) != ELEMENT_BYTES or element >= PRIME:
        raise MaskingError(f"{len(octets)} bytes are no element of the field of 2^255 - 19")
    return element
