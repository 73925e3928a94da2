"""Users and words read from a company's own file.

The distinct users and words have to fit into DuckDB's memory limit, but not the rows: rows leave DuckDB as pairs of
numbers, which are sorted and summed outside of that limit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from neologue.language.word_form import AS_TYPED, WordForm
from neologue.populations.holdings import Holdings, merge_pairs
from neologue.populations.record_checks import check_days, check_parts_of, gather_keys, oldest_of_keys, oldest_of_parts
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
from neologue.populations.table_files import find_files
from neologue.populations.user_keys import Keys, key_sql

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


ROWS_AT_ONCE = 2**26  # pairs that leave DuckDB in one piece, about 2 GB while they are sorted


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
    check_days(days)
    source = find_files(path)
    summaries = check_parts_of(source, columns)

    def oldest_day(connection: "DuckDBPyConnection") -> int:
        if newest is not None:
            return newest - days + 1
        if summaries:
            return oldest_of_parts(source.files, summaries, columns, days)
        return oldest_of_keys(connection, source.name, days)

    def encode(connection: "DuckDBPyConnection", table: RecordTable) -> Records:
        if part and fetch_row(connection, "SELECT count(*) FROM records") == (0,):
            return Records([], np.empty((0, 2), np.uint64), Holdings.concatenate([]), rows=0, dropped=0)
        gather_keys(connection, source.name)
        return _encode(connection, oldest_day(connection), form)

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
    check_days(days)

    def encode(connection: "DuckDBPyConnection", table: RecordTable) -> Records:
        gather_keys(connection, FRAME)
        return _encode(connection, oldest_of_keys(connection, FRAME, days), form)

    return query_frame(frame, columns, memory_limit, encode)


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


def form_all(spellings: list[str], form: WordForm) -> tuple[list[str], NDArray[np.int64]]:
    """The lexicon of some sorted spellings, and the word that each spelling stands for."""
    forms = list(map(form.of, spellings))
    if forms == spellings:
        return spellings, np.arange(len(spellings))
    words = sorted(set(forms))
    ids = {word: i for i, word in enumerate(words)}
    return words, np.array([ids[word] for word in forms])
