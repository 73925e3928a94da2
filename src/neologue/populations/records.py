"""A company's own file of users and words, read with DuckDB.

Nothing is written to disk. DuckDB gets no directory to spill into, so a crash leaves nobody's words
behind; what has to fit into the memory limit is the distinct users and words, never the rows. Rows leave
DuckDB as pairs of numbers, and only numbers are sorted and summed, outside of that limit.

DuckDB quotes lines of the file in its errors, so none of its messages is passed on.
"""

import csv
import io
import json
import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from neologue.errors import DataError, ParameterError
from neologue.language.alphabet import normalise
from neologue.populations.holdings import Holdings, merge_pairs
from neologue.populations.input_file import DELIMITERS, ENDINGS, check_file, ending_of, open_bytes
from neologue.populations.record_sql import DAYS_END, day_of, identifier, literal, times_of
from neologue.populations.table_files import FileSummary, check_parts, find_files, kind_of, quote_column
from neologue.populations.user_keys import Keys, key_sql

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Answer = TypeVar("Answer")

MEMORY_LIMIT = "2GB"
LONGEST_LINE = 2**24  # bytes of CSV, as for JSON: a word of a megabyte is odd, but no reason to stop
ROWS_AT_ONCE = 2**26  # pairs that leave DuckDB in one piece, about 2 GB while they are sorted

WHITE_SPACE = "".join(filter(str.isspace, map(chr, range(0x3001))))  # all that str.strip() takes away
NESTED = re.compile(r".*\[\d*\]|(STRUCT|MAP|UNION)\(.*", re.DOTALL)


@dataclass(frozen=True)
class Columns:
    """What the columns of a file are called.

    Where `count` is None the column "count" is used if the file has one, and otherwise every row counts
    once; where `day` is None the column "day" is used if the file has one, and otherwise no row is old.
    """

    user: str = "user"
    word: str = "word"
    count: str | None = None
    day: str | None = None


@dataclass(frozen=True)
class Extent:
    """How much there is in a record."""

    users: int
    words: int
    rows: int
    dropped: int


@dataclass(frozen=True, eq=False)
class Records:
    """What a file says: the lexicon, sorted by code point, and which user holds which word of it.

    Of the `rows` that were read, `dropped` were older than the window of days.
    """

    words: list[str]
    keys: Keys
    """A key for each user in the place of a name, in ascending order."""
    holdings: Holdings
    rows: int
    dropped: int

    @property
    def extent(self) -> Extent:
        """How much there is."""
        return Extent(self.holdings.users, len(self.words), self.rows, self.dropped)


@dataclass(frozen=True)
class _Table:
    """A file as SQL selects from it, and the types of its columns by name."""

    sql: str
    types: dict[str, str]


@dataclass(frozen=True)
class _Fault:
    """A condition that no row may meet, which shows in the groups of one `key`."""

    key: str
    condition: str
    rows: str
    remedy: str


def _blank(column: str) -> str:
    return f"NOT coalesce(regexp_matches(CAST({column} AS VARCHAR), '[^{WHITE_SPACE}]'), false)"


FAULTS = (
    _Fault("person", _blank("person"), "without a user", "name the user in every row"),
    _Fault("word", _blank("word"), "without a word", "leave out the rows that have none"),
    _Fault("word", "contains(word, chr(0))", "with a NUL character in the word", "take it out"),
    _Fault("word", "times IS NULL", "whose count is not a whole number from 1 up", "correct the counts"),
    _Fault(
        "day",
        "day IS NULL",
        f"whose day is neither a date like 2024-01-31 nor a whole number below {DAYS_END}",
        "correct the days",
    ),
)

DEFAULT_COLUMNS = Columns()


