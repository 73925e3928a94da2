"""The settings of a worker: everything that is not in its database."""

from dataclasses import dataclass

from neologue.errors import ParameterError

MEGABYTE = 1 << 20
SHORTEST_PATIENCE = 0.2


_POSITIVE = (
    "seconds_to_send",
    "seconds_to_send_header",
    "seconds_to_read",
    "idle_seconds",
    "patience",
    "group_patience",
    "refresh",
    "requests_per_second",
    "failures_per_minute",
)
_COUNTS = ("connections", "connections_per_address", "largest_header", "arriving_bytes", "unsent_bytes")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of one worker."""

    database: str
    """A file, or postgresql://…"""
    wrapping_key: str | None = None
    """The source of the key under which the service's keys are wrapped; a file beside SQLite's unless given."""
    witnesses: str | None = None
    """A file that names the witnesses of the log and how many must co-sign (c2sp.org/tlog-policy), if there are any."""
    webhook: str | None = None
    """An address that is told what happens to campaigns, if any."""
    webhook_secret: str | None = None
    """The file with the secret that signs what it is told."""
    evidence: str | None = None
    """A file with evidence of where the service runs, which the log is told, if there is any."""
    largest_request: int = 64 * MEGABYTE
    """The most bytes of what an operator sends: a list of known words may be long."""
    seconds_to_send: float = 30.0
    """How long a body may take to arrive."""
    patience: float = 2.0
    """How long a report waits for its batch before its device is told to ask again."""
    group_patience: float = 10.0
    """How long a device waits for the others of its group before it is told to ask again."""
    waiting_bytes: int = 512 * MEGABYTE
    """The most memory for reports that wait."""
    refresh: float = 0.5
    """How often a worker looks at what has changed, in seconds."""
    requests_per_second: float = 2000.0
    """How many requests an address may make; devices behind one gateway share it."""
    failures_per_minute: float = 120.0
    """How many wrong requests an address may make before further ones are answered with 429."""
    proxies: int = 0
    """How many trusted proxies a request comes through; each appends an address to X-Forwarded-For."""
    connections: int = 10_000
    """How many connections a worker has open."""
    connections_per_address: int = 1_000
    """How many of them one address has; without a proxy alone, which has one address for everybody."""
    largest_header: int = 16 * 1024
    """The most bytes of a request line and its headers."""
    seconds_to_send_header: float = 10.0
    """How long they may take to arrive."""
    idle_seconds: float = 30.0
    """How long a connection stays open without a request."""
    seconds_to_read: float = 30.0
    """How long the peer of a connection may leave an answer unread."""
    arriving_bytes: int = 256 * MEGABYTE
    """The most memory for bodies that have not arrived completely."""
    unsent_bytes: int = 256 * MEGABYTE
    """The most memory for answers that nobody reads."""

    def __post_init__(self) -> None:
        for name in _POSITIVE:
            if not 0 < getattr(self, name) <= 1e6:
                raise ParameterError(f"{name.replace('_', ' ')} must be above 0, not {getattr(self, name)}")
        for name in _COUNTS:
            if getattr(self, name) < 1:
                raise ParameterError(f"{name.replace('_', ' ')} must be at least 1, not {getattr(self, name)}")
        if self.proxies < 0:
            raise ParameterError(f"proxies must be 0 or more, not {self.proxies}")
        if self.patience < SHORTEST_PATIENCE:
            raise ParameterError(
                f"patience must be at least {SHORTEST_PATIENCE:g} seconds, not {self.patience}: a batch takes that long"
            )
