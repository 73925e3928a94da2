"""The files of a table: finding them, and checking that their columns agree."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from neologue.errors import DataError
from neologue.populations.input_file import ending_of

WHOLE_OR_TEXT = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|VARCHAR|BLOB")


@dataclass(frozen=True)
class FileSummary:
    """The columns and the newest day of a file."""

    kinds: Mapping[str, str]
    """The columns that are read; users and words with their types, as far as these make a difference."""
    newest: int | None
    """The newest day, 0 without a column of days; None in a file without rows."""


def find_files(path: Path) -> list[Path]:
    """The files of a path, sorted by name: a file, a directory of parquet files, or a pattern of them."""
    try:
        files = _find_files(path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} can't be opened: {error}") from None
    if files != [path] and {ending_of(file) for file in files} != {".parquet"}:
        raise DataError(f"{path} is a pattern that matches more than parquet files: narrow it or give one file")
    return files


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


def check_parts(path: Path, files: Sequence[Path], summaries: Sequence[FileSummary]) -> None:
    """Refuse parts of one table that do not have the same columns of the same types.

    Without a column of counts in one part its rows would count once, and user 1 would not be user 1.0.
    """
    if all(summary.newest is None for summary in summaries):
        raise DataError(f"{path} has no rows: give a file with users and words")
    common = {name: kind for summary in summaries for name, kind in summary.kinds.items()}
    for file, summary in zip(files, summaries, strict=True):
        for name, kind in common.items():
            if name not in summary.kinds:
                raise DataError(
                    f"{file} has no column {quote_column(name)}, which other parts of {path} have: write it again"
                )
            if summary.kinds[name] != kind:
                raise DataError(
                    f"{file} has {quote_column(name)} as {summary.kinds[name]}, other parts of {path} as {kind}: "
                    "write them alike"
                )


def kind_of(type_: str) -> str:
    """The kind of a type; text and integers of any width are one kind, as they convert to the same text."""
    return "text" if WHOLE_OR_TEXT.fullmatch(type_) else type_


def quote_column(name: str) -> str:
    """The name of a column in quotes, cut if it is long."""
    return repr(name if len(name) <= 40 else f"{name[:40]}…")
