"""Reading a company's own file: every format, every refusal, and nothing of anybody in a message."""

import csv
import gzip
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import traceback
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duck import run_sql
from neologue.errors import DataError, ParameterError
from neologue.populations import input_file, records
from neologue.populations.record_table import DEFAULT_COLUMNS, Columns
from neologue.populations.records import Records, read_records
from neologue.populations.user_keys import keys_of

Row = tuple[object, ...]

HEADER = ("user", "word", "count", "day")
ROWS: list[Row] = [
    (10, "yeet", 3, "2024-03-01"),
    (9, 'say "hi", now', 1, "2024-03-02"),
    (10, "naïve", 2, "2024-02-28"),
    (10, "yeet", 4, "2024-03-02"),
    (2, "two\nlines", 7, "2023-01-01"),
    (9, "😀", 5, "2024-01-15"),
    (11, "007", 1, "2024-03-02"),
]


def write_separated(path: Path, header: Sequence[str], rows: Sequence[Row], delimiter: str) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(header)
        writer.writerows(rows)


def write_json(path: Path, header: Sequence[str], rows: Sequence[Row]) -> None:
    lines = (json.dumps(dict(zip(header, row, strict=True))) for row in rows)
    path.write_text("\n".join(lines), encoding="utf-8")


def write_parquet(path: Path, header: Sequence[str], rows: Sequence[Row]) -> None:
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in header)
    marks = ", ".join(["(" + ", ".join("?" * len(header)) + ")"] * len(rows))
    values = [value for row in rows for value in row]
    target = str(path).replace("'", "''")
    run_sql(f"CREATE OR REPLACE TEMP TABLE t AS SELECT * FROM (VALUES {marks}) AS t({names})", values)
    run_sql(f"COPY t TO '{target}' (FORMAT parquet)")


def write_table(path: Path, header: Sequence[str], rows: Sequence[Row]) -> Path:
    """Write a table in the format that the name of the file asks for."""
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    if plain.suffix == ".parquet":
        write_parquet(plain, header, rows)
    elif plain.suffix in (".csv", ".tsv"):
        write_separated(plain, header, rows, "," if plain.suffix == ".csv" else "\t")
    else:
        write_json(plain, header, rows)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(plain.read_bytes()))
    return path


