"""A copy of a running service's database."""

import sqlite3
from contextlib import closing
from pathlib import Path

from neologue.errors import InputError, StorageError
from neologue.service.storage.database_address import read_address
from neologue.sqlite_file import explain_errors, make_private


def copy_database(database: str, copy: Path) -> None:
    """Copy a SQLite database as it is at one moment, while others write to it, into a new file."""
    address = read_address(database)
    if address.startswith(("postgresql:", "postgres:")):
        raise InputError("PostgreSQL has a tool for this: pg_dump --format=custom, and pg_restore")
    source = Path(address.removeprefix("sqlite:///"))
    if not source.is_file():
        raise InputError(f"there is no database {source}: name the one that the service uses")
    if copy.exists():
        raise InputError(f"{copy} exists; give another name, a copy is never overwritten")
    target = make_private(StorageError, "copy", str(copy))
    try:
        with (
            explain_errors(StorageError, "database", str(source), "is damaged or not a database"),
            closing(sqlite3.connect(source.resolve().as_uri() + "?mode=ro", uri=True)) as running,
            closing(sqlite3.connect(target)) as written,
        ):
            running.backup(written)
            # The copy is one file, whatever mode the database is in.
            written.execute("PRAGMA journal_mode = DELETE")
    except BaseException:
        target.unlink()
        raise
