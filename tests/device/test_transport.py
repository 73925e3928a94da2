"""Whatever a server does, a device gets an answer within its limits, or one error."""

import datetime
import gzip
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from threading import Thread

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from neologue.device.network.transport import HttpTransport, Response
from neologue.errors import LaterError, ParameterError
from small_service import Reply, Service, instead, lost_before, running

PATH = "/v1/anything"

Transports = Callable[..., HttpTransport]


@pytest.fixture
def service() -> Iterator[Service]:
    with running(Service()) as service:
        yield service


@pytest.fixture
def transports() -> Iterator[Transports]:
    """Makes transports, and closes them all."""
    with ExitStack() as opened:
        yield lambda *server, **options: opened.enter_context(HttpTransport(*server, **options))


@contextmanager
def saying(*answers: bytes, hold: bool = False) -> Iterator[str]:
    """A server that answers each connection with these very bytes, whatever it is asked."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        held: list[socket.socket] = []

        def serve() -> None:
            for answer in answers:
                with suppress(OSError):
                    connection, _ = listening.accept()
                    held.append(connection)
                    connection.settimeout(10)
                    connection.recv(65536)
                    connection.sendall(answer)
                    if not hold:
                        connection.close()

        thread = Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in held:
                connection.close()


def answer(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    return b"\r\n".join([b"HTTP/1.1 " + status, *headers, b"", body])


# The usual


def test_an_answer_comes_with_its_status_and_its_wish(service: Service, transports: Transports) -> None:
    service.ahead(PATH, instead(Reply(429, b"slowly", {"Retry-After": "7"})))
    assert transports(service.address).request("POST", PATH, b"body") == Response(429, b"slowly", "7")


def test_one_connection_serves_many_requests(service: Service, transports: Transports) -> None:
    transport = transports(service.address)
    for _ in range(5):
        assert transport.request("GET", PATH).status == 404
    assert service.connections == 1


def test_a_connection_that_was_closed_meanwhile_is_opened_again(service: Service, transports: Transports) -> None:
    transport = transports(service.address)
    transport.request("GET", PATH)
    service.ahead(PATH, lost_before)
    assert transport.request("GET", PATH).status == 404
    assert service.connections == 2


def test_a_new_connection_that_breaks_is_for_later(service: Service, transports: Transports) -> None:
    service.ahead(PATH, lost_before)
    with pytest.raises(LaterError, match="RemoteDisconnected"):
        transports(service.address).request("GET", PATH)
    assert service.asked(PATH) == 1


def test_nobody_there_is_for_later(transports: Transports) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with pytest.raises(LaterError, match="ConnectionRefusedError"):
        transports(f"http://127.0.0.1:{port}").request("GET", PATH)


@pytest.mark.parametrize("packs", [True, False])
def test_answers_may_be_packed(service: Service, packs: bool, transports: Transports) -> None:
    service.packs = packs
    service.ahead(PATH, instead(Reply(200, b"a" * 10_000)))
    assert transports(service.address).request("GET", PATH).body == b"a" * 10_000


def test_a_path_of_the_service_is_kept(service: Service, transports: Transports) -> None:
    transports(service.address + "/words/").request("GET", PATH)
    assert service.requests == [("GET", "/words/v1/anything")]


@pytest.mark.parametrize(
    "sent",
    [
        answer(b"5\r\nhello\r\n0\r\n\r\n", b"Transfer-Encoding: chunked"),
        answer(b"hello"),
        answer(b"hello", b"Content-Length: 5", b"Connection: close"),
        b"HTTP/1.1 100 Continue\r\n\r\n" + answer(b"hello", b"Content-Length: 5"),
    ],
    ids=["chunked", "until the end", "close", "continue"],
)
def test_answers_may_end_in_any_way_of_http(sent: bytes, transports: Transports) -> None:
    with saying(sent) as address:
        assert transports(address).request("GET", PATH).body == b"hello"


# Hostile


@pytest.mark.parametrize("packs", [True, False])
def test_an_answer_over_the_limit_is_refused(service: Service, packs: bool, transports: Transports) -> None:
    service.packs = packs
    transport = transports(service.address)
    service.ahead(PATH, instead(Reply(200, b"a" * 1000)), instead(Reply(200, b"a" * 1001)))
    assert len(transport.request("GET", PATH, most=1000).body) == 1000
    with pytest.raises(LaterError):
        transport.request("GET", PATH, most=1000)
    assert transport.request("GET", PATH).status == 404, "and the next request is not confused"


ZEROS = gzip.compress(bytes(1 << 26))
BOMB = gzip.compress(ZEROS * 3)


@pytest.mark.parametrize(
    "sent",
    [
        answer(b"", b"Content-Length: 99999999999999"),
        answer(b"hello", b"Content-Length: 6"),
        answer(b"-1\r\nhello", b"Transfer-Encoding: chunked"),
        answer(b"FFFFFFFFFF\r\nhello", b"Transfer-Encoding: chunked"),
        answer(b"5\r\nhello\r\n" * 100_000, b"Transfer-Encoding: chunked"),
        answer(b"-1\r\n" + b"a" * 10_000_000, b"Transfer-Encoding: chunked"),
        answer(b"a" * 10_000_000),
        answer(b"", *[b"X: y"] * 200),
        answer(b"", b"X: " + b"y" * 100_000),
        b"HTTP/1.1 100 Continue\r\n\r\n" * 100_000,
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\0" * 100_000,
        b"",
        answer(ZEROS, b"Content-Encoding: gzip"),
        answer(gzip.compress(b"hello")[:-4], b"Content-Encoding: gzip"),
        answer(gzip.compress(b"hello") + b"more", b"Content-Encoding: gzip"),
        answer(b"hello", b"Content-Encoding: gzip"),
        answer(BOMB, b"Content-Encoding: gzip")[:-1],
    ],
    ids=range(18),
)
def test_no_answer_is_too_strange_for_the_one_error(sent: bytes, transports: Transports) -> None:
    with saying(sent) as address, pytest.raises(LaterError, match="try again later"):
        transports(address, seconds=10).request("GET", PATH, most=100)


def test_an_answer_that_never_ends_has_a_deadline(transports: Transports) -> None:
    slow = saying(answer(b"hello", b"Content-Length: 6"), hold=True)
    with slow as address, pytest.raises(LaterError, match="TimeoutError"):
        transports(address, seconds=0.2).request("GET", PATH)


def test_redirections_are_not_followed(service: Service, transports: Transports) -> None:
    service.ahead(PATH, instead(Reply(302, b"", {"Location": service.address + "/elsewhere"})))
    assert transports(service.address).request("GET", PATH).status == 302
    assert service.requests == [("GET", PATH)]


def test_an_error_quotes_nothing_of_an_answer(transports: Transports) -> None:
    with saying(b"HTTP/1.1 xylomancy\r\n\r\n") as address, pytest.raises(LaterError) as caught:
        transports(address).request("GET", PATH)
    assert "xylomancy" not in str(caught.value)


# Addresses and TLS


@pytest.mark.parametrize(
    "server",
    ["", "words.example.org", "ftp://example.org", "https://", "https://a?b=c", "https://u:p@a", "https://a:port"],
)
def test_what_is_no_address_is_refused(server: str, transports: Transports) -> None:
    with pytest.raises(ParameterError, match="give one such as https"):
        transports(server)


def test_without_tls_only_this_machine_is_talked_to(transports: Transports) -> None:
    with pytest.raises(ParameterError, match=r"without TLS.*give https://words\.example\.org"):
        transports("http://words.example.org")
    for server in ("http://localhost:1", "http://127.0.0.5", "http://[::1]:80", "https://words.example.org"):
        transports(server)
    transports("http://words.example.org", plain=True)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The certificate of this machine and its key, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "certificate.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(private + made.public_bytes(Encoding.PEM))
    return path


def test_certificates_are_checked(certificate: Path, transports: Transports) -> None:
    with running(Service(), certificate) as service:
        with pytest.raises(LaterError, match="SSLCertVerificationError"):
            transports(service.address).request("GET", PATH)
        assert service.requests == []
        other = service.address.replace("127.0.0.1", "localhost")
        with pytest.raises(LaterError, match="SSLCertVerificationError"):
            transports(other, ca_file=certificate).request("GET", PATH)
        transport = transports(service.address, ca_file=certificate)
        assert [transport.request("GET", PATH).status for _ in range(3)] == [404] * 3


def test_a_file_without_certificates_is_refused(tmp_path: Path, transports: Transports) -> None:
    (tmp_path / "empty.pem").touch()
    for name in ("empty.pem", "missing.pem"):
        with pytest.raises(ParameterError, match=f"{name} is not a PEM file of certificates"):
            transports("https://words.example.org", ca_file=tmp_path / name)
