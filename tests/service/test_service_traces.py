"""What a running service leaves behind: in its database, its logs and its metrics there is nothing of one device."""

import base64
import http.client
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import psycopg
import pytest

from neologue.aggregation.packed_sum import pack_sum
from neologue.device.contribution import contribute
from neologue.device.library import Library
from neologue.protocol.credential import Credential
from neologue.protocol.layer import Layer
from neologue.protocol.report import HEADER_BYTES, read_report
from neologue.protocol.submission import Submission
from neologue.service.storage.database_address import open_database

from .campaigns import WORDS, definition
from .serving import Process, Served, fetch_layer, free_port, wait_until

BATCH: Final = 10
DEVICES: Final = 57
"""Of whom the last few wait for a batch when the service is killed."""
PROXIED: Final = "203.0.113.77"
ADDRESS: Final = "127.0.0.77"
"""The one of the devices, which the service must not write down; it is a proxy's where there is one."""
WINDOW: Final = 24
"""So many bytes of a report in a row are not there by chance."""


@dataclass(frozen=True)
class Device:
    credential: Credential
    layer: Layer
    report: bytes
    body: bytes


@dataclass(frozen=True)
class Left:
    """What was left behind, and by whom it must not be."""

    pieces: Mapping[str, bytes]
    """Files, logs and metrics, by what they are."""
    devices: list[Device]
    smallest: int
    """The fewest reports in a sum that was stored."""


def ask(service: Served, method: str, path: str, body: bytes) -> tuple[int, Any]:
    """A request of a device, from an address of its own."""
    host, _, port = service.address.removeprefix("http://").partition(":")
    with closing(http.client.HTTPConnection(host, int(port), timeout=300, source_address=(ADDRESS, 0))) as line:
        line.request(method, path, body, {"X-Forwarded-For": PROXIED})
        answer = line.getresponse()
        return answer.status, json.loads(answer.read())


def invited(service: Served) -> list[Device]:
    library = Library()
    devices: list[Device] = []
    while len(devices) < DEVICES:
        issued = service.ask("POST", "/v1/campaigns/small/credentials", {"count": 50}).body.decode().split()
        for text in issued:
            _, told = ask(service, "POST", "/v1/check-in", json.dumps({"credential": text}).encode())
            if told["state"] == "invited":
                layer = fetch_layer(service, library, bytes.fromhex(told["layer"]))
                assert isinstance(layer, Layer)
                credential = Credential.parse(text)
                report = contribute(WORDS, layer)
                ticket = bytes.fromhex(told["ticket"])
                body = bytes(Submission(credential.campaign_id, credential.serial, ticket, report))
                devices.append(Device(credential, layer, report, body))
    return devices[:DEVICES]


