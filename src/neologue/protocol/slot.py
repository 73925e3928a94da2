"""A slot: the number of a device in a campaign, pseudorandom under a secret of the campaign.

A layer invites the slots in a range, and the ranges of a campaign are disjoint. So a device belongs to one layer of one
pass, independently of all others, and nothing has to be stored about it.
"""

import hashlib

SLOTS = 1 << 62
"""Few enough that where the last range ends is still a 64-bit number with a sign, as databases have them."""

_PURPOSE = b"neologue slot"


def slot(secret: bytes, serial: bytes) -> int:
    """The slot of the device with this serial, from 0 to 2^62 - 1."""
    return int.from_bytes(hashlib.blake2b(serial, key=secret, person=_PURPOSE).digest()[:8], "big") >> 2
