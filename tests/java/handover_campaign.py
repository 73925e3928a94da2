"""A whole campaign of devices in Java that have no network: python -m java.handover_campaign DEVICES, in tests/."""

import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import msgspec

from neologue.device import HttpTransport
from neologue.device.network.handover import HandedRequest, carry
from service.campaigns import WORDS, definition
from service.serving import Served, served

from .machine import JavaMachine, running_java
from .test_java_device import LOOSE

CARRIERS: Final = 16
AT_ONCE: Final = 200
"""Devices that take a step before their files are carried."""


class FileDevices:
    """Devices that leave their requests in files, and whoever carries these."""

    def __init__(self, java: JavaMachine, service: Served, folder: Path, operator: str, credentials: list[str]) -> None:
        self._java, self._service = java, service
        limits = LOOSE | {"smallestLayerSize": 1}
        self._waiting: list[dict[str, Any]] = [
            {
                "folder": str(folder / str(number)),
                "request": str(folder / f"{number}.request"),
                "answer": str(folder / f"{number}.answer"),
                "operator": operator,
                "limits": limits,
                "credential": credential,
                "words": WORDS,
            }
            for number, credential in enumerate(credentials)
        ]
        self.ends: Counter[str] = Counter()

    def go_round(self) -> None:
        """Let all devices that are not done take a step, and carry their requests."""
        with ThreadPoolExecutor(CARRIERS) as carriers:
            for some in list(_parts(self._waiting)):
                for device, state in zip(some, self._java.ask("steps", devices=some), strict=True):
                    # What is typed is typed once.
                    device["words"] = {}
                    if state in ("final", "closed", "over"):
                        self.ends[state] += 1
                        self._waiting.remove(device)
                list(carriers.map(self._carry, some))

    def _carry(self, device: dict[str, Any]) -> None:
        request, answer = Path(device["request"]), Path(device["answer"])
        answer.unlink(missing_ok=True)
        if request.exists():
            with HttpTransport(self._service.address) as transport:
                answer.write_bytes(carry(HandedRequest.parse(request.read_bytes()), transport))


def _parts(devices: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    for start in range(0, len(devices), AT_ONCE):
        yield devices[start : start + AT_ONCE]


def find_words(java: JavaMachine, folder: Path, devices: int) -> tuple[set[str], Counter[str], int]:
    """The words that a campaign of so many devices without a network finds, how their parts ended, and the reports."""
    with served(f"sqlite:///{folder}/service.db", failures_per_minute=1e6) as service:
        # Every device comes back, however long its files are on the way: places are kept, and no layer ends early.
        told = definition(rehearsal=True, devices=devices, layer_seconds=1e4, answer_seconds=1e3)
        assert service.ask("POST", "/v1/campaigns", json.loads(msgspec.json.encode(told))).status == 201
        assert service.ask("POST", "/v1/campaigns/small/start", {}).status == 200
        operator = service.ask("GET", "/v1/key").json["operator"]
        # More than are needed, so that no layer waits for its deadline.
        reply = service.ask("POST", "/v1/campaigns/small/credentials", {"count": 2 * devices})
        fleet = FileDevices(java, service, folder, operator, reply.body.decode().split())
        while service.ask("GET", "/v1/campaigns/small").json["state"] == "running":
            fleet.go_round()
        found = service.ask("GET", "/v1/campaigns/small/release").json["words"]
        layers = service.ask("GET", "/v1/campaigns/small/layers").json
        return {word["word"] for word in found}, fleet.ends, sum(layer["reports"] for layer in layers)


def main() -> None:
    """Run one campaign and say what it found."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, running_java(Path(folder) / "java") as java:
        found, ends, reports = find_words(java, Path(folder), int(sys.argv[1]))
    print(f"found {sorted(found)} in {reports:,} reports; {dict(ends)}; {time.monotonic() - started:,.0f} s")
    if found != set(WORDS):
        sys.exit(f"devices over HTTP find {sorted(WORDS)}")


if __name__ == "__main__":
    main()
