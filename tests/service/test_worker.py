"""The service over real HTTP: who may do what, what devices are told, and what becomes of wrong requests."""

import gzip
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neologue.device.contribution import contribute
from neologue.protocol.credential import Credential, issue
from neologue.protocol.documents import known_digest, read_known, read_layer
from neologue.protocol.layer import Layer
from neologue.protocol.submission import Submission
from neologue.service.api.rate_limit import LONGEST_WAIT

from .campaigns import WORDS, definition
from .serving import Reply, Served, served, wait_until


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("service")
    with served(f"sqlite:///{folder}/service.db", failures_per_minute=1e5) as running:
        yield running


@dataclass(frozen=True)
class Opened:
    """A campaign whose first layer is open."""

    service: Served
    name: str

    def credential(self) -> Credential:
        reply = self.service.ask("POST", f"/v1/campaigns/{self.name}/credentials", {"count": 1})
        return Credential.parse(reply.body.decode().strip())

    def invited(self) -> tuple[Credential, dict[str, str]]:
        """A device that is invited; most are told to wait."""
        while True:
            credential = self.credential()
            told = check_in(self.service, credential.text).json
            if told["state"] == "invited":
                return credential, told

    def layer(self, told: dict[str, str]) -> Layer:
        document = self.service.ask("GET", f"/v1/layers/{told['layer']}").body
        known = self.service.ask("GET", f"/v1/known/{known_digest(document)}").body
        layer = read_layer(document, read_known(known))
        assert isinstance(layer, Layer)
        assert layer.digest.hex() == told["layer"]
        return layer


@pytest.fixture
def opened(service: Served) -> Opened:
    name = f"campaign-{os.urandom(4).hex()}"
    body = msgspec.to_builtins(definition(rehearsal=True, name=name))
    assert service.ask("POST", "/v1/campaigns", body).status == 201
    assert service.ask("POST", f"/v1/campaigns/{name}/start").json["state"] == "running"
    wait_until(lambda: service.ask("GET", f"/v1/campaigns/{name}/layers").json)
    return Opened(service, name)


def check_in(service: Served, credential: str) -> Reply:
    return service.ask("POST", "/v1/check-in", {"credential": credential}, token="")


def sent(opened: Opened, credential: Credential, ticket: str, report: bytes) -> Reply:
    body = bytes(Submission(credential.campaign_id, credential.serial, bytes.fromhex(ticket), report))
    return opened.service.ask("POST", "/v1/reports", body, token="")


def test_a_report_is_received_and_final_once_there_are_enough(opened: Opened) -> None:
    devices = [opened.invited() for _ in range(10)]
    layer = opened.layer(devices[0][1])
    reports = [contribute(WORDS, layer) for _ in devices]

    def send(device: int) -> Reply:
        credential, told = devices[device]
        return sent(opened, credential, told["ticket"], reports[device])

    first = [send(device) for device in range(9)]
    assert {reply.status for reply in first} == {202}
    assert first[0].json["state"] == "received"
    # The tenth makes a batch. While the database is slow, anybody may be told to ask again.
    for device in (9, *range(9)):
        wait_until(lambda device=device: send(device).json == {"state": "final"})
    (view,) = opened.service.ask("GET", f"/v1/campaigns/{opened.name}/layers").json
    assert view["reports"] == 10


def test_documents_are_what_their_digests_say_and_may_be_kept_for_ever(opened: Opened) -> None:
    _, told = opened.invited()
    plain = opened.service.ask("GET", f"/v1/layers/{told['layer']}", Accept_Encoding="identity")
    packed = opened.service.ask("GET", f"/v1/layers/{told['layer']}", Accept_Encoding="gzip")
    assert hashlib.sha256(plain.body).hexdigest() == told["layer"]
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert "immutable" in plain.headers["cache-control"]
    again = opened.service.ask("GET", f"/v1/layers/{told['layer']}", If_None_Match=plain.headers["etag"])
    assert again.status == 304


def test_a_document_that_somebody_asked_for_too_early_is_there_when_it_is_there(service: Served) -> None:
    """The digest of a list of words is no secret."""
    given = definition(rehearsal=True, name="asked-for", known=["asked", "for", "early"])
    path = f"/v1/known/{given.campaign.known.digest}"
    assert [service.ask("GET", path).status for _ in range(3)] == [404, 404, 404]
    assert service.ask("POST", "/v1/campaigns", msgspec.to_builtins(given)).status == 201
    assert service.ask("GET", path).status == 404, "a draft is the operator's own"
    assert service.ask("POST", "/v1/campaigns/asked-for/start").status == 200
    assert service.ask("GET", path).body.split() == [b"asked", b"early", b"for"]


