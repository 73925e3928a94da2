"""`neologue discover --measure`: coverage beside the truth, in tables, files and certificates."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from neologue.privacy.allocation.planned_layers import planned_reports
from neologue.simulation.layer_tallies import SimulatedUsers

Neologue = Callable[..., Result]
Released = Callable[..., dict[str, Any]]
SMALL = ("--language", "id", "--users", "20000", "--depth", "6", "--epsilon", "8", "--candidates", "300000")
DELTA = 1e-10
"""That of the profile, by which the reports of a layer are planned."""


def test_the_release_has_what_was_measured_and_certifies(
    neologue: Neologue, typed: Path, known: Path, tmp_path: Path
) -> None:
    found = neologue("discover", typed, "--known", known, "--depth", 4, "--measure", "--seed", 0, "--out", tmp_path)
    assert found.exit_code == 0, found.stderr
    assert "measured      the words cover" in found.stdout
    assert "measured" in found.stdout
    assert "measured counts are of all holders" in " ".join(found.stdout.split())
    assert "other users count the" in found.stderr
    document = json.loads((tmp_path / "release.json").read_text("utf-8"))
    measurement = document["measurement"]
    assert measurement["asked"] + document["population"]["users"] == 1500
    assert [word["word"] for word in measurement["words"]] == sorted(word["word"] for word in document["words"])
    truth = json.loads((tmp_path / "truth.json").read_text("utf-8"))
    assert measurement["coverage"]["low"] <= truth["score"]["coverage"] <= measurement["coverage"]["high"]
    assert set(measurement) == {
        *("asked", "reports", "candidates", "rate", "decided"),
        *("coverage", "other_votes", "words", "digest"),
    }
    sums = [layer["reports"] for layer in document["layers"]] + [measurement["reports"]]
    assert document["privacy"]["trust"]["observers"][0]["smallest_sum"] == min(sums)
    assert neologue("certify", tmp_path / "release.json").exit_code == 0


def test_what_is_not_asked_for_is_null(release: Released) -> None:
    assert release()["measurement"] is None


def test_how_many_measure_and_their_rate_can_be_said(release: Released) -> None:
    measurement = release("--measure-users", 300, "--measure-rate", 0.5)["measurement"]
    assert (measurement["asked"], measurement["rate"]) == (300, 0.5)


def test_subset_selection_measures_too(release: Released) -> None:
    document = release("--randomizer", "subset-selection", "--measure")
    assert document["measurement"]["candidates"] == len(document["words"]) + 1
    assert len(document["measurement"]["other_votes"]) == 1


def test_with_nothing_found_nothing_is_measured(neologue: Neologue, typed: Path, new_words: tuple[str, ...]) -> None:
    everything = typed.with_name("everything.txt")
    everything.write_text("\n".join([*new_words, "the"]), "utf-8")
    found = neologue("discover", typed, "--known", everything, "--depth", 4, "--measure")
    assert found.exit_code == 0, found.stderr
    assert "nothing, as there is no word to count" in found.stdout


def test_an_interrupted_measurement_is_resumed(
    neologue: Neologue, typed: Path, known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = (typed, "--known", known, "--depth", 4, "--seed", 0)

    def interrupted(*told: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(SimulatedUsers, "measure", interrupted)
        assert neologue("discover", *small, "--measure", "--out", tmp_path / "out").exit_code == 130
    refused = neologue("discover", *small, "--out", tmp_path / "out", "--resume")
    assert refused.exit_code == 2
    assert "is not the same" in refused.stderr
    resumed = neologue("discover", *small, "--measure", "--out", tmp_path / "out", "--resume")
    assert resumed.exit_code == 0, resumed.stderr
    assert "users asked about" in resumed.stderr
    assert neologue("discover", *small, "--measure", "--out", tmp_path / "whole").exit_code == 0
    ends = [(tmp_path / name / "release.json").read_bytes() for name in ("out", "whole")]
    assert ends[0] == ends[1]
    report = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "--known known.txt --measure --seed 0</code>" in report.replace("\n", " ")


def test_those_who_measure_are_charged(neologue: Neologue, tmp_path: Path) -> None:
    book = tmp_path / "spent.db"
    neologue("ledger", "create", book)
    neologue("ledger", "population", book, "en", "--unit", "item", "--epsilon", "9", "--delta", "1e-9")
    charge = ("--ledger", book, "--population", "en", "--campaign", "one")
    assert neologue("discover", *SMALL, "--measure-users", 150, *charge).exit_code == 0
    [population] = json.loads(neologue("ledger", "show", book, "--json").stdout)
    reports = [layer_size["reports"] for layer_size in population["campaigns"][0]["cohorts"]]
    # 19,850 others are asked in four layers; each counts a planned number of reports, and so does the measurement.
    assert reports == [planned_reports(19_850 // 4, DELTA)] * 4 + [planned_reports(150, DELTA)]
    trie = (*charge[:-1], "trie")
    plain = ("--rule", "top", "--frontier", 1000)
    assert neologue("discover", *SMALL, *plain, "--measure-users", 150, *trie).exit_code == 0
    [population] = json.loads(neologue("ledger", "show", book, "--json").stdout)
    [grown] = [campaign for campaign in population["campaigns"] if campaign["campaign"] == "trie"]
    assert 150 in [layer_size["reports"] for layer_size in grown["cohorts"]], "a trie counts whoever comes"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--measure-users", "20000"), "20,000 of 20,000 users are to measure, so nobody is left"),
        (("--measure-users", "19900"), "too few"),
        (("--measure-users", "99"), "99 users who measure are too few"),
        (("--measure-users", "0"), "users who measure must be a whole number from 1"),
        (("--measure-rate", "0"), "above 0 and at most 1"),
        (("--measure-rate", "1.5"), "above 0 and at most 1"),
        (("--measure-users", "many"), "many"),
    ],
)
def test_who_can_not_measure_is_named_at_once(neologue: Neologue, options: tuple[str, ...], complaint: str) -> None:
    refused = neologue("discover", *SMALL, *options)
    assert refused.exit_code == 2
    assert complaint in refused.stderr
    assert "Reading words" not in refused.stderr