def write_bytes(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def key(name: str) -> list[int]:
    """The key of a user, by hand."""
    digest = hashlib.md5(name.encode(), usedforsecurity=False).digest()
    return [int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")]


def by_key(*names: str) -> list[list[int]]:
    return sorted(map(key, names))


def as_dicts(found: Records) -> list[dict[str, int]]:
    """What every user holds, as words and counts."""
    starts = found.holdings.starts
    held = zip(found.holdings.words.tolist(), found.holdings.counts.tolist(), strict=True)
    named = [(found.words[word], count) for word, count in held]
    return [dict(named[a:b]) for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)]


def as_bytes(found: Records) -> tuple[object, ...]:
    holdings = found.holdings
    arrays = (holdings.starts, holdings.words, holdings.counts)
    return found.words, [(array.dtype, array.tobytes()) for array in arrays], found.rows, found.dropped


def refusal(path: Path, columns: Columns = DEFAULT_COLUMNS) -> str:
    with pytest.raises(DataError) as caught:
        read_records(path, columns)
    message = str(caught.value)
    assert "\n" not in message
    return message


# What a good file gives


@pytest.mark.parametrize("ending", input_file.ENDINGS)
def test_every_format_gives_the_same_records(tmp_path: Path, ending: str) -> None:
    found = read_records(write_table(tmp_path / f"table{ending}", HEADER, ROWS))
    assert found.words == ["007", "naïve", 'say "hi", now', "yeet", "😀"]
    # Users in the order of their keys: 10, 2, 9, 11. What user 2 typed is too old.
    assert found.keys.tolist() == by_key("10", "11", "2", "9")
    assert found.keys.tolist() == keys_of(["10", "2", "9", "11"]).tolist()
    assert found.holdings.starts.tolist() == [0, 2, 2, 4, 5]
    assert found.holdings.words.tolist() == [1, 3, 2, 4, 0]
    assert found.holdings.counts.tolist() == [2, 7, 1, 5, 1]
    assert [array.dtype for array in (found.holdings.starts, found.holdings.words, found.holdings.counts)] == [
        np.int64,
        np.int32,
        np.int32,
    ]
    assert (found.rows, found.dropped) == (7, 1)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_the_order_of_rows_does_not_matter(tmp_path: Path, ending: str) -> None:
    there = read_records(write_table(tmp_path / f"a{ending}", HEADER, ROWS))
    back = read_records(write_table(tmp_path / f"b{ending}", HEADER, ROWS[::-1]))
    assert as_bytes(there) == as_bytes(back)


def test_the_pieces_in_which_rows_are_fetched_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_table(tmp_path / "a.parquet", HEADER, ROWS)
    whole = read_records(path)
    monkeypatch.setattr(records, "ROWS_AT_ONCE", 1)
    assert as_bytes(read_records(path)) == as_bytes(whole)


def test_spellings_of_one_word_are_merged(tmp_path: Path) -> None:
    rows: list[Row] = [("a", "cafe\u0301", 1), ("a", " café\u3000", 2), ("a", "café", 4), ("b", "zoo\t", 8)]
    found = read_records(write_table(tmp_path / "a.parquet", HEADER[:3], rows))
    assert found.words == ["café", "zoo"]
    assert as_dicts(found) == [{"café": 7}, {"zoo": 8}]


def test_words_are_sorted_by_code_point(tmp_path: Path) -> None:
    words = ["\U0001f600", "\ufb01", "z", "Z", "é", "a" * 300]
    found = read_records(write_table(tmp_path / "a.csv", HEADER[:2], [("u", word) for word in words]))
    assert found.words == sorted(unicodedata.normalize("NFC", word) for word in words)


def test_without_counts_every_row_counts_once(tmp_path: Path) -> None:
    found = read_records(write_table(tmp_path / "a.csv", HEADER[:2], [("u", "x"), ("u", "y"), ("u", "x")]))
    assert as_dicts(found) == [{"x": 2, "y": 1}]


def test_counts_may_be_written_as_whole_floats(tmp_path: Path) -> None:
    path = write_bytes(tmp_path / "a.csv", b"user,word,count\nu,x,3.0\nu,x, 2\nu,y,1e3\n")
    assert as_dicts(read_records(path)) == [{"x": 5, "y": 1000}]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_counts_saturate(tmp_path: Path, ending: str) -> None:
    rows: list[Row] = [("u", "x", 2**31 - 1), ("u", "x", 5), ("u", "y", 2**62), ("u", "z", 2**31 - 2)]
    found = read_records(write_table(tmp_path / f"a{ending}", HEADER[:3], rows))
    assert as_dicts(found) == [{"x": 2**31 - 1, "y": 2**31 - 1, "z": 2**31 - 2}]


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_only_the_last_days_count(tmp_path: Path, ending: str) -> None:
    rows: list[Row] = [("u", "old", 40), ("u", "edge", 41), ("v", "new", 100)]
    path = write_table(tmp_path / f"a{ending}", ("user", "word", "day"), rows)
    found = read_records(path)
    assert (found.words, found.rows, found.dropped) == (["edge", "new"], 3, 1)
    assert read_records(path, days=1).words == ["new"]
    assert read_records(path, days=61).words == ["edge", "new", "old"]


def test_a_user_with_old_rows_only_holds_nothing(tmp_path: Path) -> None:
    path = write_bytes(tmp_path / "a.csv", b"user,word,day\na,x,0\nb,x,99\nc,y,0\n")
    found = read_records(path)
    assert found.keys.tolist() == by_key("a", "b", "c")
    assert as_dicts(found)[by_key("a", "b", "c").index(key("b"))] == {"x": 1}
    assert sorted(map(len, as_dicts(found))) == [0, 0, 1]


@pytest.mark.parametrize("type_", ["VARCHAR", "DATE", "TIMESTAMP", "TIMESTAMPTZ"])
def test_days_may_be_dates_of_any_type(tmp_path: Path, type_: str) -> None:
    path = tmp_path / "a.parquet"
    run_sql(
        f"COPY (SELECT 1 AS user, word, CAST(day AS {type_}) AS day FROM (VALUES ('old', '2024-01-01'), "
        f"('edge', '2024-01-02'), ('new', '2024-03-01')) AS t(word, day)) TO '{path}' (FORMAT parquet)"
    )
    assert read_records(path).words == ["edge", "new"]


def test_users_may_be_numbers_or_text(tmp_path: Path) -> None:
    numbers: list[Row] = [(10, "x"), (9, "y"), (-1, "z")]
    texts: list[Row] = [(str(user), word) for user, word in numbers]
    a, b = (
        read_records(write_table(tmp_path / f"{i}.parquet", HEADER[:2], rows))
        for i, rows in enumerate((numbers, texts))
    )
    assert as_bytes(a) == as_bytes(b)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_columns_can_have_any_name(tmp_path: Path, ending: str) -> None:
    header = ("select", 'a"b', "it's, 1", "day'; --", "unused")
    path = write_table(tmp_path / f"a{ending}", header, [("u", "x", 2, 5, "?"), ("v", "y", 3, 6, "?")])
    found = read_records(path, Columns("select", 'a"b', "it's, 1", "day'; --"), days=1)
    assert as_dicts(found) == [{}, {"y": 3}]


@pytest.mark.parametrize("ending", [".csv", ".jsonl.gz", ".parquet"])
def test_paths_can_have_any_name(tmp_path: Path, ending: str) -> None:
    folder = tmp_path / "it's [a] *dir?"
    folder.mkdir()
    path = write_table(folder / f"f[1]* 'q' ?{ending}", HEADER[:2], [("u", "x")])
    write_table(folder / f"f1 'q' x{ending}", HEADER[:2], [("u", "other")])
    assert read_records(path).words == ["x"]


def test_a_path_may_be_relative_and_upper_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_table(Path("a.csv"), HEADER[:2], [("u", "x")]).rename("A.CSV")
    assert read_records(Path("A.CSV")).words == ["x"]


def test_a_directory_or_a_glob_of_partitions_is_one_table(tmp_path: Path) -> None:
    for i, rows in enumerate((ROWS[:3], ROWS[3:])):
        (tmp_path / "table" / f"p{i}").mkdir(parents=True)
        write_table(tmp_path / "table" / f"p{i}" / "part.parquet", HEADER, rows)
    (tmp_path / "table" / "_SUCCESS").touch()
    (tmp_path / "table" / "_temporary").mkdir()
    (tmp_path / "table" / "_temporary" / "part.parquet").write_bytes(b"unfinished")
    whole = as_bytes(read_records(write_table(tmp_path / "whole.parquet", HEADER, ROWS)))
    assert as_bytes(read_records(tmp_path / "table")) == whole
    assert as_bytes(read_records(tmp_path / "table" / "p*" / "*.parquet")) == whole


@pytest.mark.parametrize("ending", [".csv", ".tsv.gz", ".jsonl", ".parquet"])
def test_several_files_or_a_pattern_of_them_are_one_table(tmp_path: Path, ending: str) -> None:
    parts = [write_table(tmp_path / f"part{i}{ending}", HEADER, rows) for i, rows in enumerate((ROWS[:3], ROWS[3:]))]
    whole = as_bytes(read_records(write_table(tmp_path / f"whole{ending}", HEADER, ROWS)))
    assert as_bytes(read_records(parts)) == whole
    assert as_bytes(read_records(tmp_path / f"part*{ending}")) == whole


def test_partitions_may_carry_the_day_in_their_name(tmp_path: Path) -> None:
    for day in ("2024-01-01", "2024-03-01"):
        (tmp_path / f"day={day}").mkdir()
        write_table(tmp_path / f"day={day}" / "part.parquet", HEADER[:2], [("u", f"w{day}")])
    assert read_records(tmp_path).words == ["w2024-03-01"]
    assert read_records(tmp_path / "day=2024-01-01" / "part.parquet").words == ["w2024-01-01"]


@pytest.mark.parametrize("ending", [".csv", ".tsv.gz", ".jsonl", ".parquet"])
def test_a_word_may_be_enormous(tmp_path: Path, ending: str) -> None:
    word = 'x"\n' * 2**19 + "!"
    found = read_records(write_table(tmp_path / f"a{ending}", HEADER[:2], [("u", word), ("u", "y")]))
    assert found.words == [word, "y"]


def test_csv_may_have_a_mark_blank_lines_and_odd_headers(tmp_path: Path) -> None:
    path = write_bytes(tmp_path / "a.csv", b'\xef\xbb\xbf"user", word,,\r\n\r\nu,"a ""b""",1,\r\nu,NULL,,2\r\n\r\n')
    assert read_records(path).words == ["NULL", 'a "b"']


def test_quotes_are_followed_from_piece_to_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_bytes(tmp_path / "a.csv", 'user,word\n"u","é ""x"", ""y"""\n"v",""""\n'.encode())
    for size in (1, 2, 3, 5, 8):
        monkeypatch.setattr(input_file, "CHUNK", size)
        assert read_records(path).words == ['"', 'é "x", "y"']


def test_gzip_may_have_several_members(tmp_path: Path) -> None:
    content = gzip.compress(b"user,word\nu,x\n", mtime=0) + gzip.compress(b"u,y\n", mtime=0)
    assert read_records(write_bytes(tmp_path / "a.csv.gz", content)).words == ["x", "y"]


NASTY = st.one_of(
    st.sampled_from(list("\",'\n\r\t \\;#|aAeé\u0301\u0327\u0323\u212b\u3000\u200d\ufeff😀\U0001f1e9")),
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
)
FIELD = st.text(NASTY, min_size=1, max_size=8).filter(lambda text: bool(text.strip()))
TABLE = st.lists(st.tuples(FIELD, FIELD, st.integers(1, 2**31), st.integers(-70, 70)), min_size=1, max_size=12)


@given(TABLE, st.sampled_from([("\r\n", csv.QUOTE_MINIMAL), ("\n", csv.QUOTE_ALL)]), st.integers(1, 150))
@settings(max_examples=40, deadline=None)
def test_any_csv_agrees_with_plain_python(
    table: list[tuple[str, str, int, int]], dialect: tuple[str, int], days: int
) -> None:
    newest = max(day for *_, day in table)
    held: dict[str, Counter[str]] = {user: Counter() for user in sorted({row[0] for row in table}, key=key)}
    for user, word, count, day in table:
        if day > newest - days:
            held[user][unicodedata.normalize("NFC", word.strip())] += min(count, 2**31 - 1)
    expected = [{word: min(n, 2**31 - 1) for word, n in sorted(words.items())} for words in held.values()]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator=dialect[0], quoting=dialect[1])  # type: ignore[arg-type]
            writer.writerows([HEADER, *table])
        found = read_records(path, days=days)
    assert as_dicts(found) == expected
    assert [list(words) for words in as_dicts(found)] == [list(words) for words in expected]
    assert found.words == sorted({word for words in expected for word in words})
    assert found.rows == len(table)
    assert found.dropped == sum(day <= newest - days for *_, day in table)