def read_records(
    path: Path,
    columns: Columns = DEFAULT_COLUMNS,
    *,
    days: int = 60,
    newest: int | None = None,
    part: bool = False,
    memory_limit: str = MEMORY_LIMIT,
) -> Records:
    """Read who holds which word from a file, or from a directory or a glob of parquet files.

    Words are stripped and brought to NFC, and the counts of a user's word are summed, up to 2^31 - 1. The
    order of users is that of their keys, whatever the order of rows. With days in the file, only the last `days` of
    them count, up to its newest or to the one given, and a user with none but older rows stays as one who holds
    nothing. A file that is a part of a table can have columns in the names of its folders, such as `day=7`.
    """
    if days < 1:
        raise ParameterError(f"a window of {days} days holds nothing: give at least 1")
    files = find_files(path)
    if files != [path]:
        check_parts(path, files, [summarise(file, columns, part=True) for file in files])

    def encoded(connection: "DuckDBPyConnection", table: _Table) -> Records:
        if part and _one(connection, "SELECT count(*) FROM records") == (0,):
            return Records([], np.empty((0, 2), np.uint64), Holdings.concatenate([]), rows=0, dropped=0)
        _gather_keys(connection, path)
        return _encode(connection, (_newest(connection) if newest is None else newest) - days + 1)

    return _read(path, files, columns, part, memory_limit, encoded)


def summarise(path: Path, columns: Columns = DEFAULT_COLUMNS, *, part: bool = False) -> FileSummary:
    """Look at a file without reading it all."""

    def surveyed(connection: "DuckDBPyConnection", table: _Table) -> FileSummary:
        rows, newest = _one(connection, "SELECT count(*), coalesce(max(day), 0) FROM records")
        named = (columns.user, columns.word)
        used = {*named, columns.count or "count", columns.day or "day"} & table.types.keys()
        kinds = {name: kind_of(table.types[name]) if name in named else "" for name in used}
        return FileSummary(kinds, int(newest) if rows else None)

    return _read(path, find_files(path), columns, part, MEMORY_LIMIT, surveyed)


def _read(
    path: Path,
    files: list[Path],
    columns: Columns,
    part: bool,
    memory_limit: str,
    query: Callable[["DuckDBPyConnection", _Table], Answer],
) -> Answer:
    """What a query finds in the records of a path's files, or why they can't be read."""
    ending = ending_of(files[0])
    if ending not in ENDINGS:
        raise DataError(f"{path} ends in none of {', '.join(ENDINGS)}: rename or convert it")
    for file in files:
        check_file(file, ending)
    with closing(_connect(memory_limit)) as connection:
        import duckdb

        try:
            table = _open_table(connection, files, ending, columns, lone=files == [path] and not part)
            _create_view(connection, path, table, columns)
            return query(connection, table)
        except duckdb.OutOfMemoryException:
            problem = f"{path} has more users and words than fit into {memory_limit}: allow more memory"
        except duckdb.Error as error:
            problem = _explain(path, ending, str(error))
        except RuntimeError as error:
            if str(error) == "Query interrupted":  # what DuckDB makes of Ctrl-C
                raise KeyboardInterrupt from None
            problem = f"{path} can't be read: give it a name in plain characters, and write it again if that fails"
    # Not raised by the handlers: as its context, DuckDB's error would carry a line of the file along.
    raise DataError(problem)


def _connect(memory_limit: str) -> "DuckDBPyConnection":
    """A DuckDB that only reads: it has no network, no extensions and no files of its own."""
    import duckdb

    try:
        connection = duckdb.connect(":memory:", config={"memory_limit": memory_limit, "temp_directory": ""})
    except duckdb.Error:
        raise ParameterError(f"{memory_limit!r} is not an amount of memory: write it like 2GB") from None
    connection.execute("SET autoinstall_known_extensions = false")
    connection.execute("SET autoload_known_extensions = false")
    connection.execute("SET enable_progress_bar = false")
    # DuckDB can't tell how long a CSV is, and would turn joins around so as to keep all rows in memory.
    connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
    return connection


