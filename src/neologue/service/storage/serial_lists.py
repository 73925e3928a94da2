"""Tables that list serials of a campaign, and nothing beside them."""

from collections.abc import Iterator, Sequence
from typing import Final

from neologue.service.storage.database import Connection

_AT_ONCE: Final = 500
"""How many serials one statement names: there is a limit, and a statement that was seen before is not parsed again."""


def serials_among(db: Connection, table: str, campaign: bytes, serials: Sequence[bytes]) -> frozenset[bytes]:
    """Those of some serials that are in the table."""
    found: set[bytes] = set()
    for some in pieces(serials):
        given, values = db.table_of("serial", some)
        rows = db.execute(
            f"SELECT serial FROM {table} WHERE campaign = ? AND serial IN (SELECT serial FROM {given})",
            (campaign, *values),
        )
        found.update(serial for (serial,) in rows)
    return frozenset(found)


def insert_serials(db: Connection, table: str, campaign: bytes, serials: Sequence[bytes]) -> None:
    """Add serials to a table that has none of them: it fails if it has one."""
    for some in pieces(serials):
        given, values = db.table_of("serial", some)
        db.execute(f"INSERT INTO {table} (campaign, serial) SELECT ?, serial FROM {given}", (campaign, *values))


def delete_serials(db: Connection, table: str, campaign: bytes, serials: Sequence[bytes]) -> None:
    """Remove serials from a table, if they are in it."""
    for some in pieces(serials):
        given, values = db.table_of("serial", some)
        db.execute(
            f"DELETE FROM {table} WHERE campaign = ? AND serial IN (SELECT serial FROM {given})", (campaign, *values)
        )


def pieces(serials: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """Serials, as many at once as one statement names."""
    return (serials[start : start + _AT_ONCE] for start in range(0, len(serials), _AT_ONCE))
