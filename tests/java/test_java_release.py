"""A device for Java finds the layer that it answered in a release, or says what is wrong with it; as in Python."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from invitations import OPERATOR, STRANGER, campaign_id
from neologue.masking.terms import Promise
from neologue.protocol.succession import succeed
from neologue.release.signature import sign_document
from small_service import CAMPAIGN, Service, running

from .machine import JavaError, JavaMachine
from .test_java_device import JavaDevice
from .test_java_groups import record_of, rewrite

MASKED: Final = {"size": 20, "smallest": 8, "dropout": 10, "corruption": 1, "risk": 1e-6, "groups": 1, "limited": True}
"""Of 20 devices, of which one in a hundred is corrupt, at most 5 are, but for the risk."""
PROMISE: Final = Promise(smallest=8, dropout=10, corrupt=5, issuers=(bytes(32),))


@pytest.fixture
def service() -> Iterator[Service]:
    with running(Service()) as service:
        yield service


@pytest.fixture
def device(java: JavaMachine, service: Service, tmp_path: Path) -> JavaDevice:
    device = JavaDevice(java, tmp_path / "device", service.address)
    device.options |= {"credential": service.credential().text, "words": {"abcab": 2}}
    return device


def release(service: Service, **changes: object) -> dict[str, Any]:
    """What a device looks at in a release, and what is hard to write in one way."""
    return {
        "format": 3,
        "campaign": CAMPAIGN.hex(),
        "parameters": {"epsilon": 3.0, "words_per_user": 4, "delta": 1e-10, "share": 1e21, "ä": 0.1, "😀": -0.0},
        "layers": [{"digest": "00" * 32}, {"digest": service.layer.digest.hex()}],
        "measurement": None,
        "words": [{"word": "“ß”\n\u001f\\/\u007f", "count": 2**53 - 1, "estimate": [12345.6, 1e-7, 1.5e300, 5e-324]}],
        "exposure": {"masked": None},
    } | changes


LIES: Final[dict[str, dict[str, object]]] = {
    "is not signed by the operator": {},
    "is not among those of the release": {"layers": []},
    "another ε": {"parameters": {"epsilon": 2.0, "words_per_user": 4}},
    "fewer words per user": {"parameters": {"epsilon": 3.0, "words_per_user": 1}},
    "other masks": {"exposure": {"masked": MASKED}},
    "answered nothing": {"campaign": campaign_id(2).hex()},
}


def test_what_a_release_says_otherwise_is_named(device: JavaDevice, service: Service) -> None:
    said = release(service)
    with device.opened():
        assert "answered nothing" in device.says("check release", release=signed(said))[0]
        assert device.state == "final"
        requests = len(service.requests)
        assert device.says("check release", release=signed(said)) == []
        most = said["parameters"] | {"words_per_user": 5}
        assert device.says("check release", release=signed(said | {"parameters": most})) == [], "no layer has more"
        assert (
            device.says("check release", release=signed(release(service, layers=[], measurement=said["layers"][1])))
            == []
        )
        for named, changes in LIES.items():
            key = STRANGER if "signed" in named else OPERATOR
            (objection,) = device.says("check release", release=signed(said | changes, key))
            assert named in objection
        changed = json.dumps(json.loads(signed(said)) | {"words": []})
        assert "is not signed" in device.says("check release", release=changed)[0]
        assert "is not signed" in device.says("check release", release=json.dumps(said))[0]
        for text in ("{", "[]", '{"format": 2}', signed(said).replace('"epsilon"', '"epsilon": 2.0, "epsilon"')):
            with pytest.raises(JavaError, match="no release of format 3"):
                device.says("check release", release=text)
    assert len(service.requests) == requests, "nothing is sent"


def signed(document: dict[str, Any], key: Any = OPERATOR) -> str:  # noqa: ANN401
    return json.dumps(sign_document(document, key), ensure_ascii=False)


def test_a_release_may_be_signed_by_a_successor_that_is_known(device: JavaDevice, service: Service) -> None:
    text = signed(release(service), STRANGER)
    with device.opened():
        assert device.state == "final"
        assert len(device.says("check release", release=text)) == 1
        succession = bytes(succeed(OPERATOR, STRANGER.public_key().public_bytes_raw()))
        device.says("follow", succession=succession.hex())
        assert device.says("check release", release=text) == []
        assert device.says("check release", release=signed(release(service))) == [], "one of before still counts"


def test_masks_are_those_that_were_promised(device: JavaDevice, service: Service) -> None:
    with device.opened():
        assert device.state == "final"
    (answer,) = record_of(device)["answers"]
    rewrite(device, answers=[answer | {"masked": bytes(PROMISE).hex()}])
    others: list[dict[str, object]] = [
        {"smallest": 9},
        {"dropout": 11},
        {"corruption": 2},
        {"groups": 6000},
        {"risk": 0.1},
    ]
    with device.opened():
        for masked in [None, *(MASKED | other for other in others)]:
            text = signed(release(service, exposure={"masked": masked}))
            (objection,) = device.says("check release", release=text)
            assert "other masks" in objection
        assert device.says("check release", release=signed(release(service, exposure={"masked": MASKED}))) == []
        for wrong in ({"size": 20.5}, {"size": "20"}, {"groups": -1}):
            with pytest.raises(JavaError, match="no release"):
                device.says("check release", release=signed(release(service, exposure={"masked": MASKED | wrong})))
