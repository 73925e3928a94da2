"""A table of what varies by name, whose default refuses.

Each part of neologue that works differently for another randomizer or another rule has one such table. A test may add a
row for a while, with pytest's `monkeypatch.setitem`.
"""

from collections.abc import Mapping
from typing import TypeVar

from neologue.errors import ParameterError

Row = TypeVar("Row")


class Table(dict[str, Row]):
    """Rows by name; a name that has no row is refused by a sentence that says where to add one."""

    def __init__(self, what: str, home: str, rows: Mapping[str, Row]) -> None:
        super().__init__(rows)
        self._what, self._home = what, home

    def __missing__(self, name: str) -> Row:
        raise ParameterError(f"no {self._what} {name!r}: register one in {self._home}; there are {', '.join(self)}")
