"""What is published is the same bytes wherever it is built, and names what it was built from."""

import importlib.util
import os
import shutil
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from neologue.service.ops.software import installed_files, package_digest, wheel_files
from wheels import ROOT

pytestmark = pytest.mark.slow

LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "node_modules", "__pycache__", ".*_cache", ".hypothesis", "build", "dist", "site", ".mirror"
)


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    """deploy/build.py."""
    specification = importlib.util.spec_from_file_location("build_distributions", ROOT / "deploy" / "build.py")
    assert specification
    assert specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def built(builder: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> list[list[Path]]:
    """Built twice: in two folders, with other times and modes of the files."""
    made = []
    for number, name in enumerate(("here", "somewhere/else/entirely")):
        source = tmp_path_factory.mktemp("source") / name
        shutil.copytree(ROOT, source, ignore=LEFT_OUT, symlinks=True)
        for file in source.rglob("*"):
            if file.is_file() and not file.is_symlink():
                os.utime(file, (1e9 + 1e6 * number, 1e9 + 1e6 * number))
                file.chmod((0o644, 0o600)[number] | (file.stat().st_mode & 0o100))
        made.append(builder.build(source, tmp_path_factory.mktemp("dist"), "1700000000"))
    return made


def test_two_builds_are_the_same_bytes(built: list[list[Path]]) -> None:
    first, second = built
    assert [file.name for file in first] == [file.name for file in second]
    assert len(first) == 3, "two wheels and a source distribution"
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name


def test_the_provenance_names_every_file_and_nothing_of_the_machine(
    builder: ModuleType, built: list[list[Path]]
) -> None:
    statements = [builder.provenance(files, "1700000000", "ab" * 20) for files in built]
    assert statements[0] == statements[1]
    statement = statements[0]
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://slsa.dev/provenance/v1"
    digests = {each["name"]: each["digest"]["sha256"] for each in statement["subject"]}
    assert digests == {file.name: builder.digest(file) for file in built[0]}
    assert str(Path.home()) not in str(statement)


def test_the_backend_is_pinned_to_the_one_that_is_locked(builder: ModuleType) -> None:
    locked = (ROOT / "requirements" / "test.lock").read_text()
    for project in (ROOT / "pyproject.toml", ROOT / "distributions" / "device" / "pyproject.toml"):
        (line,) = (line for line in project.read_text().splitlines() if line.startswith("requires = ["))
        pin = line.split('"')[1]
        assert pin.startswith("hatchling==")
        assert f"\n{pin} " in locked


def test_the_digest_that_a_service_logs_is_that_of_the_wheel(built: list[list[Path]]) -> None:
    wheel = next(file for file in built[0] if file.name.startswith("neologue-") and file.suffix == ".whl")
    assert package_digest(wheel_files(wheel)) == package_digest(installed_files())
    with zipfile.ZipFile(wheel) as archive:
        assert any(name.startswith("neologue/") for name in archive.namelist())
    changed = dict(wheel_files(wheel)) | {"neologue/__init__.py": b"changed"}
    assert package_digest(changed) != package_digest(installed_files())
