"""nginx with the shipped configuration, in front of a real service: TLS, limits, streams, addresses, no traces."""

import http.client
import json
import re
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import msgspec
import pytest
from starlette.types import Scope

from attacks.stranger.wire import answer, attacked, head, is_closed, send
from neologue.cli.live.serve import serve
from neologue.service import worker as worker_module
from neologue.service.api.addresses import sender_of
from neologue.service.api.device_routes import _LARGEST_CHECK_IN
from neologue.service.doctor import examine
from neologue.service.ops.settings import Settings
from neologue.service.storage.database_address import open_database
from neologue.service.worker import Worker
from neologue.web import progress_stream
from neologue.web.dashboard import dashboard
from service.campaigns import definition
from service.serving import PATIENCE, Served, wait_until

from .nginx import HOST, SHIPPED, Proxy, installed, make_certificate, proxied, replaced

CONNECTIONS = 2
"""How many of one address the proxy takes in these tests."""


@dataclass(frozen=True)
class Deployed:
    """A service behind one proxy."""

    service: Served
    """As devices reach it."""
    direct: Served
    worker: Worker
    proxy: Proxy


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """A service that is behind one proxy, and that proxy."""
    installed()
    folder = tmp_path_factory.mktemp("deployed")
    changes = {
        "limit_conn neologue_senders 1000;": f"limit_conn neologue_senders {CONNECTIONS};",
        "client_header_timeout 10s;": "client_header_timeout 1s;",
    }
    with (
        attacked(folder, dashboard, proxies=1) as (direct, worker),
        proxied(folder, urlsplit(direct.address).port or 0, changes) as proxy,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("SSL_CERT_FILE", str(proxy.certificate))
        yield Deployed(Served(proxy.address, direct.token), direct, worker, proxy)


def directive(name: str, file: str = "http.conf") -> str:
    """What a configuration says of something, at its top."""
    (found,) = re.findall(rf"^{name} (.+);$", (SHIPPED / file).read_text("utf-8"), re.MULTILINE)
    return str(found)


def seconds(name: str, file: str = "http.conf") -> float:
    return float(directive(name, file).removesuffix("s"))


def test_what_the_proxy_lets_through_agrees_with_what_the_service_takes() -> None:
    service = Settings(database="")
    number, size = directive("large_client_header_buffers").split()
    assert int(number) * int(size.removesuffix("k")) * 1024 == service.largest_header
    assert seconds("client_header_timeout") == service.seconds_to_send_header
    assert seconds("client_body_timeout") == service.seconds_to_send
    assert seconds("send_timeout") == service.seconds_to_read
    assert seconds("keepalive_timeout") == service.idle_seconds
    assert directive("client_max_body_size", "server.conf") == f"{service.largest_request >> 20}m"
    assert directive("limit_conn", "server.conf") == f"neologue_senders {service.connections_per_address}"
    assert _LARGEST_CHECK_IN == 1024
    assert "location = /v1/check-in {\n    client_max_body_size 1k;" in (SHIPPED / "server.conf").read_text()
    longest_answer = max(service.group_patience, service.patience, progress_stream.STREAM_SECONDS)
    assert seconds("proxy_read_timeout", "server.conf") > 2 * longest_answer
    for file in ("machine.conf", "container.conf"):
        (kept,) = re.findall(r"keepalive_timeout (\d+)s;", (SHIPPED / file).read_text("utf-8"))
        assert float(kept) < service.idle_seconds, "else the service closes what the proxy is about to use"


def test_debians_nginx_takes_the_configuration_for_a_machine(tmp_path: Path) -> None:
    program = installed()
    public, private = make_certificate(tmp_path)
    for name in ("http.conf", "server.conf"):
        shutil.copy(SHIPPED / name, tmp_path)
    paths = {
        "/etc/nginx/neologue/": f"{tmp_path}/",
        "/etc/ssl/words.example.org.pem": str(public),
        "/etc/ssl/private/words.example.org.key": str(private),
    }
    machine = replaced((SHIPPED / "machine.conf").read_text("utf-8"), paths)
    main = f"pid {tmp_path}/pid; events {{}} http {{ {machine} }}"
    (tmp_path / "nginx.conf").write_text(main, "utf-8")
    command = (program, "-t", "-e", "stderr", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf"))
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert "warn" not in done.stderr


def test_devices_and_people_are_served_over_tls_alone(deployed: Deployed) -> None:
    service, proxy = deployed.service, deployed.proxy
    told = service.ask("GET", "/healthz")
    assert (told.status, told.headers["strict-transport-security"]) == (200, "max-age=31536000")
    plain = http.client.HTTPConnection("127.0.0.1", proxy.plain_port, timeout=PATIENCE)
    plain.request("GET", "/campaigns?x=1")
    moved = plain.getresponse()
    plain.close()
    assert (moved.status, moved.getheader("Location")) == (301, f"https://{HOST}/campaigns?x=1")
    assert "nginx/" not in str(moved.getheader("Server"))
    with pytest.raises(ssl.SSLError):
        proxy.connect(name="elsewhere.example")


def test_metrics_are_for_nobody_outside(deployed: Deployed) -> None:
    assert deployed.service.ask("GET", "/metrics").status == 404


def findings(service: Served, worker: Worker) -> list[str]:
    with closing(open_database(worker.settings.database)) as database:
        return [f"{found.verdict}: {found.what}" for found in examine(database, service.address, service.token)]


def test_the_doctor_finds_the_proxy_and_its_number(deployed: Deployed) -> None:
    told = findings(deployed.service, deployed.worker)
    assert "good: devices talk to the service over TLS" in told
    assert "good: the service knows how many proxies a request comes through: 1" in told
    assert any(
        re.fullmatch(rf"good: the certificate of {HOST} is valid for (29|30) more days", found) for found in told
    )


@pytest.mark.parametrize(
    ("proxies", "wrong"),
    [
        (0, "all devices are one address to it: serve --proxies 1"),
        (2, "anybody can forge an address: serve --proxies 1"),
    ],
)
def test_the_doctor_finds_a_wrong_number_of_proxies(
    deployed: Deployed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proxies: int, wrong: str
) -> None:
    with (
        attacked(tmp_path, proxies=proxies) as (direct, worker),
        proxied(tmp_path, urlsplit(direct.address).port or 0) as proxy,
    ):
        monkeypatch.setenv("SSL_CERT_FILE", str(proxy.certificate))
        told = findings(Served(proxy.address, direct.token), worker)
    assert [found for found in told if found.startswith("unsafe: a request comes through 1 proxies") and wrong in found]
    unseen = [found for found in told if found.startswith("unsafe: the service does not see that it is asked over TLS")]
    assert len(unseen) == (proxies == 0)


def test_the_address_that_counts_is_the_one_that_the_proxy_saw(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = deployed.proxy
    seen: list[str] = []

    def note_sender(scope: Scope, proxies: int) -> str:
        seen.append(sender_of(scope, proxies))
        return seen[-1]

    monkeypatch.setattr(worker_module, "sender_of", note_sender)
    for sender in ("192.0.2.7", "2001:db8::1", "2001:db8:0:0:1:2:3:4"):
        for forged in ({}, {"X_Forwarded_For": "198.51.100.1"}, {"X_Forwarded_For": "1.1.1.1, 2.2.2.2"}):
            with proxy.connect(sender) as line:
                assert send(line, head("GET", "/healthz", **forged).replace(b"Host: here", b"Host: localhost"))
                assert answer(line)[0] == 200
    assert seen == 3 * ["192.0.2.7"] + 6 * ["2001:db8::/64"]


def test_a_stream_passes_piece_by_piece(deployed: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    service, proxy = deployed.service, deployed.proxy
    monkeypatch.setattr(progress_stream, "STREAM_SECONDS", PATIENCE)
    body = msgspec.to_builtins(definition(rehearsal=True, name="watched"))
    assert service.ask("POST", "/v1/campaigns", body).status == 201
    connection = http.client.HTTPSConnection(
        HOST, proxy.port, timeout=PATIENCE, context=ssl.create_default_context(cafile=str(proxy.certificate))
    )
    form = urlencode({"token": service.token})
    same = {"Origin": proxy.address, "Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", "/sign-in", form, same)
    reply = connection.getresponse()
    reply.read()
    cookie = str(reply.getheader("Set-Cookie"))
    assert (reply.status, "Secure" in cookie) == (303, True)
    connection.request("GET", "/campaigns/watched/progress", headers={"Cookie": cookie.partition(";")[0]})
    stream = connection.getresponse()
    assert stream.getheader("Content-Type") == "text/event-stream; charset=utf-8"

    def until(wanted: str) -> None:
        for line in iter(stream.readline, b""):
            if wanted in line.decode():
                return
        pytest.fail(f"the stream ended without {wanted!r}")

    until('data: "draft"')
    assert service.ask("POST", "/v1/campaigns/watched/start").status == 200
    until('data: "running"')
    connection.close()


def counted_requests(worker: Worker) -> list[bytes]:
    """What the service has counted, but for streams: one that another test has left is counted when its end is seen."""
    return [line for line in worker.metrics.text().splitlines() if b"/progress" not in line]


def test_headers_and_bodies_that_are_too_large_end_at_the_proxy(deployed: Deployed) -> None:
    service, worker, proxy = deployed.service, deployed.worker, deployed.proxy
    asked = counted_requests(worker)
    for request, status in (
        (head("GET", "/healthz", A=5000 * "a"), 400),
        (head("GET", "/" + 5000 * "a"), 414),
        (head("POST", "/v1/check-in", Content_Length=2000), 413),
        (head("POST", "/v1/campaigns", Content_Length=(64 << 20) + 1), 413),
    ):
        with proxy.connect() as line:
            assert send(line, request.replace(b"Host: here", b"Host: localhost"))
            assert answer(line)[0] == status
    assert counted_requests(worker) == asked, "the service has heard nothing of it"
    large = json.dumps({"name": "x", "role": "operator", "more": (1 << 20) * "x"}).encode()
    assert service.ask("POST", "/v1/tokens", large).status == 400, "a large one within the limit is read to its end"


def test_who_sends_half_a_header_is_closed_and_the_service_does_not_notice(deployed: Deployed) -> None:
    worker, proxy = deployed.worker, deployed.proxy
    asked = worker.metrics.text()
    with proxy.connect() as line:
        assert send(line, b"GET /healthz HTTP/1.1\r\nHost:")
        assert is_closed(line)
    assert worker.metrics.text() == asked


def half_a_body(service: Served, proxy: Proxy, stack: ExitStack, sender: str | None = None) -> ssl.SSLSocket:
    """A request whose body is large and stops in the middle."""
    line = stack.enter_context(proxy.connect(sender))
    request = head("POST", "/v1/tokens", Authorization=f"Bearer {service.token}", Content_Length=1 << 20)
    assert send(line, request.replace(b"Host: here", b"Host: localhost") + 500_000 * b"x")
    return line


def test_nothing_that_devices_send_waits_in_a_file_of_the_proxy(deployed: Deployed) -> None:
    service, worker, proxy = deployed.service, deployed.worker, deployed.proxy
    with ExitStack() as stack:
        line = half_a_body(service, proxy, stack)
        # The service has most of it, so the proxy has passed it on and would have written it by now.
        wait_until(lambda: worker._bodies._bytes > 400_000)
        assert not proxy.files()
        assert send(line, ((1 << 20) - 500_000) * b"x")
        assert answer(line)[0] == 400


def test_with_buffering_the_proxy_would_write_bodies_to_a_disk(deployed: Deployed, tmp_path: Path) -> None:
    """What the shipped setting prevents, so that the test above can fail."""
    port = urlsplit(deployed.direct.address).port or 0
    changes = {"proxy_request_buffering off;": "proxy_request_buffering on;"}
    with ExitStack() as stack, proxied(tmp_path, port, changes) as buffering:
        half_a_body(deployed.service, buffering, stack)
        wait_until(buffering.files)


def test_the_connections_of_one_network_are_bounded_and_those_of_others_are_not(deployed: Deployed) -> None:
    service, worker, proxy = deployed.service, deployed.worker, deployed.proxy
    with ExitStack() as stack:
        for sender in ("2001:db8::1", "2001:db8::ffff:2"):
            half_a_body(service, proxy, stack, sender)
        wait_until(lambda: worker._bodies._bytes > 2 * 400_000)
        for sender, status in (("2001:db8::3", 429), ("2001:db8:0:1::1", 200), ("192.0.2.7", 200)):
            with proxy.connect(sender) as line:
                assert send(line, head("GET", "/healthz").replace(b"Host: here", b"Host: localhost"))
                assert answer(line)[0] == status, sender


def test_no_log_of_the_proxy_has_an_address_or_a_path(deployed: Deployed) -> None:
    """Asked last of all: whatever the other tests of this module did, nothing of it is written down."""
    assert deployed.proxy.log.read_text() == ""


def test_what_the_units_give_to_serve_are_options_that_it_has() -> None:
    known = {
        option for parameter in serve.params if not getattr(parameter, "hidden", False) for option in parameter.opts
    }
    given: set[str] = set()
    for path in (SHIPPED.parent).rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            for line in path.read_text("utf-8").splitlines():
                if re.search(r'neologue serve|"serve"', line):
                    given |= set(re.findall(r"--[a-z-]+", line.partition("`neologue serve")[2] or line))
    assert {"--database", "--proxies"} <= given <= known
