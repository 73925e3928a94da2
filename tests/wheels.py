"""Wheels of this folder, built without the network and installed into environments of their own."""

import email
import email.message
import os
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A command outside of this folder, with no say of the tests' own environment, that has to succeed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        env={**environment, "PYTHONUTF8": "1", "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def build(source: Path, folder: Path) -> Path:
    """The wheel of a source tree."""
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, source, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


def install(wheel: Path, folder: Path) -> Path:
    """Make a fresh environment in a folder that has the wheel alone; returns where its packages are."""
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    python = folder / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--quiet", wheel, cwd=folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    return packages


def metadata(wheel: Path) -> email.message.Message:
    """What the wheel says about itself."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))