# What a bad file gives


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_a_day_out_of_all_proportion_is_refused_by_its_row(tmp_path: Path, ending: str) -> None:
    rows = [(f"u{i}", "x", 1, f"2026-01-{1 + i % 28:02}") for i in range(200)]
    rows[16] = ("u16", "x", 1, "2999-01-01")
    path = write_table(tmp_path / f"a{ending}", HEADER, rows)
    told = refusal(path)
    assert "has 1 row(s), the first is row 17, of 355,354 days after all others" in told
    assert "199 of 200 rows would be too old to count" in told


def test_a_new_time_with_few_rows_is_none_if_it_follows_closely_or_has_more_rows(tmp_path: Path) -> None:
    old = [(f"u{i}", "old", 1, 0) for i in range(200)]
    for days, new in ((400, 2), (900, 3)):
        path = write_table(tmp_path / f"a{days}.csv", HEADER, [*old, *((f"v{i}", "new", 1, days) for i in range(new))])
        assert read_records(path).words == ["new"]
    far = write_table(tmp_path / "far.csv", HEADER, [*old, ("v", "new", 1, 900)])
    assert "900 days after all others" in refusal(far)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert "there is no file" in refusal(tmp_path / "a.csv")
    assert "there is no file" in refusal(tmp_path / "*.parquet")
    assert "without parquet files" in refusal(tmp_path)
    assert "can't be opened" in refusal(tmp_path / "**.parquet")


