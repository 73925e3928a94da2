"""The files of a table: finding them, and checking that their columns agree."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from neologue.errors import DataError
from neologue.populations.input_file import ENDINGS, ending_of

WHOLE_OR_TEXT = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|VARCHAR|BLOB")


@dataclass(frozen=True)
class FileSummary:
    """The columns and the days of a file."""

    kinds: Mapping[str, str]
    """The columns that are read; users and words with their types, as far as these make a difference."""
    rows: int
    days: Mapping[int, int]
    """How many rows each day has; without a column of days, all are of day 0."""


@dataclass(frozen=True)
class TableFiles:
    """The files of one table, and what messages call it."""

    name: str
    files: list[Path]
    is_lone: bool
    """Whether one file was named, which is no part of anything."""

    @property
    def ending(self) -> str:
        """The ending that all files have."""
        return ending_of(self.files[0])


def find_files(given: Path | Sequence[Path]) -> TableFiles:
    """The files of a table: a file, several files, a directory of parquet files, or a pattern of files."""
    paths = [given] if isinstance(given, Path) else list(given)
    if not paths:
        raise DataError("no file is given: name at least one")
    name = table_name(paths)
    try:
        files = [file for path in paths for file in _find_files(path)]
    except (OSError, ValueError) as error:
        raise DataError(f"{name} can't be opened: {error}") from None
    endings = {ending_of(file) for file in files}
    if len(files) > 1 and not (len(endings) == 1 and endings <= set(ENDINGS)):
        raise DataError(f"{name} has files that end in {', '.join(sorted(endings))}: give files of one kind")
    twice = next((file for file in files if files.count(file) > 1), None)
    if twice is not None:
        raise DataError(f"{twice} is given twice, so its rows would count twice: give it once")
    return TableFiles(name, files, is_lone=files == paths and len(files) == 1)


def table_name(paths: Sequence[Path]) -> str:
    """What messages call a table of these paths."""
    if len(paths) == 1:
        return str(paths[0])
    return f"{paths[0]} and {len(paths) - 1} more"


def _find_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if path.is_dir():
        # Spark and similar tools mark unfinished files with a dot or an underscore.
        hidden = re.compile(r"(^|[\\/])[._]")
        files = sorted(f for f in path.rglob("*.parquet") if not hidden.search(str(f.relative_to(path))))
        if not files:
            raise DataError(f"{path} is a directory without parquet files: give a file or another directory")
        return files
    root = Path(path.absolute().anchor)
    files = sorted(file for file in root.glob(str(path.absolute().relative_to(root))) if file.is_file())
    if not files:
        raise DataError(f"there is no file {path}: check the name")
    return files


def check_parts(table: TableFiles, summaries: Sequence[FileSummary]) -> None:
    """Refuse parts of one table that do not have the same columns of the same types.

    Without a column of counts in one part its rows would count once, and user 1 would not be user 1.0.
    """
    if not any(summary.rows for summary in summaries):
        raise DataError(f"{table.name} has no rows: give a file with users and words")
    common = {name: kind for summary in summaries for name, kind in summary.kinds.items()}
    for file, summary in zip(table.files, summaries, strict=True):
        for name, kind in common.items():
            if name not in summary.kinds:
                raise DataError(
                    f"{file} has no column {quote_column(name)}, which other parts of {table.name} have: write it again"
                )
            if summary.kinds[name] != kind:
                raise DataError(
                    f"{file} has {quote_column(name)} as {summary.kinds[name]}, other parts of {table.name} as {kind}: "
                    "write them alike"
                )


def kind_of(type_: str) -> str:
    """The kind of a type; text and integers of any width are one kind, as they convert to the same text."""
    return "text" if WHOLE_OR_TEXT.fullmatch(type_) else type_


def quote_column(name: str) -> str:
    """The name of a column in quotes, cut if it is long."""
    return repr(name if len(name) <= 40 else f"{name[:40]}…")
