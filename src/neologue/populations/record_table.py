"""A file of records as a table that DuckDB reads.

Nothing is written to disk. DuckDB gets no directory to spill into, so a crash leaves nobody's words behind.

DuckDB quotes lines of the file in its errors, so none of its messages is passed on.
"""

import csv
import io
import json
import re
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from neologue.errors import DataError, ParameterError
from neologue.populations.input_file import DELIMITERS, ENDINGS, check_file, open_bytes
from neologue.populations.record_sql import day_of, identifier, literal, times_of
from neologue.populations.table_files import TableFiles, quote_column

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Answer = TypeVar("Answer")
EXTRA = 'pip install "neologue[files]"'
MEMORY_LIMIT = "2GB"
FRAME = "the frame"
"""What messages call a table in memory."""
LONGEST_LINE = 2**24  # bytes of CSV, as for JSON: a word of a megabyte is odd, but no error
NESTED = re.compile(r".*\[\d*\]|(STRUCT|MAP|UNION)\(.*", re.DOTALL)


@dataclass(frozen=True)
class Columns:
    """The names of the columns of a file.

    If `count` is None, the column "count" is used if the file has one, and otherwise every row counts once; if `day` is
    None, the column "day" is used if the file has one, and otherwise no row is too old.
    """

    user: str = "user"
    word: str = "word"
    count: str | None = None
    day: str | None = None


DEFAULT_COLUMNS = Columns()


@dataclass(frozen=True)
class RecordTable:
    """A file as SQL selects from it, and the types of its columns by name."""

    sql: str
    types: dict[str, str]


def query_records(
    source: TableFiles,
    columns: Columns,
    part: bool,
    memory_limit: str,
    query: Callable[["DuckDBPyConnection", RecordTable], Answer],
) -> Answer:
    """Run a query on the view `records` of some files; errors say why they can't be read."""
    ending, name = source.ending, source.name
    if ending not in ENDINGS:
        raise DataError(f"{name} ends in none of {', '.join(ENDINGS)}: rename or convert it")
    for file in source.files:
        check_file(file, ending)

    def open_table(connection: "DuckDBPyConnection") -> RecordTable:
        return _open_table(connection, source, columns, lone=source.is_lone and not part)

    return _query(name, open_table, columns, memory_limit, query, lambda message: _explain(source, message))


def query_frame(
    frame: object,
    columns: Columns,
    memory_limit: str,
    query: Callable[["DuckDBPyConnection", RecordTable], Answer],
) -> Answer:
    """Run a query on the view `records` of a table in memory: of pandas, Polars, Arrow, or with an Arrow stream."""

    def open_table(connection: "DuckDBPyConnection") -> RecordTable:
        connection.register("frame", frame)
        return _describe(connection, "frame")

    def explain(_: str) -> str:
        return (
            f"a {type(frame).__name__} can't be read as a table: give a frame of pandas, Polars or Arrow with a row "
            "for each user and word"
        )

    return _query(FRAME, open_table, columns, memory_limit, query, explain)


def _query(
    name: str,
    open_table: Callable[["DuckDBPyConnection"], RecordTable],
    columns: Columns,
    memory_limit: str,
    query: Callable[["DuckDBPyConnection", RecordTable], Answer],
    explain: Callable[[str], str],
) -> Answer:
    """Run a query on a table; what DuckDB says is explained in words of ours."""
    with closing(_connect(memory_limit)) as connection:
        import duckdb

        try:
            table = open_table(connection)
            _create_view(connection, name, table, columns)
            return query(connection, table)
        except duckdb.OutOfMemoryException:
            problem = f"{name} has more users and words than fit into {memory_limit}: allow more memory"
        except duckdb.Error as error:
            problem = explain(str(error))
        except RuntimeError as error:
            if str(error) == "Query interrupted":  # how DuckDB reports Ctrl-C
                raise KeyboardInterrupt from None
            problem = f"{name} can't be read: give it a name in plain characters, and write it again if that fails"
    # Not raised in the handlers: DuckDB's error would be its context, and may quote a line of the file.
    raise DataError(problem)


def _connect(memory_limit: str) -> "DuckDBPyConnection":
    """Open a DuckDB that only reads: without network, extensions and temporary files."""
    try:
        import duckdb
    except ModuleNotFoundError:
        raise DataError(f"files are read by duckdb, which is not installed: get it with {EXTRA}") from None

    try:
        connection = duckdb.connect(":memory:", config={"memory_limit": memory_limit, "temp_directory": ""})
    except duckdb.Error:
        raise ParameterError(f"{memory_limit!r} is not an amount of memory: write it like 2GB") from None
    connection.execute("SET autoinstall_known_extensions = false")
    connection.execute("SET autoload_known_extensions = false")
    with suppress(duckdb.InvalidInputException):  # in a notebook without widgets there is no bar to turn off
        connection.execute("SET enable_progress_bar = false")
    # DuckDB does not know the length of a CSV, and would reorder joins so that all rows are kept in memory.
    connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
    return connection


