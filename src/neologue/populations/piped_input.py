"""Records that come through a pipe, as a file that can be read more than once.

They are kept in memory: people's words are never written to a disk.
"""

import gzip
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from neologue.errors import DataError

STANDARD_INPUT = "-"
SNIFFED = 2**16  # bytes


@contextmanager
def seekable(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """The same paths, with files in memory in the place of the standard input (`-`) and of pipes."""
    with ExitStack() as stack:
        yield [stack.enter_context(_kept(path)) if is_pipe(path) else path for path in paths]


def is_pipe(path: Path) -> bool:
    """Whether a path can be read only once."""
    return str(path) == STANDARD_INPUT or path.is_fifo() or path.is_char_device()


@contextmanager
def _kept(path: Path) -> Iterator[Path]:
    """A file in memory with all that a pipe gives, under a name whose ending says what it is."""
    if not hasattr(os, "memfd_create"):
        raise DataError(f"{path} is a pipe, which is read on Linux alone: write a file and give its name")
    if str(path) == STANDARD_INPUT and sys.stdin.isatty():
        raise DataError("nothing is piped into the standard input: give the name of a file in the place of -")
    source = sys.stdin.buffer if str(path) == STANDARD_INPUT else path.open("rb")
    in_memory = os.memfd_create("records")
    with os.fdopen(in_memory, "w+b") as memory, tempfile.TemporaryDirectory(prefix="neologue-") as folder:
        with source:
            shutil.copyfileobj(source, memory)
        memory.flush()
        memory.seek(0)
        link = Path(folder) / f"standard-input{_ending(memory)}"
        # The folder holds a name alone; the words stay in memory.
        link.symlink_to(f"/proc/{os.getpid()}/fd/{memory.fileno()}")
        yield link


def _ending(memory: IO[bytes]) -> str:
    """The ending that a file with this content would have."""
    start = memory.read(SNIFFED)
    memory.seek(0)
    if start.startswith(b"PAR1"):
        return ".parquet"
    packed = start.startswith(b"\x1f\x8b")
    if packed:
        try:
            with gzip.open(memory) as unpacked:
                start = unpacked.read(SNIFFED)
        except (OSError, EOFError, zlib.error):
            start = b""  # the reader says what is wrong with it
        memory.seek(0)
    header = start.removeprefix(b"\xef\xbb\xbf").lstrip().split(b"\n", 1)[0]
    kind = ".jsonl" if header.startswith(b"{") else ".tsv" if b"\t" in header else ".csv"
    return kind + (".gz" if packed else "")
