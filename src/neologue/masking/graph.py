"""Who is whose neighbour: devices in a circle, each beside the k/2 next ones on either side.

The order of the circle is that of SHA-256 of a label that ends in a NUL byte, the digest of the roster and the index of
the device: nobody chooses it, and every device computes it alone.
"""

import hashlib
from collections.abc import Sequence
from typing import Final

from neologue.masking.keys import index_bytes

_CIRCLE: Final = b"neologue masking v2 circle\0"


def circle(size: int, roster: bytes) -> list[int]:
    """The devices of a group in the order of their circle, from the digest of their roster."""
    return sorted(range(size), key=lambda index: hashlib.sha256(_CIRCLE + roster + index_bytes(index)).digest())


def neighbours_at(order: Sequence[int], place: int, degree: int) -> tuple[int, ...]:
    """The neighbours of the device at a place of a circle, in ascending order; all others if the degree is so large."""
    if degree == len(order) - 1:
        return tuple(other for other in range(len(order)) if other != order[place])
    steps = (step for step in range(-degree // 2, degree // 2 + 1) if step)
    return tuple(sorted(order[(place + step) % len(order)] for step in steps))
