"""What taking part in a group costs a device in bytes, unsigned keys and nobody's dropout assumed."""

from dataclasses import replace

from neologue.masking.field import ELEMENT_BYTES
from neologue.masking.keys import INDEX_BYTES, KEY_BYTES, TAG_BYTES
from neologue.masking.messages import DEAL_BYTES, HEADER_BYTES
from neologue.masking.terms import MOST_ENTRIES, MaskingGroup

_ADVERTISED = 2 * KEY_BYTES + 1
_BEGINNING = HEADER_BYTES + INDEX_BYTES


def upload_bytes(group: MaskingGroup) -> int:
    """What a device sends: keys, shares, its masked vector, and shares of others."""
    degree = group.neighbourhood.degree
    sharing = _BEGINNING + TAG_BYTES + degree * DEAL_BYTES
    unmasking = _BEGINNING + degree * (1 + ELEMENT_BYTES)
    return HEADER_BYTES + _ADVERTISED + sharing + _BEGINNING + group.vector_bytes + unmasking


def download_bytes(group: MaskingGroup) -> int:
    """What a device is sent: the terms, the roster, the delivery and the request."""
    degree = group.neighbourhood.degree
    roster = _BEGINNING + INDEX_BYTES + degree * (INDEX_BYTES + _ADVERTISED)
    delivery = _BEGINNING + degree * (1 + DEAL_BYTES)
    request = _BEGINNING + INDEX_BYTES + degree
    return len(bytes(group.terms)) + roster + delivery + request


def entries_within(upload: int, group: MaskingGroup) -> int:
    """The most entries with which a device of such a group sends no more than so many bytes; 0 if there are none."""
    one = MaskingGroup(replace(group.terms, entries=1), group.size)
    vector = upload - upload_bytes(one) + one.vector_bytes
    return max(0, min(MOST_ENTRIES, 8 * vector // group.bits))
