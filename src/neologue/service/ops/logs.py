"""The logs of the service: one JSON object per line, without anything personal."""

import logging
import sys

import structlog
from structlog.tracebacks import ExceptionDictTransformer

_BEFORE = (
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    # Without the values of variables: one of them may be a report, which must not reach a disk.
    structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False)),
)


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
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    # Requests are counted, not logged: addresses and paths are personal.
    logging.getLogger("uvicorn.access").disabled = True
