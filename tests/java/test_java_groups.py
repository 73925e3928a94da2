"""A device in Java in a secure campaign: what it refuses, what it remembers, and what it tells its owner."""

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from device.test_participation import PROMISE, SecureService, layer_size
from groups import ISSUER, with_key
from invitations import STRANGER
from neologue.aggregation.group_outcome import GroupSum
from neologue.aggregation.masked_group import GroupServer, Stage
from neologue.device.masked import Ballot, Identity, Member
from neologue.masking.voucher import Issuers, vouch
from neologue.protocol.credential import Credential
from neologue.protocol.report import read_report
from small_service import CAMPAIGN, Reply, error, instead, running

from .machine import JavaMachine
from .test_java_device import LOOSE, JavaDevice

LIMITS = LOOSE | {"smallestGroup": 8}
OTHERS = 11
HEAD = 80
"""Campaign, serial, ticket and the digest of the layer are before every message to a group."""
WAIT = Reply.of(202, {"state": "received", "retry_after": 3})


class GroupService(SecureService):
    """Has one group: a device in Java, and others in Python that answer at once."""

    def __init__(self) -> None:
        super().__init__()
        self.server = GroupServer(self.terms(), Issuers(CAMPAIGN, PROMISE.issuers))
        entries = self.terms().entries
        self.votes = [np.random.default_rng(number).integers(0, 2, entries) for number in range(OTHERS)]
        self.others = {bytes([number]): self._other(votes) for number, votes in enumerate(self.votes)}
        self.sent: list[bytes] = []
        """The messages of the device in Java, each once."""

    def _other(self, votes: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> Member:
        key = Ed25519PrivateKey.generate()
        identity = Identity(CAMPAIGN, key, vouch(CAMPAIGN, key.public_key().public_bytes_raw(), ISSUER))
        terms = self.terms()
        return Member(terms, Ballot.of_votes(terms.layer, votes, terms.votes), PROMISE, identity)

    def _answer(self, method: str, path: str, body: bytes) -> Reply:
        if path == "/v1/cohorts":
            return layer_size(self.terms())
        if path == f"/v1/cohorts/{self.terms().group_id.hex()}":
            return self._group(body[HEAD:])
        return super()._answer(method, path, body)

    def _group(self, message: bytes) -> Reply:
        if message and message not in self.sent:
            self.sent.append(message)
            answers = {
                Stage.ADVERTISING: lambda member, _: member.advertise(),
                Stage.SHARING: Member.share,
                Stage.MASKING: Member.mask,
                Stage.CONFIRMING: Member.confirm,
                Stage.UNMASKING: Member.unmask,
            }
            for name, member in self.others.items():
                told = self.server.message_for(name) if self.server.stage > Stage.ADVERTISING else b""
                self.server.receive(name, answers[self.server.stage](member, told or b""))
            self.server.receive(b"java", message)
            self.server.advance()
        told = self.server.message_for(b"java")
        return Reply.of(200, {"state": "final"}) if told is None else Reply(200, told)


@pytest.fixture
def service() -> Iterator[GroupService]:
    with running(GroupService()) as service:
        assert isinstance(service, GroupService)
        yield service


@pytest.fixture
def device(java: JavaMachine, service: GroupService, tmp_path: Path) -> JavaDevice:
    device = JavaDevice(java, tmp_path / "device", service.address)
    joining = with_key(service.credential()).joining_text
    device.options |= {"credential": joining, "words": {"abcab": 2}, "limits": LIMITS}
    return device


def record_of(device: JavaDevice) -> dict[str, Any]:
    """What a device has on its disk."""
    content = (device.folder / "record").read_bytes()
    record: dict[str, Any] = json.loads(content[32:])
    return record


def rewrite(device: JavaDevice, **changes: object) -> None:
    """Give a device another record, as if it had ended earlier."""
    content = json.dumps(record_of(device) | changes).encode()
    (device.folder / "record").write_bytes(hashlib.sha256(content).digest() + content)


def masked(device: JavaDevice, service: GroupService) -> str:
    """Let a device mask its votes and be ended then; its report."""
    path = f"/v1/cohorts/{service.terms().group_id.hex()}"
    service.ahead(path, *[lambda _, answer: answer()] * 2, instead(error(503, "busy")))
    with device.opened():
        assert device.state == "later"
    report: str = record_of(device)["reports"][CAMPAIGN.hex()]
    return report


def test_votes_are_counted_in_a_sum(device: JavaDevice, service: GroupService) -> None:
    report = masked(device, service)
    service.server = GroupServer(service.terms(), Issuers(CAMPAIGN, PROMISE.issuers))
    service.others = {name: service._other(votes) for name, votes in zip(service.others, service.votes, strict=True)}
    service.sent.clear()
    rewrite(device, maskings={})
    with device.opened():
        assert device.tick() == ("final", None, "the votes were counted in a sum and erased from this device")
        made, first, again, counted = device.says("receipts")
        assert device.says("spent") == 3.0
        assert device.state == "over"
    assert isinstance(service.server.outcome, GroupSum)
    own = np.bincount(read_report(service.layer, bytes.fromhex(report)), minlength=service.terms().entries)
    assert np.array_equal(service.server.outcome.votes, sum(service.votes) + own)
    assert record_of(device)["reports"] == {}
    assert "only under masks: an operator that keeps to the protocol reads sums of at least 8 devices" in made
    assert "only their sum with those of others can be read, of at least 8 devices together" in first
    assert again == first
    assert "was counted" in counted


def test_the_signing_key_is_never_sent(device: JavaDevice, service: GroupService) -> None:
    with device.opened():
        assert device.state == "final"
    key = Credential.parse(device.options["credential"]).signing_key
    assert len(service.bodies) >= 8
    for body in service.bodies:
        assert key not in body
        assert base64.urlsafe_b64encode(key)[:40] not in body


@pytest.mark.parametrize("other", [{"smallest": 7}, {"corrupt": 4}, {"corrupt": 6}, {"dropout": 9}, {"dropout": 30}])
def test_another_group_than_promised_is_refused(
    device: JavaDevice, service: GroupService, other: dict[str, int]
) -> None:
    service.ahead("/v1/cohorts", instead(layer_size(service.terms(**other))))
    with device.opened():
        state, _, message = device.tick()
        assert device.says("spent") == 0
    assert state == "refused"
    assert "promised" in message
    assert service.asked("/v1/cohorts/") == 0


@pytest.mark.parametrize(
    ("limits", "named"),
    [
        ({"smallestGroup": 9}, "smallestGroup"),
        ({"largestMasked": 100}, "largestMasked"),
        ({"issuers": [STRANGER.public_key().public_bytes_raw().hex()]}, "can add the key to issuers"),
    ],
)
def test_a_promise_beyond_the_owner_s_limits_is_refused(
    device: JavaDevice, service: GroupService, limits: dict[str, object], named: str
) -> None:
    with device.opened(limits=LOOSE | limits):
        state, _, message = device.tick()
    assert state == "refused"
    assert named in message
    assert service.asked("/v1/cohorts") == service.asked("/v1/reports") == 0


def test_an_owner_who_demands_masks_gets_no_report_sent_without(device: JavaDevice, service: GroupService) -> None:
    service.promise = None
    with device.opened():
        state, _, message = device.tick()
        assert device.says("spent") == 0
    assert state == "refused"
    assert "smallestGroup" in message
    assert service.asked("/v1/reports") == 0


def test_a_promise_that_the_operator_has_not_signed_is_refused(device: JavaDevice, service: GroupService) -> None:
    told = service.invited(Credential.parse(device.options["credential"]))
    told["masked"] = bytes(replace(PROMISE, smallest=70)).hex()
    service.invited = lambda credential: told  # type: ignore[method-assign]
    with device.opened():
        assert "the signature is not the operator's" in device.tick()[2]
    assert service.requests == [("POST", "/v1/check-in")]


def test_a_device_without_a_signing_key_joins_no_group(device: JavaDevice, service: GroupService) -> None:
    with device.opened(credential=service.credential().text):
        state, _, message = device.tick()
    assert state == "refused"
    assert "signing keys" in message
    assert service.asked("/v1/cohorts") == 0


def test_a_device_that_was_to_mask_its_votes_never_sends_them_without(
    device: JavaDevice, service: GroupService
) -> None:
    """Not even if the operator signs an invitation to the same layer without masks when it asks for another ticket."""
    masked(device, service)
    rewrite(device, maskings={})
    service.ahead("/v1/cohorts", instead(error(401, "forged")))
    with device.opened(limits=LOOSE):
        assert device.state == "refused"
        service.promise = None
        service.ahead("/v1/cohorts", instead(error(503, "busy")))
        assert device.state == "later"
    assert record_of(device)["answered"]["masked"] == bytes(PROMISE).hex()
    assert service.asked("/v1/check-in") == 2
    assert service.asked("/v1/reports") == 0


def test_nor_does_one_that_has_lost_what_it_was_asked(device: JavaDevice, service: GroupService) -> None:
    masked(device, service)
    rewrite(device, maskings={}, answered=None)
    service.promise = None
    with device.opened(limits=LOOSE):
        assert "were made to leave under masks, and don't leave otherwise" in device.tick()[2]
    assert service.asked("/v1/reports") == 0


@pytest.mark.parametrize(
    "turned_away", [error(503, "busy"), error(410, "closed"), Reply.of(200, {"state": "final"}), error(401, "forged")]
)
def test_a_device_that_finds_no_group_has_made_no_votes(
    device: JavaDevice, service: GroupService, turned_away: Reply
) -> None:
    service.ahead("/v1/cohorts", instead(turned_away))
    with device.opened():
        device.tick()
        assert (device.says("spent"), device.says("receipts")) == (0, [])
    assert record_of(device)["answers"] == []


@pytest.mark.parametrize("out", [error(409, "out"), error(410, "closed")])
def test_a_device_whose_group_is_never_formed_is_asked_about_the_next_layer(
    device: JavaDevice, service: GroupService, out: Reply
) -> None:
    service.ahead(f"/v1/cohorts/{service.terms().group_id.hex()}", instead(WAIT), instead(out))
    with device.opened():
        assert device.tick()[:2] == ("received", 3.0)
        device.tick()
        assert service.asked("/v1/check-in") == 1, "while it had a place it was asked nothing else"
        service.goes_on()
        service.ahead("/v1/cohorts", instead(layer_size(service.terms(2))))
        service.ahead(f"/v1/cohorts/{'02' * 16}", instead(WAIT))
        assert device.state == "received"
        assert device.says("spent") == 0
    assert service.asked("/v1/check-in") == 2


@pytest.mark.parametrize(
    ("reply", "state"),
    [(Reply.of(200, {"state": "final"}), "final"), (error(410, "closed"), "closed"), (error(409, "out"), "closed")],
)
def test_a_device_that_was_ended_behind_its_votes_asks_what_became_of_them_and_masks_for_no_other(
    device: JavaDevice, service: GroupService, reply: Reply, state: str
) -> None:
    masked(device, service)
    service.ahead(f"/v1/cohorts/{service.terms().group_id.hex()}", instead(WAIT), instead(reply))
    before = len(service.sent)
    with device.opened():
        assert [device.state, device.state, device.state] == ["received", state, "over"]
        assert "given up" in device.says("receipts")[-1] or state == "final"
    assert len(service.sent) == before
    assert service.asked("/v1/cohorts") - service.asked("/v1/cohorts/") == 1, "it joined once"
    assert record_of(device)["reports"] == {}


def test_votes_for_an_earlier_layer_are_not_made_anew_for_the_next(device: JavaDevice, service: GroupService) -> None:
    masked(device, service)
    rewrite(device, maskings={}, answered=record_of(device)["answered"] | {"ticket": None})
    service.goes_on()
    with device.opened():
        assert device.state == "closed"
    assert record_of(device)["reports"] == {}
    assert service.asked("/v1/cohorts/") == 3


def test_a_lying_server_costs_the_device_its_place_and_no_votes(device: JavaDevice, service: GroupService) -> None:
    path = f"/v1/cohorts/{service.terms().group_id.hex()}"

    def shortened(_: object, answer: Any) -> Reply:  # noqa: ANN401 - as a fault is
        told: Reply = answer()
        return Reply(200, told.body[:-1])

    service.ahead(path, shortened)
    with device.opened():
        state, _, message = device.tick()
        assert device.says("spent") == 0
    assert state == "later"
    assert "this device has left its group: a message of the group is too short" in message


def test_an_owner_who_opts_out_sends_no_votes(device: JavaDevice, service: GroupService) -> None:
    service.ahead(f"/v1/cohorts/{service.terms().group_id.hex()}", instead(WAIT))
    with device.opened():
        assert device.state == "received"
        device.says("opt out")
        assert device.state == "out"
    assert service.sent == []
