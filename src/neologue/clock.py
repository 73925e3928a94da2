"""Time as an argument: days since 1970-01-01, from the system or from a test."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], int]
"""Returns today's day number."""

SECONDS_PER_DAY = 86_400


def system_days() -> int:
    """Today's day number in UTC."""
    return int(time.time()) // SECONDS_PER_DAY


def iso_date(day: int) -> str:
    """The date of a day number, such as 2026-11-17."""
    return datetime.fromtimestamp(day * SECONDS_PER_DAY, UTC).date().isoformat()
