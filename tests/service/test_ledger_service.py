"""The ledger of a running service, over HTTP and by commands: who may do what, and that a file can be imported."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from neologue.cli import main
from neologue.ledger.budget import Budget
from neologue.ledger.ledger_file import create_ledger
from neologue.privacy.anonymity.anonymity_chances import AnonymityChances
from neologue.privacy.collection import Batch, Collection
from service.campaigns import definition
from service.serving import Served, served

USERS = Collection("unary", 7.0, 60, (Batch(820_000, 9_000),))
BUDGET = ("--unit", "user", "--epsilon", 3, "--delta", "1e-9")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(f"sqlite:///{tmp_path}/service.db") as running:
        yield running


def ledger(service: Served, *arguments: object, token: str | None = None) -> Result:
    env = {"NEOLOGUE_TOKEN": service.token if token is None else token}
    return CliRunner(env=env).invoke(main, ["ledger", *map(str, arguments)], prog_name="neologue")


def shown(service: Served) -> list[dict[str, Any]]:
    populations: list[dict[str, Any]] = service.ask("GET", "/v1/populations").json
    return populations


def test_operators_manage_budgets_and_nobody_else_does(service: Served) -> None:
    analyst = service.ask("POST", "/v1/tokens", {"name": "grace", "role": "analyst"}).json["token"]
    assert shown(service) == []
    added = ledger(service, "population", service.address, "en", *BUDGET, "--local-epsilon", 40)
    assert added.exit_code == 0, added.output
    again = ledger(service, "population", service.address, "en", *BUDGET)
    assert (again.exit_code, "has a budget already" in again.stderr) == (2, True)
    changed = ledger(service, "population", service.address, "en", *BUDGET[:3], 5, *BUDGET[4:], "--change")
    assert changed.exit_code == 0, changed.output
    assert "ε = 3 for every user at δ = 1e-09 is now ε = 5 for every user" in changed.stderr
    (population,) = shown(service)
    assert (population["budget"], population["spent"], population["local_budget"]) == (5.0, 0.0, None)
    assert [each["epsilon"] for each in population["budgets"]] == [3.0, 5.0]
    assert "│ en" in ledger(service, "show", service.address).output
    for command in (("population", service.address, "de", *BUDGET), ("show", service.address)):
        refused = ledger(service, *command, token=analyst)
        assert (refused.exit_code, "for the role operator" in refused.stderr) == (2, True)
    for path in ("/v1/ledger", "/v1/populations/en/budget", "/v1/charges/x/abandon", "/v1/charges/x/settle"):
        assert service.ask("POST", path, {}, token=analyst).status == 403
    deeds = [(deed["action"], deed["subject"]) for deed in service.ask("GET", "/v1/audit").json]
    assert ("add population", "en") in deeds
    assert ("set budget to ε = 5 per user", "en") in deeds


def test_a_campaign_names_who_pays_once_anybody_does_and_is_refused_beyond_the_budget(service: Served) -> None:
    body = msgspec.to_builtins(definition(rehearsal=True))
    ledger(service, "population", service.address, "en", *BUDGET)
    unpaid = service.ask("POST", "/v1/campaigns", body)
    assert unpaid.status == 409
    assert "say which population pays (population): this service has en" in unpaid.json["error"]["message"]
    assert service.ask("POST", "/v1/campaigns", {**body, "population": "fr"}).code == "ledger"
    assert service.ask("POST", "/v1/campaigns", {**body, "population": "en"}).status == 201
    dear = service.ask("POST", "/v1/campaigns/small/start")
    assert (dear.status, dear.code) == (409, "over_budget")
    ledger(service, "population", service.address, "en", *BUDGET[:3], 1000, *BUDGET[4:], "--change")
    assert service.ask("POST", "/v1/campaigns/small/start").json["state"] == "running"
    (population,) = shown(service)
    (charge,) = population["campaigns"]
    assert charge["campaign"] == "small"
    assert population["local_spent"] == 10.0
    refused = ledger(service, "abandon", service.address, "small")
    assert (refused.exit_code, "runs in this service: abort it instead" in refused.stderr) == (2, True)
    own = {name: charge[name] for name in ("mechanism", "epsilon", "words_per_user", "cohorts")}
    by_hand = service.ask("POST", "/v1/charges/small/settle", own)
    assert "runs in this service: abort it instead" in by_hand.json["error"]["message"]


def test_a_campaign_that_protects_no_user_needs_consent(service: Served) -> None:
    body = msgspec.to_builtins(definition(rehearsal=True, accept_weak_privacy=False))
    refused = service.ask("POST", "/v1/campaigns", body)
    assert refused.status == 400
    said = refused.json["error"]["message"]
    assert "for a whole user, above 10: no meaningful protection" in said
    assert "or accept it (accept_weak_privacy)" in said
    assert service.ask("GET", "/v1/campaigns").json == []
    assert service.ask("POST", "/v1/campaigns", {**body, "accept_weak_privacy": True}).status == 201


def test_a_file_is_imported_as_a_whole_and_a_second_time_changes_nothing(service: Served, tmp_path: Path) -> None:
    path = tmp_path / "spent.ledger"
    file = create_ledger(path, clock=lambda: 20_000)
    for name in ("de", "en"):
        file.add_population(name, Budget("user", 3.0, 1e-9))
    file.plan("en", "spring", USERS, AnonymityChances(10, 0.05, 1e-6, 1))
    file.settle("spring", USERS)
    file.plan("en", "summer", USERS)
    in_file = json.loads(CliRunner().invoke(main, ["ledger", "show", str(path), "--json"]).stdout)
    for said in ("imported de, en", "imported nothing: all of it is there already"):
        done = ledger(service, "import", path, service.address)
        assert (done.exit_code, said in done.stderr) == (0, True), done.output
        assert shown(service) == in_file
    assert json.loads(ledger(service, "show", service.address, "--json").stdout) == in_file
    assert (
        "What fewer than 10 users report to the layers of a campaign that judge it"
        in ledger(service, "show", service.address).stdout
    )
    file.add_population("fr", Budget("user", 3.0, 1e-9))
    file.set_budget("de", Budget("user", 9.0, 1e-9))
    collided = ledger(service, "import", path, service.address)
    assert (collided.exit_code, "the population 'de' is there already" in collided.stderr) == (2, True)
    assert shown(service) == in_file, "nothing of it was imported"
    impossible = {**in_file[1], "rare_words": {**in_file[1]["rare_words"], "k": 1}}
    wrong = service.ask("POST", "/v1/ledger", {"populations": [impossible]})
    assert (wrong.status, "k must be 0, for no promise, or from 2" in wrong.json["error"]["message"]) == (400, True)
    assert ledger(service, "abandon", service.address, "summer").exit_code == 0
    assert [each["state"] for each in shown(service)[1]["campaigns"]] == ["settled", "abandoned"]
    fewer = {"mechanism": "unary", "epsilon": 7.0, "words_per_user": 60, "cohorts": [{"reports": 9, "candidates": 9}]}
    refused = service.ask("POST", "/v1/charges/spring/settle", fewer)
    assert "settled already, with other batches" in refused.json["error"]["message"]
    refused = service.ask("POST", "/v1/charges/summer/settle", {**fewer, "epsilon": 6.0})
    assert "give the release of this campaign" in refused.json["error"]["message"]
    # What happened is charged, even of a campaign that was thought abandoned.
    assert service.ask("POST", "/v1/charges/summer/settle", fewer).status == 200
    summer = shown(service)[1]["campaigns"][1]
    assert (summer["state"], summer["told"], summer["cohorts"]) == ("settled", True, fewer["cohorts"])
    assert ("settle charge", "summer") in [
        (deed["action"], deed["subject"]) for deed in service.ask("GET", "/v1/audit").json
    ]
    assert ledger(service, "import", path, "nowhere").exit_code == 2


def test_a_file_that_knows_of_more_than_the_service_is_refused(service: Served, tmp_path: Path) -> None:
    path = tmp_path / "spent.ledger"
    file = create_ledger(path, clock=lambda: 20_000)
    file.add_population("en", Budget("user", 3.0, 1e-9))
    file.plan("en", "summer", USERS)
    for arguments in (("import", path, service.address), ("abandon", service.address, "summer")):
        assert ledger(service, *arguments).exit_code == 0
    file.settle("summer", USERS)
    before = shown(service)
    refused = ledger(service, "import", path, service.address)
    assert refused.exit_code == 2
    assert "the campaign 'summer' is settled in the ledger to be imported, and abandoned in this one" in refused.stderr
    assert shown(service) == before
