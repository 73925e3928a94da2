"""The device alone: a wheel with NumPy and cryptography as its only dependencies, tried where there is nothing else."""

import json
import sysconfig
import zipfile
from pathlib import Path
from textwrap import dedent

import pytest

import neologue
from wheels import ROOT, build, install, metadata, run

VISIBLE = ("numpy", "numpy.libs", "cryptography", "cffi", "_cffi_backend*", "pycparser")
"""What is needed of other packages: the two dependencies, and theirs."""
ROOMS = {"testing", "device", "protocol", "masking", "randomizers", "language", "transparency"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the device, built without the network."""
    return build(ROOT / "distributions" / "device", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an empty environment that has the wheel and what it depends on."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    packages = install(wheel, folder)
    for pattern in VISIBLE:
        for found in Path(sysconfig.get_path("platlib")).glob(pattern):
            (packages / found.name).symlink_to(found)
    return folder / "bin" / "python"


def modules(wheel: Path) -> list[str]:
    """The names of all modules in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        paths = [Path(name) for name in archive.namelist() if name.endswith(".py")]
    return sorted(
        ".".join(path.parts[:-1] if path.stem == "__init__" else path.with_suffix("").parts) for path in paths
    )


def test_the_wheel_has_the_device_and_what_it_stands_on_and_nothing_else(wheel: Path) -> None:
    rooms = {name.split(".")[1] for name in modules(wheel) if name.count(".") > 1}
    assert rooms == ROOMS
    alone = {name for name in modules(wheel) if name.count(".") == 1} - {f"neologue.{room}" for room in ROOMS}
    assert alone == {
        f"neologue.{name}" for name in ("clock", "ed25519", "entropy", "errors", "one_address", "sqlite_file", "table")
    }
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {"neologue/py.typed", "neologue/LICENSE"} <= set(names)
    assert not [name for name in names if "__pycache__" in name]


def test_its_version_is_that_of_neologue_and_it_needs_two_libraries(wheel: Path) -> None:
    said = metadata(wheel)
    assert (said["Name"], said["Version"]) == ("neologue-device", neologue.__version__)
    assert [line.split(">")[0] for line in said.get_all("Requires-Dist") or []] == ["cryptography", "numpy"]


def test_every_module_can_be_imported_with_nothing_else_installed(wheel: Path, python: Path) -> None:
    script = """
    import importlib, json, sys
    for name in sys.argv[1:]:
        importlib.import_module(name)
    loaded = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names
    print(json.dumps([importlib.import_module("neologue").__file__, sorted(loaded)]))
    """
    printed = run(python, "-c", dedent(script), *modules(wheel), cwd=python.parent).stdout
    where, loaded = json.loads(printed)
    assert Path(where).is_relative_to(python.parents[1])
    assert {"cryptography", "neologue", "numpy"} <= set(loaded)
    assert not {"scipy", "numba", "duckdb", "click", "msgspec", "rfc8785"} & set(loaded)


def test_it_makes_a_report_and_says_what_it_does_not_have(python: Path) -> None:
    script = """
    from neologue import Alphabet, Diary, Vocabulary, contribute
    from neologue.language.candidates import root
    from neologue.protocol.layer import ExtendingLayer
    from neologue.protocol.report import HEADER_BYTES, read_report

    alphabet = Alphabet("abc")
    layer = ExtendingLayer(
        pass_number=1, number=1, layer_size=100, alphabet=alphabet, frontier=root(alphabet), extension=2, depth=5,
        mechanism="unary", epsilon=20.0, bound=2, sampler="greedy", known=Vocabulary(["cab"]),
    )
    with Diary() as diary:
        diary.typed("abba")
        report = contribute(diary.words(), layer)
    read_report(layer, report)
    print(len(report) == HEADER_BYTES + layer.randomizer.payload_bytes)
    try:
        from neologue import discover
    except ImportError as error:
        print(error)
    """
    reported, missing = run(python, "-c", dedent(script), cwd=python.parent).stdout.splitlines()
    assert reported == "True"
    assert missing == "discover is not a part of neologue-device: install neologue in its place"
