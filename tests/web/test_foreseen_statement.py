"""What the dashboard states before a release is what the release will state."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from neologue.discovery.result import LayerFacts, Release
from neologue.errors import ParameterError
from neologue.layout.schedule import foreseen_collection
from neologue.privacy.statement import privacy_statement
from neologue.release.facts import release_facts
from neologue.service.campaigns import campaign_store
from neologue.service.campaigns.definition import Definition
from neologue.service.storage.database_address import open_database
from neologue.service.storage.migrations import migrate
from neologue.web.price import at_privacy, foreseen_statement, hold_to
from service.campaigns import Town, definition

KINDS: dict[str, dict[str, Any]] = {
    "batches": {"batch": 10},
    "masks": {"aggregation": "secure", "cohort_size": 20, "smallest_cohort": 12, "corruption": 1},
    "measuring": {"devices": 1200, "measure_devices": 120},
    "rehearsal": {"batch": 10, "rehearsal": True},
    "likely strings": {"batch": 10, "parameters": {"layers": 3}},
}


def foreseen_release(drawn: Definition) -> Release:
    """The release of a campaign whose layers went just as foreseen."""
    layers = (
        LayerFacts(1, number, 1, 1, batch.candidates, batch.reports, batch.reports, 0, 0, 0, decided=True)
        for number, batch in enumerate(foreseen_collection(drawn.campaign).batches, 1)
    )
    return Release(drawn.campaign, tuple(layers), (), exposure=drawn.aggregator.exposure)


@pytest.mark.parametrize("kind", ["batches", "masks"])
def test_if_layers_go_as_foreseen_the_statement_is_the_same_to_the_last_figure(kind: str) -> None:
    drawn = definition(**KINDS[kind])
    assert foreseen_statement(drawn) == privacy_statement(release_facts(foreseen_release(drawn)))


def test_a_level_of_privacy_decides_the_parameters_and_its_promise_is_stated() -> None:
    loud = definition(devices=40_000, parameters={"layers": 3})
    quiet = {name: value for name, value in loud.parameters.items() if name != "epsilon"}
    drawn = hold_to(msgspec.structs.replace(loud, parameters=quiet), "strict")
    assert drawn.parameters["promised_epsilon"] == 1.0986
    assert drawn.parameters["promised_unit"] == "user"
    statement = foreseen_statement(drawn)
    assert statement["delta"] == drawn.parameters["delta"] == 1e-8
    assert 0.8 < statement["user_central"]["best"] <= 1.0986
    assert statement["local_epsilon"] == drawn.parameters["epsilon"]
    assert at_privacy(msgspec.to_builtins(drawn), "strict")["parameters"] == drawn.parameters
    with pytest.raises(ParameterError, match="the level strict allows"):
        hold_to(loud, "strict")


@pytest.mark.parametrize("kind", ["batches", "measuring", "rehearsal"])
def test_a_live_release_names_the_observers_and_assumptions_that_were_stated_before(kind: str, tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/small.db")
    migrate(database)
    town, drawn = Town(database), definition(**KINDS[kind])
    entry = town.coordinator.create(drawn, 0.0)
    town.coordinator.start(entry.name, 0.0)
    town.run(entry.id)
    with database.reading() as db:
        text = campaign_store.release_of(db, entry.id)
    database.close()
    assert text
    release = json.loads(text)
    assert (release["campaign"], release["fidelity"]) == (entry.id.hex(), drawn.fidelity)
    assert release["privacy"]["applies_to"] == foreseen_statement(drawn)["applies_to"]
    before, after = foreseen_statement(drawn)["trust"], release["privacy"]["trust"]
    assert before["assumptions"] == after["assumptions"]

    def views(trust: dict[str, Any]) -> list[tuple[str, str]]:
        return [(observer["who"], observer["sees"]) for observer in trust["observers"]]

    assert views(before) == views(after)
    # Whoever runs the devices of a rehearsal has the words, and only readers are kept from them.
    stored = ("leaked disk", "what was stored: sums of 10 reports and more") in views(before)
    assert stored is not drawn.rehearsal