def _open_table(
    connection: "DuckDBPyConnection", files: list[Path], ending: str, columns: Columns, *, lone: bool
) -> _Table:
    names = ", ".join(literal(re.sub(r"[*?\[]", r"[\g<0>]", str(file.absolute()))) for file in files)
    if ending == ".parquet":
        # A lone file may lie in a folder "user=7" that says nothing about it; parts of a table do mean it.
        hive = ", hive_partitioning = false" if lone else ""
        return _describe(connection, f"read_parquet([{names}], binary_as_string = true{hive})")
    kind = ending.removesuffix(".gz")
    source = f"[{names}], compression = {literal('none' if kind == ending else 'gzip')}"
    if kind not in DELIMITERS:
        return _open_json(connection, f"{source}, format = 'newline_delimited'", columns)
    types = dict.fromkeys(_read_header(files[0], DELIMITERS[kind]), "VARCHAR")
    return _Table(
        f"read_csv({source}, auto_detect = false, header = true, delim = {literal(DELIMITERS[kind])}, "
        f"quote = '\"', escape = '\"', max_line_size = {LONGEST_LINE}, columns = {_struct(types)})",
        types,
    )


def _describe(connection: "DuckDBPyConnection", sql: str) -> _Table:
    found = connection.execute(f"DESCRIBE FROM {sql}").fetchall()
    return _Table(sql, {name: type_ for name, type_, *_ in found})


def _struct(types: dict[str, str]) -> str:
    return "{" + ", ".join(f"{literal(name)}: {literal(type_)}" for name, type_ in types.items()) + "}"


def _read_header(file: Path, delimiter: str) -> list[str]:
    with open_bytes(file) as source:
        lines = io.TextIOWrapper(source, encoding="utf-8-sig", newline="")
        try:
            fields = next(csv.reader(lines, delimiter=delimiter))
        except csv.Error:
            fields = []
    if not any(fields):
        raise DataError(f"{file} has no readable header: name the columns in its first line")
    header = [field.strip() or f"column{i}" for i, field in enumerate(fields)]
    seen: set[str] = set()
    for name in header:
        if name.lower() in seen:  # SQL does not tell upper and lower case apart
            raise DataError(f"{file} has more than one column {quote_column(name)}: rename all but one")
        seen.add(name.lower())
    return header


def _open_json(connection: "DuckDBPyConnection", source: str, columns: Columns) -> _Table:
    """A file of JSON lines, of which only the wanted keys are read, as text."""
    wanted = dict.fromkeys((columns.user, columns.word, columns.count or "count", columns.day or "day"), "VARCHAR")
    table = f"read_json({source}, columns = {_struct(wanted)})"
    sample = f"read_json({source}, records = 'true', maximum_depth = 2, map_inference_threshold = -1)"
    sampled = _describe(connection, sample).types
    types = {name: type_ if NESTED.fullmatch(type_) else "VARCHAR" for name, type_ in sampled.items()}
    # Keys may first come after the sample; to miss "count" there would let every row count once.
    late = [name for name in wanted if name not in types]
    if late:
        present = ", ".join(f"bool_or({identifier(name)} IS NOT NULL)" for name in late)
        found = _one(connection, f"SELECT {present} FROM {table}")
        types.update(dict.fromkeys(compress(late, found), "VARCHAR"))
    return _Table(table, types)


def _create_view(connection: "DuckDBPyConnection", path: Path, table: _Table, columns: Columns) -> None:
    """Give the rows of a file one shape, where NULL stands for a count or a day that makes no sense."""

    def column(name: str, option: str) -> tuple[str, str]:
        if not {columns.user, columns.word} & table.types.keys():
            # The first line may be somebody's row and not a header, so it is not repeated here.
            wanted = f"{quote_column(columns.user)} nor {quote_column(columns.word)}"
            raise DataError(f"{path} has no column {wanted}: add a header, or use --user-column and --word-column")
        if name not in table.types:
            others = ", ".join(map(quote_column, list(table.types)[:20]))
            raise DataError(f"{path} has no column {quote_column(name)}, only {others}: name it with {option}")
        if NESTED.fullmatch(table.types[name]):
            raise DataError(f"the column {quote_column(name)} of {path} is nested: write one row per word")
        return identifier(name), table.types[name]

    user, _ = column(columns.user, "--user-column")
    word, _ = column(columns.word, "--word-column")
    times, day = "1", "0"
    if columns.count is not None or "count" in table.types:
        times = times_of(*column(columns.count or "count", "--count-column"))
    if columns.day is not None or "day" in table.types:
        day = day_of(*column(columns.day or "day", "--day-column"))
    connection.execute(
        f"CREATE TEMP VIEW records AS SELECT {user} AS person, CAST({word} AS VARCHAR) AS word, "
        f"{times} AS times, {day} AS day FROM {table.sql}"
    )


