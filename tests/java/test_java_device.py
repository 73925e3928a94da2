"""The device for Java against the service, and through whatever can happen on the way."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from invitations import OPERATOR, STRANGER
from layers import small_layer, small_likely_layer
from neologue.device import HttpTransport
from neologue.device.contribution import contribute
from neologue.device.network.handover import HandedRequest, carry
from neologue.protocol.credential import Credential, issue
from neologue.protocol.invitation import invite
from neologue.protocol.report import read_report
from neologue.protocol.submission import Submission
from neologue.protocol.succession import succeed
from small_service import Fault, Service, error, instead, lost_after, lost_before, running

from .machine import DictatedWords, JavaError, JavaMachine

KEY = OPERATOR.public_key().public_bytes_raw().hex()
LOOSE = {
    "largestVoteRatio": 1e9,
    "largestClosedVoteRatio": 1e9,
    "largestSilenceRatio": 1e9,
    "fewestNoiseVotes": 0,
    "allowTargets": True,
}
"""No limit on what a report says of one word, for layers of a few candidates."""


class JavaDevice:
    """One device in the Java machine, whose folder outlives it."""

    def __init__(self, java: JavaMachine, folder: Path, server: str) -> None:
        self.java, self.folder = java, folder
        self.options: dict[str, Any] = {"server": server, "operator": KEY, "limits": LOOSE}

    @contextmanager
    def opened(self, **changes: object) -> Iterator["JavaDevice"]:
        self.options |= changes
        self.java.ask("open", name=str(self.folder), folder=str(self.folder), **self.options)
        try:
            yield self
        finally:
            self.java.ask("close", name=str(self.folder))

    def tick(self) -> tuple[str, float | None, str]:
        told = self.java.ask("tick", name=str(self.folder))
        return told["state"], told["again"], told["message"]

    @property
    def state(self) -> str:
        return self.tick()[0]

    def says(self, what: str, **given: object) -> Any:  # noqa: ANN401 - whatever the owner asks for
        return self.java.ask("owner", name=str(self.folder), says=what, **given)


@pytest.fixture
def service() -> Iterator[Service]:
    with running(Service()) as service:
        yield service


@pytest.fixture
def device(java: JavaMachine, service: Service, tmp_path: Path) -> JavaDevice:
    device = JavaDevice(java, tmp_path / "device", service.address)
    device.options |= {"credential": service.credential().text, "words": {"abcab": 2}}
    return device


def reports(service: Service) -> list[bytes]:
    """The reports that arrived, each time that they did."""
    return [Submission.parse(body).report for body in service.bodies]


def test_a_device_is_asked_answers_and_is_done(device: JavaDevice, service: Service) -> None:
    with device.opened():
        assert device.tick() == ("final", None, "the report was counted and erased from this device")
        assert device.state == "over"
        assert device.says("spent") == 3.0
        made, counted = device.says("receipts")
    assert service.requests == [
        ("POST", "/v1/check-in"),
        ("GET", f"/v1/layers/{service.layer.digest.hex()}"),
        ("GET", f"/v1/known/{service.layer.known.digest}"),
        ("POST", "/v1/reports"),
    ]
    (report,) = service.final.values()
    read_report(service.layer, report)
    assert "by at most a factor of e^3;" in made
    assert "was counted" in counted


def test_likely_strings_are_answered(java: JavaMachine, tmp_path: Path) -> None:
    with running(Service(small_likely_layer())) as service:
        device = JavaDevice(java, tmp_path, service.address)
        with device.opened(credential=service.credential().text, words={"abb": 1}):
            assert device.state == "final"
        (report,) = service.final.values()
        read_report(service.layer, report)


@pytest.mark.parametrize("fault", [lost_before, lost_after], ids=["request lost", "answer lost"])
def test_after_a_restart_the_same_bytes_are_sent_again(device: JavaDevice, service: Service, fault: Fault) -> None:
    service.ahead("/v1/reports", fault, fault)  # the platform tries a second time by itself
    with device.opened():
        state, again, _ = device.tick()
        assert state == "later"
        assert again is not None
        assert 30 <= again <= 60
    with device.opened():
        assert device.state == "final"
        assert device.says("spent") == 3.0
    assert len(set(reports(service))) == 1


def test_a_ticket_that_is_not_accepted_is_renewed_and_the_bytes_stay(device: JavaDevice, service: Service) -> None:
    service.ahead("/v1/reports", instead(error(503, "busy")), instead(error(401, "forged")))
    with device.opened():
        assert [device.state, device.state, device.state] == ["later", "refused", "final"]
    assert service.asked("/v1/check-in") == 2
    assert len(set(reports(service))) == 1


def test_too_late_is_too_late(device: JavaDevice, service: Service) -> None:
    service.closed = True
    with device.opened():
        assert device.state == "closed"
    with device.opened():
        assert device.state == "over"
        assert "given up" in device.says("receipts")[-1]


def test_it_waits_as_long_as_it_is_asked_to_within_reason(device: JavaDevice, service: Service) -> None:
    service.ahead("/v1/check-in", instead(error(429, "slow_down", Retry_After="9999999")))
    service.batch = 2
    with device.opened():
        assert device.tick()[:2] == ("later", 86400.0)
        assert device.tick()[:2] == ("received", 5.0)


def test_another_layer_is_not_answered_with_what_was_made(device: JavaDevice, service: Service) -> None:
    service.ahead("/v1/reports", instead(error(401, "forged")))
    with device.opened():
        assert device.state == "refused"
        service.layer = small_layer(["ab", "cb"], 5)
        service.documents[f"/v1/layers/{service.layer.digest.hex()}"] = service.layer.document
        state, again, message = device.tick()
    assert (state, again) == ("refused", 86400.0)
    assert "takes part once" in message
    assert service.bodies == []


def test_a_stranger_is_not_answered_and_nothing_is_fetched_for_them(device: JavaDevice, service: Service) -> None:
    service.operator = STRANGER
    with device.opened():
        assert "is not one of the 1 that this device answers" in device.tick()[2]
    assert service.requests == [("POST", "/v1/check-in")]


def test_a_new_key_is_followed_and_the_old_one_is_refused_for_good(device: JavaDevice, service: Service) -> None:
    service.operator = STRANGER
    service.links = [succeed(OPERATOR, STRANGER.public_key().public_bytes_raw())]
    service.state = "wait"
    with device.opened():
        assert device.state == "wait"
    service.operator, service.links, service.state = OPERATOR, [], "invited"
    with device.opened():
        assert "does not go back" in device.tick()[2]


def test_bytes_with_another_digest_are_refused(device: JavaDevice, service: Service) -> None:
    for path in service.documents:
        service.documents[path] += b" "
    with device.opened():
        assert "has another digest" in device.tick()[2]


def test_a_lifetime_is_a_sum_without_rounding(device: JavaDevice, service: Service) -> None:
    with device.opened(limits=LOOSE | {"lifetimeEpsilon": 3.0}):
        assert device.state == "final"
    service.campaign = bytes(16)
    device.options["credential"] = issue(bytes(16), OPERATOR).text
    with device.opened():
        assert "3.0 of ε spent before and 3.0 now make 6.0, above the 3.0" in device.tick()[2]


def test_nothing_is_stored_or_sent_before_the_owner_opts_in(device: JavaDevice, service: Service) -> None:
    with device.opened(credential=None):
        assert device.state == "out"
        assert device.says("words") == {}
    assert service.requests == []
    assert [path.name for path in device.folder.iterdir()] == ["lock"]


def test_an_opt_out_forgets_all_words_and_holds_a_report_back(device: JavaDevice, service: Service) -> None:
    service.ahead("/v1/reports", instead(error(503, "busy")))
    with device.opened():
        assert device.state == "later"
        device.says("opt out")
        assert device.says("words") == {}
        assert device.state == "out"
        assert service.bodies == []
        device.says("opt in")
        assert device.state == "final"


def test_who_wants_to_be_forgotten_is_forgotten_and_yet_answers_no_second_time(
    device: JavaDevice, service: Service
) -> None:
    with device.opened():
        assert device.state == "final"
        device.says("forget me")
        assert device.says("receipts") == []
        assert device.says("words") == {}
    device.options["credential"] = service.credential().text
    with device.opened():
        assert device.state == "over"
        assert device.says("spent") == 3.0
    assert len(service.bodies) == 1


def test_words_are_sealed_expire_and_are_forgotten(device: JavaDevice) -> None:
    with device.opened(words={"abcab": 2, "caca": 1}):
        device.says("forget", word="caca")
    assert b"abcab" not in (device.folder / "diary").read_bytes()
    device.options["words"] = {}
    with device.opened():
        assert device.says("words") == {"abcab": 2}
    device.java.ask("wait", days=59)
    with device.opened(words={"abba": 1}):
        assert device.says("words") == {"abcab": 2, "abba": 1}
    device.java.ask("wait", days=1)
    with device.opened(words={}):
        assert device.says("words") == {"abba": 1}
    device.java.ask("wait", days=-60)


def test_a_folder_has_one_device(device: JavaDevice) -> None:
    with device.opened(), pytest.raises(JavaError, match="close the other device"):
        device.java.ask("open", name="other", folder=str(device.folder), **device.options)


def test_a_damaged_record_is_refused(device: JavaDevice) -> None:
    with device.opened():
        pass
    record = device.folder / "record"
    record.write_bytes(record.read_bytes()[:-1])
    with pytest.raises(JavaError, match="is damaged"), device.opened():
        pass
    assert Credential.parse(device.options["credential"])


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("http://words.example.org", "without TLS"),
        ("http://127.0.0.1.example.org", "without TLS"),
        ("http://192.0.2.1", "without TLS"),
        ("https://words.example.org?a=b", "not the address of a service"),
        ("https://me@words.example.org", "not the address of a service"),
        ("ftp://localhost", "not the address of a service"),
        ("words.example.org", "not the address of a service"),
    ],
)
def test_an_address_that_anybody_could_read_or_that_is_none_is_refused(
    device: JavaDevice, service: Service, address: str, told: str
) -> None:
    with pytest.raises(JavaError, match=told), device.opened(server=address):
        pass
    assert service.requests == []


def test_a_large_document_waits_for_a_network_that_is_not_metered(device: JavaDevice, service: Service) -> None:
    with device.opened(metered_above=100):
        assert device.tick()[:2] == device.tick()[:2] == ("later", 21_600.0)
    assert service.asked("/v1/layers") == 1, "it is fetched once to see that it is too large"
    assert service.asked("/v1/check-in") == 2
    with device.opened(metered_above=None):
        assert device.state == "final"


def handed_over(device: JavaDevice, service: Service, answers: int | None = None) -> list[str]:
    """The states of a device that has no network, and whose files are carried; of a trip, so many answers arrive."""
    request, answer = device.folder.parent / "request.json", device.folder.parent / "answer.json"
    states: list[str] = []
    while not states or states[-1] == "later":
        with device.opened(server=None, request=str(request), answer=str(answer)):
            states.append(device.state)
        if request.exists():
            with HttpTransport(service.address) as transport:
                told = json.loads(carry(HandedRequest.parse(request.read_bytes()), transport))
            brought = len(json.loads(request.read_bytes())["answers"])
            answer.write_text(json.dumps(told | {"answers": told["answers"][: answers and brought + answers]}))
    return states


def test_documents_that_were_not_carried_are_asked_for_by_file(device: JavaDevice, service: Service) -> None:
    assert handed_over(device, service, answers=1) == ["later"] * 4 + ["final"]


def test_by_files_and_over_http_the_same_entropy_gives_the_same_bytes(
    device: JavaDevice, service: Service, tmp_path: Path
) -> None:
    entropy = os.urandom(1 << 14)
    device.options["entropy"] = entropy.hex()
    with device.opened():
        assert device.state == "final"
    other = JavaDevice(device.java, tmp_path / "other" / "device", service.address)
    other.options |= device.options | {"credential": service.credential().text}
    other.folder.mkdir(parents=True)
    assert handed_over(other, service) == ["later", "later", "final"]
    by_http, by_file = reports(service)
    assert by_file == by_http == contribute({"abcab": 2}, service.layer, DictatedWords(entropy))


def test_an_invitation_for_another_campaign_is_refused(device: JavaDevice, service: Service) -> None:
    told = service.invited(service.credential()) | {
        "signature": invite(bytes(16), service.layer, OPERATOR).signature.hex()
    }
    service.invited = lambda credential: told  # type: ignore[method-assign]
    with device.opened():
        assert "the signature is not the operator's" in device.tick()[2]
    assert service.requests == [("POST", "/v1/check-in")]
