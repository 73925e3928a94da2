"""The wheel that users install, built and run in an environment that has nothing of this folder."""

import json
import sysconfig
import zipfile
from pathlib import Path

import pytest

import neologue
from wheels import ROOT, build, install, metadata, run

pytestmark = pytest.mark.slow

SMALL = ("--depth", "6", "--candidates", "1000000", "--json")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this folder, built without the network."""
    return build(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel; its dependencies are those of the tests' environment."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    packages = install(wheel, folder)
    # A path that a .pth file names is searched, but its own .pth files, as of editable packages, are not read.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    return folder


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
    command = ("discover", "--users", "20000", "--epsilon", "10", *SMALL, "--out", "found")
    done = run(environment / "bin" / "neologue", *command, cwd=environment)
    document = json.loads(done.stdout)
    assert document["population"]["users"] == 20_000
    assert {"lol", "dont"} <= {entry["word"] for entry in document["words"]}
    truth = json.loads((environment / "found" / "truth.json").read_text("utf-8"))
    assert truth["score"]["precision"] > 0.98
