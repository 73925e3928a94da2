"""The argument DATA and the options that name its columns, which several commands share."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from neologue.errors import DataError, ParameterError

if TYPE_CHECKING:
    from neologue.populations.record_table import Columns

Command = TypeVar("Command", bound=Callable[..., object])
COLUMN_OPTIONS = ("user_column", "word_column", "count_column", "day_column")


def data_options(command: Command) -> Command:
    """Add the argument DATA and the options that name its columns."""
    for option in (
        click.option("--day-column", help="Column of DATA with the day  [default: day, if there]"),
        click.option("--count-column", help="Column of DATA with the times typed  [default: count, if there]"),
        click.option("--word-column", help="Column of DATA with the words  [default: word]"),
        click.option("--user-column", help="Column of DATA that tells users apart  [default: user]"),
        click.argument("data", nargs=-1, type=click.Path(path_type=Path)),
    ):
        command = option(command)
    return command


def read_columns(data: Sequence[Path], options: Mapping[str, Any]) -> "Columns":
    """The columns of DATA; refuses names of columns without it, and files that do not exist."""
    from neologue.populations.record_table import Columns

    for name in COLUMN_OPTIONS:
        if not data and options[name] is not None:
            option = "--" + name.replace("_", "-")
            raise ParameterError(f"{option} {options[name]} names a column of DATA; give a file, or leave it out")
    for path in data:
        if str(path) != "-" and not path.exists() and not set("*?[") & set(str(path)):
            raise DataError(f"there is no file {path}: check the name")
    user, word = options["user_column"] or "user", options["word_column"] or "word"
    return Columns(user, word, options["count_column"], options["day_column"])


def check_rows(data: Sequence[Path], options: Mapping[str, Any], days: int = 60) -> None:
    """Refuse files with the wrong columns or, if they are small, with a wrong row; a pipe can be read only once."""
    from neologue.populations.piped_input import is_pipe
    from neologue.populations.record_checks import check_table

    if data and not any(map(is_pipe, data)):
        check_table(data, read_columns(data, options), days)


def name_of_data(data: Sequence[Path]) -> str:
    """The names of the files of DATA, without their folders."""
    return "the standard input" if str(data[0]) == "-" else ", ".join(path.name for path in data)
