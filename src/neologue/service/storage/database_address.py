"""The address of a database: where it is, and which kind it is."""

from pathlib import Path

from neologue.errors import InputError
from neologue.service.storage.database import Database
from neologue.service.storage.postgres_database import PostgresDatabase
from neologue.service.storage.sqlite_database import SqliteDatabase


def read_address(given: str) -> str:
    """The address of a database; `@path` stands for the file that it is in, so that no environment has its password."""
    if not given.startswith("@"):
        return given
    file = Path(given[1:])
    try:
        address = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise InputError(f"{file} can't be read ({reason}): name a file with the address of the database") from None
    if not address or len(address.splitlines()) > 1 or address.startswith("@"):
        raise InputError(f"{file} must have the address of the database, and nothing else: a path or postgresql://…")
    return address


def open_database(given: str) -> Database:
    """The database of a path, `sqlite:///path`, `postgresql://…` or `@file`; connected to when it is first used."""
    url = read_address(given)
    scheme, found, rest = url.partition("://")
    if not found:
        return SqliteDatabase(url)
    if scheme in ("postgresql", "postgres"):
        return PostgresDatabase(url)
    if scheme == "sqlite" and rest.removeprefix("/"):
        return SqliteDatabase(rest.removeprefix("/"))
    raise InputError(f"{scheme}://… names no database: give a path, sqlite:///path or postgresql://…")
