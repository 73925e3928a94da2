"""The logs of the service, without anything personal: one JSON object per line, or on a terminal a readable line."""

import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, MutableMapping
from typing import Any, Final

import structlog
from structlog.tracebacks import ExceptionDictTransformer
from structlog.typing import ExcInfo, Processor

from neologue.service.ops.concurrency import QUOTABLE

_TOLD: Final = frozenset(error.__name__ for error in QUOTABLE)


class _Nameless(ExceptionDictTransformer):
    """Where an error was raised, and its message only if that can't quote a device."""

    def __init__(self) -> None:
        # Nor the values of variables: one of them may be a report, which must not reach a disk.
        super().__init__(show_locals=False)

    def __call__(self, exc_info: ExcInfo) -> list[dict[str, Any]]:
        return _without_messages(super().__call__(exc_info))


def _without_messages(failures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for failure in failures:
        failure.pop("exc_notes", None)
        if failure["exc_type"] not in _TOLD:
            failure["exc_value"] = ""
        for inner in failure.get("exceptions", ()):
            _without_messages(inner)
    return failures


_BEFORE = (
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.ExceptionRenderer(_Nameless()),
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


def readable_line(_: object, name: str, event: MutableMapping[str, Any]) -> str:
    """An event as a line for people."""
    moment, level = event.pop("timestamp")[11:19], event.pop("level")
    text, failures = event.pop("event"), event.pop("exception", ())
    event.pop("logger", None)
    mark = "" if level == "info" else f"{level}: "
    details = ", ".join(f"{key} {value}" for key, value in event.items())
    lines = [f"{moment}  {mark}{text}{f' ({details})' if details else ''}"]
    for failure in failures:
        message = f": {failure['exc_value']}" if failure["exc_value"] else ""
        lines += [f"          {failure['exc_type']}{message}"]
        lines += [f"            {frame['filename']}:{frame['lineno']} {frame['name']}" for frame in failure["frames"]]
    return "\n".join(lines)


def line_formatter(renderer: Processor) -> logging.Formatter:
    """Makes a line of what is logged by whomever."""
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_BEFORE,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
    )


def configure() -> None:
    """Send all logs, those of libraries too, to the standard error: readable on a terminal, and JSON elsewhere."""
    renderer: Processor = structlog.processors.JSONRenderer(ensure_ascii=False)
    if sys.stderr.isatty():
        renderer = readable_line
    structlog.configure(
        processors=[*_BEFORE, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(line_formatter(renderer))
    handler.addFilter(LIMIT)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    # Requests are counted, not logged: addresses and paths are personal.
    logging.getLogger("uvicorn.access").disabled = True
