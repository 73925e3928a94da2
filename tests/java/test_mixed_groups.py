"""Devices in Java and in Python in one group of a real service, over HTTP: the sum of their votes, with dropouts."""

import json
import threading
from contextlib import closing
from pathlib import Path

from neologue.protocol.credential import Credential
from neologue.service.storage.database_address import open_database
from neologue.service.storage.report_store import ReportStore
from service.masked_crowd import UNMASKING, VECTOR, Crowd, invited, policy_of, started
from service.serving import fetch_layer, served
from service.stores import same, spent_serials

from .machine import JavaMachine
from .test_java_device import LOOSE

EACH = 6
"""Devices of each kind; together they are a group."""


def test_votes_in_java_and_in_python_are_in_one_sum(java: JavaMachine, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/service.db"
    with served(url, failures_per_minute=1e6) as service:
        # The group begins when all of them are there; two leave, before and behind their votes.
        campaign = started(service, devices=100_000, layer_seconds=1e5, gather_seconds=600.0, cohort_size=2 * EACH)
        credentials, digest = invited(service, 2 * EACH)
        crowd = Crowd(service.address, tmp_path, policy_of(service), {1: VECTOR, 2: UNMASKING})
        others = threading.Thread(target=crowd.run, args=(credentials[EACH:],))
        others.start()
        devices = [
            {
                "folder": str(tmp_path / Credential.parse(text).serial.hex()),
                "server": service.address,
                "operator": service.ask("GET", "/v1/key").json["operator"],
                "credential": text,
                "words": {"lol": 3, "the": 1},
                "limits": LOOSE | {"smallestLayerSize": 1, "smallestGroup": 6},
            }
            for text in credentials[:EACH]
        ]
        ended = java.ask("fleet", devices=devices, threads=EACH)
        others.join()
        layer = fetch_layer(service, crowd.library, digest)
    assert ended == {"FINAL": EACH}
    assert not crowd.broken
    for text in credentials[:EACH]:
        serial = Credential.parse(text).serial
        record = json.loads((tmp_path / serial.hex() / "sent").read_bytes()[32:])
        crowd.contributed[serial] = {bytes.fromhex(record["reports"][campaign.hex()])}
    with closing(open_database(url)) as database:
        spent = spent_serials(database)
        assert same(ReportStore(database).tally(campaign, 0), crowd.sum_of(layer, spent))
    assert len(spent) == 2 * EACH - 1
    assert len(crowd.told("silent")) == 2