def _gather_keys(connection: "DuckDBPyConnection", path: Path) -> None:
    """Gather the different users, words and days, and refuse faulty rows."""
    connection.execute(
        "CREATE TEMP TABLE keys AS SELECT person, word, day, "
        "CASE 0 WHEN grouping(person) THEN 'person' WHEN grouping(word) THEN 'word' ELSE 'day' END AS key, "
        "count(*) AS total, max(records.day) AS newest, "
        "CASE WHEN count(records.times) = count(*) THEN 1 END AS times "
        "FROM records GROUP BY GROUPING SETS ((person), (word), (day))"
    )
    _check_rows(connection, path)


def _newest(connection: "DuckDBPyConnection") -> int:
    (newest,) = _one(connection, "SELECT max(day) FROM keys WHERE key = 'day'")
    return int(newest)


def _encode(connection: "DuckDBPyConnection", oldest: int) -> Records:
    """Number the users and the words, and gather which user holds which word."""
    rows, kept = _one(
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
    users, parts = _one(connection, "SELECT count(*), max(part) + 1 FROM people")
    spellings = connection.execute("SELECT word FROM spellings ORDER BY id").fetchnumpy()["word"].tolist()
    words, word_ids = _normalise_all(spellings)
    keys = connection.execute("SELECT high, low FROM people ORDER BY id").fetchnumpy()
    width = max(1, len(spellings))
    # The pairs are sorted below in any case, and DuckDB would hold rows back to keep their order.
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


def _one(connection: "DuckDBPyConnection", sql: str) -> tuple[Any, ...]:
    (row,) = connection.execute(sql).fetchall()
    return row


def _check_rows(connection: "DuckDBPyConnection", path: Path) -> None:
    """Refuse a file without rows, or with faulty ones, which are counted but never shown."""
    faulty = ", ".join(f"bool_or(key = '{fault.key}' AND {fault.condition})" for fault in FAULTS)
    groups, *present = _one(connection, f"SELECT count(*), {faulty} FROM keys")
    if groups == 0:
        raise DataError(f"{path} has no rows: give a file with users and words")
    for fault in compress(FAULTS, present):
        number, first = _one(
            connection,
            "SELECT count(*), min(row) FROM (SELECT *, row_number() OVER () AS row FROM records) "
            f"WHERE {fault.condition}",
        )
        raise DataError(f"{path} has {number} row(s) {fault.rows}, the first is row {first}: {fault.remedy}")


def _normalise_all(spellings: list[str]) -> tuple[list[str], NDArray[np.int64]]:
    """The lexicon behind some sorted spellings, and which of its words each spelling stands for."""
    normal = list(map(normalise, spellings))
    if normal == spellings:
        return spellings, np.arange(len(spellings))
    words = sorted(set(normal))
    ids = {word: i for i, word in enumerate(words)}
    return words, np.array([ids[word] for word in normal])


def _explain(path: Path, ending: str, message: str) -> str:
    """Why DuckDB could not read a file, without its words."""
    kind = ending.removesuffix(".gz")
    if kind == ".parquet":
        return f"{path} is cut short or damaged, or its parts have different columns: write it again"
    if kind in DELIMITERS:
        found = re.search(r"CSV Error on Line: (\d+)", message)
        where = f" at line {found[1]}" if found else ""
        return f"{path} is malformed{where}: give all rows the same line ends and as many fields as the header"
    line = _first_bad_line(path)
    where = f" at line {line}" if line else ""
    return f"{path} is malformed{where}: write one JSON object per line, in UTF-8 without byte order mark"


def _first_bad_line(file: Path) -> int | None:
    """The line of a file that is no JSON object, for which DuckDB's own number may be one too high."""
    with open_bytes(file) as source:
        for number, line in enumerate(source, start=1):
            try:
                good = not line.strip() or isinstance(json.loads(line.decode("utf-8")), dict)
            except ValueError:
                good = False
            if not good:
                return number
    return None
