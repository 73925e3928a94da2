"""How much is logged."""

import logging

from neologue.service.ops.logs import MOST_PER_MINUTE, LogLimit, readable_line


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


def test_a_line_for_people_has_the_event_and_what_belongs_to_it() -> None:
    event = {"timestamp": "2026-11-18T04:07:18.5Z", "level": "info", "logger": "x", "event": "layer opened", "layer": 2}
    assert readable_line(None, "info", event) == "04:07:18  layer opened (layer 2)"


def test_a_failure_is_shown_with_its_frames_and_no_values() -> None:
    frame = {"filename": "/a.py", "lineno": 7, "name": "f"}
    failure = {"exc_type": "OSError", "exc_value": "disk full", "frames": [frame]}
    event = {"timestamp": "2026-11-18T04:07:18.5Z", "level": "error", "event": "failed", "exception": [failure]}
    assert readable_line(None, "error", event).splitlines() == [
        "04:07:18  error: failed",
        "          OSError: disk full",
        "            /a.py:7 f",
    ]
