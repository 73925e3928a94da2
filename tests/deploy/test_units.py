"""The systemd units: systemd itself reads them, and judges how far they are exposed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from wheels import ROOT

UNITS = ROOT / "deploy" / "systemd"
INSTALLED = "/opt/neologue/bin/neologue"
EXPOSURE = {"neologue.service": 1.2, "neologue-backup.service": 0.5}
"""The most that systemd may find, from 0 (safe) to 10; 0.1 above what it found when this was written."""


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """The units with a program that is there; without systemd no test of them runs, and with CI=true that fails."""
    if not shutil.which("systemd-analyze"):
        message = "THE TESTS OF THE UNITS DID NOT RUN: no systemd-analyze is here; get it by `apt-get install systemd`"
        if os.environ.get("CI") == "true":
            pytest.fail(message, pytrace=False)
        pytest.skip(message)
    for unit in UNITS.iterdir():
        text = unit.read_text("utf-8").replace(INSTALLED, str(Path(sys.executable).with_name("neologue")))
        (tmp_path / unit.name).write_text(text, "utf-8")
    return tmp_path


def analyze(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = ["systemd-analyze", "--no-pager", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_systemd_understands_every_line_of_them(units: Path) -> None:
    done = analyze("verify", "--man=no", *units.iterdir())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    broken = units / "neologue.service"
    broken.write_text(broken.read_text("utf-8").replace("ProtectProc=invisible", "ProtectProc=unseen"), "utf-8")
    assert "unseen" in analyze("verify", "--man=no", broken).stderr, "and says what it does not understand"


@pytest.mark.parametrize("unit", EXPOSURE)
def test_what_a_break_in_could_reach_is_little(units: Path, unit: str) -> None:
    done = analyze("security", "--offline=true", units / unit)
    (found,) = re.findall(r"Overall exposure level for .*: ([0-9.]+)", done.stdout)
    assert float(found) <= EXPOSURE[unit], done.stdout


@pytest.mark.parametrize("unit", EXPOSURE)
def test_memory_is_never_written_to_a_disk(unit: str) -> None:
    lines = (UNITS / unit).read_text("utf-8").splitlines()
    assert {"LimitCORE=0", "MemorySwapMax=0", "NoNewPrivileges=yes", "CapabilityBoundingSet="} <= set(lines)


def test_a_worker_has_descriptors_for_all_its_connections() -> None:
    from neologue.service.http_server import RESERVED
    from neologue.service.ops.settings import Settings

    (limit,) = re.findall(r"^LimitNOFILE=(\d+)$", (UNITS / "neologue.service").read_text("utf-8"), re.MULTILINE)
    assert int(limit) >= Settings.connections + RESERVED


def test_backups_are_made_and_no_more_than_fourteen_are_kept(tmp_path: Path) -> None:
    """The very commands of the unit, in a folder of their own."""
    unit = (UNITS / "neologue-backup.service").read_text("utf-8")
    scripts = re.findall(r"^ExecStart=/bin/sh -c '(.+)'$", unit, re.MULTILINE)
    database, folder = tmp_path / "neologue.db", tmp_path / "backup"
    folder.mkdir()
    neologue = str(Path(sys.executable).with_name("neologue"))
    for number in range(15):
        (folder / f"2026-01-{number + 1:02}T000000.db").touch()
    from neologue.service.storage.database_address import open_database
    from neologue.service.storage.migrations import migrate

    migrate(open_database(str(database)))
    for script in scripts:
        text = script.replace("%%", "%").replace(INSTALLED, neologue).replace("/var/lib/neologue-backup", str(folder))
        subprocess.run(["/bin/sh", "-c", text.replace("/var/lib/neologue/neologue.db", str(database))], check=True)
    kept = sorted(path.name for path in folder.iterdir())
    assert len(kept) == 14
    assert kept[0] == "2026-01-03T000000.db", "the oldest go"
    assert (folder / kept[-1]).stat().st_size > 0
    assert (folder / kept[-1]).stat().st_mode & 0o077 == 0
