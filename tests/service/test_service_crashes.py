"""kill -9 of the service while real clients talk to it: what they are told is what is counted."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

KILLS = 2
"""In a test: the whole service, and where it has two workers then one of them. A soak kills hundreds of times."""


def endured(url: str, *arguments: object) -> int:
    command = [sys.executable, "-m", "service.outages", url, *map(str, arguments)]
    tests = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=tests, capture_output=True, text=True, timeout=600, env={**os.environ})
    assert done.returncode == 0, done.stderr[-5000:]
    return int(done.stdout)


def test_a_service_that_is_killed_loses_nothing_and_counts_nothing_twice(url: str) -> None:
    assert endured(url, KILLS) >= 40 * KILLS


def test_two_workers_that_are_killed_lose_nothing_and_count_nothing_twice(postgres: Callable[[], str]) -> None:
    assert endured(postgres(), KILLS, 2) >= 40 * KILLS
