"""Tables of pandas, Polars and Arrow are read as files are, and refused with a sentence."""

import datetime
from collections.abc import Callable
from typing import Any

import pandas
import polars
import pyarrow
import pytest

from neologue import Columns, Population
from neologue.errors import DataError

DAY = datetime.date(2026, 1, 5)
TABLE: dict[str, list[Any]] = {
    "user": ["a", "b", "b", "c"],
    "word": ["yeet", "yeet", "rizz", "old"],
    "count": [2, 1, 3, 1],
    "day": [DAY, DAY, DAY, datetime.date(2025, 1, 1)],
}


class Stream:
    """What another library may give: the Arrow PyCapsule interface alone."""

    def __init__(self, table: dict[str, list[Any]]) -> None:
        self._table = pyarrow.table(table)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


KINDS: tuple[Callable[[dict[str, list[Any]]], object], ...] = (
    pandas.DataFrame,
    polars.DataFrame,
    polars.LazyFrame,
    pyarrow.table,
    Stream,
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_frame_is_read_as_a_file(kind: Callable[[dict[str, list[Any]]], object]) -> None:
    found = Population.from_frame(kind(TABLE))
    assert found.users == 3
    assert found.words == ["rizz", "yeet"]
    assert found.holders().tolist() == [1, 2]
    assert (found.rows, found.old_rows) == (4, 1)
    assert found.public_description == "3 users of the frame"


def test_timestamps_are_days_and_columns_have_names() -> None:
    frame = pandas.DataFrame(
        {"who": ["a", "b"], "said": ["x", "y"], "at": pandas.to_datetime(["2026-01-01", "2026-02-01"])}
    )
    assert Population.from_frame(frame, Columns("who", "said", day="at"), days=10).words == ["y"]


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (pandas.DataFrame({"user": ["a"]}), "the frame has no column 'word', only 'user'"),
        (pandas.DataFrame({"user": [], "word": []}), "the frame has no rows"),
        (polars.DataFrame({"user": ["a"], "word": [["x"]]}), "the column 'word' of the frame is nested"),
        (pandas.DataFrame({"user": ["a", None], "word": ["x", "y"]}), "1 row(s) without a user, the first is row 2"),
        ([("a", "x")], "a list can't be read as a table"),
        (7, "a int can't be read as a table"),
    ],
)
def test_what_is_no_such_table_is_refused_with_a_sentence(frame: object, told: str) -> None:
    with pytest.raises(DataError) as refused:
        Population.from_frame(frame)
    assert told in str(refused.value)
