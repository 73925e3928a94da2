"""Addresses that commands and the service ask: who answers there has one bounded answer read, and gets no token."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from neologue.cli.service_client import ServiceClient
from neologue.errors import InputError, LaterError, LogError
from neologue.service.campaigns.webhook import check_webhook, post
from neologue.service.log.witness_client import WitnessClient
from neologue.service.service_checks import check_service
from neologue.transparency import log_source
from neologue.transparency.log_source import open_log
from neologue.transparency.tiles import MOST_FILE_BYTES, MOST_READ_BYTES, MOST_READ_ENTRIES, pack_entries, read_entries

TOKEN = "token-of-an-operator"
SECRET = bytes(32)


@dataclass
class Elsewhere:
    """A machine that nobody meant to ask, and what it was sent."""

    address: str = ""
    asked: list[tuple[str, str, str | None]] = field(default_factory=list)


@contextmanager
def answering(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    found = Elsewhere()

    class Inner(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append((self.command, self.path, self.headers.get("Authorization")))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with answering(Inner) as address:
        found.address = address
        yield found


@pytest.fixture(params=[301, 302, 303, 307, 308])
def redirecting(request: pytest.FixtureRequest, elsewhere: Elsewhere) -> Iterator[str]:
    """A service that sends everybody on."""

    class Redirecting(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(request.param)
            self.send_header("Location", f"{elsewhere.address}/internal")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with answering(Redirecting) as address:
        yield address


def test_a_token_never_follows_a_redirection(redirecting: str, elsewhere: Elsewhere) -> None:
    for method in ("GET", "POST"):
        with pytest.raises(InputError, match="sends requests on to another address") as caught:
            ServiceClient(redirecting, TOKEN).request_text(method, "campaigns")
        assert TOKEN not in str(caught.value)
    assert [finding.verdict for finding in check_service(redirecting, TOKEN)][-1] == "unsafe"
    assert elsewhere.asked == []


def test_no_log_witness_or_webhook_sends_a_request_on_into_a_network(redirecting: str, elsewhere: Elsewhere) -> None:
    with pytest.raises(LaterError):
        open_log(redirecting)("checkpoint")
    with pytest.raises((LaterError, LogError)):
        WitnessClient(redirecting).add_checkpoint(b"")
    assert post(f"{redirecting}/hook", b"{}", {}) is False
    assert elsewhere.asked == []


@pytest.mark.parametrize("said", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"X: " + b"x" * 70_000])
def test_a_webhook_that_answers_with_nonsense_has_accepted_nothing(said: bytes) -> None:
    """It is tried again later, as one that is down; before, the step of the service failed with a traceback."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            line, _ = listening.accept()
            with line:
                line.recv(1 << 16)
                line.sendall(said)

        thread = threading.Thread(target=answer)
        thread.start()
        assert post(f"http://127.0.0.1:{listening.getsockname()[1]}", b"{}", {}) is False
        thread.join()


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://hooks.example",
        "http://169.254.169.254/latest",
        "data:text/plain,x",
        "gopher://x.example",
    ],
)
def test_a_webhook_is_at_no_other_kind_of_address(url: str) -> None:
    with pytest.raises(InputError, match="https:// address"):
        check_webhook(url, SECRET)


def test_no_error_repeats_what_is_secret_in_the_address_of_a_webhook() -> None:
    for url in ("ftp://hooks.example/hidden?key=hidden", "https://user:hidden@hooks.example"):
        with pytest.raises(InputError) as caught:
            check_webhook(url, SECRET)
        assert "hidden" not in str(caught.value)


def test_a_file_of_a_log_is_read_up_to_its_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_source, "MOST_FILE_BYTES", 1000)
    (tmp_path / "checkpoint").write_bytes(bytes(1000))
    assert open_log(str(tmp_path))("checkpoint") == bytes(1000)
    (tmp_path / "checkpoint").write_bytes(bytes(1001))
    with pytest.raises(LogError, match="longer than a file of a log"):
        open_log(str(tmp_path))("checkpoint")


def test_a_device_file_in_a_folder_of_a_log_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").symlink_to("/dev/zero")
    with pytest.raises(LogError, match="the log has no file"):
        open_log(str(tmp_path))("checkpoint")


def test_a_log_without_an_end_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def fetch(path: str) -> bytes:
        asked.append(path)
        return pack_entries([b"x" * 100] * 256)

    with pytest.raises(LogError, match="longer than the 4,194,304 that are read"):
        read_entries(MOST_READ_ENTRIES + 1, fetch)
    assert asked == []
    assert MOST_READ_BYTES < 100 * MOST_FILE_BYTES
    monkeypatch.setattr("neologue.transparency.tiles.MOST_READ_BYTES", 1 << 20)
    with pytest.raises(LogError, match="MiB that are read"):
        read_entries(MOST_READ_ENTRIES, fetch)
    assert len(asked) == (1 << 20) // len(fetch("")) + 1


def test_what_a_log_serves_at_a_url_is_read_up_to_its_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_source, "MOST_FILE_BYTES", 1000)
    content = json.dumps("x" * 2000).encode()

    class Long(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with answering(Long) as address, pytest.raises(LogError, match="longer than a file of a log"):
        open_log(address)("checkpoint")


@pytest.fixture(params=["the header", "the answer", "a refusal"])
def trickling(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """A server whose answer comes byte by byte, for so long that nobody would wait for it."""
    status = b"HTTP/1.1 409 Conflict" if request.param == "a refusal" else b"HTTP/1.1 200 OK"
    begun = status + (b"\r\nX: " if request.param == "the header" else b"\r\nContent-Length: 3000\r\n\r\n")
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            line, _ = listening.accept()
            with line, suppress(OSError):
                line.recv(1 << 16)
                line.sendall(begun)
                for _ in range(3000):
                    if over.wait(0.01):
                        return
                    line.sendall(b"x")

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield request.param, f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            over.set()
            thread.join()


@pytest.mark.parametrize("asking", ["log", "witness", "webhook"])
def test_an_answer_that_comes_byte_by_byte_is_given_up(
    trickling: tuple[str, str], asking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log would keep a witness from looking, a witness or a webhook the service from stopping."""
    monkeypatch.setattr("neologue.one_address.SLOWEST", 1.5)
    for module in ("neologue.transparency.log_source", "neologue.service.campaigns.webhook"):
        monkeypatch.setattr(f"{module}.SECONDS", 0.4)
    slow, address = trickling
    if asking == "webhook":
        assert post(f"{address}/hook", b"{}", {}) is (slow == "the answer"), "of a webhook the status is read alone"
        return
    with pytest.raises(LaterError):
        open_log(address)("checkpoint") if asking == "log" else WitnessClient(address, 0.4).add_checkpoint(b"")