def test_an_unknown_ending_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    for name in ("a.xlsx", "a", "a.parquet.gz", ".csv"):
        assert ".csv.gz" in refusal(write_bytes(tmp_path / name, b"user,word\nu,x\n"))


def test_files_of_several_kinds_are_refused(tmp_path: Path) -> None:
    write_table(tmp_path / "a.csv", HEADER, ROWS)
    write_table(tmp_path / "a.parquet", HEADER, ROWS)
    assert "end in .csv, .parquet: give files of one kind" in refusal(tmp_path / "*")


def test_a_file_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    path = write_table(tmp_path / "a.csv", HEADER, ROWS)
    with pytest.raises(DataError, match="given twice"):
        read_records([path, path])


def test_parts_of_text_must_have_the_same_columns_in_the_same_order(tmp_path: Path) -> None:
    first = write_table(tmp_path / "a.csv", HEADER[:2], [("u", "x")])
    other = write_table(tmp_path / "b.csv", HEADER[1::-1], [("x", "u")])
    with pytest.raises(DataError, match=r"b\.csv has other columns than .*a\.csv, or another order"):
        read_records([first, other])


@pytest.mark.parametrize("ending", input_file.ENDINGS)
def test_an_empty_file_is_refused(tmp_path: Path, ending: str) -> None:
    assert "is empty" in refusal(write_bytes(tmp_path / f"a{ending}", b""))


