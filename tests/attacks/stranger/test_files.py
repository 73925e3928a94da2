"""Files from strangers: releases, archives of layers, and what is carried between a device and a service."""

import base64
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from neologue.cli import main
from neologue.device.network import handover
from neologue.device.network.handover import FORMAT, HandedRequest, HandoverTransport, carry
from neologue.device.network.transport import Response
from neologue.errors import OversizeError, ParameterError, ReleaseError
from neologue.protocol.documents import LARGEST_DOCUMENT
from neologue.release import codec, layer_archive
from neologue.release.codec import decode_release, read_release_file
from neologue.release.layer_archive import ENDING, read_documents

DIGEST = 64 * "0"


def carried(**changes: Any) -> bytes:  # noqa: ANN401 - also what is wrong
    """A request that a device could have written, with changes."""
    told = {"method": "POST", "path": "/v1/check-in", "type": "application/json", "body": ""} | changes
    return json.dumps({"handover": FORMAT, **told}).encode()


def answers(status: object = 200, retry_after: object = None, body: object = "") -> bytes:
    told = {"request": DIGEST, "status": status, "retry_after": retry_after, "body": body}
    return json.dumps({"handover": FORMAT, "answers": [told]}).encode()


DEEP = b'{"handover":' + b"[" * 200_000
WRONG_REQUESTS = {
    "nested": DEEP,
    "another site": carried(path="//evil.example/v1/check-in"),
    "an address": carried(path="https://evil.example/v1/check-in"),
    "a parent folder": carried(method="GET", path="/v1/layers/../../v1/tokens"),
    "a query": carried(path="/v1/check-in?x=1"),
    "people's requests": carried(method="GET", path="/v1/campaigns"),
    "two lines": carried(path="/v1/check-in\n"),
    "a header": carried(type="application/json\r\nAuthorization: Bearer x"),
    "no text": carried(method=["POST"]),
    "no body": carried(body=None),
    "another method": carried(method="DELETE"),
}
WRONG_ANSWERS = {
    "nested": DEEP,
    "endless status": answers(status=1e999),
    "no status": answers(status=[]),
    "long status": answers(status="9" * 10_000),
    "no body": answers(body=7),
    "no list": json.dumps({"handover": FORMAT, "answers": {"x": 1}}).encode(),
    "another format": b'{"handover": 2}',
}


@pytest.mark.parametrize("wrong", WRONG_REQUESTS)
def test_a_file_makes_nobody_carry_anything_else_than_a_devices_requests(wrong: str) -> None:
    assert HandedRequest.parse(carried()).path == "/v1/check-in"
    with pytest.raises(ParameterError, match="no request of a device"):
        HandedRequest.parse(WRONG_REQUESTS[wrong])


@pytest.mark.parametrize("wrong", WRONG_ANSWERS)
def test_a_device_reads_wrong_answers_without_a_traceback(wrong: str) -> None:
    HandoverTransport(answers())
    with pytest.raises(ParameterError, match="no answers that were carried"):
        HandoverTransport(WRONG_ANSWERS[wrong])


def test_a_file_without_an_end_is_not_read_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover, "LARGEST_FILE", 1 << 20)
    out = tmp_path / "out"
    done = CliRunner().invoke(
        main, ["device", "carry", "--server", "http://127.0.0.1:9", "--out", str(out), "/dev/zero"]
    )
    assert (done.exit_code, out.exists()) == (2, False)
    assert "no request of a device" in done.output
    answered = ["device", "answer", "--folder", str(tmp_path / "device"), "--operator", DIGEST, "--out", str(out)]
    done = CliRunner().invoke(main, [*answered, "/dev/zero"])
    assert (done.exit_code, out.exists()) == (2, False), done.output
    assert "no answers that were carried" in done.output


def archive(path: Path, *contents: tuple[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as made:
        for name, content in contents:
            made.writestr(name, content)
    return path


def test_an_archive_that_is_small_and_large_inside_is_read_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each document up to the largest that a device takes, and all together up to a limit."""
    digests = [f"{number:064x}" for number in range(4)]
    bomb = archive(tmp_path / "layers.zip", *((digest + ENDING, bytes(2 * LARGEST_DOCUMENT)) for digest in digests))
    assert bomb.stat().st_size < LARGEST_DOCUMENT
    [read] = read_documents(bomb, digests[:1]).values()
    assert len(read) == LARGEST_DOCUMENT + 1
    monkeypatch.setattr(layer_archive, "MOST_BYTES", 2 * LARGEST_DOCUMENT)
    with pytest.raises(ReleaseError, match="MiB of documents"):
        read_documents(bomb, digests)


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_archive_is_unpacked_by_nothing_that_needs_much_memory(tmp_path: Path, compression: int) -> None:
    made = archive(tmp_path / "layers.zip", (DIGEST + ENDING, b"x" * 1000), compression=compression)
    with pytest.raises(ReleaseError, match="no archive of layer documents"):
        read_documents(made, [DIGEST])


def test_names_in_an_archive_write_no_file_and_are_read_by_digest_alone(tmp_path: Path) -> None:
    made = archive(
        tmp_path / "layers.zip", ("../../evil.json", b"x"), ("/etc/evil.json", b"x"), (DIGEST + ENDING, b"good")
    )
    assert read_documents(made, [DIGEST]) == {DIGEST: b"good"}
    assert list(tmp_path.iterdir()) == [made]


@pytest.mark.parametrize(
    "content",
    [b"[" * 200_000, b'{"format": ' + b"9" * 100_000 + b"}", b'{"format":1,"format":3}', b"\xff\xfe", b"null"],
)
def test_a_hostile_release_is_refused_with_a_sentence(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError):
        decode_release(content, "release.json")
    file = tmp_path / "release.json"
    file.write_bytes(content)
    done = CliRunner().invoke(main, ["certify", str(file)])
    assert done.exit_code == 2, done.output
    assert "Traceback" not in done.output


def test_a_release_without_an_end_is_not_read_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "LARGEST_FILE", 1 << 20)
    with pytest.raises(ReleaseError, match="more than 1 MiB"):
        read_release_file(Path("/dev/zero"))


def test_a_carried_answer_is_no_longer_than_what_was_asked_for() -> None:
    request = HandedRequest("POST", "/v1/check-in", b"{}")
    body = base64.b64encode(bytes(1 << 20)).decode()
    told = {"request": request.name, "status": 200, "retry_after": None, "body": body}
    transport = HandoverTransport(json.dumps({"handover": FORMAT, "answers": [told]}).encode())
    with pytest.raises(OversizeError):
        transport.request("POST", "/v1/check-in", b"{}")


class HostileService:
    """Answers every request with the same bytes."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    def request(self, *_: object, **__: object) -> Response:
        """The bytes."""
        return Response(200, self.body)


@pytest.mark.parametrize(
    "invited",
    [200_000 * b"[", b'{"layer":' + 9_000 * b"9" + b"}", b'{"layer":"' + 64 * b"0" + b'"}'],
    ids=["nested", "number", "no document"],
)
def test_a_hostile_service_stops_nobody_who_carries_files(invited: bytes) -> None:
    """The answer is carried as it is; the device judges it."""
    carried_back = json.loads(carry(HandedRequest("POST", "/v1/check-in", b"{}"), HostileService(invited)))
    assert base64.b64decode(carried_back["answers"][0]["body"]) == invited
