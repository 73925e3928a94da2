"""DuckDB, with which tests write Parquet files; it is imported by the first test that runs it, and not by collecting.

The interpreter keeps what was collected until the end (`conftest.py`), and of that DuckDB would complain.
"""

from collections.abc import Sequence


def run_sql(statement: str, values: Sequence[object] = ()) -> None:
    """Run a statement in the one connection that all tests of a process share."""
    import duckdb

    duckdb.execute(statement, list(values))