@pytest.mark.parametrize("ending", [".csv", ".tsv.gz", ".jsonl"])
def test_a_blank_file_is_refused(tmp_path: Path, ending: str) -> None:
    for content in (b"", b"\n \n"):
        packed = gzip.compress(content) if ending.endswith(".gz") else content + b"\n"
        assert "is empty" in refusal(write_bytes(tmp_path / f"a{ending}", packed))


def test_a_file_without_rows_is_refused(tmp_path: Path) -> None:
    assert "no rows" in refusal(write_bytes(tmp_path / "a.csv", b"user,word\n"))
    assert "no rows" in refusal(write_bytes(tmp_path / "b.tsv.gz", gzip.compress(b"user\tword", mtime=0)))
    run_sql(f"COPY (SELECT 1 AS user, 'x' AS word LIMIT 0) TO '{tmp_path / 'c.parquet'}' (FORMAT parquet)")
    assert "no rows" in refusal(tmp_path / "c.parquet")


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize(
    ("columns", "option"),
    [
        (Columns(user="person"), "--user-column"),
        (Columns(word="person"), "--word-column"),
        (Columns(count="person"), "--count-column"),
        (Columns(day="person"), "--day-column"),
    ],
)
def test_a_missing_column_is_named(tmp_path: Path, ending: str, columns: Columns, option: str) -> None:
    message = refusal(write_table(tmp_path / f"a{ending}", HEADER, ROWS), columns)
    assert "'person'" in message
    assert "'user', 'word', 'count', 'day'" in message
    assert option in message


def test_names_of_columns_are_told_apart_by_case(tmp_path: Path) -> None:
    assert "no column 'user'" in refusal(write_table(tmp_path / "a.parquet", ("User", "word"), [("u", "x")]))


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    assert "more than one" in refusal(write_bytes(tmp_path / "a.csv", b"user,word,Word\nu,x,y\n"))


