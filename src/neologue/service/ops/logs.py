"""The logs of the service: one JSON object per line, without anything personal."""

import logging
import sys
import time
from collections import Counter
from collections.abc import Callable

import structlog
from structlog.tracebacks import ExceptionDictTransformer

_BEFORE = (
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    # Without the values of variables: one of them may be a report, which must not reach a disk.
    structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False)),
)


MOST_PER_MINUTE = 60
"""How many warnings or errors of one kind are logged in a minute: what strangers can cause must not fill a disk."""
_MINUTE = 60.0
_KINDS = 1000
"""How many kinds are told apart."""


class LogLimit(logging.Filter):
    """Leaves out warnings and errors of a kind of which there were many in this minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._ends = 0.0
        self._logged: Counter[tuple[str, str]] = Counter()
        self.left_out = 0
        """How many there were so far."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log a record."""
        if record.levelno < logging.WARNING:
            return True
        now = self._clock()
        if now >= self._ends or len(self._logged) > _KINDS:
            self._ends = now + _MINUTE
            self._logged.clear()
        # Of structlog, the message is a dictionary; elsewhere it is a template without its values.
        what = record.msg.get("event") if isinstance(record.msg, dict) else record.msg
        kind = (record.name, str(what))
        self._logged[kind] += 1
        if self._logged[kind] <= MOST_PER_MINUTE:
            return True
        self.left_out += 1
        return False


LIMIT = LogLimit()
"""The limit of this process."""


def configure() -> None:
    """Send all logs, those of libraries too, to the standard error as JSON."""
    structlog.configure(
        processors=[*_BEFORE, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_BEFORE,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(ensure_ascii=False),
            ],
        )
    )
    handler.addFilter(LIMIT)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    # Requests are counted, not logged: addresses and paths are personal.
    logging.getLogger("uvicorn.access").disabled = True