def test_a_forged_credential_is_refused_and_one_of_an_app_s_backend_is_not(service: Served) -> None:
    backend, stranger = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    body = msgspec.to_builtins(
        definition(rehearsal=True, name="backend", issuers=[backend.public_key().public_bytes_raw().hex()])
    )
    campaign = bytes.fromhex(service.ask("POST", "/v1/campaigns", body).json["id"])
    assert check_in(service, issue(campaign, backend).text).json["state"] == "wait"
    assert check_in(service, issue(campaign, stranger).text).code == "forged"
    assert check_in(service, issue(bytes(16), backend).text).code == "forged"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "malformed"),
        (b"{", 400, "malformed"),
        (b"[]", 400, "malformed"),
        (b'{"credential": 3}', 400, "malformed"),
        (b'{"credential": "\xff"}', 400, "malformed"),
        (b'{"credential": "' + 128 * b"!" + b'"}', 401, "forged"),
        (b'{"credential": "' + 128 * b"a" + b'"}', 401, "forged"),
        (5000 * b" ", 413, "too_large"),
    ],
)
def test_a_wrong_check_in_is_refused(service: Served, body: bytes, status: int, code: str) -> None:
    reply = service.ask("POST", "/v1/check-in", body, token="")
    assert (reply.status, reply.code) == (status, code)


def test_hostile_reports_are_refused_one_by_one(opened: Opened) -> None:
    credential, told = opened.invited()
    layer = opened.layer(told)
    report = contribute(WORDS, layer)
    other = issue(credential.campaign_id, Ed25519PrivateKey.generate())
    unknown = Credential(os.urandom(16), credential.serial, credential.signature)
    ones = report[:9] + len(report[9:]) * b"\xff"
    cases = [
        (sent(opened, credential, told["ticket"], report[:-1]), 400, "malformed"),
        (sent(opened, credential, told["ticket"], report + b"\0"), 400, "malformed"),
        (sent(opened, credential, told["ticket"], ones), 400, "overfull"),
        (sent(opened, credential, 32 * "0", report), 401, "forged"),
        (sent(opened, other, told["ticket"], report), 401, "forged"),
        (sent(opened, credential, told["ticket"], b"\3" + report[1:]), 400, "malformed"),
        (sent(opened, credential, told["ticket"], report[:1] + bytes(8) + report[9:]), 404, "unknown"),
        (sent(opened, unknown, told["ticket"], report), 404, "unknown"),
        (opened.service.ask("POST", "/v1/reports", b"short", token=""), 400, "malformed"),
        (sent(opened, credential, told["ticket"], report + 300_000 * b"x"), 413, "too_large"),
        (opened.service.ask("POST", "/v1/reports", 300_000 * b"x", token=""), 404, "unknown"),
    ]
    assert [(reply.status, reply.code) for reply, _, _ in cases] == [(status, code) for _, status, code in cases]
    (view,) = opened.service.ask("GET", f"/v1/campaigns/{opened.name}/layers").json
    assert view["reports"] == 0


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.binary(max_size=400))
def test_no_bytes_make_the_service_fail(service: Served, body: bytes) -> None:
    for path in ("/v1/reports", "/v1/check-in", "/v1/campaigns", "/v1/tokens"):
        assert service.ask("POST", path, body).status < 500


def test_an_analyst_reads_what_is_released_and_nothing_else(opened: Opened) -> None:
    ask = opened.service.ask
    token = ask("POST", "/v1/tokens", {"name": f"ana {opened.name}", "role": "analyst"}).json["token"]
    assert ask("GET", "/v1/campaigns", token=token).status == 200
    assert ask("GET", f"/v1/campaigns/{opened.name}", token=token).status == 200
    for method, path in (
        ("GET", f"/v1/campaigns/{opened.name}/layers"),
        ("GET", f"/v1/campaigns/{opened.name}/prefixes"),
        ("POST", f"/v1/campaigns/{opened.name}/abort"),
        ("POST", f"/v1/campaigns/{opened.name}/credentials"),
        ("POST", "/v1/campaigns"),
        ("GET", "/v1/tokens"),
        ("GET", "/v1/audit"),
    ):
        assert ask(method, path, token=token).code == "forbidden", path
    assert ask("GET", f"/v1/campaigns/{opened.name}/words", token=token).code == "not_now"
    assert ask("DELETE", f"/v1/tokens/ana%20{opened.name}").status == 200
    assert ask("GET", "/v1/campaigns", token=token).code == "no_token"


def test_everything_but_the_public_key_needs_a_token(service: Served) -> None:
    description = service.ask("GET", "/openapi.json").json
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            if "security" in operation:
                reply = service.ask(method.upper(), path.replace("{name}", "x"), token="wrong")
                assert (reply.status, reply.code) == (401, "no_token"), path
    assert len(service.ask("GET", "/v1/key", token="").json["operator"]) == 64


