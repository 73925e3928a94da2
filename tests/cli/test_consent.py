"""A campaign whose release protects no whole user needs --yes, if it asks real people."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from neologue.cli.main import main
from neologue.web.price import user_epsilon_of

PLAN = ("plan", "--users", 20_000, "--language", "ms", "--depth", 3, "--alphabet", "en")


def neologue(*arguments: object) -> Result:
    """A command as it is typed."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="neologue")


def is_refused(result: Result) -> bool:
    """Whether the command ended for want of consent, and said with which ε and what to do."""
    words = " ".join(result.stderr.split())
    figure = words.partition("a central ε of ")[2].partition(" for a whole user, above 10")[0]
    return result.exit_code == 2 and bool(figure) and float(figure) > 10 and "accept it with --yes" in words


def test_own_data_needs_consent_and_nobody_is_asked_without(typed: Path, known: Path, tmp_path: Path) -> None:
    command = ("discover", typed, "--known", known, "--depth", 4, "--privacy", "paper", "--out", tmp_path / "found")
    assert is_refused(neologue(*command))
    assert not (tmp_path / "found" / "release.json").exists()
    assert neologue(*command, "--yes").exit_code == 0
    assert (tmp_path / "found" / "release.json").exists()


def test_own_data_within_the_limit_needs_none(typed: Path, known: Path) -> None:
    result = neologue("discover", typed, "--known", known, "--depth", 4, "--epsilon", 2, "--words-per-user", 2)
    assert result.exit_code == 0, result.stderr


def test_a_plan_is_shown_and_then_needs_consent(known: Path) -> None:
    refused = neologue(*PLAN, "--known", known, "--local-epsilon", 10)
    assert is_refused(refused)
    assert re.search(r"a whole user +central ε = \S+ \(no meaningful protection\)", refused.stdout)
    assert neologue(*PLAN, "--known", known, "--local-epsilon", 10, "--yes").exit_code == 0
    assert neologue(*PLAN, "--known", known, "--words-per-user", 5, "--central-epsilon", 1).exit_code == 0


@pytest.mark.parametrize("options", [(), ("--aggregation", "secure", "--cohort-size", "30", "--smallest-cohort", "20")])
def test_a_campaign_is_not_created_without_consent(options: tuple[str, ...]) -> None:
    create = ("campaign", "--server", "http://127.0.0.1:9", "create", "spring", "--devices", 20_000, "--language", "en")
    given = (*create, "--privacy", "paper", *options)
    assert is_refused(CliRunner(env={"NEOLOGUE_TOKEN": "x"}).invoke(main, [str(each) for each in given]))


def test_what_no_service_accepts_is_left_to_the_service() -> None:
    assert user_epsilon_of({"name": "spring", "devices": "many"}) is None
    assert user_epsilon_of({"name": "spring", "devices": 3}) is None
