"""The line over which a fleet checks in for devices that sleep, beside the transport of a device."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from neologue.device.network.transport import HttpTransport
from neologue.errors import LaterError
from neologue.fleet.check_in_line import CheckInLine, check_in_line

ANSWER = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nContent-Length: 16\r\n\r\n{"state":"wait"}'
LAST = ANSWER.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")


@contextmanager
def server(*connections: list[list[bytes]]) -> Iterator[tuple[str, list[bytes]]]:
    """A server that answers each request of a connection with some pieces, and closes it behind the last one."""
    heard: list[bytes] = []

    def serve() -> None:
        for answers in connections:
            peer, _ = listening.accept()
            with peer:
                for pieces in answers:
                    heard.append(peer.recv(1 << 16))
                    for piece in pieces:
                        peer.sendall(piece)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = threading.Thread(target=serve)
        serving.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", heard
        serving.join(timeout=300)


def test_it_asks_and_is_answered_as_a_device_is() -> None:
    pieces = [ANSWER[:5], ANSWER[5:40], ANSWER[40:-3], ANSWER[-3:]]
    with server([[ANSWER], pieces], [[ANSWER]]) as (address, heard):
        with closing(CheckInLine(address + "/words/")) as line:
            answers = [line.request("POST", "/v1/check-in", b"{}") for _ in range(2)]
        with HttpTransport(address) as own:
            assert {*answers} == {own.request("POST", "/words/v1/check-in", b"{}")}
    assert answers[0].body == b'{"state":"wait"}'
    heads = [{line.lower() for line in request.partition(b"\r\n\r\n")[0].split(b"\r\n")} for request in heard]
    assert heads[0] == heads[1]
    assert heads[0] <= heads[2]


def test_a_connection_that_was_closed_meanwhile_is_opened_again() -> None:
    with server([[ANSWER]], [[LAST]], [[ANSWER]]) as (address, _), closing(CheckInLine(address)) as line:
        assert {line.request("POST", "/v1/check-in", b"{}").status for _ in range(3)} == {200}


@pytest.mark.parametrize(
    "answer",
    [b"", ANSWER[:20], ANSWER[:-1], b"HTTP/1.1 200 OK\r\n\r\n", ANSWER.replace(b"16", b"70000"), b"a" * 70_000],
    ids=["nothing", "half a header", "half a body", "no length", "too long", "endless header"],
)
def test_what_is_no_whole_answer_comes_later(answer: bytes) -> None:
    with server([[answer]]) as (address, _), closing(CheckInLine(address)) as line, pytest.raises(LaterError):
        line.request("POST", "/v1/check-in", b"{}")


def test_with_tls_it_is_the_transport_of_a_device() -> None:
    assert isinstance(check_in_line("https://words.example.org"), HttpTransport)
