"""The bill of materials and the licences of the service's environment."""

import csv
import json
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from wheels import ROOT

from .conftest import locked

SCRIPT = ROOT / "deploy" / "sbom.py"


def script() -> ModuleType:
    found = spec_from_file_location("sbom", SCRIPT)
    assert found
    assert found.loader
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return module


def canonical(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def test_every_package_of_the_service_is_in_the_bill_and_has_a_licence_that_is_allowed(
    service_python: Path, tmp_path: Path
) -> None:
    done = subprocess.run([sys.executable, SCRIPT, service_python, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    bill = json.loads((tmp_path / "sbom.cdx.json").read_text("utf-8"))
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "neologue")
    wanted = {canonical(name) for name in locked("serve.lock")}
    assert {canonical(component["name"]) for component in bill["components"]} >= wanted
    with (tmp_path / "licences.csv").open(encoding="utf-8", newline="") as file:
        listed = {canonical(row["name"]): row["licence"] for row in csv.DictReader(file)}
    assert listed.keys() >= wanted
    assert listed["locate"] == "MIT"


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [
        ("MIT", True),
        ("BSD-2-Clause AND Apache-2.0 WITH LLVM-exception", True),
        ("GPL-3.0-only OR MIT", True),
        ("MIT AND GPL-3.0-only", False),
        ("Apache Software License; GNU Affero General Public License v3", False),
        ("Other/Proprietary License", False),
        ("UNKNOWN", False),
        ("", False),
    ],
)
def test_only_licences_that_somebody_has_read_are_allowed(licence: str, allowed: bool) -> None:
    assert script().is_allowed(licence) is allowed
