"""The command line in this process, a small file of users, and one run on the embedded population."""

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from neologue.cli import main

NEW_WORDS = (
    "blorp",
    "a/b",
    "[i]x",
    "zonk",
    "yeet",
    "and/or",
    "quux",
    "h4xx",
    "glimmerfrond",
    "öß",
    "\x1b[31mred\x1b[0m",
)
"""From the most to the least held; the last can't be expressed in any alphabet, the one before not in ASCII.

rich would print "[i]x" as an x in italics if it took it for markup.
"""

USERS = 1500
DECIDING = ("--epsilon", "--local-epsilon", "--central-epsilon", "--privacy", "--profile", "--help")
"""Options with which a campaign has a local ε of its own."""


@pytest.fixture(scope="session")
def new_words() -> tuple[str, ...]:
    """The words that no list of the tests knows."""
    return NEW_WORDS


@pytest.fixture(scope="session")
def neologue() -> Callable[..., Result]:
    """Run a command; its exit code, output and errors come back apart.

    The populations of tests are small, so that they have the paper's local ε unless they say another, and it is
    accepted; `test_consent.py` and `test_privacy_option.py` are about that.
    """

    def run(*arguments: object) -> Result:
        given = [str(argument) for argument in arguments]
        usual: list[str] = []
        if given[:1] in (["discover"], ["plan"]):
            local = "--epsilon" if given[0] == "discover" else "--local-epsilon"
            usual = ["--yes"] if {*DECIDING} & {*given} else ["--yes", local, "10"]
        return CliRunner().invoke(main, [*given, *usual], prog_name="neologue")

    return run


@pytest.fixture(scope="session")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CSV file of users who hold some new words and all of them "the"."""
    lots = random.Random(20240814)
    path = tmp_path_factory.mktemp("typed") / "typed.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["user", "word", "count"])
        for user in range(USERS):
            table.writerow([f"u{user}", "the", 9])
            for place, word in enumerate(NEW_WORDS):
                if lots.random() < 0.8 - 0.03 * place:
                    table.writerow([f"u{user}", word, lots.randint(1, 5)])
    return path


@pytest.fixture(scope="session")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of known words that is read at once, unlike the built-in dictionary."""
    path = tmp_path_factory.mktemp("known") / "known.txt"
    path.write_text("the\nof\nneologism\n", "utf-8")
    return path


@pytest.fixture(scope="session")
def release(neologue: Callable[..., Result], typed: Path, known: Path) -> Callable[..., dict[str, Any]]:
    """The document of a run on the file of users with a seed; with words of 4 characters at most, it takes a moment."""

    def run(*options: object) -> dict[str, Any]:
        given = [] if "--known" in options else ["--known", known]
        depth = [] if "--depth" in options else ["--depth", 4]
        seed = [] if "--seed" in options else ["--seed", 0]
        result = neologue("discover", typed, *given, *depth, *seed, "--json", *options)
        assert result.exit_code == 0, result.stderr
        document: dict[str, Any] = json.loads(result.stdout)
        return document

    return run


@pytest.fixture
def truth(neologue: Callable[..., Result], typed: Path, known: Path, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """The truth.json of such a run."""

    def run(*options: object) -> dict[str, Any]:
        given = ("--known", known, "--depth", 4, "--seed", 0, "--out", tmp_path / "found")
        result = neologue("discover", typed, *given, *options)
        assert result.exit_code == 0, result.stderr
        document: dict[str, Any] = json.loads((tmp_path / "found" / "truth.json").read_text("utf-8"))
        return document

    return run


@pytest.fixture(scope="session")
def few_embedded() -> tuple[object, ...]:
    """Options for a run on a few English users, without the largest layers that it could have."""
    return ("--users", 20_000, "--seed", 7, "--depth", 8, "--candidates", 1_000_000)


@pytest.fixture(scope="session")
def embedded(neologue: Callable[..., Result], few_embedded: tuple[object, ...]) -> Result:
    """`neologue discover` with a few embedded users, as JSON."""
    result = neologue("discover", *few_embedded, "--json")
    assert result.exit_code == 0, result.stderr
    return result
