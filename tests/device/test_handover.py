"""A device without a network, and whoever carries its files."""

import base64
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from invitations import OPERATOR, STRANGER, policy
from neologue.cli.main import main
from neologue.conformance.scripted_log import WITNESSES
from neologue.device import Client, HttpTransport, Tick
from neologue.device.network.handover import HandedRequest, HandoverTransport, carry
from neologue.errors import ParameterError
from neologue.protocol.report import read_report
from neologue.protocol.submission import Submission
from sending import AT_ONCE
from small_service import Service, error, instead, running
from transparency.logged_service import TODAY, LoggedService


@pytest.fixture
def service() -> Iterator[Service]:
    with running(Service()) as service:
        yield service


def step(folder: Path, carried: bytes | None = None, **limits: Any) -> tuple[Tick, HandedRequest | None]:  # noqa: ANN401
    """One step of the device in a folder, which may open no socket."""
    with pytest.MonkeyPatch.context() as patch:

        def refused(*_: object, **__: object) -> None:
            raise AssertionError("a device that hands over its requests has opened a socket")

        patch.setattr(socket.socket, "__init__", refused)
        transport = HandoverTransport(carried)
        with Client(folder, transport, policy(**limits), clock=lambda: TODAY, sending_time=AT_ONCE) as client:
            return client.tick(), transport.pending


def prepare(folder: Path, service: Service) -> None:
    with Client(folder, HandoverTransport(), policy()) as client:
        client.join(service.credential().text)
        client.typed("abcab")


def handed(service: Service, request: HandedRequest | None) -> bytes:
    """What is carried back for a request, by way of its file."""
    assert request
    with HttpTransport(service.address) as transport:
        return carry(HandedRequest.parse(bytes(request)), transport)


def test_two_trips_are_a_report_and_the_device_opens_no_socket(tmp_path: Path, service: Service) -> None:
    prepare(tmp_path, service)
    tick, asked = step(tmp_path)
    assert (tick.state, asked and asked.path) == ("later", "/v1/check-in")
    tick, sent = step(tmp_path, handed(service, asked))
    assert (tick.state, sent and sent.path) == ("later", "/v1/reports")
    tick, nothing = step(tmp_path, handed(service, sent))
    assert (tick.state, nothing) == ("final", None)
    (report,) = service.final.values()
    read_report(service.layer, report)
    assert [path for _, path in service.requests] == [
        "/v1/check-in",
        f"/v1/layers/{service.layer.digest.hex()}",
        f"/v1/known/{service.layer.known.digest}",
        "/v1/reports",
    ]


def test_the_same_bytes_are_handed_over_until_they_are_final(tmp_path: Path, service: Service) -> None:
    prepare(tmp_path, service)
    _, asked = step(tmp_path)
    _, first = step(tmp_path, handed(service, asked))
    _, again = step(tmp_path)
    assert first
    assert again == first
    service.ahead("/v1/reports", instead(error(503, "busy", Retry_After="70")))
    tick, nothing = step(tmp_path, handed(service, first))
    assert (tick.state, tick.again, nothing) == ("later", 70.0, None)
    _, third = step(tmp_path)
    assert third == first


def test_who_carries_is_trusted_no_more_than_a_network(tmp_path: Path, service: Service) -> None:
    prepare(tmp_path, service)
    _, asked = step(tmp_path)
    service.operator = STRANGER
    tick, nothing = step(tmp_path, handed(service, asked))
    assert (tick.state, nothing) == ("refused", None)
    service.operator = OPERATOR
    told = json.loads(handed(service, asked))
    told["answers"][1]["body"] = base64.b64encode(b"another layer").decode()
    tick, nothing = step(tmp_path, json.dumps(told).encode())
    assert tick.state == "refused"
    assert "has another digest" in tick.message


