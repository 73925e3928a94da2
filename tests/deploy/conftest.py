"""The environment of the service: what requirements/serve.lock names, and nothing else."""

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from wheels import ROOT


def locked(lock: str) -> list[str]:
    """The names of what a lock installs on this system."""
    text = (ROOT / "requirements" / lock).read_text("utf-8")
    wanted = [Requirement(line.rstrip(" \\")) for line in text.splitlines() if re.match(r"[a-z]", line)]
    return sorted({each.name for each in wanted if each.marker is None or each.marker.evaluate()})


@pytest.fixture(scope="session")
def service_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has the packages of serve.lock, which those of the tests are links to."""
    folder = tmp_path_factory.mktemp("service") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for link, target in _links(locked("serve.lock")):
        (packages / link).symlink_to(target)
    (packages / "neologue.pth").write_text(f"{ROOT / 'src'}\n", "utf-8")
    return folder / "bin" / "python"


def _links(names: list[str]) -> Iterator[tuple[str, Path]]:
    seen: set[str] = set()
    for name in names:
        found = distribution(name)
        for top in {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")}:
            if top not in seen:
                seen.add(top)
                yield top, Path(str(found.locate_file(top))).resolve()
