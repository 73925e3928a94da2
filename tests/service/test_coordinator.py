"""Campaigns from draft to release, on real databases, with time as an argument."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from neologue.errors import BudgetError, CampaignError, InputError, LedgerError, NoCampaignError, StorageError
from neologue.layout.schedule import foreseen_collection
from neologue.ledger.budget import Budget
from neologue.ledger.charge import LedgerCharge
from neologue.ledger.composition import composed_epsilon
from neologue.ledger.ledger import Ledger
from neologue.ledger.ledger_document import population_document
from neologue.privacy.anonymity.anonymity_chances import AnonymityChances
from neologue.release.certification.certificate import certify
from neologue.release.codec import decode_release
from neologue.release.foreseen import foreseen_charge
from neologue.release.layer_archive import by_digest
from neologue.service.campaigns import campaign_store, layer_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.campaigns.definition import Definition
from neologue.service.campaigns.layer_store import LayerRow
from neologue.service.campaigns.service_ledger import service_ledger
from neologue.service.collect.stored_layers import documents_of
from neologue.service.ops import access
from neologue.service.storage.database import Database

from .campaigns import PARAMETERS, WORDS, Town, definition


def started(town: Town, **changes: object) -> CampaignRow:
    """A campaign that has begun, at time 0."""
    entry = town.coordinator.create(definition(**changes), 0.0)
    return town.coordinator.start(entry.name, 0.0)


def layers(town: Town, entry: CampaignRow) -> list[LayerRow]:
    with town.database.reading() as db:
        return layer_store.layers_of(db, entry.id)


def released(town: Town, entry: CampaignRow) -> str:
    with town.database.reading() as db:
        assert campaign_store.campaign_named(db, entry.name).state == "released"
        text = campaign_store.release_of(db, entry.id)
    assert text
    return text


def test_a_campaign_finds_its_words_and_its_release_is_certified(database: Database) -> None:
    town = Town(database)
    entry = started(town)
    town.run(entry.id)
    document = decode_release(released(town, entry).encode(), "release.json")
    assert {word.word for word in document.words} == set(WORDS)
    certification = certify(document, by_digest(documents_of(town.database, entry.id)), town.keys.operator.public_key())
    assert certification.passed, certification
    assert document.exposure.disk == entry.definition.batch
    assert document.whole["fidelity"] == "live"
    assert document.whole["seed"] is None
    assert document.whole["simulated"] is False
    assert "score" not in document.whole


def test_two_passes_and_a_measurement_ask_everybody_once(database: Database) -> None:
    town = Town(database)
    entry = started(town, devices=2400, measure_devices=300, parameters={"passes": 2})
    town.run(entry.id)
    document = decode_release(released(town, entry).encode(), "release.json")
    assert {layer.pass_number for layer in document.layers} == {1, 2}
    assert document.measurement
    assert document.measurement.decided
    assert document.measurement.coverage
    assert document.measurement.coverage.high > 0.9
    assert certify(document, by_digest(documents_of(town.database, entry.id)), town.keys.operator.public_key()).passed
    ranges = [(layer.round.low, layer.round.high) for layer in layers(town, entry)]
    assert all(before[1] <= after[0] for before, after in pairwise(ranges))


def test_the_votes_of_a_decided_layer_are_gone_and_its_decision_is_kept(database: Database) -> None:
    town = Town(database)
    entry = started(town)
    town.coordinator.turn(1.0)
    assert town.answer(entry.id, layers(town, entry)[0].round.missing) > 0
    with database.reading() as db:
        assert db.execute("SELECT 1 FROM sums")
    town.coordinator.turn(2.0)
    first, second = layers(town, entry)
    assert (first.state, second.state) == ("decided", "open")
    assert first.facts
    assert first.facts.layer
    assert first.facts.layer.reports == first.round.reports
    with database.reading() as db:
        assert not db.execute("SELECT 1 FROM sums")
        assert len(layer_store.decisions(db, entry.id)) == 1


def test_another_worker_goes_on_where_one_died(database: Database) -> None:
    entry = started(Town(database))
    now, worker = 0.0, Town(database)
    while True:
        # Every step by a new worker, after the lease of the one before has run out.
        worker = Town(database)
        now += 60.0
        worker.coordinator.turn(now)
        with database.reading() as db:
            if campaign_store.campaign_named(db, entry.name).state != "running":
                break
        asked = worker.layer(entry.id)
        if asked:
            worker.answer(entry.id, asked[0].layer_size)
    document = decode_release(released(worker, entry).encode(), "release.json")
    assert {word.word for word in document.words} == set(WORDS)


def test_while_one_worker_leads_another_does_nothing(database: Database) -> None:
    one, other = Town(database), Town(database)
    entry = started(one)
    one.coordinator.turn(1.0)
    one.answer(entry.id, layers(one, entry)[0].round.missing)
    other.coordinator.turn(2.0)
    assert layers(one, entry)[0].state == "open"
    one.coordinator.turn(3.0)
    assert layers(one, entry)[0].state == "decided"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("DELETE FROM sums WHERE campaign = ?", "restore it from a copy"),
        ("UPDATE layers SET digest = document WHERE campaign = ?", "was started by another version of neologue"),
    ],
)
def test_a_campaign_that_can_not_be_moved_on_is_told_and_holds_no_other_up(
    database: Database, damage: str, message: str
) -> None:
    town = Town(database)
    entries = [started(town, name=name) for name in ("damaged", "whole")]
    town.coordinator.turn(1.0)
    for entry in entries:
        town.answer(entry.id, layers(town, entry)[0].round.missing)
    with database.transaction() as db:
        db.execute(damage, (entries[0].id,))
    for now in (2.0, 3.0):
        with pytest.raises((StorageError, CampaignError), match=message):
            town.coordinator.turn(now)
    assert [[layer.state for layer in layers(town, entry)] for entry in entries] == [["closed"], ["decided", "open"]]


def test_a_layer_without_enough_reports_is_extended_and_then_ends_its_pass(database: Database) -> None:
    town = Town(database)
    entry = started(town, most_extensions=1)
    town.coordinator.turn(0.0)
    town.answer(entry.id, 15)
    town.coordinator.turn(100.0)
    assert layers(town, entry)[0].round.extensions == 1
    town.coordinator.turn(200.0)
    (only,) = layers(town, entry)
    assert only.state == "decided"
    assert only.facts
    assert only.facts.layer
    assert not only.facts.layer.decided
    town.coordinator.turn(201.0)
    document = decode_release(released(town, entry).encode(), "release.json")
    assert document.words == ()


def test_a_pause_holds_the_clock(database: Database) -> None:
    town = Town(database)
    entry = started(town, too_few="end")
    town.coordinator.turn(0.0)
    town.coordinator.pause(entry.name, 50.0)
    town.coordinator.turn(5000.0)
    assert layers(town, entry)[0].state == "open"
    town.coordinator.start(entry.name, 6000.0)
    town.coordinator.turn(6049.0)
    assert layers(town, entry)[0].state == "open"
    town.coordinator.turn(6051.0)
    assert layers(town, entry)[0].state == "decided"


def test_what_is_aborted_is_never_released_and_leaves_no_votes(database: Database) -> None:
    town = Town(database)
    entry = started(town)
    town.coordinator.turn(0.0)
    town.answer(entry.id, 50)
    town.coordinator.abort(entry.name, 1.0)
    town.coordinator.turn(1000.0)
    assert layers(town, entry)[0].state == "closed"
    with database.reading() as db:
        assert not db.execute("SELECT 1 FROM sums")
        assert campaign_store.release_of(db, entry.id) is None
    with pytest.raises(CampaignError, match="is aborted: only a draft or a paused one can be started"):
        town.coordinator.start(entry.name, 2.0)


def budgeted(database: Database, epsilon: float) -> Ledger:
    """The ledger of a service, with a population that may spend so much."""
    ledger = service_ledger(database)
    ledger.add_population("people", Budget("item", epsilon, 1e-6))
    return ledger


def charge(ledger: Ledger) -> LedgerCharge:
    (only,) = ledger.snapshot("people").charges
    return only


def test_a_campaign_is_charged_and_settled_with_what_was_collected(database: Database) -> None:
    ledger = budgeted(database, 100.0)
    town = Town(database)
    entry = started(town, population="people")
    assert charge(ledger).state == "planned"
    town.coordinator.turn(0.0)
    assert charge(ledger).state == "collecting"
    assert not charge(ledger).told
    town.run(entry.id)
    settled = charge(ledger)
    assert (settled.state, settled.told) == ("settled", True)
    assert settled.anonymity == AnonymityChances(5, 0.05, 1e-6, 1)
    document = json.loads(released(town, entry))
    assert [batch.reports for batch in settled.collection.batches] == [row["reports"] for row in document["layers"]]


def test_a_campaign_over_budget_does_not_begin(database: Database) -> None:
    budgeted(database, 0.01)
    town = Town(database)
    entry = town.coordinator.create(definition(population="people"), 0.0)
    with pytest.raises(BudgetError):
        town.coordinator.start(entry.name, 0.0)
    with database.reading() as db:
        assert campaign_store.campaign_named(db, entry.name).state == "draft"


@pytest.mark.parametrize("ended", ["planned", "settled", "abandoned"])
def test_a_name_that_somebody_else_has_charged_does_not_let_a_campaign_begin(database: Database, ended: str) -> None:
    """In a ledger that was imported, for example."""
    ledger = budgeted(database, 100.0)
    town = Town(database)
    entry = town.coordinator.create(definition(population="people"), 0.0)
    same = foreseen_charge(entry.definition.campaign, entry.definition.measuring)
    ledger.plan("people", entry.name, same)
    if ended == "settled":
        ledger.settle(entry.name, same)
    elif ended == "abandoned":
        ledger.abandon(entry.name)
    with pytest.raises(LedgerError, match=f"is {ended} already"):
        town.coordinator.start(entry.name, 0.0)
    with database.reading() as db:
        assert campaign_store.campaign_named(db, entry.name).state == "draft"


def test_an_aborted_campaign_stays_charged_for_what_it_collected(database: Database) -> None:
    ledger = budgeted(database, 100.0)
    town = Town(database)
    entry = started(town, population="people")
    town.coordinator.turn(0.0)
    town.answer(entry.id, 50)
    town.coordinator.abort(entry.name, 1.0)
    assert [batch.reports for batch in charge(ledger).collection.batches] == [50]


def test_once_anybody_has_a_budget_every_campaign_names_who_pays(database: Database) -> None:
    town = Town(database)
    draft = town.coordinator.create(definition(name="early"), 0.0)
    budgeted(database, 100.0)
    with pytest.raises(CampaignError, match=r"say which population pays \(population\): this service has people"):
        town.coordinator.create(definition(), 0.0)
    with pytest.raises(CampaignError, match="say which population pays"):
        town.coordinator.start(draft.name, 1.0)
    with pytest.raises(LedgerError, match="the ledger of this service has no population 'nobody'; it has people"):
        town.coordinator.create(definition(population="nobody"), 0.0)


def test_nobody_gets_a_budget_while_a_campaign_runs_that_would_not_be_counted_in_it(database: Database) -> None:
    town = Town(database)
    entry = started(town)
    charging, budget = town.coordinator.charging, Budget("item", 1.0, 1e-6)
    with pytest.raises(LedgerError, match="'small' is running and charged to nobody: end it"):
        charging.add_population("people", budget, 1.0, "ada")
    assert town.ledger.populations() == []
    town.coordinator.abort(entry.name, 2.0)
    charging.add_population("people", budget, 3.0, "ada")
    assert town.ledger.populations() == ["people"]
    with database.reading() as db:
        assert [(each.actor, each.action, each.subject) for each in access.audit_entries(db, 1)] == [
            ("ada", "add population", "people")
        ]


def test_a_campaign_that_was_charged_to_a_ledger_elsewhere_waits_until_that_is_imported(
    database: Database, tmp_path: Path
) -> None:
    """As one that ran when the service was brought up to date."""
    budgeted(database, 100.0)
    town = Town(database)
    entry = started(town, population="people")
    document = [population_document(snapshot) for snapshot in town.ledger.snapshots()]
    with database.transaction() as db:
        for table in ("ledger_charges", "ledger_budgets", "ledger_populations"):
            db.execute(f"DELETE FROM {table}")
    town.coordinator.turn(1.0)
    assert not layers(town, entry), "nobody is asked anything"
    with pytest.raises(CampaignError, match="`neologue ledger import`"):
        town.coordinator.start(entry.name, 1.5)
    for added in (["people"], []):
        assert town.coordinator.charging.import_ledger(document, 2.0, "ada") == added
    assert town.coordinator.start(entry.name, 2.0).note == ""
    town.run(entry.id, 2.0)
    assert charge(town.ledger).state == "settled"
    assert town.coordinator.charging.import_ledger(document, 3.0, "ada") == [], "it has gone on since"
    assert charge(town.ledger).state == "settled"


def test_names_are_used_once_and_must_be_known(database: Database) -> None:
    town = Town(database)
    town.coordinator.create(definition(), 0.0)
    with pytest.raises(CampaignError, match="there is already a campaign called 'small'"):
        town.coordinator.create(definition(), 0.0)
    with pytest.raises(NoCampaignError, match="no campaign is called 'large'"):
        town.coordinator.start("large", 0.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": ""}, "a campaign's name has 1 to 100 characters"),
        ({"devices": 0}, "devices must be a whole number"),
        ({"reserve": 1.0}, "reserve must be a share"),
        ({"layer_seconds": 0}, "layer seconds must be above 0"),
        ({"batch": 1}, "batch must be a whole number from 2"),
        ({"batch": 21}, "a batch of 21 is more than the 20 reports that decide a layer"),
        ({"profile": "none"}, "no profile is called 'none'"),
        ({"alphabet": "none"}, "no alphabet is called 'none'"),
        ({"language": "xx"}, "no language is called 'xx'"),
        ({"parameters": {**PARAMETERS, "case": "lower"}}, "case must be one of fold, keep"),
        ({"issuers": ["ab"]}, "an issuer is an Ed25519 public key"),
        ({"parameters": {**PARAMETERS, "epsilon": -1}}, "epsilon must be"),
        ({"parameters": {**PARAMETERS, "epsilon": "x"}}, "the parameters can't be used"),
        ({"parameters": {**PARAMETERS, "speed": 3}}, "no parameter is called 'speed'"),
        ({"answer_seconds": 29.5}, "answer seconds must be at least 30 for people's devices"),
        ({"aggregation": "secure", "stage_seconds": 29.5}, "stage seconds must be at least 30 for people's devices"),
        ({"targets": []}, "no target word"),
        ({"measure_devices": 5}, "users who measure are too few"),
        ({"measure_devices": 900}, "900 devices that measure leave none of 900"),
        ({"devices": "many"}, "Expected `int`"),
        ({"colour": "red"}, "unknown field `colour`"),
    ],
)
def test_a_definition_that_can_t_be_run_is_refused(changes: dict[str, object], message: str) -> None:
    given = {"name": "small", "devices": 900, "alphabet": "en", "batch": 10, "parameters": PARAMETERS, **changes}
    with pytest.raises((InputError, msgspec.ValidationError), match=re.escape(message)):
        msgspec.convert(given, Definition).check()


@pytest.mark.parametrize("changes", [{"answer_seconds": 30.0}, {"answer_seconds": 2.0, "rehearsal": True}])
def test_devices_get_little_time_in_a_rehearsal_alone(changes: dict[str, Any]) -> None:
    definition(**changes).check()


def test_the_ledger_is_charged_for_what_the_certificate_states_with_colluders(database: Database) -> None:
    """Half of the reports hide nobody, so that half as many reports are charged for, planned and settled."""
    ledger = budgeted(database, 100.0)
    town = Town(database)
    parameters = {**PARAMETERS, "colluders": 0.5}
    entry = town.coordinator.create(definition(population="people", parameters=parameters), 0.0)
    town.coordinator.start(entry.name, 0.0)
    whole = foreseen_collection(entry.definition.campaign).batches
    assert [batch.reports for batch in charge(ledger).collection.batches] == [batch.reports // 2 for batch in whole]
    town.run(entry.id)
    settled = charge(ledger)
    document = json.loads(released(town, entry))
    assert [batch.reports for batch in settled.collection.batches] == [
        row["reports"] // 2 for row in document["layers"]
    ]
    spent = composed_epsilon([settled.collection], document["parameters"]["delta"], "item")
    assert spent == pytest.approx(document["privacy"]["item_central"]["best"], rel=0.02)
