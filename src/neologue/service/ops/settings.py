"""The settings of a worker: everything that is not in its database."""

from dataclasses import dataclass

from neologue.errors import ParameterError

MEGABYTE = 1 << 20
SHORTEST_PATIENCE = 0.2


_POSITIVE = (
    "seconds_to_send",
    "patience",
    "group_patience",
    "refresh",
    "requests_per_second",
    "failures_per_minute",
)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of one worker."""

    database: str
    """A file, or postgresql://…"""
    largest_request: int = 64 * MEGABYTE
    """The most bytes of what an operator sends: a list of known words may be long."""
    seconds_to_send: float = 30.0
    """How long a request may take to arrive."""
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
    """How many wrong requests an address may make before all of its requests are delayed."""
    behind_proxy: bool = False
    """Whether a trusted proxy writes the address of a device into X-Forwarded-For."""

    def __post_init__(self) -> None:
        for name in _POSITIVE:
            if not 0 < getattr(self, name) <= 1e6:
                raise ParameterError(f"{name.replace('_', ' ')} must be above 0, not {getattr(self, name)}")
        if self.patience < SHORTEST_PATIENCE:
            raise ParameterError(
                f"patience must be at least {SHORTEST_PATIENCE:g} seconds, not {self.patience}: a batch takes that long"
            )
