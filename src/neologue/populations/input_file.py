"""Opening and checking a file of records before DuckDB parses it."""

import codecs
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

import numpy as np

from neologue.errors import DataError

DELIMITERS = {".csv": ",", ".tsv": "\t"}
TEXT_ENDINGS = (*DELIMITERS, ".jsonl", ".ndjson", ".json")
ENDINGS = (".parquet", *TEXT_ENDINGS, *(f"{ending}.gz" for ending in TEXT_ENDINGS))

CHUNK = 2**22  # bytes


def ending_of(file: Path) -> str:
    """The ending of a file's name; `.gz` together with the ending before it."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    return "".join(suffixes[-2:] if suffixes[-1:] == [".gz"] else suffixes[-1:])


def open_bytes(file: Path) -> IO[bytes]:
    """Open a file for reading, decompressed if its name ends in `.gz`."""
    return cast(IO[bytes], gzip.open(file)) if ending_of(file).endswith(".gz") else file.open("rb")


def check_file(file: Path, ending: str) -> None:
    """Refuse a file that DuckDB would read wrongly, or refuse with a misleading reason.

    For example, DuckDB does not check the checksum of a gzip file, and misses some quotes that are never closed.
    """
    try:
        if file.stat().st_size == 0:
            raise DataError(f"{file} is empty: give a file with users and words")
        with open_bytes(file) as source:
            if ending != ".parquet":
                _check_text(file, source, DELIMITERS.get(ending.removesuffix(".gz")))
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise DataError(f"{file} is cut short or not a gzip file: compress it again") from None
    except OSError as error:
        raise DataError(f"{file} can't be opened: {error.strerror}") from None


def _check_text(file: Path, source: IO[bytes], delimiter: str | None) -> None:
    """Refuse text that is blank, not UTF-8, has NUL bytes, or quotes its fields ambiguously."""
    decode = codecs.getincrementaldecoder("utf-8")().decode
    lines, blank, quoted, last = 1, True, 0, b"\n"
    for chunk in _chunks(source):
        try:
            decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            line = lines + error.object[: error.start].count(b"\n")
            raise DataError(f"{file} is not UTF-8 at line {line}: save it as UTF-8") from None
        nul = chunk.find(b"\0")
        if nul >= 0:
            line = lines + chunk.count(b"\n", 0, nul)
            raise DataError(f"{file} has a NUL byte at line {line}: save it as UTF-8 text")
        if delimiter is not None:
            if blank:
                chunk = chunk.removeprefix(codecs.BOM_UTF8)
            codes = np.frombuffer(last + chunk, np.uint8)
            quotes = np.flatnonzero(codes[1:] == ord('"'))
            opening = quotes[quoted::2]
            stray = opening[~np.isin(codes[opening], list(f'\r\n"{delimiter}'.encode()))]
            if len(stray):
                line = lines + chunk.count(b"\n", 0, int(stray[0]))
                raise DataError(f'{file} has a stray " at line {line}: quote that field, and write "" for "')
            quoted = (quoted + len(quotes)) % 2
            last = chunk[-1:] or last
        lines += chunk.count(b"\n")
        blank = blank and not chunk.strip()
    if blank:
        raise DataError(f"{file} is empty: give a file with users and words")
    if quoted:
        raise DataError(f'{file} is cut short or malformed: a " is never closed; write it again')


def _chunks(source: IO[bytes]) -> Iterator[bytes]:
    """The bytes of a file in pieces, followed by an empty one."""
    while chunk := source.read(CHUNK):
        yield chunk
    yield b""
