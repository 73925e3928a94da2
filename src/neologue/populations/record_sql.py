"""SQL expressions for reading a file of records."""

import re

from neologue.populations.holdings import MOST_TIMES

DAYS_END = 10**7  # a "day" from here on is a Unix time or 20240131, and a window of days would be wrong
NUMERIC = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL\(.*\)")


def literal(text: str) -> str:
    """A string as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """A name as an SQL identifier, whatever its characters."""
    return '"' + name.replace('"', '""') + '"'


def text_of(column: str) -> str:
    """A column as text without white space around it."""
    # Without the trim, DuckDB 2.0 moves a TRY_CAST into its CSV reader, where it fails instead of giving NULL.
    return f"trim(CAST({column} AS VARCHAR))"


def number_of(column: str, type_: str) -> str:
    """A column as a number; NULL if it is not one."""
    # Other types are converted by way of their text, or True would be the number 1.
    return f"TRY_CAST({column if NUMERIC.fullmatch(type_) else text_of(column)} AS DOUBLE)"


def times_of(column: str, type_: str) -> str:
    """A column as a count; NULL if it is not a whole number from 1 up."""
    number = number_of(column, type_)
    whole = f"{number} >= 1 AND {number} = floor({number}) AND isfinite({number})"
    return f"CASE WHEN {whole} THEN CAST(least({number}, {MOST_TIMES}) AS INTEGER) END"


def day_of(column: str, type_: str) -> str:
    """A column as a day number; NULL if it is neither a date nor a whole number."""
    if type_.startswith(("DATE", "TIMESTAMP")):
        number = f"floor(epoch({column}) / 86400)"
    elif NUMERIC.fullmatch(type_):
        number = number_of(column, type_)
    else:
        date = f"TRY_CAST({text_of(column)} AS DATE)"
        number = f"coalesce({number_of(column, type_)}, epoch({date}) / 86400)"
    whole = f"abs({number}) < {DAYS_END} AND {number} = floor({number})"
    return f"CASE WHEN {whole} THEN CAST({number} AS BIGINT) END"
