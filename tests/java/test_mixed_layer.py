"""Devices in Java, in Python and in a browser in one layer of a real service, over HTTP and by files: equal sums."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import pytest

from neologue.device import Client, HttpTransport, Response
from neologue.device.network.handover import HandedRequest, carry
from neologue.device.network.transport import JSON, SMALL_ANSWER
from neologue.fleet.fleet import simulated_policy
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.credential import Credential
from neologue.protocol.documents import read_known, read_layer
from neologue.protocol.layer import Layer
from neologue.protocol.report import read_report
from neologue.protocol.submission import Submission
from neologue.service.storage.database_address import open_database
from neologue.service.storage.report_store import ReportStore
from sending import AT_ONCE
from service.campaigns import definition
from service.serving import Served, served, wait_until
from web.chromium import Browser, browsing
from web.pages import pages

from .machine import JavaMachine
from .test_java_device import LOOSE

EACH = 5
"""Devices of each kind: Java over HTTP, Java by files, Python, a browser."""
_REPORT: Final = """
    const { Device } = await import("/static/neologue-device.js");
    const [options, credential] = given;
    const sent = [], really = globalThis.fetch;
    globalThis.fetch = (address, told) => {
      if (address.endsWith("/v1/reports")) sent.push([...told.body]);
      return really(address, told);
    };
    const device = await Device.open(options);
    await device.optIn();
    await device.join(credential);
    await device.typed("lol", { times: 4 });
    const { state, message } = await device.tick();
    device.close();
    globalThis.fetch = really;
    return [state, message, sent];
"""
"""One step of a device in a page, and the bodies of the reports that it sent."""


class Recording:
    """A transport that keeps what was sent."""

    def __init__(self, service: Served, bodies: dict[bytes, bytes]) -> None:
        self._transport, self._bodies = HttpTransport(service.address), bodies
        self.close = self._transport.close

    def request(
        self, method: str, path: str, body: bytes = b"", kind: str = JSON, most: int = SMALL_ANSWER
    ) -> Response:
        if path == "/v1/reports":
            sent = Submission.parse(body)
            assert self._bodies.setdefault(sent.serial, sent.report) == sent.report, "the same bytes, each time"
        return self._transport.request(method, path, body, kind, most)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(tmp_path_factory.mktemp("profile")) as running:
        yield running


def test_java_by_files_java_by_http_python_and_a_browser_are_summed(
    java: JavaMachine, browser: Browser, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/service.db"
    bodies: dict[bytes, bytes] = {}
    with served(url, failures_per_minute=1e5, patience=0.3) as service, ExitStack() as open_devices:
        operator, campaign, invited = _invite(service, 4 * EACH)
        by_http, by_file, in_python, in_browser = (invited[start : start + EACH] for start in range(0, 4 * EACH, EACH))
        options: dict[str, object] = {
            "operator": operator,
            "limits": LOOSE | {"smallestLayerSize": 1},
            "words": {"lol": 3, "the": 1},
        }
        recording = Recording(service, bodies)
        open_devices.callback(recording.close)
        for number, credential in enumerate(by_file):
            files = {"request": str(tmp_path / f"request{number}"), "answer": str(tmp_path / f"answer{number}")}
            _report_by_files(java, recording, tmp_path / f"file{number}", options | files, credential)
        policy = replace(simulated_policy(bytes.fromhex(operator)), smallest_layer_size=1)
        for number, credential in enumerate(in_python):
            client = Client(tmp_path / f"python{number}", recording, policy, sending_time=AT_ONCE)
            device = open_devices.enter_context(client)
            device.typed_all({"lol": 2, "tbh": 1})
            device.join(credential)
            assert device.tick().state in ("received", "final")
        _report_from_pages(browser, service, operator, in_browser, bodies)
        devices = [
            {"folder": str(tmp_path / f"http{number}"), "server": service.address, "credential": credential, **options}
            for number, credential in enumerate(by_http)
        ]
        layer = _asked(service, by_file[0])
        assert java.ask("fleet", devices=devices) == {"FINAL": EACH}
        for number, credential in enumerate(by_http):
            record = json.loads((tmp_path / f"http{number}" / "sent").read_bytes()[32:])
            bodies[Credential.parse(credential).serial] = bytes.fromhex(record["reports"][campaign.hex()])
        storage = ReportStore(database := open_database(url))
        open_devices.callback(database.close)
        tally = storage.tally(campaign, 0)
        assert tally.reports == len(bodies) == 4 * EACH
        assert np.array_equal(tally.votes, _sum(layer, bodies))


def _invite(service: Served, devices: int) -> tuple[str, bytes, list[str]]:
    """The operator and the identity of a campaign that has begun, and devices that its first layer invites."""
    told = json.loads(msgspec.json.encode(definition(rehearsal=True, batch=EACH, layer_seconds=1e5)))
    assert service.ask("POST", "/v1/campaigns", told).status == 201
    assert service.ask("POST", "/v1/campaigns/small/start", {}).status == 200
    invited: list[str] = []

    def look() -> bool:
        reply = service.ask("POST", "/v1/campaigns/small/credentials", {"count": 20})
        invited.extend(
            text
            for text in reply.body.decode().split()
            if service.ask("POST", "/v1/check-in", {"credential": text}).json["state"] == "invited"
        )
        return len(invited) >= devices

    wait_until(look)
    operator: str = service.ask("GET", "/v1/key").json["operator"]
    return operator, Credential.parse(invited[0]).campaign_id, invited[:devices]


def _report_from_pages(
    browser: Browser, service: Served, operator: str, credentials: list[str], bodies: dict[bytes, bytes]
) -> None:
    """Let devices in a page report, and keep what they sent."""
    with pages(service.address) as address:
        browser.visit(address)
        for credential in credentials:
            policy = LOOSE | {"smallestLayerSize": 1}
            options = {"server": address, "operators": [operator], "sendingWindow": [0, 0.01], "policy": policy}
            state, message, sent = browser.run(_REPORT, options | {"name": credential[:60]}, credential)
            assert state in ("received", "final"), message
            for body in sent:
                submission = Submission.parse(bytes(body))
                bodies[submission.serial] = submission.report


def _report_by_files(
    java: JavaMachine, carrier: Recording, folder: Path, options: dict[str, object], credential: str
) -> None:
    """Let a device in Java that has no network send its report by files."""
    request, answer = Path(str(options["request"])), Path(str(options["answer"]))
    for expected in ("later", "later", "received"):
        java.ask("open", name="file", folder=str(folder), credential=credential, **options)
        state = java.ask("tick", name="file")["state"]
        java.ask("close", name="file")
        assert state in (expected, "final")
        if state == "later":
            answer.write_bytes(carry(HandedRequest.parse(request.read_bytes()), carrier))


def _asked(service: Served, credential: str) -> Layer | ClosedLayer:
    """The layer that a device is asked about."""
    digest = service.ask("POST", "/v1/check-in", {"credential": credential}).json["layer"]
    document = service.ask("GET", f"/v1/layers/{digest}").body
    known = read_known(service.ask("GET", f"/v1/known/{json.loads(document)['known']}").body)
    return read_layer(document, known)


def _sum(layer: Layer | ClosedLayer, bodies: dict[bytes, bytes]) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """The votes in some reports, by candidate."""
    total = np.zeros(layer.randomizer.candidates, np.int64)
    for report in bodies.values():
        np.add.at(total, read_report(layer, report), 1)
    return total
