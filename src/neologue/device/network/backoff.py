"""Backoff: how long a device waits after answers that it can't use, longer each time and each device differently."""

import secrets
from typing import Final

from neologue.errors import LaterError

_FIRST: Final = 60.0
_LONGEST: Final = 21_600.0


class Backoff:
    """Counts failures in a row."""

    def __init__(self) -> None:
        self._failures = 0

    def reset(self) -> None:
        """Begin anew after a success."""
        self._failures = 0

    def delay(self, error: LaterError) -> float:
        """Seconds until the next try after one more failure: what the server says, or exponential with jitter."""
        self._failures += 1
        if error.retry_after is not None:
            return error.retry_after
        longest: float = min(_LONGEST, _FIRST * 2 ** min(self._failures - 1, 16))
        return longest * (0.5 + secrets.randbelow(1000) / 2000)