@pytest.fixture(scope="module", params=["sqlite", "postgresql", "behind a proxy"])
def left(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Left:
    """Part of a campaign, with devices that are honest and some that are not, until the service is killed."""
    folder = tmp_path_factory.mktemp("traces")
    url = request.getfixturevalue("postgres")() if request.param == "postgresql" else str(folder / "service.db")
    process = Process(url, folder, free_port(), *(["--proxies", "1"] if request.param == "behind a proxy" else []))
    process.start()
    try:
        service = Served(process.address, process.token)
        # Long reports, so that there is something to look for.
        body = msgspec.to_builtins(
            definition(devices=2000, rehearsal=True, batch=BATCH, layer_seconds=1e6, parameters={"epsilon": 2.0})
        )
        assert service.ask("POST", "/v1/campaigns", body).status == 201
        service.ask("POST", "/v1/campaigns/small/start")
        wait_until(lambda: service.ask("GET", "/v1/campaigns/small/layers").json)
        devices = invited(service)
        for device in devices[:5]:  # what is wrong with them is told to them alone
            for wrong in (device.body[:-1], device.body[:40] + bytes(8) + device.body[48:], device.body + b"\0"):
                assert ask(service, "POST", "/v1/reports", wrong)[0] in (400, 401)
            forged = f"{device.credential.text[:-1]}{'A' if device.credential.text[-1] != 'A' else 'Q'}"
            assert ask(service, "POST", "/v1/check-in", json.dumps({"credential": forged}).encode())[0] in (400, 401)
        with ThreadPoolExecutor(DEVICES) as pool:
            statuses = list(pool.map(lambda device: ask(service, "POST", "/v1/reports", device.body)[0], devices))
        assert set(statuses) <= {200, 202}
        assert 200 in statuses
        metrics = service.ask("GET", "/metrics").body
    finally:
        process.kill()
    database = open_database(url)
    with closing(database), database.reading() as db:
        ((smallest,),) = db.execute("SELECT MIN(reports) FROM sums")
        pieces = {str(file): file.read_bytes() for file in folder.iterdir() if file.is_file()}
    return Left(
        {**pieces, **(on_server(url) if request.param == "postgresql" else {}), "metrics": metrics}, devices, smallest
    )


def on_server(url: str) -> dict[str, bytes]:
    """The files of a database on a PostgreSQL server, and the server's log of what it writes."""
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("CHECKPOINT")
        ((folder, number),) = db.execute(
            "SELECT current_setting('data_directory'), oid FROM pg_database WHERE datname = current_database()"
        ).fetchall()
    files = [
        *Path(folder, "base", str(number)).iterdir(),
        *Path(folder, "pg_wal").iterdir(),
        *Path(folder).glob("log*"),
    ]
    return {str(file): file.read_bytes() for file in files if file.is_file()}


def forms(device: Device) -> dict[str, bytes]:
    """All that tells of one device, in every way in which it could be written down."""
    payload = device.report[HEADER_BYTES:]
    start = 9  # behind what reports have in common
    said = payload[start : start + WINDOW]
    assert len(set(said)) > WINDOW // 2, "there is too little to look for"
    votes = read_report(device.layer, device.report)
    alone = np.zeros(device.layer.randomizer.candidates, np.uint32)
    alone[votes] = 1
    packed = pack_sum(alone)
    some = votes[:5]
    return {
        "report": said,
        "report in hexadecimal": said.hex().encode(),
        "report in base64": base64.b64encode(payload[start:])[:WINDOW],
        "votes of 32 bits": some.astype(np.uint32).tobytes(),
        "votes of 64 bits": some.astype(np.int64).tobytes(),
        "votes as text": ", ".join(map(str, some)).encode(),
        "sum of one": packed[1:513],
        "credential": device.credential.text.encode()[60:100],
        "signature": device.credential.signature,
        "ticket": device.body[32:48],
        "ticket in hexadecimal": device.body[32:48].hex().encode(),
        "serial in hexadecimal": device.credential.serial.hex().encode(),
        "serial as text": repr(device.credential.serial)[2:-1].encode(),
        "address": ADDRESS.encode(),
        "address before the proxy": PROXIED.encode(),
    }


def is_found(wanted: bytes, pieces: Mapping[str, bytes]) -> bool:
    return any(wanted in piece for piece in pieces.values())


def test_nothing_of_a_device_is_left_behind(left: Left) -> None:
    assert len(left.pieces) >= 3
    for device in (*left.devices[:8], *left.devices[-4:]):
        assert not [what for what, wanted in forms(device).items() if is_found(wanted, left.pieces)]


def test_a_serial_is_with_those_that_were_counted_and_nowhere_else(left: Left) -> None:
    for what, piece in left.pieces.items():
        if "service.db" not in what and "base" not in what and "pg_wal" not in what:
            assert not any(device.credential.serial in piece for device in left.devices), what


def test_no_sum_of_less_than_a_batch_is_stored(left: Left) -> None:
    assert left.smallest >= BATCH


def test_the_search_finds_what_is_planted(left: Left) -> None:
    """Each thing that is looked for, put into a copy of what was left behind, is found."""
    device = left.devices[0]
    where = next(iter(left.pieces))
    for what, wanted in forms(device).items():
        half = len(left.pieces[where]) // 2
        planted = left.pieces[where][:half] + wanted + left.pieces[where][half:]
        assert is_found(wanted, {**left.pieces, where: planted}), what
