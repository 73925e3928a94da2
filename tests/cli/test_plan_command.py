"""`neologue plan`: tables, JSON and a picture, and how it refuses."""

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from neologue.campaign.campaign import Campaign
from neologue.language.alphabet import Alphabet
from neologue.planning import plan as planning
from neologue.planning import plan_for as assembly
from neologue.reporting import plan_document

Neologue = Callable[..., Result]

QUICK = ("--users", 20_000, "--language", "ms", "--depth", 3, "--words-per-user", 5, "--alphabet", "en")
"""Malay has few words, so that it is read at once."""


def planned(neologue: Neologue, known: Path, *options: object) -> dict[str, Any]:
    result = neologue("plan", *QUICK, "--known", known, "--json", *options)
    assert result.exit_code == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout, parse_constant=pytest.fail)
    return document


@pytest.fixture(scope="module")
def unary(neologue: Neologue, known: Path) -> dict[str, Any]:
    return planned(neologue, known, "--central-epsilon", 2)


@pytest.fixture(scope="module")
def paper(neologue: Neologue, known: Path) -> dict[str, Any]:
    return planned(neologue, known, "--profile", "gboard-2024", "--depth", 2, "--alphabet", "paper")


@pytest.fixture(scope="module")
def strict(neologue: Neologue, known: Path) -> dict[str, Any]:
    return planned(neologue, known, "--privacy", "strict", "--layers", 3)


