"""`neologue discover --resume`: an interrupted run is finished, and ends in the same files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from neologue.simulation.layer_tallies import SimulatedUsers

Neologue = Callable[..., Result]
SMALL = ("--language", "id", "--users", "20000", "--depth", "6", "--epsilon", "8", "--candidates", "300000")


Breaks = Callable[[int], None]


@pytest.fixture
def breaks_off(monkeypatch: pytest.MonkeyPatch) -> Breaks:
    """Interrupts discoveries in a layer of a number, or none any more."""
    ask = SimulatedUsers.ask
    number = 0

    def interrupted(cohorts: SimulatedUsers, layer: Any) -> Any:  # noqa: ANN401 - as the method it stands for
        if layer.number == number:
            raise KeyboardInterrupt
        return ask(cohorts, layer)

    def breaks(at: int) -> None:
        nonlocal number
        number = at

    monkeypatch.setattr(SimulatedUsers, "ask", interrupted)
    return breaks


@pytest.fixture
def broken_off(neologue: Neologue, tmp_path: Path, breaks_off: Breaks) -> Path:
    """The folder of a run that was interrupted in its third layer."""
    breaks_off(3)
    assert neologue("discover", *SMALL, "--out", tmp_path / "out").exit_code == 130
    breaks_off(0)
    return tmp_path / "out"


def test_a_resumed_run_leaves_the_same_files_and_nothing_else(
    neologue: Neologue, broken_off: Path, tmp_path: Path
) -> None:
    resumed = neologue("discover", *SMALL, "--out", broken_off, "--resume")
    assert resumed.exit_code == 0, resumed.stderr
    assert neologue("discover", *SMALL, "--out", tmp_path / "whole").exit_code == 0
    files = {path.name: path.read_bytes() for path in broken_off.iterdir()}
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "whole").iterdir()}
    assert "release.json" in files


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (SMALL, "continue it with --resume"),
        ((*SMALL, "--resume", "--seed", "5"), "is not the same"),
        ((*SMALL, "--resume", "--k-anonymity", "3"), "parameters is not the same"),
        ((*SMALL, "--users", "20001", "--resume"), "is not the same"),
    ],
)
def test_another_run_is_refused_and_overwrites_nothing(
    neologue: Neologue, broken_off: Path, options: tuple[str, ...], complaint: str
) -> None:
    before = {path: path.read_bytes() for path in broken_off.rglob("*.*")}
    refused = neologue("discover", *options, "--out", broken_off)
    assert refused.exit_code == 2
    assert complaint in refused.stderr
    assert {path: path.read_bytes() for path in broken_off.rglob("*.*")} == before


def test_a_resumed_campaign_is_charged_once(neologue: Neologue, tmp_path: Path, breaks_off: Breaks) -> None:
    book = tmp_path / "spent.db"
    neologue("ledger", "create", book)
    neologue("ledger", "population", book, "en", "--unit", "item", "--epsilon", "9", "--delta", "1e-9")
    charge = ("--ledger", book, "--population", "en", "--campaign", "one")
    breaks_off(2)
    assert neologue("discover", *SMALL, *charge, "--out", tmp_path / "out").exit_code == 130
    breaks_off(0)
    assert '"planned"' in neologue("ledger", "show", book, "--json").stdout
    resumed = neologue("discover", *SMALL, *charge, "--out", tmp_path / "out", "--resume")
    assert resumed.exit_code == 0, resumed.stderr
    assert '"settled"' in neologue("ledger", "show", book, "--json").stdout


@pytest.mark.parametrize(
    ("options", "complaint"), [(("--resume",), "--resume needs --out"), (("--resume", "--out", "o"), "no unfinished")]
)
def test_there_must_be_something_to_resume(
    neologue: Neologue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], complaint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = neologue("discover", *SMALL, *options)
    assert refused.exit_code == 2
    assert complaint in refused.stderr
    assert not list(tmp_path.iterdir())
