"""The device that was written from docs/protocol.md alone keeps to the vectors and to the conformance kit."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from neologue.conformance.driver import CommandDriver
from neologue.conformance.kit import judge

ROOT: Final = Path(__file__).parents[2]
DRIVER: Final = ROOT / "devices" / "minimal" / "driver.mjs"
NOT_HERE: Final = {"subset_selection", "masking", "log", "identities", "handover"}
"""What this device does not do, and what only a service makes."""


@pytest.fixture(scope="module")
def node() -> str:
    """The path of Node.js. Without it these tests do not run; with CI=true that fails."""
    path = shutil.which("node")
    if path:
        return path
    message = "THE TESTS OF THE MINIMAL DEVICE DID NOT RUN: no node is here; get it by `apt-get install nodejs`"
    if os.environ.get("CI") == "true":
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def test_all_vectors(node: str) -> None:
    asked = json.dumps({"do": "vectors", "folder": str(ROOT / "vectors")})
    done = subprocess.run([node, DRIVER], input=asked + "\n", capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)["result"]
    assert told["failures"] == []
    files = {path.stem for path in (ROOT / "vectors").glob("*.json")} - NOT_HERE
    assert {name for name, passed in told["passed"].items() if passed} == files


def test_it_keeps_to_every_rule(node: str, tmp_path: Path) -> None:
    driver = CommandDriver([node, str(DRIVER)])
    verdicts = list(judge(lambda: driver, tmp_path))
    driver.end()
    assert [str(verdict) for verdict in verdicts if verdict.complaint] == []


def test_it_needs_nothing_but_its_platform() -> None:
    for module in DRIVER.parent.glob("*.mjs"):
        for line in module.read_text("utf-8").splitlines():
            if line.startswith("import"):
                assert '"node:' in line or '"./' in line, line
