"""A run that is broken off leaves in good order: no traceback, no files."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

INTERRUPTED = 128 + 2
"""What shells report of a command that SIGINT ended, and what scripts look for."""


@dataclass(frozen=True)
class Ending:
    """How a process ended."""

    code: int
    told: str
    printed: str


def _hears_interrupts() -> None:
    # A shell that starts a job in the background makes it, and so its children, deaf to SIGINT.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the files of the run that is broken off would be."""
    return tmp_path_factory.mktemp("interrupt") / "out"


@pytest.fixture(scope="module")
def interrupted(folder: Path) -> Ending:
    """A long run, interrupted from the keyboard after its first layer."""
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "neologue",
            "discover",
            "--language",
            "id",
            "--users",
            "3000000",
            "--epsilon",
            "8",
            "--out",
            str(folder),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "1"},
        preexec_fn=_hears_interrupts,
    ) as running:
        assert running.stderr is not None
        before = []
        for line in running.stderr:
            before.append(line)
            if line.startswith("pass 1 layer 1:"):
                break
        running.send_signal(signal.SIGINT)
        try:
            printed, after = running.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            running.kill()
            raise
    assert before[-1].startswith("pass 1 layer 1:"), before
    return Ending(running.returncode, after, printed)


def test_the_exit_code_tells_that_somebody_interrupted(interrupted: Ending) -> None:
    assert interrupted.code == INTERRUPTED


def test_an_interrupt_is_no_crash(interrupted: Ending) -> None:
    assert interrupted.code in (1, INTERRUPTED)
    assert "Traceback" not in interrupted.told
    assert interrupted.printed == ""
    assert "Comparing" not in interrupted.told, "it stopped at once"
    assert interrupted.told.endswith("neologue: interrupted; the same command with --resume goes on\n")


def test_an_interrupted_run_writes_nothing_but_its_journal(interrupted: Ending, folder: Path) -> None:
    assert not folder.exists() or [path.name for path in folder.iterdir()] in ([], ["unfinished"])


def without_reader(*arguments: object) -> Ending:
    """A command whose output goes into a pipe that nobody reads any more."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "neologue", *map(str, arguments)],
            stdout=writing,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, "PYTHONUTF8": "1"},
            timeout=300,
        )
    finally:
        os.close(writing)
    return Ending(done.returncode, done.stderr, "")


@pytest.fixture(scope="module")
def unread(tmp_path_factory: pytest.TempPathFactory, typed: Path, known: Path) -> tuple[Ending, Path]:
    """A discovery whose table nobody reads, and where its files should be."""
    out = tmp_path_factory.mktemp("unread")
    return without_reader(
        "discover", typed, "--known", known, "--depth", 4, "--privacy", "paper", "--yes", "--out", out
    ), out


def test_a_reader_who_leaves_early_gets_no_traceback(unread: tuple[Ending, Path]) -> None:
    for ending in (unread[0], without_reader("profiles"), without_reader("completion", "bash")):
        assert not [word for word in ("Traceback", "Exception", "Broken") if word in ending.told], ending.told


def test_the_files_are_written_whether_or_not_anybody_reads_the_table(unread: tuple[Ending, Path]) -> None:
    assert (unread[1] / "release.json").exists()
