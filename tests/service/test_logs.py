"""How much is logged."""

import json
import logging

import pytest
import structlog

from neologue.errors import StorageError
from neologue.service.ops.logs import MOST_PER_MINUTE, LogLimit, line_formatter, readable_line


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


def logged(error: Exception) -> str:
    """The line of an error that nobody has expected."""
    error.add_note("a word")
    try:
        try:
            raise TypeError("a word")
        except TypeError as cause:
            raise error from cause
    except Exception as raised:
        failed = (type(raised), raised, raised.__traceback__)
    line = logging.LogRecord("uvicorn.error", logging.ERROR, "file.py", 1, "Exception in application", None, failed)
    return line_formatter(structlog.processors.JSONRenderer()).format(line)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("a word"), ""),
        (ExceptionGroup("a word", [KeyError("a word")]), ""),
        (StorageError("the database is away"), "the database is away"),
    ],
    ids=["value", "group", "storage"],
)
def test_the_message_of_an_error_that_may_quote_a_device_is_not_logged(error: Exception, message: str) -> None:
    line = logged(error)
    assert "a word" not in line
    failures = json.loads(line)["exception"]
    told = [(failure["exc_type"], failure["exc_value"]) for failure in failures]
    assert told == [(type(error).__name__, message), ("TypeError", "")]
    assert failures[0]["frames"][-1]["name"] == "logged", "where it was raised is told"
