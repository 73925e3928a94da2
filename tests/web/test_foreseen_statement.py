"""What the dashboard states before a release is what the release will state."""

import json
from pathlib import Path
from typing import Any

import pytest

from neologue.discovery.result import LayerFacts, Release
from neologue.layout.schedule import foreseen_collection
from neologue.privacy.statement import privacy_statement
from neologue.release.facts import release_facts
from neologue.service.campaigns import campaign_store
from neologue.service.campaigns.definition import Definition
from neologue.service.storage.database import open_database
from neologue.service.storage.migrations import migrate
from neologue.web.price import foreseen_statement
from service.campaigns import Town, definition

KINDS: dict[str, dict[str, Any]] = {
    "batches": {"batch": 10},
    "masks": {"aggregation": "secure", "cohort_size": 20, "smallest_cohort": 12, "corruption": 1},
    "measuring": {"devices": 1200, "measure_devices": 120},
    "rehearsal": {"batch": 10, "rehearsal": True},
}


def foreseen_release(drawn: Definition) -> Release:
    """The release of a campaign whose layers went just as foreseen."""
    layers = (
        LayerFacts(1, number, 1, 1, batch.candidates, batch.reports, batch.reports, 0, 0, 0, 0, decided=True)
        for number, batch in enumerate(foreseen_collection(drawn.campaign).batches, 1)
    )
    return Release(drawn.campaign, tuple(layers), (), exposure=drawn.aggregator.exposure)


@pytest.mark.parametrize("kind", ["batches", "masks"])
def test_if_layers_go_as_foreseen_the_statement_is_the_same_to_the_last_figure(kind: str) -> None:
    drawn = definition(**KINDS[kind])
    assert foreseen_statement(drawn) == privacy_statement(release_facts(foreseen_release(drawn)))


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
