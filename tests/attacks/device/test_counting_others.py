"""A device of a planned layer tries to learn from the answers to its report how many other devices came.

A batch is written when it has enough reports. If its devices were told at once, one who knows of all others but one
would see in which layer that one is.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from attacks.stranger.wire import attacked
from neologue.device.contribution import contribute
from neologue.protocol.credential import Credential
from neologue.service.campaigns.planned_rounds import GRACE
from neologue.service.worker import Worker
from service.campaigns import WORDS, definition
from service.serving import Reply, Served, wait_until
from service.test_worker import Opened, sent

BATCH = 10
LASTS, ANSWER = 5000.0, 300.0
DRAWN = {"layers": 1, "candidates": 20_000, "allocation": "drawn", "epsilon": 8.0, "delta": 1e-6}


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Town:
    """A service with one open layer whose slots are drawn."""

    service: Served
    clock: Clock
    opened: Opened
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock.now

    def device(self) -> tuple[Credential, str, bytes]:
        credential, told = self.opened.invited()
        return credential, told["ticket"], contribute(WORDS, self.opened.layer(told))

    def send(self, device: tuple[Credential, str, bytes]) -> Reply:
        credential, ticket, report = device
        return sent(self.opened, credential, ticket, report)

    def layer(self) -> dict[str, Any]:
        told: list[dict[str, Any]] = self.service.ask("GET", f"/v1/campaigns/{self.opened.name}/layers").json
        return told[0]

    def waiting(self) -> int:
        metrics = self.service.ask("GET", "/metrics").body.decode()
        return int(float(metrics.partition("\nneologue_waiting_reports ")[2].split()[0]))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def town(tmp_path: Path, clock: Clock) -> Iterator[Town]:
    with attacked(tmp_path, lambda settings: Worker(settings, clock)) as (service, _):
        asked = definition(
            name="hiding",
            rehearsal=True,
            devices=160,
            parameters=DRAWN,
            layer_seconds=LASTS,
            answer_seconds=ANSWER,
        )
        assert service.ask("POST", "/v1/campaigns", msgspec.to_builtins(asked)).status == 201
        service.ask("POST", "/v1/campaigns/hiding/start")
        wait_until(lambda: service.ask("GET", "/v1/campaigns/hiding/layers").json)
        yield Town(service, clock, Opened(service, "hiding"))


@pytest.mark.parametrize("others", [0, BATCH - 2, BATCH - 1, BATCH + 3])
def test_no_answer_tells_a_device_how_many_others_came(town: Town, others: int) -> None:
    """Not before the layer is over; then it is the same for all."""
    watcher = town.device()
    crowd = [town.device() for _ in range(others)]
    answers = [town.send(watcher)]
    answers += [town.send(device) for device in crowd]
    counted = (1 + others) // BATCH * BATCH
    wait_until(lambda: (town.layer()["reports"] > 0) == (counted > 0))
    answers.append(town.send(watcher))
    town.clock.now = town.layer()["deadline"] + ANSWER / 2
    answers.append(town.send(watcher))
    assert {(reply.status, reply.json["state"]) for reply in answers} == {(202, "received")}
    town.clock.now = town.layer()["deadline"] + ANSWER
    wait_until(lambda: town.send(watcher).status == 200)
    assert {town.send(device).json["state"] for device in [watcher, *crowd]} == {"final"}
    assert town.layer()["reports"] - town.layer()["made_up"] == 1 + others


def test_who_sent_is_to_come_again_in_time_to_be_counted_and_when_all_is_over(town: Town) -> None:
    """If the worker that had a report was killed, it is sent again while it still counts."""
    devices = [town.device() for _ in range(5)]
    deadline = town.layer()["deadline"]
    first = [town.clock.now + town.send(device).json["retry_after"] for device in devices]
    assert all(deadline <= moment <= deadline + ANSWER / 2 for moment in first)
    assert len(set(first)) == len(first), "not all at once"
    town.clock.now = deadline + ANSWER / 2
    then = [town.clock.now + town.send(device).json["retry_after"] for device in devices]
    assert all(deadline + ANSWER + GRACE <= moment <= deadline + 2 * ANSWER for moment in then)
