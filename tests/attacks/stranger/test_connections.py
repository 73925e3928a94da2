"""Strangers who make a service hold connections, headers, bodies and answers: each is bounded, others are served."""

import gc
import os
import select
import socket
import threading
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from neologue.masking.terms import LAYER_BYTES
from neologue.protocol.submission import HEAD_BYTES
from neologue.service.api import packed_documents
from neologue.service.api.http_protocol import MOST_HEADERS, MOST_PIPELINED, MOST_UNREAD, SEND_BUFFER
from neologue.service.storage.report_store import OpenLayer
from neologue.service.worker import LONGEST_QUERY, Worker
from service.serving import Served, wait_until

from .wire import PATIENCE, answer, attacked, connect, head, is_closed, limited, send

HEADER = 8192
CONNECTIONS, OF_ADDRESS = 30, 20
SOON = 0.2
GET = head("GET", "/healthz")
CHUNKED = head("POST", "/healthz", Transfer_Encoding="chunked")


@pytest.fixture(scope="module")
def attack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Worker]]:
    """A service with small limits, and none on how often it is asked."""
    with attacked(
        tmp_path_factory.mktemp("attacked"),
        largest_header=HEADER,
        connections=CONNECTIONS,
        connections_per_address=OF_ADDRESS,
        failures_per_minute=1e6,
    ) as running:
        yield running


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Worker]]:
    """A service with short time limits."""
    with attacked(
        tmp_path_factory.mktemp("impatient"),
        seconds_to_send=SOON,
        seconds_to_send_header=SOON,
        idle_seconds=SOON,
        seconds_to_read=SOON,
    ) as running:
        yield running


@pytest.mark.parametrize(
    ("begins", "goes_on"),
    [
        (b"GET /healthz HTTP/1.1\r\nA: ", b"a" * 1000),
        (b"GET /healthz HTTP/1.1\r\n", b"a" * 1000),
        (b"GET /healthz HTTP/1.1\r\n", b"a: b\r\n" * 200),
        (b"GET /", b"a" * 1000),
        (GET + b"GET /healthz HTTP/1.1\r\nA: ", b"a" * 1000),
        (CHUNKED + b"1\r\na\r\n0\r\nA: ", b"a" * 1000),
        (CHUNKED + b"1\r\na\r\n0\r\n", b"a: b\r\n" * 200),
        (CHUNKED + b"1;", b"a" * 1000),
        (CHUNKED, b"1\r\na\r\n" * 200),
    ],
    ids=["value", "name", "number", "path", "second request", "trailer", "trailers", "chunk extension", "tiny chunks"],
)
def test_an_endless_header_is_cut_at_its_limit(attack: tuple[Served, Worker], begins: bytes, goes_on: bytes) -> None:
    service, _ = attack

    def cut() -> int:
        return limited(service, "header_bytes") + limited(service, "headers")

    before = cut()
    with connect(service) as line:
        send(line, begins)
        # Far more than the limit; the service need not take it, and must not wait for its end.
        sent = sum(send(line, goes_on) for _ in range(200))
        assert is_closed(line)
    assert cut() == before + 1, sent
    assert service.ask("GET", "/healthz").status == 200


def test_a_header_that_is_too_large_is_told_so_in_the_one_shape_of_errors(attack: tuple[Served, Worker]) -> None:
    with connect(attack[0]) as line:
        send(line, b"GET /healthz HTTP/1.1\r\nA: " + b"a" * HEADER)
        status, heard = answer(line)
        assert status == 431
        assert b'{"error":{"code":"header_bytes"' in heard
        assert b"x-content-type-options: nosniff" in heard


