"""Installs peers into an environment of their own, one after the other; one that does not install stops nothing.

    python benchmarks/installation.py requirements/peers.txt .venv/peers

What failed, and why, is left in the environment for the report, and tried again the next time.
"""

import json
import re
import subprocess
import sys
import venv
from collections.abc import Iterable
from pathlib import Path

REFUSED = "refused.json"
READY = "ready"


def install(requirements: Path, environment: Path) -> dict[str, str]:
    """Recreate the environment; the packages that could not be installed, and why."""
    venv.create(environment, clear=True, with_pip=True)
    wanted = (line.partition("#")[0].strip() for line in requirements.read_text("utf-8").splitlines())
    refused = refusals(environment / "bin" / "python", filter(None, wanted))
    (environment / REFUSED).write_text(json.dumps(refused, indent=2) + "\n", "utf-8")
    if not refused:
        (environment / READY).touch()
    return refused


def refusals(python: Path, requirements: Iterable[str]) -> dict[str, str]:
    """Install what can be installed for this Python; the names of the others, and why."""
    refused = {}
    for requirement in requirements:
        pip: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement]
        done = subprocess.run(pip, capture_output=True, text=True)
        if done.returncode:
            refused[re.split(r"[=<>~!\[; ]", requirement)[0]] = reason(done.stderr)
    return refused


def reason(output: str) -> str:
    """The last error in pip's output."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["pip failed and did not say why"])[-1]


if __name__ == "__main__":
    for name, why in install(Path(sys.argv[1]), Path(sys.argv[2])).items():
        print(f"{name} is not installed: {why}")
