"""The limit on failures as a weapon: whoever makes an address fail puts off nobody who is in the right."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from neologue.device.contribution import contribute
from neologue.service.api.log_routes import LogRoutes
from neologue.service.api.rate_limit import LONGEST_WAIT
from neologue.service.collect.late_reports import LateReports, SenderStatus
from neologue.web.dashboard import dashboard
from service.campaigns import WORDS, definition
from service.serving import Reply, Served, wait_until
from service.test_worker import Opened, check_in, sent

from .wire import answer, attacked, connect, head, limited, send

ALLOWED = 5


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with attacked(tmp_path_factory.mktemp("attacked"), failures_per_minute=ALLOWED) as (running, _):
        yield running


@pytest.fixture(scope="module")
def opened(service: Served) -> Opened:
    service.ask("POST", "/v1/campaigns", msgspec.to_builtins(definition(rehearsal=True, name="open")))
    service.ask("POST", "/v1/campaigns/open/start")
    wait_until(lambda: service.ask("GET", "/v1/campaigns/open/layers").json)
    return Opened(service, "open")


def scan(service: Served, forwarded: str = "") -> list[int]:
    """Wrong requests, more than one address may make."""
    return [service.ask("GET", "/wp-login.php", X_Forwarded_For=forwarded).status for _ in range(ALLOWED + 2)]


def is_suspect(service: Served, forwarded: str = "") -> bool:
    """Whether wrong requests are put off."""
    return service.ask("GET", "/wp-login.php", X_Forwarded_For=forwarded).status == 429


def test_a_scanner_behind_the_same_address_puts_off_no_device_and_no_person(opened: Opened) -> None:
    service = opened.service
    credential, told = opened.invited()
    report = contribute(WORDS, opened.layer(told))
    assert scan(service)[-2:] == [429, 429]
    assert check_in(service, credential.text).json["state"] == "invited"
    assert opened.layer(told).digest.hex() == told["layer"]
    assert sent(opened, credential, told["ticket"], report).status == 202
    assert service.ask("GET", "/v1/campaigns").status == 200
    assert service.ask("GET", "/healthz").status == 200
    assert is_suspect(service)
    forged = sent(opened, credential, 32 * "0", report)
    assert (forged.status, forged.code) == (429, "slow_down")
    assert limited(service, "failures_of_address") >= 3


def test_a_device_of_a_closed_layer_is_answered_however_its_address_stands(opened: Opened) -> None:
    service, name = opened.service, f"closing-{os.urandom(4).hex()}"
    service.ask("POST", "/v1/campaigns", msgspec.to_builtins(definition(rehearsal=True, name=name)))
    service.ask("POST", f"/v1/campaigns/{name}/start")
    wait_until(lambda: service.ask("GET", f"/v1/campaigns/{name}/layers").json)
    closing = Opened(service, name)
    credential, told = closing.invited()
    report = contribute(WORDS, closing.layer(told))
    service.ask("POST", f"/v1/campaigns/{name}/abort")
    scan(service)
    assert sent(closing, credential, told["ticket"], report).code == "closed"
    assert is_suspect(service)


def test_requests_finished_together_do_not_lock_an_address_out(tmp_path: Path) -> None:
    with attacked(tmp_path, failures_per_minute=ALLOWED) as (service, _), ExitStack() as lines:
        halves = [lines.enter_context(connect(service)) for _ in range(20 * ALLOWED)]
        for line in halves:
            send(line, head("POST", "/v1/check-in", Content_Length=2) + b"x")
        # Those under way count: not all of them can be the last one that is allowed.
        wait_until(lambda: is_suspect(service))
        for line in halves:
            send(line, b"x")
        assert sorted({answer(line)[0] for line in halves}) == [400, 429]
        reply = service.ask("GET", "/nothing")
        assert reply.status == 429
        assert int(reply.headers["retry-after"]) <= LONGEST_WAIT


def test_two_proxies_do_not_make_all_clients_one(tmp_path: Path) -> None:
    with attacked(tmp_path, failures_per_minute=ALLOWED, proxies=2) as (service, _):
        assert scan(service, "198.51.100.1, 192.0.2.1, 10.0.0.1")[-1] == 429
        assert not is_suspect(service, "198.51.100.1, 192.0.2.2, 10.0.0.1")
        assert is_suspect(service, "198.51.100.9, 192.0.2.1, 10.0.0.1"), (
            "what stands before the proxies' own entries counts for nothing"
        )


def test_the_addresses_of_one_ipv6_network_are_one(tmp_path: Path) -> None:
    with attacked(tmp_path, failures_per_minute=ALLOWED, proxies=1) as (service, _):
        replies: list[Reply] = [
            service.ask("GET", "/nothing", X_Forwarded_For=f"2001:db8:0:7:{number:x}::1")
            for number in range(ALLOWED + 1)
        ]
        assert [reply.status for reply in replies] == [404] * ALLOWED + [429]
        assert not is_suspect(service, "2001:db8:0:8::1")


def test_a_suspect_makes_nobody_look_up_a_campaign_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[bytes] = []
    look_up = LateReports._look_up

    def spy(late: LateReports, campaign: bytes, *shown: bytes) -> SenderStatus:
        searched.append(campaign)
        return look_up(late, campaign, *shown)

    monkeypatch.setattr(LateReports, "_look_up", spy)
    with attacked(tmp_path, failures_per_minute=ALLOWED) as (service, _):
        statuses = [
            service.ask("POST", path, os.urandom(300), token="").status
            for path in 2 * ALLOWED * ["/v1/reports", "/v1/cohorts"]
        ]
    assert statuses == ALLOWED * [404] + (len(statuses) - ALLOWED) * [429]
    assert len(searched) == ALLOWED


def test_no_wrong_request_waits_for_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of which there are few, for those who are right: what is wrong is said at once."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a thread was asked for")

    monkeypatch.setattr("anyio.to_thread.run_sync", refuse)
    monkeypatch.setattr(LogRoutes, "_read", refuse)
    with attacked(tmp_path, dashboard) as (service, _):
        for path in ("/wp-login.php", "/v1/x", "/campaigns/", "/log/wp-login.php", "/log/documents/x"):
            for accepted in ("*/*", "text/html"):
                assert service.ask("GET", path, token="", Accept=accepted).status == 404
        assert service.ask("GET", "/v1/check-in", token="").status == 405
        assert service.ask("POST", "/v1/check-in", b"x", token="").status == 400
        assert service.ask("POST", "/v1/reports", b"x", token="").status == 400
