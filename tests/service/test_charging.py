"""What is told was paid for: each step of a campaign and its charge are one transaction, checked before."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from neologue.errors import BudgetError, CampaignError, ParameterError
from neologue.ledger.budget import Budget
from neologue.ledger.charge import LedgerCharge
from neologue.ledger.composition import composed_epsilon
from neologue.ledger.ledger import Ledger
from neologue.ledger.ledger_document import PopulationDocument, population_document
from neologue.ledger.snapshot import PopulationSnapshot
from neologue.privacy.anonymity.anonymity_chances import AnonymityChances
from neologue.privacy.collection import Batch, Collection
from neologue.privacy.cost import central_epsilon
from neologue.protocol.credential import issue
from neologue.protocol.layer import Layer
from neologue.release.foreseen import foreseen_charge
from neologue.service.campaigns import campaign_store, layer_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.campaigns.charging import collected
from neologue.service.campaigns.definition import Definition
from neologue.service.campaigns.service_ledger import service_ledger
from neologue.service.collect.layer_cache import ServedLayer
from neologue.service.collect.replies import Wait
from neologue.service.storage.database import Connection, Database
from neologue.service.storage.migrations import migrate
from neologue.service.storage.sqlite_database import SqliteDatabase
from service.campaigns import Town, definition

DELTA = 1e-6


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Database]:
    database = SqliteDatabase(str(tmp_path / "service.db"))
    migrate(database)
    yield database
    database.close()


def budgeted(database: Database, described: Definition, times: float, unit: str = "item") -> Ledger:
    """A ledger that allows so many times what the campaign is foreseen to cost."""
    ledger = service_ledger(database)
    foreseen = composed_epsilon([foreseen_charge(described.campaign, described.measuring)], DELTA, unit)
    ledger.add_population("people", Budget(unit, times * foreseen, DELTA))
    return ledger


def paid(**changes: Any) -> Definition:  # noqa: ANN401 - checked by the definition itself
    return definition(population="people", **changes)


def begun(town: Town, described: Definition) -> CampaignRow:
    town.coordinator.create(described, 0.0)
    entry = town.coordinator.start(described.name, 0.0)
    town.coordinator.turn(0.0)
    return entry


def now_of(town: Town, entry: CampaignRow) -> CampaignRow:
    with town.database.reading() as db:
        return campaign_store.campaign_named(db, entry.name)


def charge_of(ledger: Ledger) -> LedgerCharge:
    (only,) = ledger.snapshot("people").charges
    return only


@pytest.mark.parametrize(
    ("changes", "chances"),
    [
        ({}, AnonymityChances(5, 0.05, 1e-6, 1)),
        ({"parameters": {"hostile_devices": 3, "alpha": 0.9}}, AnonymityChances(5, 0.1, 1e-6, 3)),
        ({"aggregation": "secure"}, AnonymityChances(5, 0.05, 1e-6, 1)),
        ({"aggregation": "secure", "parameters": {"hostile_devices": 0}}, AnonymityChances(5, 0.05, 1e-6, 0)),
        ({"parameters": {"unique_chance": 0.0}}, AnonymityChances(5, 0.05, 1.0, 0)),
        ({"parameters": {"k_anonymity": 0}}, AnonymityChances(0, 1.0, 1e-6, 1)),
    ],
)
def test_a_charge_records_the_chances_of_what_few_report(
    sqlite: Database, changes: dict[str, Any], chances: AnonymityChances
) -> None:
    described = paid(**changes)
    ledger = budgeted(sqlite, described, times=1.1)
    town = Town(sqlite)
    town.coordinator.create(described, 0.0)
    town.coordinator.start(described.name, 0.0)
    assert charge_of(ledger).anonymity == chances


@pytest.mark.parametrize(
    "short",
    [
        0,  # the first layer
        2,  # a later one
        3,  # the last one, before the words are told to those who measure
        4,  # those who measure, before the release
    ],
)
def test_where_fewer_reports_came_than_the_budget_covers_nothing_more_is_told(database: Database, short: int) -> None:
    described = paid(devices=1200, measure_devices=200, too_few="end")
    ledger = budgeted(database, described, times=1.1)
    town = Town(database)
    entry = begun(town, described)
    now = 0.0
    for index in range(short + 1):
        asked = town.layer(entry.id)
        assert asked
        assert asked[1] == index
        few = index == short
        assert town.answer(entry.id, 60 if few else asked[0].layer_size) > 0
        # It is over when it is full, or else at its deadline.
        now += 101.0 if few else 1.0
        town.coordinator.turn(now)
    ended = now_of(town, entry)
    assert ended.state == "refused"
    assert "ends here, and nothing more of it is told" in ended.note
    assert "of a budget of" in ended.note
    with database.reading() as db:
        layers = layer_store.layers_of(db, entry.id)
        assert [layer.state for layer in layers] == ["decided"] * short + ["closed"], "no layer is opened or decided"
        assert len(layer_store.decisions(db, entry.id)) == short
        assert not db.execute("SELECT 1 FROM sums"), "the votes are erased"
        assert campaign_store.release_of(db, entry.id) is None
    charge = charge_of(ledger)
    assert (charge.state, charge.told) == ("settled", short > 0)
    assert charge.collection == collected(described, layers)
    assert min(batch.reports for batch in charge.collection.batches) == 60
    town.coordinator.turn(now + 1000.0)
    assert now_of(town, entry).state == "refused"


def test_a_budget_that_is_lowered_counts_from_the_next_layer_on(database: Database) -> None:
    described = paid()
    ledger = budgeted(database, described, times=1.2)
    town = Town(database)
    entry = begun(town, described)
    ledger.set_budget("people", Budget("item", 0.01, DELTA))
    town.run(entry.id)
    assert now_of(town, entry).state == "refused"
    with database.reading() as db:
        assert len(layer_store.layers_of(db, entry.id)) == 1


def test_a_budget_that_is_lowered_after_the_last_layer_keeps_the_release_back(sqlite: Database) -> None:
    described = paid(devices=300, parameters={"depth": 2})
    ledger = budgeted(sqlite, described, times=1.2)
    town = Town(sqlite)
    entry = begun(town, described)
    now = 0.0
    while asked := town.layer(entry.id):
        town.answer(entry.id, asked[0].layer_size)
        town.coordinator.turn(now := now + 1.0)
    assert now_of(town, entry).state == "running", "all is decided, and nothing is released yet"
    ledger.set_budget("people", Budget("item", 0.01, DELTA))
    town.coordinator.turn(now + 1.0)
    ended = now_of(town, entry)
    assert (ended.state, "must not be released" in ended.note) == ("refused", True)
    with sqlite.reading() as db:
        assert campaign_store.release_of(db, entry.id) is None


def test_a_layer_is_weighed_as_it_really_is_and_not_as_it_was_foreseen(sqlite: Database) -> None:
    described = paid()
    budgeted(sqlite, described, times=1.01)
    town = Town(sqlite)
    entry = begun(town, described)
    asked = town.layer(entry.id)
    assert asked
    assert isinstance(asked[0], Layer)
    candidates = asked[0].randomizer.candidates
    charging = town.coordinator.charging
    foreseen = charging.due_next(entry, [], asked[0])
    assert foreseen.refusal is None
    smaller = charging.due_next(entry, [], replace(asked[0], layer_size=30))
    assert smaller.collection.batches == (*foreseen.collection.batches[:-1], Batch(30, candidates))
    assert smaller.refusal is not None, "sums of fewer reports hide less"


def test_what_was_told_once_stays_told(sqlite: Database) -> None:
    described = paid()
    ledger = budgeted(sqlite, described, times=1.2)
    town = Town(sqlite)
    entry = begun(town, described)
    due = town.coordinator.charging.due_next(entry, [], None)
    for told in (False, True, False):
        with sqlite.transaction() as db:
            town.coordinator.charging.charge_next(db, entry, due, told=told)
    assert charge_of(ledger).told


def test_what_is_spent_while_a_step_is_weighed_is_weighed_too(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = paid()
    ledger = budgeted(database, described, times=1.2)
    town = Town(database)
    entry = begun(town, described)
    really, weighed = PopulationSnapshot.check_going_on, []

    def meanwhile(snapshot: PopulationSnapshot, *given: Any) -> None:  # noqa: ANN401 - whatever it takes
        weighed.append(snapshot.version)
        really(snapshot, *given)
        ledger.set_budget("people", Budget("item", 0.01, DELTA))

    monkeypatch.setattr(PopulationSnapshot, "check_going_on", meanwhile)
    asked = town.layer(entry.id)
    assert asked
    town.answer(entry.id, asked[0].layer_size)
    town.coordinator.turn(1.0)
    assert len(weighed) == 2, "it fitted at first"
    assert now_of(town, entry).state == "refused"


def test_of_two_campaigns_that_are_started_at_once_only_what_fits_is_charged(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = paid(name="one"), paid(name="other")
    ledger = budgeted(database, one, times=1.2)
    town = Town(database)
    for described in (one, other):
        town.coordinator.create(described, 0.0)
    really = PopulationSnapshot.check_plan

    def meanwhile(snapshot: PopulationSnapshot, *given: Any) -> None:  # noqa: ANN401 - whatever it takes
        really(snapshot, *given)
        monkeypatch.setattr(PopulationSnapshot, "check_plan", really)
        Town(database).coordinator.start("other", 0.0)

    monkeypatch.setattr(PopulationSnapshot, "check_plan", meanwhile)
    with pytest.raises(BudgetError):
        town.coordinator.start("one", 0.0)
    assert [(charge.campaign, charge.state) for charge in ledger.snapshot("people").charges] == [("other", "planned")]


# Campaigns from before the ledger was in the service


def forget_charges(database: Database, *, populations: bool = False) -> None:
    """Leave the ledger as it is in a database from before it had one."""
    tables = ("ledger_charges", "ledger_budgets", "ledger_populations") if populations else ("ledger_charges",)
    with database.transaction() as db:
        for table in tables:
            db.execute(f"DELETE FROM {table}")


def documents_of(ledger: Ledger) -> list[PopulationDocument]:
    return [population_document(snapshot) for snapshot in ledger.snapshots()]


def check_ins(town: Town, entry: CampaignRow) -> set[type]:
    """What devices with any slot are told."""
    town.layer_cache.refresh()
    credentials = (issue(entry.id, town.keys.issuer) for _ in range(100))
    return {type(town.layer_cache.layer_for(credential)) for credential in credentials}


def test_an_uncharged_campaign_asks_and_counts_nobody_and_is_paused_until_its_ledger_is_imported(
    database: Database,
) -> None:
    described = paid(devices=300)
    ledger = budgeted(database, described, times=1.2)
    town = Town(database)
    entry = begun(town, described)
    assert ServedLayer in check_ins(town, entry)
    document = documents_of(ledger)
    forget_charges(database, populations=True)
    town = Town(database)  # as after an update
    assert check_ins(town, entry) == {Wait}, "even before the first turn"
    cached = town.layer_cache.campaign(entry.id)
    assert cached
    assert cached.entry.state == "paused", "so that no report is taken"
    said: list[str] = []
    town.coordinator.turn(100.0, lambda what, entry: said.append(what))
    assert said == ["campaign paused: not charged"]
    paused = now_of(town, entry)
    assert paused.state == "paused"
    assert "is not charged to the population 'people' in this service's ledger" in paused.note
    assert "`neologue ledger import`, then start it again; or abort it" in paused.note
    with pytest.raises(CampaignError) as caught:
        town.coordinator.start(entry.name, 101.0)
    assert str(caught.value) == paused.note
    assert now_of(town, entry) == paused, "nothing has changed"
    town.coordinator.charging.import_ledger(document, 102.0, "ada")
    town.coordinator.start(entry.name, 103.0)
    assert ServedLayer in check_ins(town, entry)
    town.run(entry.id, 103.0)
    assert now_of(town, entry).state == "released"


def test_an_uncharged_campaign_whose_charge_has_ended_can_only_be_aborted(sqlite: Database) -> None:
    described = paid()
    ledger = budgeted(sqlite, described, times=1.2)
    town = Town(sqlite)
    entry = begun(town, described)
    town.answer(entry.id, 50)
    with sqlite.transaction() as db:
        db.execute("UPDATE ledger_charges SET state = 'abandoned', ended_day = 1")
    town.coordinator.turn(1.0)
    assert "is abandoned in this service's ledger" in now_of(town, entry).note
    with pytest.raises(CampaignError, match="pays for nothing more of it: abort it"):
        town.coordinator.start(entry.name, 2.0)
    town.coordinator.abort(entry.name, 3.0)
    assert [batch.reports for batch in charge_of(ledger).collection.batches] == [50]


def test_what_an_uncharged_campaign_collected_is_charged_when_it_is_aborted(database: Database) -> None:
    described = paid()
    ledger = budgeted(database, described, times=1.2)
    town = Town(database)
    entry = begun(town, described)
    counted = town.answer(entry.id, 50)
    before = charge_of(ledger)
    forget_charges(database)
    assert town.coordinator.abort(entry.name, 1.0).note == ""
    charge = charge_of(ledger)
    assert (charge.campaign, charge.state, charge.told) == (entry.name, "settled", False)
    assert (charge.planned, charge.anonymity, charge.reference) == (before.planned, before.anonymity, entry.id.hex())
    assert [batch.reports for batch in charge.collection.batches] == [counted]
    spent = ledger.snapshot("people").spent
    assert spent.epsilon > 0
    assert spent.local_epsilon == 10


def test_where_the_name_is_somebody_elses_charge_what_was_collected_is_charged_under_another(sqlite: Database) -> None:
    described = paid()
    ledger = budgeted(sqlite, described, times=1.2)
    ledger.add_population("others", Budget("item", 1000.0, DELTA))
    town = Town(sqlite)
    entry = begun(town, described)
    town.answer(entry.id, 50)
    forget_charges(sqlite)
    theirs = foreseen_charge(described.campaign, described.measuring)
    ledger.plan("others", entry.name, theirs)
    town.coordinator.abort(entry.name, 1.0)
    assert charge_of(ledger).campaign == f"{entry.name} {entry.id.hex()}"
    assert [batch.reports for batch in charge_of(ledger).collection.batches] == [50]
    (kept,) = ledger.snapshot("others").charges
    assert (kept.state, kept.collection) == ("planned", theirs)


@pytest.mark.parametrize("comes", ["added", "imported without the campaign", "imported with the campaign"])
def test_what_was_collected_of_a_population_that_is_not_there_is_charged_when_it_comes(
    database: Database, comes: str
) -> None:
    described = paid(devices=300)
    ledger = budgeted(database, described, times=1.2)
    town = Town(database)
    empty = documents_of(ledger)
    entry = begun(town, described)
    full = documents_of(ledger)
    asked = town.layer(entry.id)
    assert asked
    town.answer(entry.id, asked[0].layer_size)
    town.coordinator.turn(1.0)
    draft = town.coordinator.create(paid(name="draft"), 1.0)
    forget_charges(database, populations=True)
    ended = town.coordinator.abort(entry.name, 2.0)
    assert ended.state == "aborted"
    assert "could not be charged, because this service's ledger has no population 'people'" in ended.note
    assert town.coordinator.abort(draft.name, 2.0).note == "", "it has collected nothing"
    charging = town.coordinator.charging
    if comes == "added":
        charging.add_population("people", Budget("item", 1.0, DELTA), 3.0, "ada")
    else:
        charging.import_ledger(full if "with the" in comes else empty, 3.0, "ada")
        assert charging.import_ledger(full if "with the" in comes else empty, 4.0, "ada") == []
    charge = charge_of(ledger)
    assert (charge.campaign, charge.state, charge.told) == (entry.name, "settled", True)
    with database.reading() as db:
        assert charge.collection == collected(described, layer_store.layers_of(db, entry.id))


def test_a_charge_that_is_imported_is_not_settled_by_a_draft_of_its_name_that_was_aborted(sqlite: Database) -> None:
    described = paid()
    ledger = budgeted(sqlite, described, times=1.2)
    town = Town(sqlite)
    entry = town.coordinator.create(described, 0.0)
    theirs = foreseen_charge(described.campaign, described.measuring)
    ledger.plan("people", entry.name, theirs)
    document = documents_of(ledger)
    forget_charges(sqlite, populations=True)
    town.coordinator.abort(entry.name, 1.0)
    town.coordinator.charging.import_ledger(document, 2.0, "ada")
    assert (charge_of(ledger).state, charge_of(ledger).collection) == ("planned", theirs)


def test_a_step_of_a_campaign_without_its_charge_is_never_taken(sqlite: Database) -> None:
    described = paid()
    budgeted(sqlite, described, times=1.2)
    town = Town(sqlite)
    entry = begun(town, described)
    charging = town.coordinator.charging
    with sqlite.reading() as db:
        layers = layer_store.layers_of(db, entry.id)
    due = charging.due_next(entry, layers, None)
    forget_charges(sqlite)
    steps: list[Callable[[Connection], None]] = [
        lambda db: charging.charge_next(db, entry, due, told=True),
        lambda db: charging.settle(db, entry, told=True),
    ]
    for step in steps:
        with (
            pytest.raises(RuntimeError, match="the campaign 'small' goes on without a charge"),
            sqlite.transaction() as db,
        ):
            step(db)


# A promised central ε


def test_the_service_decides_no_layer_that_breaks_the_promise_and_extends_it_first(sqlite: Database) -> None:
    described = paid(most_extensions=1, parameters={"promised_epsilon": 7.0})
    ledger = budgeted(sqlite, described, times=1.001)
    town = Town(sqlite)
    entry = begun(town, described)
    asked = town.layer(entry.id)
    assert asked
    fewest = described.campaign.fewest_reports(asked[0].randomizer.candidates)
    assert 40 < fewest < 0.95 * asked[0].layer_size
    assert {batch.reports for batch in charge_of(ledger).planned.batches} == {fewest}
    town.answer(entry.id, fewest // 10 * 10 - 10)
    town.coordinator.turn(101.0)
    with sqlite.reading() as db:
        (layer,) = layer_store.layers_of(db, entry.id)
    assert (layer.state, layer.round.extensions) == ("open", 1), "it waits for more"
    town.answer(entry.id, 20)
    town.coordinator.turn(202.0)
    with sqlite.reading() as db:
        first, second = layer_store.layers_of(db, entry.id)
    assert first.facts
    assert first.facts.layer
    assert first.facts.layer.decided
    assert first.round.reports >= fewest, "its planned charge was for so many"
    assert second.state == "open"
    town.answer(entry.id, 30)
    for now in (303.0, 404.0, 405.0):
        town.coordinator.turn(now)
    with sqlite.reading() as db:
        *_, last = layer_store.layers_of(db, entry.id)
    assert last.layer_index == 1, "a pass ends with a layer that is not decided"
    assert last.facts is None, "and its few reports do not fit a budget for the promise"
    assert now_of(town, entry).state == "refused"


def test_batches_so_large_that_a_full_layer_may_break_the_promise_are_refused() -> None:
    paid(parameters={"promised_epsilon": 7.0}, answer_seconds=60.0).check()
    # Layers of 1,125, which 1,045 reports decide: there is room for 5 % of dropouts, but not for 100 reports.
    promised = central_epsilon(Collection("unary", 10.0, 5, (Batch(1_045, 1_000),)), 1e-10, "item")
    described = paid(
        parameters={"promised_epsilon": promised, "smallest_layer": 100}, devices=5000, batch=100, answer_seconds=60.0
    )
    with pytest.raises(
        ParameterError, match=r"may end with a batch of 100 missing, and needs [\d,]+ reports"
    ) as caught:
        described.check()
    assert caught.value.parameter == "batch"


# Killed between any two steps


def test_a_worker_that_is_killed_at_any_moment_leaves_nothing_unpaid_and_no_charge_for_nothing(tmp_path: Path) -> None:
    """kill -9 before each statement and around each commit, from the start to the release."""
    command = [sys.executable, "-m", "service.charge_kills", str(tmp_path / "service.db")]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 30
