"""The device for Java, whose limits demand witnesses: it answers what is in the log for everybody."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from layers import small_layer
from neologue.conformance.scripted_log import WITNESSES
from neologue.transparency.evidence import binding_of
from small_service import running
from transparency.logged_service import LoggedService

from .machine import JavaError, JavaMachine
from .test_java_device import LOOSE, JavaDevice

KEYS = [witness.public_key().public_bytes_raw().hex() for witness in WITNESSES]


@pytest.fixture
def service() -> Iterator[LoggedService]:
    service = LoggedService()
    with running(service):
        yield service


@pytest.fixture
def device(java: JavaMachine, service: LoggedService, tmp_path: Path) -> JavaDevice:
    device = JavaDevice(java, tmp_path / "device", service.address)
    trust = {"logs": [service.log.key.hex()], "witnesses": KEYS, "quorum": 2}
    credential = service.credential().text
    device.options |= {"credential": credential, "words": {"abcab": 2}, "limits": {**LOOSE, **trust}}
    return device


def test_a_layer_that_is_in_the_log_is_answered(device: JavaDevice, service: LoggedService) -> None:
    with device.opened():
        assert device.state == "final"
    assert len(service.bodies) == 1


def test_a_layer_for_one_device_is_refused(device: JavaDevice, service: LoggedService) -> None:
    service.layer = small_layer(["ab", "cb"], 5)
    with device.opened():
        state, _, message = device.tick()
    assert state == "refused"
    assert "not in a log that this device knows" in message
    assert service.asked("/v1/layers") == 0


def test_too_few_witnesses_and_no_proof_are_refused(device: JavaDevice, service: LoggedService) -> None:
    service.proof = bytes(service.log.proof(0, cosigners=1))
    with device.opened():
        assert "1 of the 3 witnesses" in device.tick()[2]
        service.proof = None
        assert "without a proof" in device.tick()[2]
    assert not service.bodies


def test_a_log_that_goes_on_is_followed_and_a_fork_is_refused(device: JavaDevice, service: LoggedService) -> None:
    path = f"/v1/layers/{service.layer.digest.hex()}"
    document = service.documents.pop(path)
    with device.opened():
        assert device.state == "later", "it has seen the log, and not the layer"
    service.documents[path] = document
    service.log.operator.insert(0, b"another beginning")
    service.publish()
    with device.opened():
        assert "was forked" in device.tick()[2], "what was seen is remembered"
        service.log.operator.pop(0)
        service.log.operator.append(b"more")
        service.publish()
        assert device.state == "final"


def test_evidence_that_the_owner_accepts_is_fetched_before_the_layer(
    device: JavaDevice, service: LoggedService
) -> None:
    service.documents["/log/evidence"] = b"a quote"
    with device.opened(evidence=(b"a quote" + binding_of(service.log.key)).hex()):
        assert device.state == "final"
    paths = [path for _, path in service.requests]
    assert paths.index("/log/evidence") < paths.index(f"/v1/layers/{service.layer.digest.hex()}")


def test_other_evidence_is_refused(device: JavaDevice, service: LoggedService) -> None:
    service.documents["/log/evidence"] = b"a quote"
    with device.opened(evidence=(b"a quote" + binding_of(bytes(32))).hex()):
        assert "no evidence of where it runs" in device.tick()[2]
    del service.documents["/log/evidence"]
    with device.opened():
        assert device.state == "later", "none is shown"
    assert service.asked("/v1/layers") == 0
    with pytest.raises(JavaError, match="a quorum"), device.opened(limits=LOOSE):
        pass


def test_limits_that_demand_too_much_are_refused(device: JavaDevice) -> None:
    limits = device.options["limits"]
    wrong_limits: list[dict[str, object]] = [{"quorum": 4}, {"logs": []}, {"witnesses": KEYS[:1] * 2}, {"logs": ["00"]}]
    for wrong in wrong_limits:
        with pytest.raises(JavaError), device.opened(limits={**limits, **wrong}):
            pass
