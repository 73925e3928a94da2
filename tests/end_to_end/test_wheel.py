"""The wheel that users install, built and run in an environment that has nothing of this folder."""

import email
import email.message
import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import neologue

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SMALL = ("--depth", "6", "--candidates", "1000000", "--json")


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


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this folder, built without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel; its dependencies are those of the tests' environment."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    python = folder / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--quiet", wheel, cwd=folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    # A path that a .pth file names is searched, but its own .pth files, as of editable packages, are not read.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    return folder


def metadata(wheel: Path) -> email.message.Message:
    """What the wheel says about itself."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def test_the_wheel_has_the_source_the_type_marker_and_the_licence_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    sources = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "neologue").rglob("*.py")}
    information = f"neologue-{neologue.__version__}.dist-info"
    assert {name for name in names if not name.startswith(information) and name.endswith(".py")} == sources
    templates = {str(path.relative_to(ROOT / "src")) for path in ROOT.glob("src/neologue/*/templates/*")}
    assert templates
    assert templates <= names
    assert "neologue/py.typed" in names
    assert f"{information}/licenses/LICENSE" in names
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests")]


def test_the_metadata_names_the_version_the_pythons_and_the_licence(wheel: Path) -> None:
    said = metadata(wheel)
    classifiers = said.get_all("Classifier") or []
    assert said["Name"] == "neologue"
    assert said["Version"] == neologue.__version__
    assert said["Requires-Python"] == ">=3.11"
    assert said["License-Expression"] == "Apache-2.0"
    assert {f"Programming Language :: Python :: {version}" for version in ("3.11", "3.12", "3.13")} <= set(classifiers)


def test_every_library_that_the_source_imports_is_declared(wheel: Path) -> None:
    required = {line.split(";")[0].split(">")[0].strip() for line in metadata(wheel).get_all("Requires-Dist") or []}
    assert {"click", "cryptography", "duckdb", "numba", "numpy", "rich", "scipy", "spylls", "wordfreq"} <= required


def test_the_installed_package_is_the_one_that_runs(environment: Path) -> None:
    script = "import neologue, importlib.metadata as m; print(neologue.__file__); print(m.version('neologue'))"
    where, version = run(environment / "bin" / "python", "-c", script, cwd=environment).stdout.splitlines()
    assert Path(where).is_relative_to(environment)
    assert version == neologue.__version__


def test_the_installed_command_discovers_words(environment: Path) -> None:
    done = run(environment / "bin" / "neologue", "discover", "--users", "20000", *SMALL, cwd=environment)
    document = json.loads(done.stdout)
    assert document["population"]["users"] == 20_000
    assert {"lol", "dont"} <= {entry["word"] for entry in document["words"]}
    assert document["score"]["precision"] > 0.98
