"""Every message of a group, garbled and sent over HTTP: a clear error each time, and the group goes on."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from neologue.device.masked import Ballot, Identity, Member
from neologue.discovery.tally import Tally
from neologue.entropy import SeededEntropy
from neologue.language.vocabulary import Vocabulary
from neologue.masking.terms import Promise, Terms
from neologue.protocol.credential import Credential
from neologue.protocol.documents import known_digest, read_known, read_layer
from neologue.protocol.report import Asks, make_report, read_report
from neologue.service.storage.database_address import open_database
from neologue.service.storage.report_store import ReportStore
from service.masked_crowd import invited, started
from service.serving import Reply, Served, served
from service.stores import same

DEVICES = 8
LONG = {"layer_seconds": 1e5, "gather_seconds": 600.0, "stage_seconds": 600.0}
REFUSALS = {(400, "malformed"), (404, "unknown"), (401, "forged"), (413, "too_large")}
HEAD = 18
"""The bytes of a message that say what it is."""

Garbled = Callable[[bytes], bytes]


class Town:
    """The devices of one group, which speak the protocol byte by byte."""

    def __init__(self, service: Served) -> None:
        self.service = service
        self.campaign = started(service, devices=100_000, cohort_size=DEVICES, **LONG)
        credentials, self.digest = invited(service, DEVICES)
        self.layer = self._layer()
        parsed = [Credential.parse(text) for text in credentials]
        self.serials = [credential.serial for credential in parsed]
        told = [service.ask("POST", "/v1/check-in", {"credential": each.text}).json for each in parsed]
        self.tickets = [bytes.fromhex(reply["ticket"]) for reply in told]
        self.promise = Promise.parse(bytes.fromhex(told[0]["masked"]))
        self.identities = [
            Identity(self.campaign, Ed25519PrivateKey.from_private_bytes(each.signing_key), each.voucher)
            for each in parsed
        ]
        self.reports = [
            make_report(self.layer, np.array([device, 100]), SeededEntropy(device)) for device in range(DEVICES)
        ]
        self.terms = Terms.parse(bytes.fromhex(self.send(0, b"", joins=True).json["terms"]))
        self.path = f"/v1/cohorts/{self.terms.group_id.hex()}"
        self.members = self.new_members()

    def new_members(self) -> list[Member]:
        """All devices, as they join a group."""
        return [
            Member(self.terms, Ballot.of_report(self.layer, partial(bytes, report)), self.promise, who)
            for report, who in zip(self.reports, self.identities, strict=True)
        ]

    def _layer(self) -> Asks:
        document = self.service.ask("GET", f"/v1/layers/{self.digest.hex()}").body
        known: Vocabulary = read_known(self.service.ask("GET", f"/v1/known/{known_digest(document)}").body)
        return read_layer(document, known)

    def send(self, device: int, message: bytes, *, joins: bool = False, path: str | None = None) -> Reply:
        body = self.campaign + self.serials[device] + self.tickets[device] + self.digest + message
        return self.service.ask("POST", "/v1/cohorts" if joins else path or self.path, body)

    def answered(self, messages: list[bytes]) -> list[bytes]:
        """What all devices are answered, when each sends its message until it gets another one."""

        def until(device: int) -> bytes:
            while (reply := self.send(device, messages[device])).status == 202:
                pass
            assert reply.status == 200, reply.body
            return reply.body

        with ThreadPoolExecutor(DEVICES) as pool:
            return list(pool.map(until, range(DEVICES)))


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    with served(f"sqlite:///{tmp_path}/service.db", group_patience=0.5, failures_per_minute=1e6) as service:
        yield Town(service)


def attack(town: Town, message: bytes, anywhere: bool) -> None:
    """Send what a message can become on its way, from a device that has not sent it yet."""
    last = len(message) if anywhere else HEAD

    @settings(max_examples=25, deadline=None, derandomize=True, database=None)
    @given(
        st.one_of(
            st.tuples(st.integers(0, last - 1), st.integers(1, 255)).map(lambda flip: _flipped(message, *flip)),
            st.integers(1, len(message) - 1).map(lambda length: message[:length]),
            st.binary(min_size=1, max_size=40).map(lambda more: message + more),
            st.binary(min_size=1, max_size=200),
        )
    )
    def refused(garbled: bytes) -> None:
        reply = town.send(0, garbled)
        assert (reply.status, reply.code) in REFUSALS
        assert "Traceback" not in reply.body.decode()

    refused()


def _flipped(message: bytes, layer_index: int, by: int) -> bytes:
    return message[:layer_index] + bytes([message[layer_index] ^ by]) + message[layer_index + 1 :]


def test_a_group_goes_on_whatever_one_of_its_devices_sends(town: Town, tmp_path: Path) -> None:
    messages = [member.advertise() for member in town.members]
    steps = (
        (Member.share, False),
        (Member.mask, False),  # the rest of sealed shares and of votes may be any bytes
        (Member.confirm, True),
        (Member.unmask, True),  # every share is checked
    )
    attack(town, messages[0], anywhere=False)
    for step, anywhere in steps:
        told = town.answered(messages)
        messages = [step(member, message) for member, message in zip(town.members, told, strict=True)]
        attack(town, messages[0], anywhere)
    assert town.answered(messages) == [b'{"state":"final"}'] * DEVICES
    with closing(open_database(f"{tmp_path}/service.db")) as database:
        votes = Tally.of(town.layer.randomizer.candidates, (read_report(town.layer, each) for each in town.reports))
        assert same(ReportStore(database).tally(town.campaign, 0), votes)


def test_what_belongs_to_nobody_is_refused(town: Town) -> None:
    other = "/v1/cohorts/" + 16 * "ab"
    assert town.send(0, b"", path=other).code == "out"
    assert town.send(0, b"", path="/v1/cohorts/x").code == "unknown"
    assert town.service.ask("POST", "/v1/cohorts", b"short").code == "malformed"
    serial, town.serials[0] = town.serials[0], bytes(16)
    assert town.send(0, b"", joins=True).code == "forged"
    town.serials[0] = serial
    digest, town.digest = town.digest, bytes(32)
    assert town.send(0, b"", joins=True).code == "unknown"
    town.digest = digest
    early = town.members[0].advertise()
    assert town.send(0, early[:1] + b"\x05" + early[2:]).code == "malformed"
    assert town.send(0, bytes(3 << 20)).status in (413, 408)


def test_reports_without_masks_are_refused_in_a_secure_campaign(town: Town) -> None:
    body = town.campaign + town.serials[0] + town.tickets[0] + town.reports[0]
    refused = town.service.ask("POST", "/v1/reports", body)
    assert refused.code == "malformed"
    assert "masks" in refused.json["error"]["message"]


def test_a_device_that_comes_back_without_its_keys_waits_for_the_next_group(town: Town) -> None:
    assert town.send(0, town.members[0].advertise()).status == 202
    assert town.send(0, b"", joins=True).status == 503
    assert town.send(1, b"", joins=True).json["state"] == "cohort"


def test_the_same_device_is_not_in_two_sums(town: Town) -> None:
    """A device that masks votes for a second group, while the first may have its votes in a sum, is refused there."""
    told = town.answered([member.advertise() for member in town.members])
    shared = [member.share(message) for member, message in zip(town.members, told, strict=True)]
    vector = town.members[0].mask(town.answered(shared)[0])
    assert town.send(0, vector).status == 202
    second = Town.__new__(Town)
    second.__dict__ |= town.__dict__
    second.terms = Terms.parse(bytes.fromhex(town.send(0, b"", joins=True).json["terms"]))
    assert second.terms.group_id != town.terms.group_id
    second.path = f"/v1/cohorts/{second.terms.group_id.hex()}"
    second.members = second.new_members()
    told = second.answered([member.advertise() for member in second.members])
    shared = [member.share(message) for member, message in zip(second.members, told, strict=True)]
    twice = second.send(0, second.members[0].mask(second.answered(shared)[0]))
    assert twice.code == "malformed"
    assert "another group" in twice.json["error"]["message"]
