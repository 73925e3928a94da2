"""What taking part in a group costs a device in bytes, nobody's dropout assumed."""

from dataclasses import replace

from neologue.masking.field import ELEMENT_BYTES
from neologue.masking.keys import INDEX_BYTES, TAG_BYTES
from neologue.masking.messages import DEAL_BYTES
from neologue.masking.reader import HEADER_BYTES, set_bytes
from neologue.masking.roster import ADVERTISED_BYTES, SIGNATURE_BYTES
from neologue.masking.terms import MOST_ENTRIES, MaskingGroup

_BEGINNING = HEADER_BYTES + INDEX_BYTES


def upload_bytes(group: MaskingGroup) -> int:
    """What a device sends: keys, shares, its masked vector, its confirmation, and shares of others."""
    degree = group.neighbourhood.degree
    sharing = _BEGINNING + TAG_BYTES + degree * DEAL_BYTES
    vector = _BEGINNING + SIGNATURE_BYTES + group.vector_bytes
    unmasking = _BEGINNING + degree * (1 + ELEMENT_BYTES)
    return HEADER_BYTES + ADVERTISED_BYTES + sharing + vector + _BEGINNING + SIGNATURE_BYTES + unmasking


def download_bytes(group: MaskingGroup) -> int:
    """What a device is sent: the terms, the roster, the delivery, the survivors and the request."""
    roster = _BEGINNING + INDEX_BYTES + group.size * ADVERTISED_BYTES
    delivery = _BEGINNING + set_bytes(group.size) + group.neighbourhood.degree * DEAL_BYTES
    signed_set = _BEGINNING + set_bytes(group.size) + group.size * SIGNATURE_BYTES
    return len(bytes(group.terms)) + roster + delivery + 2 * signed_set


def entries_within(upload: int, group: MaskingGroup) -> int:
    """The most entries with which a device of such a group sends no more than so many bytes; 0 if there are none."""
    one = MaskingGroup(replace(group.terms, entries=1), group.size)
    vector = upload - upload_bytes(one) + one.vector_bytes
    return max(0, min(MOST_ENTRIES, 8 * vector // group.bits))
