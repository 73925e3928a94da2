"""Reports that wait: apart, the earliest first, and added up exactly."""

from typing import Any

import numpy as np
import pytest

from neologue.aggregation.ephemeral import Pending, sum_of
from neologue.aggregation.kernels import BLOCK, Votes


def votes(*places: int) -> Votes:
    return np.array(places, np.uint32)


def test_the_first_report_of_a_serial_counts() -> None:
    pending = Pending()
    pending.add(b"one", votes(1, 2))
    pending.add(b"two", votes(3))
    pending.add(b"one", votes(4, 4, 4))
    assert {serial: kept.tolist() for serial, kept in pending.first(10).items()} == {b"one": [1, 2], b"two": [3]}


def test_the_earliest_come_first_and_what_is_dropped_takes_no_room() -> None:
    pending = Pending()
    for number in range(5):
        pending.add(bytes([number]), votes(*range(100)))
    assert list(pending.first(2)) == [b"\0", b"\1"]
    assert pending.held_bytes >= 5 * 400
    for serial in (b"\0", b"\0", b"unknown"):
        pending.drop(serial)
    assert list(pending.first(2)) == [b"\1", b"\2"]
    for number in range(5):
        pending.drop(bytes([number]))
    assert (len(pending), pending.held_bytes) == (0, 0)


def test_nothing_of_a_report_is_shown() -> None:
    pending = Pending()
    pending.add(b"serial", votes(12_345))
    assert repr(pending) == "Pending(1 reports)"


def test_reports_are_added_up_with_repetition() -> None:
    assert sum_of(4, [votes(0, 3), votes(3, 3), votes()]).tolist() == [1, 0, 0, 3]


def test_reports_of_any_order_are_added_up_across_blocks_and_in_several_goes() -> None:
    dice = np.random.default_rng(7)
    candidates = 2 * BLOCK + 100
    reports = [dice.integers(0, candidates, 50, np.uint32) for _ in range(1200)]
    expected = np.bincount(np.concatenate(reports), minlength=candidates)
    assert (sum_of(candidates, reports) == expected).all()
    with pytest.raises(ValueError, match="outside its layer"):
        sum_of(candidates - 1, [*reports, votes(5, candidates - 1, 6)])


@pytest.mark.parametrize(("times", "kind"), [(255, np.uint8), (256, np.uint16), (70_000, np.uint32)])
def test_a_sum_takes_as_many_bytes_as_its_largest_count(times: int, kind: type[np.unsignedinteger[Any]]) -> None:
    total = sum_of(4, [votes(*[1] * times), votes(0, 1, 2)[:1]])
    assert total.dtype == kind
    assert total.tolist() == [1, times, 0, 0]


def test_a_vote_outside_the_layer_is_never_written_anywhere() -> None:
    with pytest.raises(ValueError, match="outside its layer"):
        sum_of(4, [votes(0, 4)])