def test_documents_that_were_not_carried_are_asked_for(tmp_path: Path, service: Service) -> None:
    prepare(tmp_path, service)
    _, asked = step(tmp_path)
    told = json.loads(handed(service, asked))
    del told["answers"][1:]
    _, layer = step(tmp_path, json.dumps(told).encode())
    assert layer
    assert layer.path == f"/v1/layers/{service.layer.digest.hex()}"
    _, known = step(tmp_path, handed(service, layer))
    assert known
    assert len(known.answers) == 1, "the layer is on the disk, and only the check-in comes again"
    _, report = step(tmp_path, handed(service, known))
    assert report
    assert (report.path, report.answers) == ("/v1/reports", {})
    assert step(tmp_path, handed(service, report))[0].state == "final"


def test_a_log_that_has_grown_is_followed_by_file(tmp_path: Path) -> None:
    service = LoggedService()
    witnesses = frozenset(witness.public_key().public_bytes_raw() for witness in WITNESSES)
    limits: dict[str, Any] = {"logs": frozenset({service.log.key}), "witnesses": witnesses, "quorum": 2}
    with running(service):
        prepare(tmp_path, service)
        document = service.documents.pop(f"/v1/layers/{service.layer.digest.hex()}")
        _, asked = step(tmp_path, **limits)
        tick, _ = step(tmp_path, handed(service, asked), **limits)
        assert tick.state == "later", "it has seen the log, and not the layer"
        service.documents[f"/v1/layers/{service.layer.digest.hex()}"] = document
        for _ in range(300):
            service.log.operator.append(b"more")
        service.publish()
        _, asked = step(tmp_path, **limits)
        paths: list[str] = []
        while asked and len(paths) < 10:
            paths.append(asked.path.split("/")[2])
            tick, asked = step(tmp_path, handed(service, asked), **limits)
        assert tick.state == "final"
        assert paths[0] == "check-in"
        assert paths.count("tile") >= 2
        assert paths[-1] == "reports"


def test_an_answer_is_used_once_and_only_for_its_request(tmp_path: Path, service: Service) -> None:
    prepare(tmp_path, service)
    service.state = "wait"
    _, asked = step(tmp_path)
    carried = handed(service, asked)
    transport = HandoverTransport(carried)
    with Client(tmp_path, transport, policy(), sending_time=AT_ONCE) as client:
        assert [client.tick().state, client.tick().state] == ["wait", "later"]
    assert transport.pending == asked


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"handover": 2}',
        bytes(HandedRequest("POST", "/v1/tokens")),
        bytes(HandedRequest("GET", "/v1/layers/../tokens")),
        bytes(HandedRequest("POST", "/v1/cohorts")),
        b'{"handover": 1, "method": "POST", "path": "/v1/reports", "type": "a", "body": "?"}',
    ],
)
def test_nothing_but_the_requests_of_a_device_is_carried(content: bytes) -> None:
    with pytest.raises(ParameterError, match="no request of a device"):
        HandedRequest.parse(content)


@pytest.mark.parametrize("content", [b"", b"{}", b'{"handover": 1}', b'{"handover": 1, "answers": [{}]}'])
def test_what_was_not_carried_is_told(content: bytes) -> None:
    with pytest.raises(ParameterError, match="have the request carried again"):
        HandoverTransport(content)


def test_the_commands_hand_over(tmp_path: Path, service: Service) -> None:
    run = CliRunner()
    folder = ["--folder", str(tmp_path / "phone")]
    device = [*folder, "--operator", OPERATOR.public_key().public_bytes_raw().hex(), "--sending-window", "0", "0.01"]
    device += ["--largest-vote-ratio", "1e9", "--largest-silence-ratio", "1e9", "--fewest-noise-votes", "0"]
    request, answer = str(tmp_path / "request.json"), str(tmp_path / "answer.json")

    def does(*command: str, **given: Any) -> str:  # noqa: ANN401
        done = run.invoke(main, ["device", *command], catch_exceptions=False, **given)
        assert done.exit_code == 0, done.output
        return done.output

    does("join", *folder, "-", input=service.credential().text)
    does("type", *folder, input="abcab")
    assert "carry it to the service" in does("export-request", *device, "--out", request)
    for expected in ("asks: ", "final: "):
        does("carry", "--server", service.address, "--out", answer, request)
        assert does("answer", *device, "--out", request, answer).startswith(expected)
    assert not Path(request).exists()
    (body,) = service.bodies
    assert Submission.parse(body).report in service.final.values()
