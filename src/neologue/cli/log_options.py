"""The options of commands that look something up in an operator's log."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from neologue.errors import InputError

if TYPE_CHECKING:
    from neologue.transparency.read_log import ReadLog
    from neologue.transparency.trust import Trust

LOG = click.option("--log", metavar="URL|FOLDER", help="The operator's log, such as https://words.example.org/log.")
TRUST = click.option(
    "--trust",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file with the keys of the log and of witnesses, and how many must have co-signed (c2sp.org/tlog-policy).  "
    "[default: any log, no witnesses]",
)


def read_trust(path: Path | None) -> "Trust":
    """Whom a file trusts; everybody without a file."""
    from neologue.transparency.trust import Trust

    try:
        return Trust() if path is None else Trust.parse(path.read_text("utf-8"))
    except UnicodeDecodeError:
        raise InputError(f"{path} is no text: name a file with the keys of the log and its witnesses") from None


def read_log(place: str, trust: Path | None) -> "ReadLog | str":
    """The log at a place, or what is wrong with it."""
    import time

    from neologue.errors import LaterError, LogError
    from neologue.transparency.log_source import open_log
    from neologue.transparency.read_log import ReadLog

    trusted = read_trust(trust)
    try:
        return ReadLog.read(open_log(place), trusted, time.time())
    except (LogError, LaterError) as error:
        return f"the log can't be relied on: {error}"


def check_trust_has_a_log(place: str | None, trust: Path | None) -> None:
    """Refuse keys of a log that nobody reads."""
    if place is None and trust is not None:
        raise InputError("--trust says whose log to believe: give the log itself with --log")