def _open_table(connection: "DuckDBPyConnection", table: TableFiles, columns: Columns, *, lone: bool) -> RecordTable:
    files, ending = table.files, table.ending
    names = ", ".join(literal(re.sub(r"[*?\[]", r"[\g<0>]", str(file.absolute()))) for file in files)
    if ending == ".parquet":
        # A lone file may lie in a folder "user=7" by chance; for the parts of a table such names are columns.
        hive = ", hive_partitioning = false" if lone else ""
        return _describe(connection, f"read_parquet([{names}], binary_as_string = true{hive})")
    kind = ending.removesuffix(".gz")
    source = f"[{names}], compression = {literal('none' if kind == ending else 'gzip')}"
    if kind not in DELIMITERS:
        return _open_json(connection, f"{source}, format = 'newline_delimited'", columns)
    header = _read_header(files[0], DELIMITERS[kind])
    for file in files[1:]:
        if _read_header(file, DELIMITERS[kind]) != header:
            raise DataError(f"{file} has other columns than {files[0]}, or another order of them: write them alike")
    types = dict.fromkeys(header, "VARCHAR")
    return RecordTable(
        f"read_csv({source}, auto_detect = false, header = true, delim = {literal(DELIMITERS[kind])}, "
        f"quote = '\"', escape = '\"', max_line_size = {LONGEST_LINE}, columns = {_struct(types)})",
        types,
    )


def _describe(connection: "DuckDBPyConnection", sql: str) -> RecordTable:
    found = connection.execute(f"DESCRIBE FROM {sql}").fetchall()
    return RecordTable(sql, {name: type_ for name, type_, *_ in found})


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


def _open_json(connection: "DuckDBPyConnection", source: str, columns: Columns) -> RecordTable:
    """Open a file of JSON lines, of which only the wanted keys are read, as text."""
    wanted = dict.fromkeys((columns.user, columns.word, columns.count or "count", columns.day or "day"), "VARCHAR")
    table = f"read_json({source}, columns = {_struct(wanted)})"
    sample = f"read_json({source}, records = 'true', maximum_depth = 2, map_inference_threshold = -1)"
    sampled = _describe(connection, sample).types
    types = {name: type_ if NESTED.fullmatch(type_) else "VARCHAR" for name, type_ in sampled.items()}
    # Keys may first occur after the sample; without "count" every row would count once.
    late = [name for name in wanted if name not in types]
    if late:
        present = ", ".join(f"bool_or({identifier(name)} IS NOT NULL)" for name in late)
        found = fetch_row(connection, f"SELECT {present} FROM {table}")
        types.update(dict.fromkeys(compress(late, found), "VARCHAR"))
    return RecordTable(table, types)


def _create_view(connection: "DuckDBPyConnection", source: str, table: RecordTable, columns: Columns) -> None:
    """Create the view `records` with fixed columns, where NULL stands for an invalid count or day."""

    def column(name: str, option: str) -> tuple[str, str]:
        if not {columns.user, columns.word} & table.types.keys():
            # The first line may be somebody's row instead of a header, so it is not quoted.
            wanted = f"{quote_column(columns.user)} nor {quote_column(columns.word)}"
            raise DataError(f"{source} has no column {wanted}: add a header, or use --user-column and --word-column")
        if name not in table.types:
            others = ", ".join(map(quote_column, list(table.types)[:20]))
            raise DataError(f"{source} has no column {quote_column(name)}, only {others}: name it with {option}")
        if NESTED.fullmatch(table.types[name]):
            raise DataError(f"the column {quote_column(name)} of {source} is nested: write one row per word")
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


def fetch_row(connection: "DuckDBPyConnection", sql: str) -> tuple[Any, ...]:
    """The only row of a query's result."""
    (row,) = connection.execute(sql).fetchall()
    return row


def _explain(table: TableFiles, message: str) -> str:
    """Why DuckDB could not read a table, without quoting its content."""
    path, kind = table.name, table.ending.removesuffix(".gz")
    if kind == ".parquet":
        return f"{path} is cut short or damaged, or its parts have different columns: write it again"
    if kind in DELIMITERS:
        found = re.search(r"CSV Error on Line: (\d+)", message)
        where = f" at line {found[1]}" if found else ""
        return f"{path} is malformed{where}: give all rows the same line ends and as many fields as the header"
    bad = next(((file, line) for file in table.files if (line := _first_bad_line(file))), None)
    where, path = (f" at line {bad[1]}", str(bad[0])) if bad else ("", path)
    return f"{path} is malformed{where}: write one JSON object per line, in UTF-8 without byte order mark"


def _first_bad_line(file: Path) -> int | None:
    """The first line that is no JSON object; DuckDB's own line number may be one too high."""
    with open_bytes(file) as source:
        for number, line in enumerate(source, start=1):
            try:
                good = not line.strip() or isinstance(json.loads(line.decode("utf-8")), dict)
            except (ValueError, RecursionError):
                good = False
            if not good:
                return number
    return None
