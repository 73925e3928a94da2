"""What is wrong with the rows of a file, found before anything slow is imported.

Nothing of a row is quoted: a message has its number alone.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING

from neologue.errors import DataError, ParameterError
from neologue.populations.record_sql import DAYS_END
from neologue.populations.record_table import MEMORY_LIMIT, Columns, RecordTable, fetch_row, query_records
from neologue.populations.table_files import FileSummary, TableFiles, check_parts, find_files, kind_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

FAR_DAYS = 366
FAR_SHARE = 0.01
"""Rows that come so many days after all others, and are no larger a share of all, have a wrong day."""
SMALL = 2**26
"""Files of so many bytes are read twice, so that a mistake in a row is told at once."""
WHITE_SPACE = "".join(filter(str.isspace, map(chr, range(0x3001))))  # everything that str.strip() removes


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


def check_table(paths: Sequence[Path], columns: Columns, days: int) -> None:
    """Refuse files with the wrong columns, and small ones with a wrong row, as reading them would."""
    check_days(days)
    source = find_files(paths)
    small = sum(file.stat().st_size for file in source.files) <= SMALL
    summaries = check_parts_of(source, columns) if small else []

    def check(connection: "DuckDBPyConnection", table: RecordTable) -> None:
        if not small:
            return
        gather_keys(connection, source.name)
        if summaries:
            oldest_of_parts(source.files, summaries, columns, days)
        else:
            oldest_of_keys(connection, source.name, days)

    query_records(source, columns, False, MEMORY_LIMIT, check)


def check_parts_of(source: TableFiles, columns: Columns) -> list[FileSummary]:
    """Look at each of several files, and refuse those that are not parts of one table; nothing for a lone file."""
    if source.is_lone:
        return []
    summaries = [summarise(file, columns, part=True) for file in source.files]
    check_parts(source, summaries)
    return summaries


def check_days(days: int) -> None:
    """Refuse a window that holds no day."""
    if days < 1:
        raise ParameterError(f"a window of {days} days holds nothing: give at least 1")


def summarise(path: Path, columns: Columns, *, part: bool = False) -> FileSummary:
    """Look at the columns and the days of a file without reading everything."""

    def query(connection: "DuckDBPyConnection", table: RecordTable) -> FileSummary:
        counted = connection.execute("SELECT day, count(*) FROM records GROUP BY day").fetchall()
        named = (columns.user, columns.word)
        used = {*named, columns.count or "count", columns.day or "day"} & table.types.keys()
        kinds = {name: kind_of(table.types[name]) if name in named else "" for name in used}
        days = {day: rows for day, rows in counted if day is not None}
        return FileSummary(kinds, sum(rows for _, rows in counted), days)

    return query_records(find_files(path), columns, part, MEMORY_LIMIT, query)


def gather_keys(connection: "DuckDBPyConnection", source: str) -> None:
    """Gather the distinct users, words and days, and refuse faulty rows."""
    connection.execute(
        "CREATE TEMP TABLE keys AS SELECT person, word, day, "
        "CASE 0 WHEN grouping(person) THEN 'person' WHEN grouping(word) THEN 'word' ELSE 'day' END AS key, "
        "count(*) AS total, max(records.day) AS newest, "
        "CASE WHEN count(records.times) = count(*) THEN 1 END AS times "
        "FROM records GROUP BY GROUPING SETS ((person), (word), (day))"
    )
    _check_rows(connection, source)


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


def oldest_of_keys(connection: "DuckDBPyConnection", source: str, days: int) -> int:
    """The first day that counts, of the gathered days of one table; refuses a newest day out of all proportion."""
    counted = dict(connection.execute("SELECT day, total FROM keys WHERE key = 'day'").fetchall())
    return _oldest(counted, days, lambda oldest: (source, counted, _first_row(connection, oldest)))


def oldest_of_parts(files: Sequence[Path], summaries: Sequence[FileSummary], columns: Columns, days: int) -> int:
    """The first day that counts, of all files of a table; refuses a newest day out of all proportion."""
    counted = Counter[int]()
    for summary in summaries:
        counted.update(summary.days)

    def find(oldest: int) -> tuple[str, Mapping[int, int], int]:
        parts = zip(files, summaries, strict=True)
        file, summary = next(part for part in parts if any(day >= oldest for day in part[1].days))
        row = query_records(
            find_files(file), columns, True, MEMORY_LIMIT, lambda connection, table: _first_row(connection, oldest)
        )
        return str(file), summary.days, row

    return _oldest(counted, days, find)


def _first_row(connection: "DuckDBPyConnection", oldest: int) -> int:
    """The number of the first row that is of a day or a later one."""
    numbered = "SELECT day, row_number() OVER () AS row FROM records"
    (row,) = fetch_row(connection, f"SELECT min(row) FROM ({numbered}) WHERE day >= {oldest}")
    return int(row)


def _oldest(counted: Mapping[int, int], days: int, find: Callable[[int], tuple[str, Mapping[int, int], int]]) -> int:
    """The first day of the window that ends with the newest day.

    If the newest days are out of all proportion, `find` says in which file they are, with its days and the row.
    """
    newest, rows = max(counted, default=0), sum(counted.values())
    oldest = newest - days + 1
    before = max((day for day in counted if day < oldest), default=None)
    recent = sum(number for day, number in counted.items() if day >= oldest)
    if before is None or oldest - before <= max(days, FAR_DAYS) or recent > FAR_SHARE * rows:
        return oldest
    source, in_file, first = find(oldest)
    here = sum(number for day, number in in_file.items() if day >= oldest)
    raise DataError(
        f"{source} has {here:,} row(s), the first is row {first}, of {newest - before:,} days after all others, so "
        f"that {rows - recent:,} of {rows:,} rows would be too old to count: correct the days of these rows, or leave "
        "them out"
    )
