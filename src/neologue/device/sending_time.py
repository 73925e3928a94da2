"""When votes leave a device: at a moment that was drawn before its words were looked at.

Making a report takes the longer, the more words there are. Whoever watches the network must not read that from the time
between the last fetch and the report, so the moment of sending is drawn first. The report is made meanwhile and leaves
at that moment, never earlier. If it is not ready, it waits for the next moment of a sequence that depends on the draws
alone. So all that the time can tell is how many moments had passed: none, as long as making takes less than the
shortest wait.
"""

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from neologue.errors import ParameterError

_STEPS: Final = 1 << 32
_LONGEST: Final = 3600.0


@dataclass(frozen=True)
class SendingWindow:
    """How many seconds a device waits before it sends, at least and at most; a server has no say in it."""

    earliest: float = 5.0
    """Far above what making a report takes with a full diary, which is about 0.1 seconds."""
    latest: float = 15.0

    def __post_init__(self) -> None:
        if not 0 <= self.earliest < self.latest <= _LONGEST:
            raise ParameterError(
                f"a sending window lasts from 0 seconds or more to a later moment within an hour, not from "
                f"{self.earliest} to {self.latest}"
            )

    def draw(self) -> float:
        """A uniform time in the window."""
        return self.earliest + (self.latest - self.earliest) * secrets.randbelow(_STEPS) / _STEPS


class SendingTime:
    """Draws the moments at which one device sends."""

    def __init__(
        self,
        window: SendingWindow | None = None,
        now: Callable[[], float] = time.monotonic,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        """`now` returns seconds, from any beginning; `wait` returns after so many."""
        self._window = SendingWindow() if window is None else window
        self._now, self._wait = now, wait

    @contextmanager
    def hide(self) -> Iterator[None]:
        """Draw the moment, let the caller make what it sends, and wait for that moment."""
        moment = self._now() + self._window.draw()
        yield
        while (now := self._now()) > moment:
            moment += self._window.draw()
        self._wait(moment - now)
