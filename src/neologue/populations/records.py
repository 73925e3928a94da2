"""Users and words read from a company's own file.

The distinct users and words have to fit into DuckDB's memory limit, but not the rows: rows leave DuckDB as pairs of
numbers, which are sorted and summed outside of that limit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from neologue.errors import DataError, ParameterError
from neologue.language.word_form import AS_TYPED, WordForm
from neologue.populations.holdings import Holdings, merge_pairs
from neologue.populations.record_sql import DAYS_END
from neologue.populations.record_table import (
    DEFAULT_COLUMNS,
    FRAME,
    MEMORY_LIMIT,
    Columns,
    RecordTable,
    fetch_row,
    query_frame,
    query_records,
)
from neologue.populations.table_files import FileSummary, check_parts, find_files, kind_of
from neologue.populations.user_keys import Keys, key_sql

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


FAR_DAYS = 366
FAR_SHARE = 0.01
"""Rows that come so many days after all others, and are no larger a share of all, have a wrong day."""
ROWS_AT_ONCE = 2**26  # pairs that leave DuckDB in one piece, about 2 GB while they are sorted
WHITE_SPACE = "".join(filter(str.isspace, map(chr, range(0x3001))))  # everything that str.strip() removes


@dataclass(frozen=True)
class Extent:
    """The size of a file of records."""

    users: int
    words: int
    rows: int
    dropped: int


@dataclass(frozen=True, eq=False)
class Records:
    """The content of a file: the lexicon, sorted by code point, and which user holds which word of it.

    Of the `rows` read, `dropped` were older than the window of days.
    """

    words: list[str]
    keys: Keys
    """A key for each user instead of a name, in ascending order."""
    holdings: Holdings
    rows: int
    dropped: int

    @property
    def extent(self) -> Extent:
        """The size of the records."""
        return Extent(self.holdings.users, len(self.words), self.rows, self.dropped)


@dataclass(frozen=True)
class _Fault:
    """A condition that no row may meet, found in the groups of one `key`."""

    key: str
    condition: str
    rows: str
    remedy: str


def _blank(column: str) -> str:
    return f"NOT coalesce(regexp_matches(CAST({column} AS VARCHAR), '[^{WHITE_SPACE}]'), false)"


FAULTS = (
    _Fault("person", _blank("person"), "without a user", "name the user in every row"),
    _Fault("word", _blank("word"), "without a word", "leave out the rows that have none"),
    _Fault("word", "contains(word, chr(0))", "with a NUL character in the word", "remove it"),
    _Fault("word", "times IS NULL", "whose count is not a whole number from 1 up", "correct the counts"),
    _Fault(
        "day",
        "day IS NULL",
        f"whose day is neither a date like 2024-01-31 nor a whole number below {DAYS_END}",
        "correct the days",
    ),
)


def read_records(
    path: Path | Sequence[Path],
    columns: Columns = DEFAULT_COLUMNS,
    *,
    days: int = 60,
    newest: int | None = None,
    part: bool = False,
    form: WordForm = AS_TYPED,
    memory_limit: str = MEMORY_LIMIT,
) -> Records:
    """Read who holds which word from a file, from several, a pattern of them, or a directory of parquet files.

    The counts of a user's words of one form are summed, up to 2^31 - 1. Users are ordered by their keys, whatever the
    order of rows. If the file has days, only the last `days` up to `newest` (by default its newest day) count;
    a user with only older rows is kept, without words. A file that is a `part` of a table can have columns in the names
    of its folders, such as `day=7`.
    """
    _check_days(days)
    source = find_files(path)
    if not source.is_lone:
        check_parts(source, [summarise(file, columns, part=True) for file in source.files])

    def encode(connection: "DuckDBPyConnection", table: RecordTable) -> Records:
        if part and fetch_row(connection, "SELECT count(*) FROM records") == (0,):
            return Records([], np.empty((0, 2), np.uint64), Holdings.concatenate([]), rows=0, dropped=0)
        _gather_keys(connection, source.name)
        oldest = _oldest(connection, source.name, days) if newest is None else newest - days + 1
        return _encode(connection, oldest, form)

    return query_records(source, columns, part, memory_limit, encode)


def read_frame(
    frame: object,
    columns: Columns = DEFAULT_COLUMNS,
    *,
    days: int = 60,
    form: WordForm = AS_TYPED,
    memory_limit: str = MEMORY_LIMIT,
) -> Records:
    """Read who holds which word from a table in memory, as `read_records` reads a file."""
    _check_days(days)

    def encode(connection: "DuckDBPyConnection", table: RecordTable) -> Records:
        _gather_keys(connection, FRAME)
        return _encode(connection, _oldest(connection, FRAME, days), form)

    return query_frame(frame, columns, memory_limit, encode)


def _check_days(days: int) -> None:
    if days < 1:
        raise ParameterError(f"a window of {days} days holds nothing: give at least 1")


def summarise(path: Path, columns: Columns = DEFAULT_COLUMNS, *, part: bool = False) -> FileSummary:
    """Look at the columns and the newest day of a file without reading everything."""

    def query(connection: "DuckDBPyConnection", table: RecordTable) -> FileSummary:
        rows, newest = fetch_row(connection, "SELECT count(*), coalesce(max(day), 0) FROM records")
        named = (columns.user, columns.word)
        used = {*named, columns.count or "count", columns.day or "day"} & table.types.keys()
        kinds = {name: kind_of(table.types[name]) if name in named else "" for name in used}
        return FileSummary(kinds, int(newest) if rows else None)

    return query_records(find_files(path), columns, part, MEMORY_LIMIT, query)


def _gather_keys(connection: "DuckDBPyConnection", source: str) -> None:
    """Gather the distinct users, words and days, and refuse faulty rows."""
    connection.execute(
        "CREATE TEMP TABLE keys AS SELECT person, word, day, "
        "CASE 0 WHEN grouping(person) THEN 'person' WHEN grouping(word) THEN 'word' ELSE 'day' END AS key, "
        "count(*) AS total, max(records.day) AS newest, "
        "CASE WHEN count(records.times) = count(*) THEN 1 END AS times "
        "FROM records GROUP BY GROUPING SETS ((person), (word), (day))"
    )
    _check_rows(connection, source)


def _oldest(connection: "DuckDBPyConnection", source: str, days: int) -> int:
    """The first day of the window that ends with the newest day; refuses a newest day out of all proportion."""
    newest, rows = map(int, fetch_row(connection, "SELECT max(day), sum(total) FROM keys WHERE key = 'day'"))
    oldest = newest - days + 1
    before, counted = fetch_row(
        connection,
        f"SELECT max(day) FILTER (day < {oldest}), sum(total) FILTER (day >= {oldest}) FROM keys WHERE key = 'day'",
    )
    if before is None or oldest - before <= max(days, FAR_DAYS) or counted > FAR_SHARE * rows:
        return oldest
    (first,) = fetch_row(
        connection,
        f"SELECT min(row) FROM (SELECT day, row_number() OVER () AS row FROM records) WHERE day >= {oldest}",
    )
    raise DataError(
        f"{source} has {counted:,} row(s), the first is row {first}, of {newest - before:,} days after all others, so "
        f"that {rows - counted:,} of {rows:,} rows would be too old to count: correct the days of these rows, or leave "
        "them out"
    )


def _encode(connection: "DuckDBPyConnection", oldest: int, form: WordForm) -> Records:
    """Number the users and the words, and gather which user holds which word."""
    rows, kept = fetch_row(
        connection,
        f"SELECT sum(total), coalesce(sum(total) FILTER (day >= {oldest}), 0) FROM keys WHERE key = 'day'",
    )
    connection.execute(
        "CREATE TEMP TABLE people AS SELECT person, high, low, row_number() OVER by_key - 1 AS id, "
        f"(sum(total) OVER by_key - total) // {ROWS_AT_ONCE} AS part "
        f"FROM (SELECT *, {key_sql('CAST(person AS VARCHAR)')} FROM keys WHERE key = 'person') "
        "WINDOW by_key AS (ORDER BY high, low)"
    )
    connection.execute(
        "CREATE TEMP TABLE spellings AS SELECT word, row_number() OVER (ORDER BY word) - 1 AS id "
        f"FROM keys WHERE key = 'word' AND newest >= {oldest}"
    )
    users, parts = fetch_row(connection, "SELECT count(*), max(part) + 1 FROM people")
    spellings = connection.execute("SELECT word FROM spellings ORDER BY id").fetchnumpy()["word"].tolist()
    words, word_ids = form_all(spellings, form)
    keys = connection.execute("SELECT high, low FROM people ORDER BY id").fetchnumpy()
    width = max(1, len(spellings))
    # The pairs are sorted below anyway, and DuckDB would buffer rows to keep their order.
    connection.execute("SET preserve_insertion_order = false")
    merged = []
    for part in range(int(parts)):
        found = connection.execute(
            f"SELECT people.id * {width} + spellings.id AS pair, times FROM records "
            "JOIN people USING (person) JOIN spellings USING (word) "
            f"WHERE part = {part} AND day >= {oldest}"
        ).fetchnumpy()
        pairs = found["pair"]
        ids = pairs % width
        pairs += word_ids[ids] - ids
        merged.append(merge_pairs(pairs, found["times"]))
    pairs = np.concatenate([pairs for pairs, _ in merged])
    counts = np.concatenate([counts for _, counts in merged])
    holdings = Holdings.from_pairs(pairs, counts, int(users), width)
    return Records(words, np.stack([keys["high"], keys["low"]], 1), holdings, rows=int(rows), dropped=int(rows - kept))


def _check_rows(connection: "DuckDBPyConnection", source: str) -> None:
    """Refuse a file without rows or with faulty ones; these are counted but never shown."""
    faulty = ", ".join(f"bool_or(key = '{fault.key}' AND {fault.condition})" for fault in FAULTS)
    groups, *present = fetch_row(connection, f"SELECT count(*), {faulty} FROM keys")
    if groups == 0:
        raise DataError(f"{source} has no rows: give a file with users and words")
    for fault in compress(FAULTS, present):
        number, first = fetch_row(
            connection,
            "SELECT count(*), min(row) FROM (SELECT *, row_number() OVER () AS row FROM records) "
            f"WHERE {fault.condition}",
        )
        raise DataError(f"{source} has {number} row(s) {fault.rows}, the first is row {first}: {fault.remedy}")


def form_all(spellings: list[str], form: WordForm) -> tuple[list[str], NDArray[np.int64]]:
    """The lexicon of some sorted spellings, and the word that each spelling stands for."""
    forms = list(map(form.of, spellings))
    if forms == spellings:
        return spellings, np.arange(len(spellings))
    words = sorted(set(forms))
    ids = {word: i for i, word in enumerate(words)}
    return words, np.array([ids[word] for word in forms])
