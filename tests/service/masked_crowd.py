"""Real clients of a secure campaign, each in a thread of its own; what they contribute is written down."""

import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import msgspec

from neologue.device.client import Client
from neologue.device.library import Library
from neologue.device.network.transport import JSON, SMALL_ANSWER, HttpTransport, Response
from neologue.device.policy import Policy
from neologue.discovery.tally import Tally
from neologue.errors import LaterError
from neologue.fleet.fleet import simulated_policy
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.credential import Credential
from neologue.protocol.layer import Layer
from neologue.protocol.report import read_report
from sending import AT_ONCE
from service.campaigns import WORDS, definition
from service.serving import Served, wait_until

SHARING, VECTOR, CONFIRMATION, UNMASKING = 3, 5, 7, 9
NUMBER: Final = 81
"""Where the number of a message to a group stands in the body of a request."""
PAUSE: Final = 0.3
MOST_SECONDS: Final = 300.0
SECURE: dict[str, Any] = {
    "aggregation": "secure",
    "cohort_size": 12,
    "smallest_cohort": 6,
    "dropout": 25,
    "corruption": 0,
    "gather_seconds": 1.0,
    "stage_seconds": 3.0,
    "parameters": {
        "candidates": 6_000,
        "frontier": 50,
        "depth": 3,
        "smallest_layer": 12,
        "k_anonymity": 3,
        "unique_chance": 0.0,
    },
}


@dataclass
class Watched:
    """A connection of one device, which may fall silent before one of its messages."""

    line: HttpTransport
    crowd: "Crowd"
    serial: bytes
    leaves: int | None = None
    silent: bool = False

    def request(
        self, method: str, path: str, body: bytes = b"", kind: str = JSON, most: int = SMALL_ANSWER
    ) -> Response:
        number = body[NUMBER] if path.startswith("/v1/cohorts/") and len(body) > NUMBER else 0
        if self.silent or (self.leaves is not None and number >= self.leaves):
            self.silent = True
            raise LaterError("silent")
        if number == VECTOR:
            self.crowd.note(self.serial)
        self.crowd.sends(self.serial, number)
        return self.line.request(method, path, body, kind, most)


@dataclass
class Crowd:
    """Devices that take part until each is told its end, or has fallen silent."""

    address: str
    folder: Path
    policy: Policy
    leaving: Mapping[int, int] = field(default_factory=dict)
    """By its number, before which message a device falls silent."""
    sends: Callable[[bytes, int], None] = lambda serial, number: None
    """Hears of each message, by its number, before it is sent."""
    over: Callable[[], bool] = lambda: False
    ended: dict[bytes, str] = field(default_factory=dict)
    contributed: dict[bytes, set[bytes]] = field(default_factory=dict)
    """By serial, the report whose votes a device has masked, whenever it did."""
    receipts: dict[bytes, list[str]] = field(default_factory=dict)
    ends: bool = False
    """Whether all of them are to stop."""
    broken: list[str] = field(default_factory=list)
    library: Library = field(default_factory=Library)

    def run(self, credentials: list[str]) -> None:
        """Let all of them take part."""
        threads = [threading.Thread(target=self._live, args=each) for each in enumerate(credentials)]
        for thread in threads:
            thread.start()

        def all_ended() -> bool:
            self.ends = self.over()
            alive = [thread for thread in threads if thread.is_alive()]
            for thread in alive[:1]:
                thread.join(PAUSE)
            return not alive

        try:
            wait_until(all_ended, MOST_SECONDS)
        finally:
            self.ends = True
        assert not self.broken, self.broken[:3]

    def note(self, serial: bytes) -> None:
        """Write down what a device contributes, as its account has it."""
        with closing(sqlite3.connect(self.folder / serial.hex() / "account.db", timeout=300)) as db:
            ((report,),) = db.execute("SELECT report FROM reports").fetchall()
        self.contributed.setdefault(serial, set()).add(report)

    def told(self, state: str) -> set[bytes]:
        """The serials of those who came to this end."""
        return {serial for serial, ended in self.ended.items() if ended == state}

    def sum_of(self, layer: Layer | ClosedLayer, serials: set[bytes]) -> Tally:
        """The plain sum of what some devices have contributed; each has masked the same votes, however often."""
        assert all(len(self.contributed[serial]) == 1 for serial in serials)
        reports = (next(iter(self.contributed[serial])) for serial in serials)
        return Tally.of(layer.randomizer.candidates, (read_report(layer, report) for report in reports))

    def _live(self, number: int, credential: str) -> None:
        serial = Credential.parse(credential).serial
        try:
            with HttpTransport(self.address, seconds=20) as line:
                watched = Watched(line, self, serial, self.leaving.get(number))
                folder = self.folder / serial.hex()
                with Client(folder, watched, self.policy, library=self.library, sending_time=AT_ONCE) as client:
                    for word, times in WORDS.items():
                        client.typed(word, times)
                    client.join(credential)
                    tick = client.tick()
                    while tick.again is not None and not watched.silent and not self.ends:
                        assert tick.state != "refused", tick.message
                        time.sleep(min(tick.again, 2 * PAUSE))
                        tick = client.tick()
                    self.receipts[serial] = client.receipts()
            self.ended[serial] = "silent" if watched.silent else tick.state
        except BaseException as error:
            self.broken.append(repr(error))
            raise


def secure_definition(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 - checked by the definition itself
    """A small secure campaign, as it is sent to the service; a rehearsal, as its stages are short."""
    made = definition(**{**SECURE, "rehearsal": True, **changes})
    told: dict[str, Any] = msgspec.to_builtins(made)
    return told


def started(service: Served, **changes: Any) -> bytes:  # noqa: ANN401
    """The identity of a secure campaign whose first layer is open."""
    created = service.ask("POST", "/v1/campaigns", secure_definition(**changes))
    assert created.status == 201, created.body
    name = created.json["name"]
    service.ask("POST", f"/v1/campaigns/{name}/start")
    wait_until(lambda: service.ask("GET", f"/v1/campaigns/{name}/layers").json)
    return bytes.fromhex(created.json["id"])


def policy_of(service: Served) -> Policy:
    """A policy that demands masks of this service."""
    key = bytes.fromhex(service.ask("GET", "/v1/key").json["operator"])
    return replace(simulated_policy(key), smallest_layer_size=1, smallest_group=6)


def invited(service: Served, count: int, name: str = "small") -> tuple[list[str], bytes]:
    """The credentials of devices that the open layer asks, and its digest."""
    found: list[str] = []
    digest = b""
    while len(found) < count:
        issued = service.ask("POST", f"/v1/campaigns/{name}/credentials", {"count": 4 * count}).body.decode().split()
        for credential in issued:
            told = service.ask("POST", "/v1/check-in", {"credential": Credential.parse(credential).text}).json
            if told["state"] == "invited" and len(found) < count:
                found.append(credential)
                digest = bytes.fromhex(told["layer"])
    return found, digest
