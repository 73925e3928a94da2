"""A report that another device has sent is known, a device may send its own again, and little is remembered of both."""

import os
import tracemalloc

import numpy as np

from neologue.aggregation import sent_before
from neologue.aggregation.sent_before import SentBefore

MANY = 3 * sent_before._UNSORTED


def test_a_copy_by_another_is_known_and_the_same_again_is_not_one() -> None:
    before = SentBefore()
    reports = [os.urandom(40) for _ in range(MANY)]
    serials = [os.urandom(16) for _ in range(MANY)]
    for serial, report in zip(serials, reports, strict=True):
        assert not before.by_another(serial, report)
    for serial, report in zip(serials, reports, strict=True):
        assert not before.by_another(serial, report)
        assert before.by_another(os.urandom(16), report)
    assert not before.by_another(serials[0], os.urandom(40))


def test_a_device_that_sends_another_report_each_time_takes_no_more_room() -> None:
    before, serial = SentBefore(), os.urandom(16)
    reports = [os.urandom(40) for _ in range(2 * sent_before._UNSORTED)]
    assert not any(before.by_another(serial, report) for report in reports)
    assert len(before._sorted) + len(before._recent) == 2
    assert before.by_another(os.urandom(16), reports[0]), "the first one is its own"
    assert not before.by_another(os.urandom(16), reports[1]), "the others never counted"


def test_a_serial_that_is_a_report_is_not_taken_for_it() -> None:
    before, both = SentBefore(), os.urandom(16)
    assert not before.by_another(both, b"report")
    assert not before.by_another(os.urandom(16), both)


def test_a_serial_of_zeros_has_no_more_rights() -> None:
    before = SentBefore()
    assert not before.by_another(os.urandom(16), b"report")
    assert before.by_another(bytes(16), b"report")


def test_the_key_is_another_for_each_layer() -> None:
    one, other = SentBefore(), SentBefore()
    assert one._digest(b"report", b"report") != other._digest(b"report", b"report")


def test_16_bytes_are_remembered_of_a_report() -> None:
    before = SentBefore()
    for _ in range(2 * sent_before._UNSORTED):
        before.by_another(os.urandom(16), os.urandom(40))
    tracemalloc.start()
    try:
        at_first = tracemalloc.get_traced_memory()[0]
        kept = len(before._sorted)
        for _ in range(MANY):
            before.by_another(os.urandom(16), os.urandom(40))
        grown = tracemalloc.get_traced_memory()[0] - at_first
    finally:
        tracemalloc.stop()
    # What was there before was allocated unseen, and is copied with the rest.
    assert grown <= 8 * kept + 16 * MANY + 4096
    assert len(before._sorted) == kept + 2 * MANY
    assert (np.diff(before._sorted) > 0).all()
