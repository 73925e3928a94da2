"""`neologue ledger`: what it prints, and the exit code for every outcome."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from neologue.ledger.ledger_file import open_ledger
from neologue.privacy.anonymity.anonymity_chances import AnonymityChances
from neologue.privacy.collection import Batch, Collection

Neologue = Callable[..., Result]

USERS = Collection("unary", 7.0, 60, (Batch(820_000, 9_000),))
CHEAP = Collection("unary", 1.0, 60, (Batch(820_000, 9_000),))
BUDGET = ("--unit", "user", "--epsilon", 3, "--delta", "1e-9")


@pytest.fixture
def file(neologue: Neologue, tmp_path: Path) -> Path:
    """A ledger with one population."""
    path = tmp_path / "ledger.db"
    for arguments in (("create", path), ("population", path, "en", *BUDGET, "--local-epsilon", 40)):
        assert neologue("ledger", *arguments).exit_code == 0
    return path


def rows(result: Result) -> list[list[str]]:
    assert result.exit_code == 0, result.stderr
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.stdout.splitlines() if "│" in line]


def test_a_table_shows_every_population(neologue: Neologue, file: Path) -> None:
    assert neologue("ledger", "population", file, "de", "--unit", "item", *BUDGET[2:]).exit_code == 0
    spent = open_ledger(file).plan("en", "c1", USERS)
    result = neologue("ledger", "show", file)
    assert rows(result) == [
        ["de", "item", "1e-09", "3", "0", "3", "0", "0"],
        ["en", "user", "1e-09", "3", f"{spent.epsilon:g}", f"{spent.left:.6g}", "1", "7 of 40"],
    ]
    assert "en: the campaign c1 was planned on" in result.stdout


def test_json_has_everything(neologue: Neologue, file: Path) -> None:
    ledger = open_ledger(file, clock=lambda: 20_000)
    ledger.plan("en", "c1", USERS, AnonymityChances(10, 0.05, 1e-6, 1))
    spent = ledger.settle("c1", USERS)
    (document,) = json.loads(neologue("ledger", "show", file, "--json").stdout)
    (budget,) = document.pop("budgets")
    assert document == {
        "population": "en",
        "unit": "user",
        "delta": 1e-9,
        "budget": 3.0,
        "spent": spent.epsilon,
        "left": spent.left,
        "within_budget": True,
        "local_budget": 40.0,
        "local_spent": 7.0,
        "rare_words": {"k": 10, "chance": 0.05, "unique_chance": 1e-6, "hostile_devices": 1, "campaigns": 1},
        "campaigns": [
            {
                "campaign": "c1",
                "state": "settled",
                "mechanism": "unary",
                "epsilon": 7.0,
                "words_per_user": 60,
                "cohorts": [{"reports": 820_000, "candidates": 9_000}],
                "planned": {
                    "mechanism": "unary",
                    "epsilon": 7.0,
                    "words_per_user": 60,
                    "cohorts": [{"reports": 820_000, "candidates": 9_000}],
                },
                "planned_on": "2024-10-04",
                "ended_on": "2024-10-04",
                "reference": None,
                "k": 10,
                "chance": 0.05,
                "unique_chance": 1e-6,
                "hostile_devices": 1,
                "told": True,
            }
        ],
    }
    assert budget | {"from": ""} == {"from": "", "unit": "user", "epsilon": 3, "delta": 1e-9, "local_epsilon": 40}


def test_what_few_report_is_told_in_plain_words(neologue: Neologue, file: Path) -> None:
    ledger = open_ledger(file)

    def told(campaign: str, rare: AnonymityChances | None) -> str:
        ledger.plan("en", campaign, CHEAP, rare)
        ledger.settle(campaign, CHEAP)
        return neologue("ledger", "show", file).stdout

    assert "campaign that told" not in neologue("ledger", "show", file).stdout
    assert (
        "en: What fewer than 10 users report to the layers of a campaign that judge it may have been published by the "
        "campaign that told anything with a chance of at most 0.05. A word of one user alone may have been shown by it "
        "with a chance of at most 1e-06, even if 1 device of each layer is hostile.\n"
    ) in told("c1", AnonymityChances(10, 0.05, 1e-6, 1))
    assert (
        "en: What fewer than 7 users report to the layers of a campaign that judge it may have been published by any "
        "of the 2 campaigns that told anything with a chance of at most 0.151. A word of one user alone may have been "
        "shown by any of them with a chance of at most 0.000101, if no device is hostile.\n"
    ) in told("c2", AnonymityChances(7, 0.1001, 1e-4, 0))
    assert (
        "en: At least one campaign that told anything promises nothing for what few users report. Nothing is promised "
        "for a word of one user alone: at least one campaign that told anything promises nothing, or their chances add "
        "up to 1.\n"
    ) in told("c3", None)


def test_an_abandoned_campaign_is_given_back(neologue: Neologue, file: Path) -> None:
    open_ledger(file).plan("en", "c1", USERS)
    assert neologue("ledger", "abandon", file, "c1").exit_code == 0
    assert open_ledger(file).snapshot("en").spent.epsilon == 0.0
    assert neologue("ledger", "abandon", file, "c2").exit_code == 2


def test_a_population_over_its_budget_is_told(neologue: Neologue, file: Path) -> None:
    ledger = open_ledger(file)
    ledger.plan("en", "c1", USERS)
    ledger.settle("c1", USERS)
    result = neologue("ledger", "population", file, "en", "--change", "--unit", "user", "--epsilon", 1, "--delta", 1e-9)
    assert result.exit_code == 0
    assert "ε = 3 for every user at δ = 1e-09 is now ε = 1 for every user at δ = 1e-09" in result.stderr
    assert "en is over its budget: none of its words may be released." in neologue("ledger", "show", file).stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("create", "FILE"), "is there already"),
        (("show", "missing.db"), "create one with `neologue ledger create missing.db`"),
        (("population", "FILE", "en", *BUDGET), "with --change"),
        (("population", "FILE", "fr", *BUDGET, "--change"), "has no population 'fr'; it has en"),
        (("population", "FILE", "fr", "--unit", "user", "--epsilon", -1, "--delta", 1e-9), "above 0, not -1.0"),
        (
            ("population", "FILE", "fr", "--unit", "user", "--epsilon", 1, "--delta", 2),
            "delta must lie between 0 and 1",
        ),
        (("population", "FILE", "fr", "--unit", "word", "--epsilon", 1, "--delta", 1e-9), "'word' is not one of"),
        (("abandon", "FILE", "c9"), "has no campaign 'c9'"),
    ],
)
def test_mistakes_end_with_a_sentence_and_exit_code_2(
    neologue: Neologue, file: Path, arguments: tuple[object, ...], said: str
) -> None:
    result = neologue("ledger", *(file if argument == "FILE" else argument for argument in arguments))
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_no_deployment_names_a_ledger_because_every_service_has_one() -> None:
    files = [path for path in (Path(__file__).parents[2] / "deploy").iterdir() if path.is_file()]
    assert len(files) >= 3
    for path in files:
        text = path.read_text("utf-8")
        assert "ledger" not in text.lower(), path
