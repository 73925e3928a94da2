"""`neologue diff`: two releases on a terminal and as JSON."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from neologue import Population, discover

Neologue = Callable[..., Result]


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A spring in which all say yeet, and an autumn in which half do and all say rizz."""
    folder = tmp_path_factory.mktemp("seasons")
    for season, words in {"spring": [{"yeet": 1}], "autumn": [{"yeet": 1, "rizz": 1}, {"rizz": 1}]}.items():
        people = Population.from_words({f"user {i}": words[i % len(words)] for i in range(2000)})
        discover(people, seed=3).save(folder / season)
    return folder / "spring" / "release.json", folder / "autumn" / "release.json"


def test_a_terminal_shows_what_is_new_and_what_fell(neologue: Neologue, releases: tuple[Path, Path]) -> None:
    shown = neologue("diff", *releases)
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.index("New words") < shown.stdout.index("rizz") < shown.stdout.index("Fallen")
    assert "1 new, 0 risen, 1 fallen, 0 steady, 0 gone." in shown.stdout


def test_json_has_the_intervals(neologue: Neologue, releases: tuple[Path, Path]) -> None:
    found = {each["word"]: each for each in json.loads(neologue("diff", *releases, "--json").stdout)}
    assert found["yeet"]["kind"] == "fallen"
    assert found["yeet"]["low"] < found["yeet"]["difference"] < found["yeet"]["high"] < 0
    assert found["rizz"] | {"before": None, "difference": None, "low": None, "high": None} == found["rizz"]


def test_a_mistake_is_one_sentence(neologue: Neologue, releases: tuple[Path, Path], tmp_path: Path) -> None:
    assert neologue("diff", releases[0], tmp_path / "none").exit_code == 2
    same = neologue("diff", releases[0], releases[0])
    assert (same.exit_code, same.stderr) == (
        2,
        "neologue: both are the same release: give an earlier and a later one\n",
    )
