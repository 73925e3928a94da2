"""A small live campaign for tests, and devices that answer it without HTTP."""

import os
from collections.abc import Mapping
from typing import Any

from neologue.device.contribution import contribute
from neologue.ledger.ledger import Ledger
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import Layer
from neologue.protocol.report import read_report
from neologue.service.campaigns.coordinator import Coordinator
from neologue.service.campaigns.definition import Definition
from neologue.service.campaigns.service_ledger import service_ledger
from neologue.service.collect.layer_cache import LayerCache
from neologue.service.ops.service_keys import load_keys
from neologue.service.storage.database import Database
from neologue.service.storage.report_store import ReportStore

WORDS = {"lol": 5, "tbh": 2, "xbox": 1}
PARAMETERS: dict[str, Any] = {
    "epsilon": 10.0,
    "depth": 4,
    "smallest_layer": 20,
    "k_anonymity": 5,
    "candidates": 200_000,
    "frontier": 500,
    "words_per_user": 5,
    # All ways to go on are asked about, as 2 known words tell nothing of how words are spelled.
    "layers": None,
}


def definition(**changes: Any) -> Definition:  # noqa: ANN401 - checked by the definition itself
    """A campaign for a few hundred devices; `parameters` are added to those of the tests."""
    given: dict[str, Any] = {
        "name": "small",
        "devices": 900,
        "alphabet": "en",
        "known": ["the", "ox"],
        "layer_seconds": 100.0,
        "batch": 10,
        "check_in_seconds": 1,
        "accept_weak_privacy": True,
        # A layer whose last reports are too few for a batch waits for their places to be free again.
        "answer_seconds": 2.0,
    }
    parameters = PARAMETERS | changes.pop("parameters", {})
    return Definition(**{**given, **changes, "parameters": parameters})


class Town:
    """A service without HTTP, and devices that do what they are asked."""

    def __init__(self, database: Database, ledger: Ledger | None = None) -> None:
        self.database = database
        self.storage = ReportStore(database)
        self.keys = load_keys(database)
        self.ledger = ledger or service_ledger(database)
        self.coordinator = Coordinator(self.storage, self.keys, self.ledger, os.urandom(4).hex())
        self.layer_cache = LayerCache(database, self.keys)

    def layer(self, campaign: bytes) -> tuple[Layer | ClosedLayer, int] | None:
        """The layer that a campaign asks now, and its layer_index."""
        self.layer_cache.refresh()
        cached = self.layer_cache.campaign(campaign)
        assert cached
        if cached.layer is None:
            return None
        asked = cached.layer.collecting.asks
        assert isinstance(asked, Layer | ClosedLayer)
        return asked, cached.layer.layer_index

    def answer(self, campaign: bytes, devices: int, words: Mapping[str, int] = WORDS, batch: int = 10) -> int:
        """So many new devices answer the open layer, in batches; how many were counted."""
        asked = self.layer(campaign)
        assert asked
        return self.answer_layer(campaign, asked, devices, words, batch)

    def answer_layer(
        self,
        campaign: bytes,
        asked: tuple[Layer | ClosedLayer, int],
        devices: int,
        words: Mapping[str, int] = WORDS,
        batch: int = 10,
    ) -> int:
        """The same for a layer that may have been closed meanwhile."""
        layer, layer_index = asked
        counted = 0
        for start in range(0, devices, 50):
            reports = {
                os.urandom(16): read_report(layer, contribute(words, layer)).astype("uint32")
                for _ in range(min(50, devices - start))
            }
            counted += self.storage.commit_batch(campaign, layer_index, reports, batch).counted
        return counted

    def run(self, campaign: bytes, now: float = 0.0, words: Mapping[str, int] = WORDS) -> float:
        """Answer until the campaign is over; the time then."""
        while True:
            now += 1.0
            self.coordinator.turn(now)
            self.layer_cache.refresh()
            cached = self.layer_cache.campaign(campaign)
            assert cached
            if cached.entry.state != "running":
                return now
            if cached.layer:
                self.answer(campaign, cached.layer.round.missing, words)
