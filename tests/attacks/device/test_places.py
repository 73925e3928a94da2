"""One credential has one place of a layer at a worker, whatever its device sends: it keeps nobody else out."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from attacks.stranger.wire import attacked
from neologue.device.contribution import contribute
from neologue.protocol.credential import Credential
from neologue.protocol.layer import Layer
from neologue.protocol.ticket import block_of
from neologue.service.ops.settings import SHORTEST_PATIENCE
from neologue.service.storage.place_store import kept_places
from neologue.service.worker import Worker
from service.campaigns import WORDS, definition
from service.serving import Served, wait_until
from service.test_worker import Opened, check_in, sent

ATTEMPTS = 10


@pytest.fixture(scope="module")
def attack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Worker]]:
    limits: dict[str, Any] = {"failures_per_minute": 1e6, "patience": SHORTEST_PATIENCE}
    with attacked(tmp_path_factory.mktemp("attacked"), **limits) as running:
        yield running


def started(service: Served, name: str) -> Opened:
    """A campaign whose first layer is open, for longer than the attack lasts."""
    # A block of places is at hand for 5 seconds, and its places are kept for the time to answer behind that.
    drawn = definition(name=name, devices=300, layer_seconds=1e6, answer_seconds=3600.0)
    assert service.ask("POST", "/v1/campaigns", msgspec.to_builtins(drawn)).status == 201
    service.ask("POST", f"/v1/campaigns/{name}/start")
    wait_until(lambda: service.ask("GET", f"/v1/campaigns/{name}/layers").json)
    return Opened(service, name)


def given(worker: Worker, credential: Credential) -> int:
    """How many places of the first layer the worker has given to devices."""
    layer = worker._places._layers[credential.campaign_id, 0]
    with worker.database.reading() as db:
        return sum(kept_places(db, credential.campaign_id, 0, 0.0).values()) - layer.left


def cut_short(report: bytes) -> bytes:
    return report[:-1]


def unchanged(report: bytes) -> bytes:
    return report


def of_another_version(report: bytes) -> bytes:
    return b"\xff" + report[1:]


@pytest.mark.parametrize("spoil", [cut_short, unchanged, of_another_version])
def test_a_credential_gets_one_place_whatever_it_sends(
    attack: tuple[Served, Worker], spoil: Callable[[bytes], bytes]
) -> None:
    service, worker = attack
    opened = started(service, f"hogged-{spoil.__name__}".replace("_", "-"))
    credential, told = opened.invited()
    report = spoil(contribute(WORDS, opened.layer(told)))
    blocks = set()
    for _ in range(ATTEMPTS):
        told = check_in(service, credential.text).json
        assert told["state"] == "invited"
        blocks.add(block_of(bytes.fromhex(told["ticket"])))
        sent(opened, credential, told["ticket"], report)
    assert len(blocks) == 1
    # Places that nobody was given are on their way back at times.
    wait_until(lambda: given(worker, credential) == 1, seconds=10)


def test_a_credential_that_is_counted_gets_no_place_at_all(attack: tuple[Served, Worker]) -> None:
    service, worker = attack
    opened = started(service, "counted")
    devices = [opened.invited() for _ in range(definition().batch)]
    layer: Layer = opened.layer(devices[0][1])
    reports = [contribute(WORDS, layer) for _ in devices]

    def is_counted(device: int) -> bool:
        credential, told = devices[device]
        return sent(opened, credential, told["ticket"], reports[device]).status == 200

    # All of them each time: below a batch none is counted.
    wait_until(lambda: sum(map(is_counted, range(len(devices)))) == len(devices))
    credential = devices[0][0]
    # As when their time is over, or at another worker: nothing in memory tells of them.
    worker._places._layers[credential.campaign_id, 0].given.clear()
    wait_until(lambda: given(worker, credential) == 0, seconds=10)
    for counted, _ in devices:
        told = check_in(service, counted.text).json
        assert told["state"] == "invited"
        assert block_of(bytes.fromhex(told["ticket"])) == 0
    wait_until(lambda: given(worker, credential) == 0, seconds=10)
