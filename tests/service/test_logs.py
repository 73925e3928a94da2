"""How much is logged."""

import logging

from neologue.service.ops.logs import MOST_PER_MINUTE, LogLimit


def record(level: int, message: object, name: str = "uvicorn.error") -> logging.LogRecord:
    return logging.LogRecord(name, level, "file.py", 1, message, None, None)


def test_warnings_of_a_kind_are_bounded_in_a_minute_and_others_are_not_left_out_for_them() -> None:
    now = [0.0]
    limit = LogLimit(lambda: now[0])
    passed = [limit.filter(record(logging.WARNING, "invalid request")) for _ in range(10 * MOST_PER_MINUTE)]
    assert sum(passed) == MOST_PER_MINUTE
    assert limit.left_out == 9 * MOST_PER_MINUTE
    assert limit.filter(record(logging.ERROR, {"event": "disk full"}, "neologue.service"))
    assert all(limit.filter(record(logging.INFO, "layer opened")) for _ in range(10 * MOST_PER_MINUTE))
    now[0] = 60.0
    assert limit.filter(record(logging.WARNING, "invalid request")), "the next minute"


def test_kinds_are_bounded_too() -> None:
    limit = LogLimit(lambda: 0.0)
    for number in range(5000):
        limit.filter(record(logging.WARNING, f"number {number}"))
    assert len(limit._logged) <= 1001