def test_a_list_of_words_is_refused(tmp_path: Path) -> None:
    path = write_bytes(tmp_path / "a.jsonl", b'{"user": 1, "word": ["x", "y"]}\n')
    assert "one row per word" in refusal(path)
    run_sql(f"COPY (SELECT 1 AS user, ['x', 'y'] AS word) TO '{tmp_path / 'b.parquet'}' (FORMAT parquet)")
    assert "one row per word" in refusal(tmp_path / "b.parquet")


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ((None, "w", 1, 5), "without a user"),
        (("  ", "w", 1, 5), "without a user"),
        (("u", None, 1, 5), "without a word"),
        (("u", "", 1, 5), "without a word"),
        (("u", " \u3000\n\x85", 1, 5), "without a word"),
        (("u", "w", 0, 5), "whose count is not"),
        (("u", "w", -3, 5), "whose count is not"),
        (("u", "w", 2.5, 5), "whose count is not"),
        (("u", "w", "many", 5), "whose count is not"),
        (("u", "w", "inf", 5), "whose count is not"),
        (("u", "w", "nan", 5), "whose count is not"),
        (("u", "w", None, 5), "whose count is not"),
        (("u", "w", 1, "Monday"), "whose day is neither"),
        (("u", "w", 1, "2024-02-30"), "whose day is neither"),
        (("u", "w", 1, "infinity"), "whose day is neither"),
        (("u", "w", 1, 20240131), "whose day is neither"),
        (("u", "w", 1, 5.5), "whose day is neither"),
        (("u", "w", 1, None), "whose day is neither"),
    ],
)
def test_rows_that_make_no_sense_are_counted(tmp_path: Path, ending: str, row: Row, reason: str) -> None:
    # A column of a parquet file has one type, so the good rows follow the bad one.
    good: Row = ("u", "v", *("1" if isinstance(value, str) else 1 for value in row[2:]))
    message = refusal(write_table(tmp_path / f"a{ending}", HEADER, [good, good, row, good, row]))
    assert f"has 2 row(s) {reason}" in message
    assert "the first is row 3:" in message


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_true_is_no_count(tmp_path: Path, ending: str) -> None:
    assert "count" in refusal(write_table(tmp_path / f"a{ending}", HEADER[:3], [("u", "w", True)]))


def test_a_key_may_be_missing_from_a_json_line(tmp_path: Path) -> None:
    path = write_bytes(tmp_path / "a.jsonl", b'{"user": 1, "word": "x"}\n{"word": "y"}\n')
    assert "has 1 row(s) without a user, the first is row 2:" in refusal(path)


def test_a_count_that_comes_late_is_not_overlooked(tmp_path: Path) -> None:
    lines = ['{"user": 1, "word": "x"}'] * 30_000 + ['{"user": 1, "word": "x", "count": 5}']
    path = write_bytes(tmp_path / "a.jsonl", "\n".join(lines).encode())
    assert "has 30000 row(s) whose count" in refusal(path)


