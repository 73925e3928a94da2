"""`neologue discover --ledger`: campaigns are charged; what a budget does not cover is neither asked nor released."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result

from neologue.ledger.budget import Budget
from neologue.ledger.ledger_file import create_ledger
from neologue.privacy.allocation.planned_layers import UNCLAIMED
from neologue.privacy.collection import Batch, Collection

Neologue = Callable[..., Result]
SMALL = ("--language", "id", "--users", "20000", "--depth", "5", "--epsilon", "8", "--candidates", "300000")


@pytest.fixture
def book(neologue: Neologue, tmp_path: Path) -> Path:
    """A ledger whose one population may spend little more than one such campaign."""
    path = tmp_path / "spent.db"
    assert neologue("ledger", "create", path).exit_code == 0
    limits = ("--unit", "item", "--epsilon", "3", "--delta", "1e-9")
    assert neologue("ledger", "population", path, "en-US", *limits).exit_code == 0
    return path


def test_a_campaign_is_charged_and_the_next_is_refused_before_anyone_is_asked(
    neologue: Neologue, book: Path, tmp_path: Path
) -> None:
    def charged(campaign: str) -> Result:
        charge = ("--ledger", book, "--population", "en-US", "--campaign", campaign)
        return neologue("discover", *SMALL, *charge, "--out", tmp_path / campaign)

    assert charged("first").exit_code == 0
    shown = neologue("ledger", "show", book, "--json").stdout
    [population] = json.loads(shown)
    [campaign] = population["campaigns"]
    released = json.loads((tmp_path / "first" / "release.json").read_text("utf-8"))
    assert campaign["state"] == "settled"
    assert [layer_size["reports"] for layer_size in campaign["cohorts"]] == [
        layer["reports"] for layer in released["layers"]
    ]
    refused = charged("second")
    assert refused.exit_code == 2
    assert "'second' with local ε = 8 does not fit" in refused.stderr
    assert "would fit" in refused.stderr
    assert "users asked about" not in refused.stderr
    assert not (tmp_path / "second").exists()
    assert neologue("ledger", "show", book, "--json").stdout == shown


def test_a_charge_is_settled_by_the_release_of_its_campaign_and_by_no_other(
    neologue: Neologue, typed: Path, known: Path, tmp_path: Path
) -> None:
    assert neologue("discover", typed, "--known", known, "--depth", 4, "--out", tmp_path).exit_code == 0
    path, release = tmp_path / "other.db", tmp_path / "release.json"
    facts = json.loads(release.read_text("utf-8"))
    epsilon, words = facts["parameters"]["epsilon"], facts["parameters"]["words_per_user"]
    other = create_ledger(path)
    other.add_population("en-US", Budget("item", 1000.0, 1e-9))
    planned = Collection("unary", epsilon, words, (Batch(1_000_000, 300_000),))
    other.plan("en-US", "first", planned)
    other.plan("en-US", "with another ε", replace(planned, epsilon=epsilon - 1))
    wrong = neologue("ledger", "settle", path, "with another ε", release)
    assert (wrong.exit_code, "give the release of this campaign" in wrong.stderr) == (2, True)
    wrong = neologue("ledger", "settle", path, "unknown", release)
    assert (wrong.exit_code, "has no campaign 'unknown'" in wrong.stderr) == (2, True)
    wrong = neologue("ledger", "settle", path, "first", release, "--layers", path.parent / "missing.zip")
    assert (wrong.exit_code, "is not certified" in wrong.stderr) == (2, True)
    assert {charge.state for charge in other.snapshot("en-US").charges} == {"planned"}
    for _ in range(2):
        assert neologue("ledger", "settle", path, "first", release).exit_code == 0
    [population] = json.loads(neologue("ledger", "show", path, "--json").stdout)
    found = next(each for each in population["campaigns"] if each["campaign"] == "first")
    assert (found["state"], found["told"]) == ("settled", True)
    assert [batch["reports"] for batch in found["cohorts"]] == [layer["reports"] for layer in facts["layers"]]
    assert found["planned"]["cohorts"] == [{"reports": 1_000_000, "candidates": 300_000}]


def test_a_release_that_turns_out_too_dear_is_charged_and_not_written(
    neologue: Neologue, book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cheap = Collection("unary", 1.0, 60, (Batch(1_000_000, 1000),))
    monkeypatch.setattr("neologue.release.foreseen.foreseen_collection", lambda campaign: cheap)
    monkeypatch.setattr("neologue.release.foreseen.foreseen_allocation", lambda *given: UNCLAIMED)
    neologue("ledger", "population", book, "de-DE", "--unit", "item", "--epsilon", "0.5", "--delta", "1e-9")
    charge = ("--ledger", book, "--population", "de-DE", "--campaign", "dear")
    refused = neologue("discover", *SMALL, *charge, "--out", tmp_path / "out")
    assert refused.exit_code == 2
    assert "'dear'" in refused.stderr
    assert not refused.stdout
    # Its journal is kept: with a larger budget, the release can be had by --resume.
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["unfinished"]
    populations = {row["population"]: row for row in json.loads(neologue("ledger", "show", book, "--json").stdout)}
    [campaign] = populations["de-DE"]["campaigns"]
    assert campaign["state"] == "settled"
    assert campaign["epsilon"] == 8.0
    assert not populations["de-DE"]["within_budget"]
    neologue("ledger", "population", book, "de-DE", "--unit", "item", "--epsilon", "9", "--delta", "1e-9", "--change")
    resumed = neologue("discover", *SMALL, *charge, "--out", tmp_path / "out", "--resume")
    assert resumed.exit_code == 0, resumed.stderr
    assert (tmp_path / "out" / "release.json").exists()


@pytest.mark.parametrize("given", [("--ledger", "l.db"), ("--population", "p"), ("--campaign", "c")])
def test_a_ledger_needs_a_population_and_a_campaign(neologue: Neologue, given: tuple[str, str]) -> None:
    refused = neologue("discover", *SMALL, *given)
    assert refused.exit_code == 2
    assert "needs --" in refused.stderr
