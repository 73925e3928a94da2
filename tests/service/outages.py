"""A service that is killed again and again, while real clients go on talking to it over HTTP.

A few times in a test, hundreds of times in a soak; in tests/:

    python -m service.outages DATABASE KILLS [WORKERS]
"""

import json
import random
import sys
import tempfile
import threading
import time
from collections import deque
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from neologue.device.client import Client
from neologue.device.library import Library
from neologue.device.network.transport import JSON, SMALL_ANSWER, HttpTransport, Response
from neologue.device.policy import Policy
from neologue.discovery.tally import Tally
from neologue.fleet.fleet import simulated_policy
from neologue.protocol.credential import Credential
from neologue.protocol.report import read_report
from neologue.protocol.submission import Submission
from neologue.service.storage.database_address import open_database
from neologue.service.storage.report_store import ReportStore
from sending import AT_ONCE
from service.campaigns import WORDS, definition
from service.serving import Process, Served, fetch_layer, free_port, wait_until
from service.stores import same, spent_serials

THREADS: Final = 12
GROUP: Final = 40
"""How many new devices there are for each kill."""
MOST: Final = 2 * GROUP
"""The service is killed within so many requests after it began to serve; as many come from new devices at least."""
BATCH: Final = 5
PAUSE: Final = 0.02
AWAY: Final = 0.1
"""After how many seconds a device tries again when the service is away: it needs the machine to come back."""
STANDSTILL: Final = 0.5


@dataclass
class Recorder:
    """Keeps what each device sends."""

    line: HttpTransport
    crowd: "Crowd"

    def request(
        self, method: str, path: str, body: bytes = b"", kind: str = JSON, most: int = SMALL_ANSWER
    ) -> Response:
        if path == "/v1/reports":
            submission = Submission.parse(body)
            self.crowd.sent.setdefault(submission.serial, set()).add(submission.report)
        self.crowd.requests += 1
        return self.line.request(method, path, body, kind, most)


@dataclass
class Crowd:
    """Devices that are invited, and threads that let them tick whenever they can."""

    address: str
    folder: Path
    policy: Policy
    devices: deque[str] = field(default_factory=deque)
    """The credentials of those who still have something to do."""
    final: set[bytes] = field(default_factory=set)
    sent: dict[bytes, set[bytes]] = field(default_factory=dict)
    requests: int = 0
    """About how many were made; threads may count one for two."""
    over: bool = False
    broken: list[str] = field(default_factory=list)
    library: Library = field(default_factory=Library)

    def work(self) -> None:
        """Let one device after the other tick; for one of many threads."""
        try:
            with HttpTransport(self.address, seconds=20) as line:
                while not self.over:
                    try:
                        credential = self.devices.popleft()
                    except IndexError:
                        time.sleep(PAUSE)
                        continue
                    self._tick(credential, Recorder(line, self))
        except BaseException as error:
            self.broken.append(repr(error))
            raise

    def _tick(self, credential: str, transport: Recorder) -> None:
        serial = Credential.parse(credential).serial
        folder = self.folder / serial.hex()
        with Client(folder, transport, self.policy, library=self.library, sending_time=AT_ONCE) as client:
            tick = client.tick()
            if tick.state == "alone":
                client.typed("lol", WORDS["lol"])
                client.join(credential)
                tick = client.tick()
        if tick.state == "final":
            self.final.add(serial)
        elif tick.state in ("received", "later"):
            self.devices.append(credential)
            if tick.state == "later":
                time.sleep(AWAY)
        else:
            raise AssertionError(f"a device is told: {tick.message}")


def endure(url: str, kills: int, workers: int = 1, seed: int = 0) -> int:
    """Kill the service so many times; then check that what devices were told is what is counted, bit for bit.

    Says how many reports that were.
    """
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="neologue-outages-") as folder, ExitStack() as stack:
        process = Process(url, Path(folder), free_port(), "--workers", str(workers), "--requests-per-second", "100000")
        process.start()
        stack.callback(process.kill)
        service = Served(process.address, process.token)
        campaign = _started(service)
        policy = simulated_policy(bytes.fromhex(service.ask("GET", "/v1/key").json["operator"]))
        crowd = Crowd(process.address, Path(folder), policy)
        invited, digest = _invited(service, GROUP * (kills + 1))
        threads = [threading.Thread(target=crowd.work) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        try:
            for kill in range(kills):
                moment = crowd.requests + dice.randrange(MOST)
                crowd.devices.extend(invited.pop() for _ in range(GROUP))
                wait_until(lambda moment=moment: crowd.broken or crowd.requests >= moment)
                if workers > 1 and kill % 2:
                    process.kill_worker(dice)
                else:
                    process.kill()
                    process.start()
            counted = _all_final(crowd, GROUP * kills, invited)
        finally:
            crowd.over = True
            for thread in threads:
                thread.join()
        layer = fetch_layer(service, crowd.library, digest)
        assert process.stop() == 0
        stack.pop_all()
    assert all(len(reports) == 1 for reports in crowd.sent.values()), "a device has sent different reports"
    reports = {serial: next(iter(reports)) for serial, reports in crowd.sent.items()}
    with closing(open_database(url)) as database:
        assert spent_serials(database) == crowd.final, "what devices were told is not what is on record"
        told = Tally.of(layer.randomizer.candidates, (read_report(layer, reports[serial]) for serial in crowd.final))
        assert same(ReportStore(database).tally(campaign, 0), told), "the tally is not the sum of the confirmed reports"
    return counted


def _all_final(crowd: Crowd, devices: int, more: list[str]) -> int:
    """Wait until everybody is told that they are counted, at last without a kill; how many that are.

    One device after the other is added when nothing moves: less than a batch would wait for ever.
    """
    heard, since = 0, time.monotonic()

    def is_done() -> bool:
        nonlocal heard, since, devices
        assert not crowd.broken, crowd.broken
        if len(crowd.final) > heard:
            heard, since = len(crowd.final), time.monotonic()
        elif more and time.monotonic() - since > STANDSTILL:
            since = time.monotonic()
            devices += 1
            crowd.devices.append(more.pop())
        return len(crowd.final) == devices

    wait_until(is_done, 240)
    return devices


def _started(service: Served) -> bytes:
    """A campaign whose first layer takes more reports than will ever come."""
    body = msgspec.to_builtins(
        definition(rehearsal=True, name="outages", devices=1_000_000, layer_seconds=1e6, batch=BATCH)
    )
    campaign = bytes.fromhex(service.ask("POST", "/v1/campaigns", body).json["id"])
    service.ask("POST", "/v1/campaigns/outages/start")
    wait_until(lambda: service.ask("GET", "/v1/campaigns/outages/layers").json)
    return campaign


def _invited(service: Served, count: int) -> tuple[list[str], bytes]:
    """The credentials of devices that the first layer asks, and its digest; others are told to wait."""
    invited: list[str] = []
    with HttpTransport(service.address) as line:
        while len(invited) < count:
            issued = service.ask("POST", "/v1/campaigns/outages/credentials", {"count": 1000}).body.decode().split()
            for credential in issued:
                told = line.request("POST", "/v1/check-in", json.dumps({"credential": credential}).encode())
                answer = json.loads(told.body)
                if answer["state"] == "invited":
                    invited.append(credential)
                    digest = bytes.fromhex(answer["layer"])
    return invited, digest


if __name__ == "__main__":
    print(endure(sys.argv[1], int(sys.argv[2]), *map(int, sys.argv[3:])))
