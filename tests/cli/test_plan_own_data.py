"""`neologue plan DATA`: how many words people hold is told under an ε that a ledger is charged; B and days follow."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from neologue import plan as foresee
from neologue.campaign.campaign import Campaign
from neologue.planning.duration import duration

Neologue = Callable[..., Result]
OPTIONS = ("--language", "ms", "--depth", 4, "--alphabet", "en", "--shape-epsilon", 6)
USERS = 2_000
HELD = 6


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two thousand users with six new words each."""
    path = tmp_path_factory.mktemp("typed") / "typed.csv"
    rows = [f"{user},{'bcdfgh'[place]}{chr(97 + user % 26)}q" for user in range(USERS) for place in range(HELD)]
    path.write_text("user,word\n" + "\n".join(rows) + "\n", "utf-8")
    return path


@pytest.fixture
def book(neologue: Neologue, tmp_path: Path) -> Path:
    path = tmp_path / "spent.db"
    assert neologue("ledger", "create", path).exit_code == 0
    limits = ("--unit", "user", "--epsilon", 3, "--delta", "1e-9", "--local-epsilon", 10)
    assert neologue("ledger", "population", path, "en", *limits).exit_code == 0
    return path


def charged(neologue: Neologue, held: Path, book: Path, name: str) -> Result:
    charge = ("--ledger", book, "--population", "en", "--campaign", name)
    return neologue("plan", held, *OPTIONS, "--privacy", "strict", *charge, "--json", "--check-ins", 500)


def test_the_shape_is_charged_and_b_and_the_days_follow_from_it(neologue: Neologue, held: Path, book: Path) -> None:
    result = charged(neologue, held, book, "shape")
    assert result.exit_code == 0, result.stderr
    plan: dict[str, Any] = json.loads(result.stdout)
    assert plan["users"] == plan["shape"]["users"] == USERS
    assert plan["shape"]["local_epsilon"] == 6
    assert plan["shape"]["mean"] == pytest.approx(HELD, abs=1.5)
    assert [each["from"] for each in plan["shape"]["classes"] if each["share"] > 0.9] == [HELD]
    assert plan["parameters"]["words_per_user"] in range(5, 10)
    assert plan["duration"]["days"] == pytest.approx(4 * plan["duration"]["layer_hours"] / 24)
    [population] = json.loads(neologue("ledger", "show", book, "--json").stdout)
    [campaign] = population["campaigns"]
    assert campaign["state"] == "settled"
    assert [(batch["reports"], batch["candidates"]) for batch in campaign["cohorts"]] == [(USERS, 19)]
    assert population["rare_words"] is None


def test_a_budget_that_does_not_cover_the_shape_refuses_it_and_nothing_is_told(
    neologue: Neologue, held: Path, book: Path
) -> None:
    assert charged(neologue, held, book, "first").exit_code == 0
    before = neologue("ledger", "show", book, "--json").stdout
    refused = charged(neologue, held, book, "second")
    assert refused.exit_code == 2
    assert "'second' with local ε = 6 does not fit" in refused.stderr
    assert not refused.stdout
    assert neologue("ledger", "show", book, "--json").stdout == before


def test_the_tables_say_what_the_shape_costs_and_that_no_ledger_was_charged(neologue: Neologue, held: Path) -> None:
    result = neologue("plan", held, *OPTIONS, "--privacy", "strict", "--words-per-user", 12, "--check-ins", 500)
    told = " ".join(result.stdout.split())
    assert result.exit_code == 0, result.stderr
    assert "2,000, who hold 6" in told
    assert "none was charged for it; --ledger does that" in told
    assert "12 words a user" in told
    assert "with 500 devices that check in on a day, a layer waits" in told
    assert "who holds fewer than 12 is protected better: with 2, ε =" in told


def test_a_layer_waits_for_the_most_of_its_devices() -> None:
    campaign = Campaign.from_profile(users=10_000, epsilon=8.0)
    lasting = duration(campaign, 5_000)
    # Half of those who have not come yet come each day: 1 - 2^-4.32 = 95 %.
    assert lasting.layer_hours == 104
    assert lasting.days == pytest.approx(4 * 104 / 24)
    assert duration(campaign, 10_000).layer_hours == 24


def test_the_usual_b_is_kept_where_more_is_foreseen_with_it() -> None:
    """Malay words of up to four characters: by how many words people hold, 38 would be best."""
    found = foresee(users=20_000, language="ms", depth=4, privacy="strict", layers=3)
    asked = foresee(users=20_000, language="ms", depth=4, privacy="strict", layers=3, words_per_user=38)
    assert found.campaign.parameters.words_per_user == 60
    assert found.expected.coverage > asked.expected.coverage