MALFORMED: list[tuple[str, bytes, str]] = [
    ("a.csv", b"user,word\nu,x\nu,secret,more\n", "at line 3"),
    ("a.csv", b"user,word\nu,x\nsecret\n", "at line 3"),
    ("a.csv", b'user,word\nu,x\nu,"secret"er\n', "at line 3"),
    ("a.csv", b'user,word\nu,x\nu,secret "x"\n', "at line 3"),
    ("a.csv", b'user,word\nu,x\nu,"secret\nu,y\n', "never closed"),
    ("a.csv", b'user,word\nu,5" x\nu,"secret\nu,y\n', "at line 2"),
    ("a.csv", b"user,word\nu,secret\r\nu,y\n", "line ends"),
    ("a.csv", b"user,word\nu,x\nu,secret\xe9\n", "not UTF-8 at line 3"),
    ("a.csv", b"user,word\nu,secret\xc3", "not UTF-8 at line 2"),
    ("a.csv", "user,word\nu,secret\n".encode("utf-16"), "not UTF-8"),
    ("a.csv", "user,word\nu,secret\n".encode("utf-16-le"), "NUL byte"),
    ("a.csv", b"user,word\nu,x\nu,sec\0ret\n", "NUL byte at line 3"),
    ("a.csv", gzip.compress(b"user,word\nu,secret\n", mtime=0), "not UTF-8"),
    ("a.csv", b'"' + b"secret" * 30_000 + b'",word\n', "header"),
    ("a.csv", b"\nuser,word\nu,secret\n", "header"),
    ("a.csv.gz", b"user,word\nu,secret\n", "gzip"),
    ("a.csv.gz", gzip.compress(b"user,word\nu,secret\n", mtime=0)[:-9], "gzip"),
    ("a.csv.gz", gzip.compress(b"user,word\nu,secret\n", mtime=0)[:-8] + b"12345678", "gzip"),
    ("a.jsonl", b'{"user": 1, "word": "x"}\n{"user": 1, "word": "secret', "at line 2"),
    ("a.jsonl", b'{"user": 1, "word": "x"}\n["secret"]\n', "at line 2"),
    ("a.json", b'[{"user": 1, "word": "secret"}]', "at line 1"),
    ("a.json", b'{"user": 1, "word": "secret\\ud800"}', "one JSON object per line"),
    ("a.jsonl", b'\xef\xbb\xbf{"user": 1, "word": "secret"}\n', "byte order mark"),
    ("a.jsonl", b'{"user": 1, "word": "secret\\u0000"}\n', "NUL character"),
    ("a.jsonl.gz", gzip.compress(b'{"user": 1, "word": "secret"}\n{secret', mtime=0)[:-9], "gzip"),
    ("a.parquet", b"PAR1secret", "cut short"),
    ("a.parquet", b"user,word\nu,secret\n", "cut short"),
]


@pytest.mark.parametrize(("name", "content", "reason"), MALFORMED)
def test_a_malformed_file_is_refused_without_its_words(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    with pytest.raises(DataError) as caught:
        read_records(write_bytes(tmp_path / name, content))
    message = str(caught.value)
    assert reason in message
    assert "\n" not in message
    assert "secret" not in message
    assert "secret" not in "".join(traceback.format_exception_only(caught.value))
    import duckdb

    chained: BaseException | None = caught.value
    while chained is not None:
        assert not isinstance(chained, duckdb.Error)
        chained = chained.__context__


def test_a_parquet_file_that_is_cut_anywhere_is_refused(tmp_path: Path) -> None:
    content = write_table(tmp_path / "a.parquet", HEADER, ROWS).read_bytes()
    for length in range(1, len(content), 89):
        assert "cut short" in refusal(write_bytes(tmp_path / "b.parquet", content[:length]))


def test_partitions_with_different_columns_are_refused(tmp_path: Path) -> None:
    write_table(tmp_path / "a.parquet", HEADER[:2], [("u", "x")])
    write_table(tmp_path / "b.parquet", ("user", "term"), [("u", "x")])
    assert re.search(r"b\.parquet has no column 'word', only 'user', 'term'", refusal(tmp_path))


def test_too_little_memory_is_an_error_and_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_sql(
        "COPY (SELECT i AS user, 'a rather long word ' || i AS word FROM range(300_000) AS t(i)) "
        "TO 'a.parquet' (FORMAT parquet)"
    )
    with pytest.raises(DataError, match="than fit into 20MB: allow more memory"):
        read_records(Path("a.parquet"), memory_limit="20MB")
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda path: read_records(path, days=0), "0 days"),
        (lambda path: read_records(path, memory_limit="lots"), "'lots'"),
    ],
)
def test_bad_parameters_are_refused(tmp_path: Path, call: Callable[[Path], Records], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        call(write_table(tmp_path / "a.csv", HEADER, ROWS))


def test_importing_records_does_not_import_duckdb() -> None:
    code = "import sys, neologue.populations.records; sys.exit('duckdb' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_csv_without_a_header_is_refused_without_repeating_its_first_row(tmp_path: Path) -> None:
    path = write_bytes(tmp_path / "a.csv", b"anna,secretword\nbert,other\n")
    with pytest.raises(DataError, match="add a header") as refusal:
        read_records(path)
    assert "secretword" not in str(refusal.value)
    assert "anna" not in str(refusal.value)
