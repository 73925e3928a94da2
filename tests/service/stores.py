"""Campaigns, layers and reports that several tests of the service are about."""

import hashlib
from collections.abc import Iterable, Mapping

import numpy as np

from layers import small_layer
from neologue.aggregation.decoding import Decoder
from neologue.aggregation.kernels import Votes
from neologue.discovery.tally import Tally
from neologue.entropy import SeededEntropy
from neologue.protocol.layer import Layer
from neologue.protocol.report import make_report, read_report
from neologue.service.storage.database import Database

LAYER = small_layer(["a", "b", "c"], extension=3)
"""About 250 candidates."""
CAMPAIGN = b"the campaign, 16"


def add_layer(
    database: Database,
    *,
    layer_size: int = 1_000_000,
    layer_index: int = 0,
    state: str = "open",
    campaign: bytes = CAMPAIGN,
    layer: Layer = LAYER,
) -> None:
    """Add a layer, and its campaign if it is the first one."""
    with database.transaction() as db:
        db.execute(
            "INSERT INTO campaigns (id, name, definition, state, slot_secret, created, changed)"
            " VALUES (?, ?, '{}', 'running', ?, 0.0, 0.0) ON CONFLICT DO NOTHING",
            (campaign, campaign.hex(), bytes(32)),
        )
        db.execute(
            "INSERT INTO layers (campaign, layer_index, digest, layer_size, candidates, low, high, opened, deadline,"
            " state, document) VALUES (?, ?, ?, ?, ?, 0, 1, 0.0, 1.0, ?, ?)",
            (campaign, layer_index, layer.digest, layer_size, layer.randomizer.candidates, state, b"document"),
        )


def close_layer(database: Database, layer_index: int = 0) -> None:
    with database.transaction() as db:
        db.execute("UPDATE layers SET state = 'closed' WHERE campaign = ? AND layer_index = ?", (CAMPAIGN, layer_index))


def serial_of(device: int) -> bytes:
    return hashlib.sha256(b"%d" % device).digest()[:16]


def report_of(device: int, layer: Layer = LAYER) -> bytes:
    """The same bytes whenever it is asked."""
    return make_report(layer, np.array([device % 7, 100]), SeededEntropy(device))


def batch_of(devices: Iterable[int]) -> dict[bytes, Votes]:
    decoder = Decoder(LAYER)
    return {serial_of(device): decoder.votes(report_of(device)) for device in devices}


def tally_of(devices: Iterable[int]) -> Tally:
    """The sum of the reports of some devices, the plain way."""
    return Tally.of(LAYER.randomizer.candidates, (read_report(LAYER, report_of(device)) for device in devices))


def same(one: Tally, other: Tally) -> bool:
    return one.reports == other.reports and bool((one.votes == other.votes).all())


def spent_serials(database: Database) -> set[bytes]:
    with database.reading() as db:
        return {serial for (serial,) in db.execute("SELECT serial FROM spent UNION SELECT serial FROM newly_spent")}


def void_serials(database: Database) -> set[bytes]:
    with database.reading() as db:
        return {serial for (serial,) in db.execute("SELECT serial FROM void_serials")}


def devices_by_serial(devices: Iterable[int]) -> Mapping[bytes, int]:
    return {serial_of(device): device for device in devices}
