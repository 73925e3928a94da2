"""What taking part in a cohort costs a device in bytes, unsigned keys and nobody's dropout assumed."""

from dataclasses import replace

from neologue.masking.field import ELEMENT_BYTES
from neologue.masking.keys import INDEX_BYTES, KEY_BYTES, TAG_BYTES
from neologue.masking.messages import DEAL_BYTES, HEADER_BYTES
from neologue.masking.terms import MOST_ENTRIES, Cohort

_ADVERTISED = 2 * KEY_BYTES + 1
_BEGINNING = HEADER_BYTES + INDEX_BYTES


def upload_bytes(cohort: Cohort) -> int:
    """What a device sends: keys, shares, its masked vector, and shares of others."""
    degree = cohort.neighbourhood.degree
    sharing = _BEGINNING + TAG_BYTES + degree * DEAL_BYTES
    unmasking = _BEGINNING + degree * (1 + ELEMENT_BYTES)
    return HEADER_BYTES + _ADVERTISED + sharing + _BEGINNING + cohort.vector_bytes + unmasking


def download_bytes(cohort: Cohort) -> int:
    """What a device is sent: the terms, the roster, the delivery and the request."""
    degree = cohort.neighbourhood.degree
    roster = _BEGINNING + INDEX_BYTES + degree * (INDEX_BYTES + _ADVERTISED)
    delivery = _BEGINNING + degree * (1 + DEAL_BYTES)
    request = _BEGINNING + INDEX_BYTES + degree
    return len(bytes(cohort.terms)) + roster + delivery + request


def entries_within(upload: int, cohort: Cohort) -> int:
    """The most entries with which a device of such a cohort sends no more than so many bytes; 0 if there are none."""
    one = Cohort(replace(cohort.terms, entries=1), cohort.size)
    vector = upload - upload_bytes(one) + one.vector_bytes
    return max(0, min(MOST_ENTRIES, 8 * vector // cohort.bits))