@pytest.fixture(params=["unary", "paper", "strict"])
def document(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: dict[str, Any] = request.getfixturevalue(request.param)
    return found


def nothings(part: dict[str, Any]) -> set[str]:
    return {name for name, value in part.items() if value is None}


def leaves(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value


def test_the_document_has_every_field(document: dict[str, Any]) -> None:
    assert set(document) == {
        "format",
        "language",
        "users",
        "profile",
        "limits",
        "parameters",
        "layers",
        "expected",
        "fewest_reports",
        "privacy",
        "planting",
        "full_layer_item_epsilon",
        "tradeoff",
        "level",
        "levels",
        "fewest_users",
        "shape",
        "duration",
        "reasons",
    }
    assert set(document["limits"]) == {"local_epsilon", "central_epsilon", "unit"}
    assert set(document["expected"]) == {
        "coverage",
        "words",
        "false_words",
        "rarest_share",
        "rarest_users",
        "bytes_per_device",
    }
    assert {"pass", "layer", "candidates", "cohort", "kept", "words"} < set(document["layers"][0])
    points = document["tradeoff"] or [outlook["expected"] for outlook in document["levels"]]
    assert {"local_epsilon", "item_epsilon", "user_epsilon", "coverage"} < set(points[0])
    assert all(math.isfinite(value) for value in leaves(document) if isinstance(value, float))


def test_the_privacy_of_a_plan_has_every_bound_or_a_reason(document: dict[str, Any]) -> None:
    privacy = document["privacy"]
    assert {"unit", "local_epsilon", "delta", "item_central", "user_central", "k_anonymity", "trust"} < set(privacy)
    item, user, anonymity = (privacy[part] for part in ("item_central", "user_central", "k_anonymity"))
    assert {"closed_form", "fmt2021", "fmt2023", "blanket", "sums_only", "best"} < set(item)
    assert {"group", "joint", "best"} < set(user)
    assert {"k", "alpha", "printed_lemma"} < set(anonymity)
    for part in (item, user, anonymity):
        assert nothings(part) == set(part["reasons"])
    missing = nothings(document).union(*map(nothings, [document["expected"], *document["tradeoff"]]))
    assert missing == set(document["reasons"])


def test_a_central_limit_is_kept(unary: dict[str, Any]) -> None:
    assert unary["limits"] == {"local_epsilon": None, "central_epsilon": 2.0, "unit": "item"}
    assert unary["privacy"]["item_central"]["best"] <= 2.0
    assert (unary["parameters"]["promised_epsilon"], unary["parameters"]["promised_unit"]) == (2.0, "item")
    assert 0 < unary["fewest_reports"] < min(layer["cohort"] for layer in unary["layers"])
    assert 0 < unary["parameters"]["epsilon"] <= 10
    assert 0 < unary["expected"]["coverage"] <= 1
    assert unary["full_layer_item_epsilon"] is None


def test_the_paper_s_plan_tells_the_full_layer_and_the_run_apart(paper: dict[str, Any]) -> None:
    assert paper["profile"] == "gboard-2024"
    assert paper["parameters"]["promised_epsilon"] is paper["fewest_reports"] is None
    assert len(paper["layers"]) == 4
    assert 0 < paper["full_layer_item_epsilon"] < paper["privacy"]["item_central"]["best"]


def test_a_level_is_kept_and_shown_beside_the_others(strict: dict[str, Any]) -> None:
    assert strict["level"] == "strict"
    assert strict["privacy"]["user_central"]["best"] <= strict["parameters"]["promised_epsilon"] == 1.0986
    assert strict["privacy"]["delta"] == 1e-8
    levels = {outlook["level"]: outlook["expected"] for outlook in strict["levels"]}
    assert list(levels) == ["strict", "standard", "paper"]
    assert levels["strict"]["local_epsilon"] == strict["parameters"]["epsilon"]
    assert levels["strict"]["coverage"] == strict["expected"]["coverage"]
    assert levels["strict"]["local_epsilon"] < levels["standard"]["local_epsilon"] < 10
    assert levels["paper"]["local_epsilon"] == 10
    assert levels["standard"]["coverage"] < levels["paper"]["coverage"]


def test_a_plan_at_a_level_is_the_campaign_that_a_discovery_at_that_level_runs(strict: dict[str, Any]) -> None:
    campaign = Campaign.from_profile(
        users=20_000, privacy="strict", alphabet=Alphabet.named("en"), depth=3, words_per_user=5, layers=3
    )
    assert campaign.parameters.later_words == (4, 3, 2)
    for name in ("epsilon", "later_words", "delta", "promised_epsilon", "promised_unit"):
        planned, run = strict["parameters"][name], getattr(campaign.parameters, name)
        assert planned == (list(run) if name == "later_words" else run)


def test_a_level_says_what_the_next_weaker_one_buys_and_how_many_users_it_takes(
    neologue: Neologue, known: Path
) -> None:
    result = neologue("plan", *QUICK, "--known", known, "--privacy", "strict", "--layers", 3)
    told = " ".join(result.stdout.split())
    assert "level strict: a central ε of at most 1.0986 for a whole user at δ = 1e-08" in told
    assert "next level standard would find" in told
    assert "Levels of privacy" in told


def test_tables_tell_the_same(neologue: Neologue, known: Path, unary: dict[str, Any]) -> None:
    result = neologue("plan", *QUICK, "--known", known, "--central-epsilon", 2)
    assert result.exit_code == 0
    assert "Layers, as foreseen" in result.stdout
    assert "The trade-off" in result.stdout
    colluding = result.stdout.split("If devices collude")[1].splitlines()
    assert [line.split()[1] for line in colluding if " % " in line][:3] == ["0", "10", "50"]
    assert f"local ε = {unary['parameters']['epsilon']:g}" in result.stdout
    assert f"{100 * unary['expected']['coverage']:.1f} % of all pairs of a user and a new word" in result.stdout
    assert re.search(r"a whole user +central ε = ", result.stdout)
    assert "a full layer" not in result.stdout


def test_a_plan_says_what_its_service_costs(neologue: Neologue, known: Path) -> None:
    document = planned(neologue, known, "--privacy", "standard", "--cost", "--check-in-hours", 24, "--core-price", 2)
    cost = document["cost"]
    assert cost["hosting"] == {
        "check_in_hours": 24,
        "layer_hours": 168,
        "regions": 1,
        "core_price": 2,
        "traffic_price": 0.09,
        "storage_price": 0.12,
    }
    assert [part["name"] for part in cost["parts"]] == ["workers", "proxies", "database"]
    money = cost["money"]
    assert money["total"] == pytest.approx(money["cores"] + money["traffic"] + money["storage"])
    assert money["cores"] == 2 * cost["hours"] * sum(part["rented"] for part in cost["parts"])
    assert cost["per_word"] == pytest.approx(money["total"] / document["expected"]["words"])
    assert cost["breaks_first"] is None

    shown = neologue("plan", *QUICK, "--known", known, "--cost").stdout
    assert "cores rented" in shown
    assert "price of a million devices" in shown


def test_where_nothing_is_found_the_tables_say_so(neologue: Neologue, known: Path) -> None:
    result = neologue("plan", *QUICK, "--known", known, "--local-epsilon", 0.001)
    assert result.exit_code == 0
    assert "no word is found with a chance of 95 %" in result.stdout
    assert re.search(r"expected words +0, of which", result.stdout)


def test_both_epsilons_give_users(neologue: Neologue, known: Path) -> None:
    limits = ("--local-epsilon", 4, "--central-epsilon", 1)
    result = neologue("plan", *QUICK[2:], "--known", known, "--json", *limits)
    document = json.loads(result.stdout)
    assert document["parameters"]["epsilon"] == 4
    assert 300 <= document["users"] < 1_000_000
    assert document["privacy"]["item_central"]["best"] <= 1


def test_a_plot_is_drawn(neologue: Neologue, known: Path, tmp_path: Path) -> None:
    path = tmp_path / "plan.svg"
    result = neologue("plan", *QUICK, "--known", known, "--plot", path)
    assert result.exit_code == 0
    assert f"wrote {path}" in result.stderr
    assert path.read_text("utf-8").startswith("<?xml")
    assert [file.name for file in tmp_path.iterdir()] == ["plan.svg"]


def refused(result: Result) -> str:
    assert result.exit_code == 2, (result.stdout, result.stderr, result.exception)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever takes long must not have begun."""

    def begun(*arguments: object) -> None:
        raise AssertionError("work has begun")

    monkeypatch.setattr(assembly, "plan_for", begun)


@pytest.mark.usefixtures("no_work")
def test_a_plot_that_can_t_be_written_is_refused_before_any_work(neologue: Neologue, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine", "utf-8")
    for path, remedy in (
        (tmp_path, "give --plot a file"),
        (tmp_path / "plan.png", "give --plot a name with .svg"),
        (tmp_path / "none" / "plan.svg", "give --plot another file"),
        (tmp_path / "taken" / "plan.svg", "give --plot another file"),
    ):
        told = refused(neologue("plan", "--plot", path))
        assert str(path) in told
        assert remedy in told
    assert [file.name for file in tmp_path.iterdir()] == ["taken"]


@pytest.mark.usefixtures("no_work")
def test_a_plot_without_matplotlib_is_refused_before_any_work(
    neologue: Neologue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_document, "find_spec", lambda name: None)
    told = refused(neologue("plan", "--plot", tmp_path / "plan.svg"))
    assert "pip install 'neologue[report]'" in told


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--regions", "3"], "--regions needs --cost"),
        (["--cost", "--check-in-hours", "0"], "check in hours must be at least"),
        (["--central-epsilon", "0"], "above 0 and at most 1000, not 0"),
        (["--central-epsilon", "nan"], "above 0 and at most 1000, not nan"),
        (["--local-epsilon", "21"], "from 0.001 to 20, not 21"),
        (["--unit", "household"], "'item', 'user'"),
        (["--users", "399"], "399 users are too few"),
        (["--users", "1000000001"], "from 1 to 1,000,000,000"),
        (["--depth", "1"], "from 2 to 64"),
        (["--profile", "gboard"], "gboard-2024"),
        (["--language", "tlh"], "choose one of ar, bg"),
        (["--delta", "0"], "between 0 and 1"),
        (["--privacy", "lax"], "'strict', 'standard', 'paper'"),
        (["--privacy", "strict", "--local-epsilon", "9"], "--privacy strict says what --local-epsilon 9 says"),
        (["--privacy", "strict", "--delta", "1e-6"], "--privacy strict says what --delta 1e-06 says"),
        (["--known", "none.txt"], "one word per line"),
        (["--shape-epsilon", "1"], "--shape-epsilon is about DATA: give a file"),
        (["--ledger", "spent.db"], "--ledger is about DATA: give a file"),
        (["nowhere.csv"], "there is no file nowhere.csv"),
        ([__file__, "--shape-epsilon", "0"], "from 0.001 to 20, not 0"),
        ([__file__, "--ledger", "spent.db"], "--ledger needs --population too"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_mistake_is_named_with_its_remedy(neologue: Neologue, options: list[str], told: str) -> None:
    assert told in refused(neologue("plan", *options))


def test_limits_that_nothing_keeps_are_refused(neologue: Neologue, known: Path) -> None:
    told = refused(neologue("plan", *QUICK, "--known", known, "--central-epsilon", 0.0001))
    assert "no local epsilon keeps a central epsilon of 0.0001" in told
    assert "take more users" in told


def test_an_alphabet_that_spells_no_word_is_refused(neologue: Neologue, known: Path, tmp_path: Path) -> None:
    (tmp_path / "alphabet.txt").write_text("ꙮ꙰", "utf-8")
    told = refused(neologue("plan", *QUICK[:-1], tmp_path / "alphabet.txt", "--known", known))
    assert "give another alphabet" in told


def test_an_interrupt_ends_with_its_own_exit_code(
    neologue: Neologue, known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(planning, "forecast", interrupted)
    result = neologue("plan", *QUICK, "--known", known, "--plot", tmp_path / "plan.svg")
    assert result.exit_code == 130
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())
