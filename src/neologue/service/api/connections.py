"""The connections of a worker: how many there are, in all and of one address, and which of them wait for their peer.

A connection waits while nothing can go on without its peer: no request has begun, one has not arrived completely, or
an answer is not read. It has a time limit for each, and one rule holds wherever there is no room: whoever has kept the
service waiting longest goes. A connection whose request is being answered is never closed for others.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol, Self

from neologue.service.ops.settings import Settings

_LOOKS: Final = 4
"""How many times all connections are checked within the shortest time limit."""
_LONGEST_PAUSE: Final = 1.0
"""The most seconds between two checks."""


class Awaited(StrEnum):
    """What a connection waits for; the value names the limit in metrics."""

    REQUEST = "idle_seconds"
    """The next request on a connection that has had one."""
    HEADER = "header_seconds"
    BODY = "body_seconds"
    REST = "unread_body_seconds"
    """The rest of a request that is answered already."""
    READER = "reading_seconds"
    """That an answer is read."""


class BoundedConnection(Protocol):
    """What is asked of a connection."""

    address: str
    awaits: Awaited

    @property
    def unsent(self) -> int:
        """The bytes that the peer has not read."""

    def cut(self) -> None:
        """End it at once."""


@dataclass(frozen=True)
class ConnectionLimits:
    """The limits of one worker."""

    connections: int
    of_address: int | None
    """None behind a proxy, which has one address for everybody."""
    seconds: dict[Awaited, float]
    unsent_bytes: int
    """The most bytes of answers that nobody reads, of all connections together."""

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Those that the settings of a worker state."""
        seconds = {
            Awaited.HEADER: settings.seconds_to_send_header,
            # Whoever reads the body gives it up earlier, with an answer.
            Awaited.BODY: 2 * settings.seconds_to_send,
            Awaited.REST: settings.seconds_to_send_header,
            Awaited.REQUEST: settings.idle_seconds,
            Awaited.READER: settings.seconds_to_read,
        }
        of_address = None if settings.proxies else settings.connections_per_address
        return cls(settings.connections, of_address, seconds, settings.unsent_bytes)

    @property
    def pause(self) -> float:
        """The seconds between two checks."""
        return min(_LONGEST_PAUSE, min(self.seconds.values()) / _LOOKS)


class Connections:
    """All connections of a worker; used on the event loop alone."""

    def __init__(self, limits: ConnectionLimits, clock: Callable[[], float], on_limit: Callable[[str], None]) -> None:
        """`on_limit` is told the name of each limit that closes or refuses a connection."""
        self._limits, self._clock, self.on_limit = limits, clock, on_limit
        self._waiting: dict[BoundedConnection, float] = {}
        """Since when each waits that does, the longest first."""
        self._waiting_of: dict[str, dict[BoundedConnection, None]] = {}
        """Those of each address, the longest first."""
        self._open: set[BoundedConnection] = set()
        self._open_of: Counter[str] = Counter()

    @property
    def open(self) -> int:
        """How many connections there are."""
        return len(self._open)

    def admit(self, connection: BoundedConnection) -> bool:
        """Count a new connection in, which waits for its first request; False if there is no room for it."""
        address, limits = connection.address, self._limits
        if limits.of_address is not None and self._open_of[address] >= limits.of_address:
            self.on_limit("connections_of_address")
            if not self._cut_first(self._waiting_of.get(address, {})):
                return False
        elif len(self._open) >= limits.connections:
            self.on_limit("connections")
            if not self._cut_first(self._waiting):
                return False
        self._open.add(connection)
        self._open_of[address] += 1
        self.wait(connection)
        return True

    def leave(self, connection: BoundedConnection) -> None:
        """Count a connection out, unless it is already, or was never admitted."""
        if connection not in self._open:
            return
        self.work(connection)
        self._open.remove(connection)
        self._open_of[connection.address] -= 1
        if not self._open_of[connection.address]:
            del self._open_of[connection.address]

    def wait(self, connection: BoundedConnection) -> None:
        """Note that a connection waits for its peer from now on, whatever it waited for before."""
        if connection not in self._open:
            return
        self.work(connection)
        self._waiting[connection] = self._clock()
        self._waiting_of.setdefault(connection.address, {})[connection] = None

    def work(self, connection: BoundedConnection) -> None:
        """Note that a connection does not wait for its peer."""
        if self._waiting.pop(connection, None) is None:
            return
        of_address = self._waiting_of[connection.address]
        del of_address[connection]
        if not of_address:
            del self._waiting_of[connection.address]

    async def close_slow(self) -> None:
        """Close whoever has exceeded a time limit, and then the slowest readers until there is memory again."""
        now, unsent = self._clock(), 0
        for connection, since in list(self._waiting.items()):
            if now - since >= self._limits.seconds[connection.awaits]:
                self.on_limit(connection.awaits)
                self._cut(connection)
            else:
                unsent += connection.unsent
        for connection in list(self._waiting):
            if unsent <= self._limits.unsent_bytes:
                return
            if size := connection.unsent:
                unsent -= size
                self.on_limit("unsent_bytes")
                self._cut(connection)

    def _cut_first(self, waiting: dict[BoundedConnection, float] | dict[BoundedConnection, None]) -> bool:
        """End the connection that waits longest; False if none does."""
        longest = next(iter(waiting), None)
        if longest is None:
            return False
        self._cut(longest)
        return True

    def _cut(self, connection: BoundedConnection) -> None:
        # At once: until its transport says that it is closed, another would go in vain.
        self.leave(connection)
        connection.cut()
