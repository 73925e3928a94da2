"""Records from a pipe are read as those of a file, and never lie on a disk."""

import gzip
import os
import threading
from pathlib import Path

import pytest

from neologue.populations.piped_input import seekable
from neologue.populations.records import read_records

CSV = b"user,word\nu,x\nv,y\n"


@pytest.fixture
def parquet(tmp_path: Path) -> bytes:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "a.parquet"
    rows = "VALUES ('u', 'x'), ('v', 'y')"
    duckdb.execute(f"COPY (SELECT * FROM ({rows}) t(\"user\", word)) TO '{path}' (FORMAT parquet)")
    return path.read_bytes()


def pipe(content: bytes, path: Path) -> Path:
    """A pipe into which somebody writes."""
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=(content,), daemon=True).start()
    return path


@pytest.mark.parametrize(
    ("content", "ending"),
    [
        (CSV, ".csv"),
        (CSV.replace(b",", b"\t"), ".tsv"),
        (b'{"user": "u", "word": "x"}\n{"user": "v", "word": "y"}\n', ".jsonl"),
        (gzip.compress(CSV, mtime=0), ".csv.gz"),
        (b"\xef\xbb\xbf" + CSV, ".csv"),
    ],
)
def test_what_comes_through_a_pipe_is_known_by_its_content(tmp_path: Path, content: bytes, ending: str) -> None:
    with seekable([pipe(content, tmp_path / "pipe")]) as files:
        assert [file.name for file in files] == [f"standard-input{ending}"]
        assert read_records(files).words == ["x", "y"]
        assert not files[0].is_symlink() or str(files[0].readlink()).startswith(f"/proc/{os.getpid()}/fd/")
    assert not files[0].exists()


def test_parquet_comes_through_a_pipe_too(tmp_path: Path, parquet: bytes) -> None:
    with seekable([pipe(parquet, tmp_path / "pipe")]) as files:
        assert read_records(files).words == ["x", "y"]


def test_a_file_stays_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(CSV)
    with seekable([path]) as files:
        assert files == [path]