def test_a_body_that_nobody_asked_for_is_not_taken(service: Served) -> None:
    for body, status in ((b"x" * 1024, 200), (b"x" * 1025, 413)):
        assert service.ask("GET", "/v1/key", body, token="").status == status, "this one is open to strangers"
        assert service.ask("GET", "/v1/campaigns", body).status == status


def test_tokens_are_shown_once_and_kept_as_hashes(service: Served, tmp_path_factory: pytest.TempPathFactory) -> None:
    token = service.ask("POST", "/v1/tokens", {"name": "once", "role": "operator"}).json["token"]
    assert token not in service.ask("GET", "/v1/tokens").body.decode()
    folder = next(tmp_path_factory.getbasetemp().glob("service*"))
    files = [file for file in folder.iterdir() if file.is_file()]
    assert files
    assert not any(token.encode() in file.read_bytes() for file in files)


def test_operators_deeds_are_on_record(opened: Opened) -> None:
    audit_entries = opened.service.ask("GET", "/v1/audit").json
    mine = [deed["action"] for deed in audit_entries if deed["subject"] == opened.name]
    assert mine[::-1] == ["create campaign", "start campaign"]


def test_while_a_campaign_is_held_reports_wait(opened: Opened) -> None:
    credential, told = opened.invited()
    report = contribute(WORDS, opened.layer(told))
    assert opened.service.ask("POST", f"/v1/campaigns/{opened.name}/pause").json["state"] == "paused"
    reply = sent(opened, credential, told["ticket"], report)
    assert (reply.status, reply.code) == (503, "busy")
    assert int(reply.headers["retry-after"]) > 0
    assert check_in(opened.service, credential.text).json["state"] == "wait"
    opened.service.ask("POST", f"/v1/campaigns/{opened.name}/start")
    assert sent(opened, credential, told["ticket"], report).status == 202


def test_a_late_report_is_told_so(opened: Opened) -> None:
    credential, told = opened.invited()
    report = contribute(WORDS, opened.layer(told))
    opened.service.ask("POST", f"/v1/campaigns/{opened.name}/abort")
    reply = sent(opened, credential, told["ticket"], report)
    assert (reply.status, reply.code) == (410, "closed")
    assert check_in(opened.service, credential.text).json == {"state": "over"}


def test_who_sends_wrong_things_again_and_again_is_slowed_down(tmp_path: Path) -> None:
    with served(f"sqlite:///{tmp_path}/service.db", failures_per_minute=5) as service:
        statuses = [service.ask("POST", "/v1/reports", b"x").status for _ in range(7)]
        assert statuses == [400, 400, 400, 400, 400, 429, 429]
        reply = service.ask("GET", "/v1/nothing")
        assert reply.code == "slow_down"
        assert 1 <= int(reply.headers["retry-after"]) <= LONGEST_WAIT
        assert service.ask("GET", "/v1/campaigns").status == 200, "who is in the right is served as ever"


def test_metrics_tell_of_outcomes_and_of_nobody(opened: Opened) -> None:
    credential, told = opened.invited()
    sent(opened, credential, 32 * "0", contribute(WORDS, opened.layer(told)))
    text = opened.service.ask("GET", "/metrics").body.decode()
    assert 'neologue_reports_total{outcome="forged"}' in text
    assert credential.serial.hex() not in text
    assert opened.name not in text


def test_metrics_tell_how_many_reports_wait_and_nothing_of_what_they_hold(tmp_path: Path) -> None:
    with served(f"sqlite:///{tmp_path}/service.db") as service:
        body = msgspec.to_builtins(definition(rehearsal=True, name="waiting"))
        service.ask("POST", "/v1/campaigns", body)
        service.ask("POST", "/v1/campaigns/waiting/start")
        wait_until(lambda: service.ask("GET", "/v1/campaigns/waiting/layers").json)
        opened = Opened(service, "waiting")
        for words in ({}, WORDS):
            credential, told = opened.invited()
            assert sent(opened, credential, told["ticket"], contribute(words, opened.layer(told))).status == 202
        told_of = service.ask("GET", "/metrics").body.decode()
        waiting = [line for line in told_of.splitlines() if line.startswith("neologue_waiting")]
        assert waiting == ["neologue_waiting_reports 2.0"]


def test_what_is_not_there_has_the_same_shape(service: Served) -> None:
    assert service.ask("GET", "/v1/nothing").code == "unknown"
    assert service.ask("PUT", "/v1/campaigns").code == "method"
    assert service.ask("GET", f"/v1/layers/{64 * '0'}").code == "unknown"
    assert service.ask("GET", "/v1/layers/none").code == "unknown"
    assert service.ask("GET", "/v1/campaigns/none").code == "unknown"
    assert json.loads(service.ask("GET", "/readyz").body) == {"status": "ready"}
