"""A fleet that is killed leaves no process behind."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

PATIENCE = 120.0


@pytest.mark.service
def test_devices_and_service_end_with_a_fleet_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "neologue", "fleet", "--devices", "3000", "--epsilon", "10", "--processes", "1"]
    log = tmp_path / "log"
    with log.open("w") as written, subprocess.Popen(command, stdout=written, stderr=written) as fleet:
        started = psutil.Process(fleet.pid)
        try:
            # The service, the event that ends devices, what watches over it, and the devices' own process.
            while len(psutil.Process(fleet.pid).children(recursive=True)) < 4:
                assert fleet.poll() is None, log.read_text()
                psutil.wait_procs([started], 0.2)
            children = started.children(recursive=True)
        finally:
            fleet.kill()
    gone, alive = psutil.wait_procs(children, PATIENCE)
    for each in alive:
        each.kill()
    assert not alive, f"{len(alive)} of {len(children)} processes lived on"
    assert len(gone) >= 4