def test_no_request_has_thousands_of_headers_or_parameters(attack: tuple[Served, Worker]) -> None:
    """Each costs time, however few bytes it has."""
    service, _ = attack
    headers = (b"a:\r\n", MOST_HEADERS, 431, "headers")
    parameters = (b"&a=1", LONGEST_QUERY // 4, 414, "query_bytes")
    for item, most, status, code in (headers, parameters):
        seen = []
        for count in (most - 2, most + 1):
            request = head("GET", "/healthz?", Connection="close")
            place = b"?" if item is parameters[0] else b"\r\n"
            with connect(service) as line:
                send(line, request.replace(place, place + count * item, 1))
                seen.append(answer(line))
        assert [each for each, _ in seen] == [200, status]
        assert f'{{"error":{{"code":"{code}"'.encode() in seen[1][1]
        assert limited(service, code) >= 1


def test_a_large_header_and_a_large_body_within_their_limits_are_taken_however_they_come(
    attack: tuple[Served, Worker],
) -> None:
    service, _ = attack
    body = b'{"name": "x", "role": "operator", "more": "' + 300_000 * b"x" + b'"}'
    request = head(
        "POST", "/v1/tokens", Authorization=f"Bearer {service.token}", A=2000 * "a", Content_Length=len(body)
    )
    assert len(request) < HEADER
    for step in (1 << 20, 1000):
        with connect(service) as line:
            for start in range(0, len(request + body), step):
                assert send(line, (request + body)[start : start + step])
            assert answer(line)[0] == 400, "it was read to its end, and has a field too many"


@pytest.mark.parametrize(
    ("asked", "said", "limit"),
    [
        (b"", b"", "header_seconds"),
        (b"", b"GET /healthz HTTP/1.1\r\nHost:", "header_seconds"),
        (GET, b"", "idle_seconds"),
        (GET, b"GET /hea", "header_seconds"),
        (b"", head("POST", "/v1/check-in", Content_Length=100) + b"{", "body_seconds"),
        (b"", head("POST", "/healthz", Content_Length=100) + b"{", "unread_body_seconds"),
    ],
    ids=["silent", "half a header", "idle", "half a second header", "half a body", "half a body that nobody reads"],
)
def test_who_keeps_the_service_waiting_is_closed(
    impatient: tuple[Served, Worker], asked: bytes, said: bytes, limit: str
) -> None:
    service, worker = impatient
    before = limited(service, limit)
    with connect(service) as line:
        if asked:
            send(line, asked)
            assert answer(line)[0] == 200
        send(line, said)
        assert is_closed(line)
    assert limited(service, limit) > before
    wait_until(lambda: worker.connections.open == 0)


def test_silent_connections_never_take_the_place_of_others(attack: tuple[Served, Worker]) -> None:
    service, worker = attack
    with ExitStack() as lines:
        honest = lines.enter_context(connect(service, "127.0.0.2"))
        send(honest, GET)
        assert answer(honest)[0] == 200
        silent = [lines.enter_context(connect(service)) for _ in range(3 * OF_ADDRESS)]
        assert all(map(is_closed, silent[:OF_ADDRESS])), "the first ones of the same address make room for the others"
        assert worker.connections.open <= OF_ADDRESS + 1
        send(honest, GET)
        assert answer(honest)[0] == 200, "that of another address stays"
        assert service.ask("GET", "/healthz").status == 200, "and there is room for one more, whoever is silent"
    assert limited(service, "connections_of_address") >= 2 * OF_ADDRESS


def test_the_connections_of_all_addresses_together_are_bounded(attack: tuple[Served, Worker]) -> None:
    service, worker = attack
    with ExitStack() as lines:
        for number in range(3 * CONNECTIONS):
            lines.enter_context(connect(service, f"127.0.1.{number + 1}"))
        assert service.ask("GET", "/healthz").status == 200
        assert worker.connections.open <= CONNECTIONS
    assert limited(service, "connections") >= 2 * CONNECTIONS


@pytest.mark.parametrize("path", ["/v1/reports", "/v1/cohorts", f"/v1/cohorts/{32 * '0'}"])
def test_no_body_is_read_behind_a_wrong_ticket(attack: tuple[Served, Worker], path: str) -> None:
    service, _ = attack
    with connect(service) as line:
        # The rest never comes: whoever reads before it looks waits for it.
        send(line, head("POST", path, Content_Length=1 << 20) + os.urandom(HEAD_BYTES + LAYER_BYTES))
        assert answer(line)[0] in (401, 404)


def test_a_body_that_is_answered_already_is_not_read_for_ever(attack: tuple[Served, Worker]) -> None:
    service, _ = attack
    before = limited(service, "unread_body_bytes")
    with connect(service) as line:
        send(line, head("POST", "/healthz", Content_Length=1 << 40))
        assert not all(send(line, bytes(1 << 16)) for _ in range(32 * MOST_UNREAD >> 16))
    assert limited(service, "unread_body_bytes") == before + 1


def test_requests_far_ahead_of_their_answers_are_not_queued(attack: tuple[Served, Worker]) -> None:
    service, _ = attack
    with connect(service) as line:
        send(line, 1000 * MOST_PIPELINED * head("GET", "/readyz"))
        assert is_closed(line)
    assert limited(service, "pipelined") >= 1
    with connect(service) as line:
        send(line, 3 * GET)
        assert _count_answers(line, 3) == 3, "a few are"


@pytest.mark.parametrize("protocol", ["websocket", "h2c"])
@pytest.mark.parametrize(
    "asking",
    [head("GET", "/healthz"), head("POST", "/v1/check-in", Content_Length=5) + b"hello"],
    ids=["GET", "POST"],
)
def test_nothing_is_read_behind_a_request_for_another_protocol(
    attack: tuple[Served, Worker], asking: bytes, protocol: str
) -> None:
    with connect(attack[0]) as line:
        upgrading = f"Host: here\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n".encode()
        send(line, asking.replace(b"Host: here\r\n", upgrading) + GET)
        _, heard = answer(line)
        assert b"connection: close" in heard, "whoever shares the connection must not wait for an answer"
        assert heard.count(b"HTTP/1.1") == 1
        assert is_closed(line)


def _count_answers(line: socket.socket, wanted: int) -> int:
    heard = b""
    while heard.count(b"HTTP/1.1 200") < wanted:
        heard += line.recv(1 << 16) or b"closed"
        assert b"closed" not in heard
    return heard.count(b"HTTP/1.1 200")


def test_bodies_that_arrive_slowly_share_a_bounded_memory(tmp_path: Path) -> None:
    most = 1 << 20
    with attacked(tmp_path, arriving_bytes=most) as (service, worker), ExitStack() as lines:
        request = head("POST", "/v1/campaigns", Authorization=f"Bearer {service.token}", Content_Length=1 << 22)
        slow = [lines.enter_context(connect(service)) for _ in range(4)]
        for line in slow:
            assert send(line, request + bytes(most // 2))
        # Those that have taken longest are given up, and the others may go on.
        given_up, _, _ = select.select(slow, [], [], PATIENCE)
        assert {answer(line)[0] for line in given_up} == {408}
        # What is given up is free as soon as whoever waits for it has been told.
        wait_until(lambda: worker._bodies._bytes <= most)
        assert limited(service, "arriving_bytes") >= 1


def test_answers_that_nobody_reads_hold_little_memory_and_not_for_long(tmp_path: Path) -> None:
    digest, document, readers = os.urandom(32), bytes(12 << 20), 4
    with attacked(tmp_path, seconds_to_read=SOON) as (service, worker), ExitStack() as lines:
        with worker.database.transaction() as db:
            db.execute("INSERT INTO known (digest, words) VALUES (?, ?)", (digest, zlib.compress(document, 1)))
        path = f"/v1/known/{digest.hex()}"
        for _ in range(readers):
            send(lines.enter_context(connect(service, receive_buffer=4096)), head("GET", path))
        held: list[int] = []

        def look() -> int:
            held.append(sum(one.unsent for one in worker.connections._open))
            return held[-1]

        wait_until(look)
        # Nor does the system keep much more for us than it was told; Linux counts double.
        for one in list(worker.connections._open):
            line = one.transport.get_extra_info("socket")  # type: ignore[attr-defined]
            assert line.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) <= 2 * SEND_BUFFER
        wait_until(lambda: look() == 0 and not worker.connections.open)
        # Of 12 MB for each; a piece behind the mark at which writing pauses.
        assert 0 < max(held) <= readers * 3 * (1 << 16)
        assert limited(service, "reading_seconds") == readers
        assert service.ask("GET", path, Accept_Encoding="identity").body == document, "who reads gets all of it"


@pytest.fixture
def traced() -> Iterator[None]:
    """Memory is traced no more when a service has ended: while its threads run, Python 3.11 may crash of that."""
    yield
    tracemalloc.stop()


@pytest.mark.parametrize("path", ["/v1/known/", "/log/documents/"])
@pytest.mark.usefixtures("traced")
def test_however_many_documents_are_read_slowly_at_once_none_is_unpacked_in_memory(tmp_path: Path, path: str) -> None:
    size, documents = 8 << 20, 6
    digests = [os.urandom(32) for _ in range(1 + documents)]
    with attacked(tmp_path) as (service, worker), ExitStack() as lines:
        with worker.database.transaction() as db:
            for digest in digests:
                db.execute("INSERT INTO known (digest, words) VALUES (?, ?)", (digest, zlib.compress(bytes(size))))
        # What is imported when the first document is read is no part of it.
        assert len(service.ask("GET", path + digests.pop().hex()).body) == size
        tracemalloc.start()
        for digest in digests:
            line = lines.enter_context(connect(service, receive_buffer=4096))
            send(line, head("GET", path + digest.hex()))
            assert line.recv(8)[-8:] == b"HTTP/1.1", "it is being read"
        held, most = tracemalloc.get_traced_memory()
        assert held < size / 4
        assert most < size, "nor was any at any time"
        assert service.ask("GET", path + digests[0].hex(), Accept_Encoding="identity").body == bytes(size)


@pytest.mark.parametrize("path", ["/v1/known/", "/log/documents/"])
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.usefixtures("traced")
def test_however_many_read_one_document_slowly_it_is_in_memory_once(tmp_path: Path, path: str, packed: bool) -> None:
    """Also one that can't be packed much smaller than it is, and whose rest each reader would hold."""
    size, readers = 2 << 20, 12
    digest, document = os.urandom(32), os.urandom(size)
    encoding = "gzip" if packed else "identity"
    with attacked(tmp_path) as (service, worker), ExitStack() as lines:
        with worker.database.transaction() as db:
            db.execute("INSERT INTO known (digest, words) VALUES (?, ?)", (digest, zlib.compress(document)))
        assert len(service.ask("GET", path + digest.hex(), Accept_Encoding=encoding).body) >= size
        tracemalloc.start()
        for _ in range(readers):
            line = lines.enter_context(connect(service, receive_buffer=4096))
            send(line, head("GET", path + digest.hex(), Accept_Encoding=encoding))
            assert line.recv(8)[-8:] == b"HTTP/1.1", "it is being read"
        assert tracemalloc.get_traced_memory()[0] < readers * size / 4


@pytest.mark.parametrize("path", ["/v1/known/", "/log/documents/"])
def test_nothing_more_is_unpacked_for_whoever_has_gone(
    tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written to them that the next piece would wait for, and meanwhile nobody else is answered."""
    digest, pieces = os.urandom(32), 200
    seen: list[int] = []
    unpack = packed_documents.unpacked

    def count(stored: bytes) -> Iterator[bytes]:
        for piece in unpack(stored):
            seen.append(len(piece))
            yield piece

    with attacked(tmp_path) as (service, worker):
        with worker.database.transaction() as db:
            stored = zlib.compress(bytes(pieces << 16))
            db.execute("INSERT INTO known (digest, words) VALUES (?, ?)", (digest, stored))
        assert len(service.ask("GET", path + digest.hex()).body) == pieces << 16
        monkeypatch.setattr(packed_documents, "unpacked", count)
        with connect(service, receive_buffer=4096) as line:
            send(line, head("GET", path + digest.hex()))
            assert line.recv(8)[-8:] == b"HTTP/1.1", "it is being read"
        wait_until(lambda: service.ask("GET", "/readyz").status == 200 and len(worker.connections._open) <= 1)
        assert 0 < len(seen) < pieces / 4


@pytest.mark.parametrize("attack", ["a document", "pipelined"])
def test_who_has_gone_or_was_cut_leaves_nothing_to_collect_and_no_fault(
    tmp_path: Path, attack: str, caplog: pytest.LogCaptureFixture
) -> None:
    """To go through what many have left takes tens of milliseconds, in which nobody is answered."""
    digest, strangers = os.urandom(32), 30
    with attacked(tmp_path) as (service, worker):
        with worker.database.transaction() as db:
            row = (digest, zlib.compress(bytes(8 << 20)))
            db.execute("INSERT INTO known (digest, words) VALUES (?, ?)", row)
        once = head("GET", f"/v1/known/{digest.hex()}")
        request = once if attack == "a document" else 200 * head("GET", "/readyz")

        def come(times: int) -> None:
            for _ in range(times):
                with connect(service, receive_buffer=4096) as line:
                    send(line, request)
                    assert attack == "pipelined" or line.recv(8)
                    assert attack != "pipelined" or is_closed(line)
            wait_until(lambda: not worker.connections.open)

        come(3)
        gc.collect()
        gc.disable()
        try:
            come(strangers)
            assert gc.collect() < strangers
        finally:
            gc.enable()
    assert not [record for record in caplog.records if "Exception in ASGI" in record.getMessage()]


@pytest.mark.parametrize("path", ["/v1/known/", "/log/documents/"])
def test_a_document_that_is_at_hand_takes_no_thread(tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks for it again and again keeps nobody from the database."""
    digest = os.urandom(32)

    async def none_left(*_: object) -> None:
        raise AssertionError

    with attacked(tmp_path) as (service, worker):
        with worker.database.transaction() as db:
            db.execute("INSERT INTO known (digest, words) VALUES (?, ?)", (digest, zlib.compress(b"words")))
        assert service.ask("GET", path + digest.hex()).body == b"words"
        with monkeypatch.context() as patch:
            patch.setattr(worker.threads, "run", none_left)
            assert service.ask("GET", path + digest.hex()).body == b"words"


def test_of_all_who_ask_together_whether_the_service_is_ready_one_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    answered = threading.Event()
    with attacked(tmp_path) as (service, worker), ExitStack() as lines:

        def look() -> list[OpenLayer]:
            looks.append(1)
            assert answered.wait(PATIENCE)
            return []

        monkeypatch.setattr(worker._storage, "open_layers", look)
        worker.settings = replace(worker.settings, refresh=3600.0)
        worker._ready_until = 0.0
        asking = [lines.enter_context(connect(service)) for _ in range(12)]
        for line in asking:
            send(line, head("GET", "/readyz"))
        wait_until(lambda: worker.connections.open >= len(asking) and not worker.connections._waiting)
        answered.set()
        assert {answer(line)[0] for line in asking} == {200}
    assert len(looks) == 1


@pytest.mark.parametrize("path", ["/v1/known/", "/log/documents/"])
def test_nothing_is_unpacked_for_whoever_asks_for_the_headers_alone(
    tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few bytes that cost as much as reading a document of megabytes."""
    digest = os.urandom(32)
    with attacked(tmp_path) as (service, worker):
        with worker.database.transaction() as db:
            db.execute("INSERT INTO known (digest, words) VALUES (?, ?)", (digest, zlib.compress(bytes(1 << 20))))
        assert len(service.ask("GET", path + digest.hex()).body) == 1 << 20

        unpacked: list[object] = []
        unpack = zlib.decompressobj

        def count() -> object:
            unpacked.append(unpack())
            return unpacked[-1]

        monkeypatch.setattr(zlib, "decompressobj", count)
        reply = service.ask("HEAD", path + digest.hex())
        assert (reply.status, reply.headers["etag"]) == (200, f'"{digest.hex()}"')
        assert not unpacked
        assert len(service.ask("GET", path + digest.hex()).body) == 1 << 20
        assert unpacked, "what is read is"


def test_the_slowest_readers_go_if_all_together_hold_too_much(tmp_path: Path) -> None:
    digest = os.urandom(32)
    with (
        attacked(tmp_path, unsent_bytes=1 << 17, seconds_to_send_header=0.4) as (service, worker),
        ExitStack() as lines,
    ):
        with worker.database.transaction() as db:
            db.execute("INSERT INTO known (digest, words) VALUES (?, ?)", (digest, zlib.compress(bytes(12 << 20))))
        for _ in range(6):
            line = lines.enter_context(connect(service, receive_buffer=4096))
            send(line, head("GET", f"/v1/known/{digest.hex()}"))
        wait_until(lambda: limited(service, "unsent_bytes") >= 4)
        assert sum(one.unsent for one in worker.connections._open) <= 1 << 18
