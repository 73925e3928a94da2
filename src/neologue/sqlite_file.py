"""A SQLite file of one owner: made for them alone, its errors told in plain words."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from neologue.errors import NeologueError


def make_private(kind: type[NeologueError], what: str, path: str) -> Path:
    """Where the file really is; if it is nowhere yet, it is created for its owner alone."""
    try:
        # Resolved, so that SQLite neither takes "file:..." for a URI nor follows a link to a file yet to be made.
        target = Path(path).resolve()
        # Only ever a new file: to close a second handle on an open database would drop SQLite's locks.
        with suppress(FileExistsError):
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode=0o600))
    except OSError as error:
        raise kind(f"can't open the {what} {path}: {error.strerror}; check its folder") from error
    return target


@contextmanager
def explained(kind: type[NeologueError], what: str, path: str, damaged: str) -> Iterator[None]:
    """Turn the errors of SQLite into one of a kind that names the file and the remedy."""
    try:
        yield
    except sqlite3.ProgrammingError as error:
        raise kind(
            f"can't use the {what} {path}: it is closed, or of another thread; open it where it is used"
        ) from error
    except sqlite3.Error as error:
        # The low byte is the kind of error; the rest says where it arose.
        match getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF:
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                message = f"the {what} {path} is in use by another process: try again"
            case (
                sqlite3.SQLITE_PERM
                | sqlite3.SQLITE_READONLY
                | sqlite3.SQLITE_IOERR
                | sqlite3.SQLITE_FULL
                | sqlite3.SQLITE_CANTOPEN
            ):
                message = (
                    f"can't read or write the {what} {path} ({error.sqlite_errorname}):"
                    " check the permissions of the file and its folder, and the room on the disk"
                )
            case _:
                message = f"{path} {damaged}"
        raise kind(message) from error
