"""The module that is shipped: of these sources, small, without a seed; and what happens where there is no browser."""

import gzip
import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from . import chromium
from .chromium import Browser, installed
from .pages import ROOT, pages

SOURCES = ROOT / "devices" / "web"
STATIC = ROOT / "src" / "neologue" / "web" / "static"
MODULE = STATIC / "neologue-device.js"
INTERNALS = ROOT / "tests" / "web" / "device_internals.js"
MOST_BYTES = 25_000


def digest_of_sources() -> str:
    """What devices/web/build.mjs writes at the top of what it builds."""
    digest = hashlib.sha256()
    files = [file for folder in ("src", "test") for file in (SOURCES / folder).iterdir()]
    for name in sorted(str(file.relative_to(SOURCES)) for file in files):
        digest.update(name.encode() + b"\0" + (SOURCES / name).read_bytes() + b"\0")
    return digest.hexdigest()


@pytest.mark.parametrize("built", [MODULE, INTERNALS], ids=lambda path: path.name)
def test_what_is_committed_is_built_from_these_sources(built: Path) -> None:
    first = built.read_text("utf-8").partition("\n")[0]
    assert digest_of_sources() in first, "run `npm ci && npm run build` in devices/web"


def test_the_types_are_those_that_the_sources_are_checked_against() -> None:
    assert MODULE.with_suffix(".d.ts").read_bytes() == (SOURCES / "neologue-device.d.ts").read_bytes()


def test_it_is_small() -> None:
    assert len(gzip.compress(MODULE.read_bytes(), 9, mtime=0)) < MOST_BYTES


def test_it_has_no_other_randomness_no_seed_and_no_address() -> None:
    text = MODULE.read_text("utf-8")
    assert "getRandomValues" in text
    for absent in ("Math.random", "Dictated", "SeededEntropy", "eval(", "new Function", "import(", "require("):
        assert absent not in text
    addresses = set(re.findall(r"https?://[^\s\"'`;]*", text))
    assert addresses == {"https://words.example.org"}, "only in a message"


def test_its_exports_are_the_device_its_error_and_who_carries_files(browser: Browser) -> None:
    with pages() as address:
        browser.visit(address)
        names = browser.run('return Object.keys(await import("/static/neologue-device.js")).sort()')
    assert names == ["Device", "DeviceError", "carry"]


def test_nobody_needs_npm_to_use_it_and_the_lock_names_no_registry() -> None:
    package = json.loads((SOURCES / "package.json").read_text("utf-8"))
    assert package["private"] is True
    assert "dependencies" not in package
    assert set(package["devDependencies"]) == {"esbuild", "typescript"}
    lock = (SOURCES / "package-lock.json").read_text("utf-8")
    assert "resolved" not in lock
    assert "http" not in re.sub(r'"url": "https?://[^"]*"', "", lock)


def without(*missing: str) -> Callable[[str], str | None]:
    """A machine on which some programs are missing."""
    return lambda name: None if name in missing else f"/usr/bin/{name}"


@pytest.mark.parametrize("missing", [chromium.BROWSERS, (chromium.DRIVER,)], ids=["no browser", "no driver"])
@pytest.mark.parametrize(("ci", "outcome"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_without_a_browser_it_is_said_loudly_and_in_ci_it_fails(
    monkeypatch: pytest.MonkeyPatch, missing: tuple[str, ...], ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setattr(shutil, "which", without(*missing))
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match=r"THE BROWSER TESTS DID NOT RUN.*apt-get install chromium chromium-driver"):
        installed()
