"""kill -9 at any moment: nothing that was confirmed is lost, nothing is counted twice."""

import subprocess
import sys
from pathlib import Path

KILLS = 30
"""For each database; a soak kills hundreds of times."""


def test_workers_that_are_killed_lose_nothing_and_count_nothing_twice(url: str) -> None:
    command = [sys.executable, "-m", "service.crashes", url, str(KILLS)]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 300
