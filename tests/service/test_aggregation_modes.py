"""A third aggregation mode, registered here alone, goes through the whole service, or is refused by a sentence."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from neologue.aggregation.ephemeral import EphemeralAggregator, IntakeLayer
from neologue.aggregation.modes import MODES
from neologue.device.contribution import contribute
from neologue.privacy.statement import Exposure
from neologue.protocol.credential import issue
from neologue.protocol.layer import Layer
from neologue.protocol.report import Asks
from neologue.protocol.slot import SLOTS
from neologue.protocol.submission import Submission
from neologue.protocol.ticket import ticket
from neologue.service.collect.layer_cache import ServedLayer
from neologue.service.doctor import examine
from neologue.service.storage.database import Database
from neologue.service.storage.database_address import open_database
from neologue.service.storage.migrations import migrate

from .campaigns import WORDS, Town, definition
from .serving import served


@dataclass(frozen=True, eq=False)
class PairedLayer:
    """A layer of the third mode: no door of the service takes what its devices send."""

    asks: Asks
    longest: int = 1 << 18


@dataclass(frozen=True)
class PairedAggregator(EphemeralAggregator):
    """Sums of pairs, to which devices are invited as often as they like."""

    invites_again = True

    @property
    def fewest(self) -> int:
        return 2

    @property
    def smallest_sum(self) -> int:
        return 2

    @property
    def exposure(self) -> Exposure:
        return replace(super().exposure, disk=2)

    def collecting(self, campaign: bytes, layer_index: int, layer: Asks, issuers: tuple[bytes, ...]) -> Any:  # noqa: ANN401
        return PairedLayer(layer)


@pytest.fixture
def paired(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODES, "paired", PairedAggregator.of)


@pytest.mark.usefixtures("paired")
def test_a_third_mode_is_asked_wherever_modes_differ(database: Database) -> None:
    town = Town(database)
    entry = town.coordinator.create(definition(aggregation="paired"), 0.0)
    town.coordinator.start(entry.name, 0.0)
    assert entry.definition.rules.batch == 2
    town.coordinator.turn(0.0)
    with database.transaction() as db:
        db.execute("UPDATE layers SET low = ?, high = ?", (SLOTS, SLOTS))
    town.layer_cache.refresh()
    assert isinstance(town.layer_cache.layer_for(issue(entry.id, town.keys.issuer)), ServedLayer), "it invites again"
    cached = town.layer_cache.campaign(entry.id)
    assert cached
    assert cached.layer
    assert isinstance(cached.layer.collecting, PairedLayer)
    assert town.layer_cache.longest(0) == 1 << 18
    assert any("writes sums of 2 reports" in finding.what for finding in examine(database, None))
    town.run(entry.id)
    with database.reading() as db:
        ((release,),) = db.execute("SELECT release FROM campaigns")
    assert "sums of 2 reports" in release


@pytest.mark.usefixtures("paired")
@pytest.mark.parametrize(
    ("path", "head", "refusal"),
    [
        ("/v1/reports", lambda layer: b"", (400, "malformed")),
        ("/v1/cohorts", lambda layer: layer.digest, (404, "unknown")),
    ],
)
def test_no_door_takes_what_is_of_another_mode(
    tmp_path: Path, path: str, head: Callable[[Layer], bytes], refusal: tuple[int, str]
) -> None:
    url = f"sqlite:///{tmp_path}/service.db"
    database = open_database(url)
    migrate(database)
    town = Town(database)
    entry = town.coordinator.create(definition(aggregation="paired", layer_seconds=1e6), 0.0)
    town.coordinator.start(entry.name, 0.0)
    town.coordinator.turn(0.0)
    asked = town.layer(entry.id)
    assert asked
    layer, _ = asked
    assert isinstance(layer, Layer)
    serial = bytes(16)
    shown = ticket(town.keys.ticket, entry.id, layer.digest, serial)
    sent = Submission(entry.id, serial, shown, head(layer) or contribute(WORDS, layer))
    with served(url) as service:
        reply = service.ask("POST", path, bytes(sent), token="")
        assert (reply.status, reply.code) == refusal
    database.close()


def test_an_unknown_mode_is_refused_by_a_sentence(tmp_path: Path) -> None:
    given = {**msgspec.to_builtins(definition(rehearsal=True)), "aggregation": "magic"}
    with served(f"sqlite:///{tmp_path}/service.db") as service:
        reply = service.ask("POST", "/v1/campaigns", given)
        assert (reply.status, reply.code) == (400, "malformed")
        assert "aggregation must be one of ephemeral, secure, not 'magic'" in reply.json["error"]["message"]


def test_reports_as_they_are_go_to_the_intake(database: Database) -> None:
    town = Town(database)
    entry = town.coordinator.create(definition(), 0.0)
    town.coordinator.start(entry.name, 0.0)
    town.coordinator.turn(0.0)
    town.layer_cache.refresh()
    cached = town.layer_cache.campaign(entry.id)
    assert cached
    assert cached.layer
    assert isinstance(cached.layer.collecting, IntakeLayer)
