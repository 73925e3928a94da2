"""Time as an argument: days since 1970-01-01, from the system or from a test."""

import time
from collections.abc import Callable

Clock = Callable[[], int]
"""Returns today's day number."""

SECONDS_PER_DAY = 86_400


def system_days() -> int:
    """Today's day number in UTC."""
    return int(time.time()) // SECONDS_PER_DAY
