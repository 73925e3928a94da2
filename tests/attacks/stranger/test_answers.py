"""What strangers, and people with less than an operator's rights, can learn or cause by asking."""

import hashlib
import logging
import os
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from neologue.cli import main
from neologue.device.contribution import contribute
from neologue.service import worker as worker_module
from neologue.service.log import log_store
from neologue.service.storage.database_address import open_database
from neologue.service.storage.migrations import migrate
from neologue.service.worker import Worker
from neologue.transparency.log_entry import Deed
from neologue.web.dashboard import dashboard
from service.campaigns import WORDS, definition
from service.serving import Served, wait_until
from service.test_worker import Opened, sent
from web.office import Office

from .wire import attacked, connect, head, is_closed, limited, send


@pytest.fixture(scope="module")
def attack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Worker]]:
    with attacked(tmp_path_factory.mktemp("attacked"), dashboard, failures_per_minute=1e6, proxies=1) as running:
        yield running


def started(service: Served) -> Opened:
    """A campaign whose first layer is open."""
    name = f"campaign-{os.urandom(4).hex()}"
    service.ask("POST", "/v1/campaigns", msgspec.to_builtins(definition(rehearsal=True, name=name)))
    service.ask("POST", f"/v1/campaigns/{name}/start")
    wait_until(lambda: service.ask("GET", f"/v1/campaigns/{name}/layers").json)
    return Opened(service, name)


def test_nobody_learns_without_a_ticket_whether_a_serial_was_spent(attack: tuple[Served, Worker]) -> None:
    opened = started(attack[0])
    devices = [opened.invited() for _ in range(11)]
    layer = opened.layer(devices[0][1])
    reports = [contribute(WORDS, layer) for _ in devices]

    def ask(device: int, ticket: str) -> tuple[int, bytes]:
        reply = sent(opened, devices[device][0], ticket, reports[device])
        return reply.status, reply.body

    with ThreadPoolExecutor(10) as threads:
        # Ten make a batch; while the database is slow, anybody may be told to ask again.
        wait_until(
            lambda: all(
                status == 200 for status, _ in threads.map(lambda n: ask(n, devices[n][1]["ticket"]), range(10))
            )
        )
    for closed in (False, True):
        if closed:
            opened.service.ask("POST", f"/v1/campaigns/{opened.name}/abort")
        guessed = os.urandom(16).hex()
        assert ask(0, guessed) == ask(10, guessed), "one was counted, the other was not"
        assert ask(0, guessed)[0] == 401
    assert ask(0, devices[0][1]["ticket"])[0] == 200
    assert ask(10, devices[10][1]["ticket"])[0] == 410


def test_the_description_is_made_once_whoever_asks(
    attack: tuple[Served, Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def describe() -> dict[str, object]:
        made.append(1)
        return {"openapi": "3.1.0"}

    worker_module._description.cache_clear()
    monkeypatch.setattr(worker_module, "description", describe)
    replies = {attack[0].ask("GET", "/openapi.json", token="").body for _ in range(3)}
    assert len(replies) == 1
    assert made == [1]
    worker_module._description.cache_clear()


def test_what_strangers_send_does_not_fill_the_log(
    attack: tuple[Served, Worker], caplog: pytest.LogCaptureFixture
) -> None:
    service, _ = attack
    upgrade = head("GET", "/healthz", Connection="Upgrade", Upgrade="websocket", Sec_WebSocket_Key="x")
    with caplog.at_level(logging.INFO):
        for said in (b"\x16\x03\x01\x02\x00\x01\x00", b"GET / HTP\r\n\r\n", b"NONSENSE / HTTP/1.1\r\n\r\n", upgrade):
            for _ in range(3):
                with connect(service) as line:
                    send(line, said + b"\r\n\r\n")
                    line.shutdown(1)
                    assert is_closed(line)
        assert service.ask("GET", "/%00", b"\xff").status == 404
    assert [record.getMessage() for record in caplog.records if record.name != "neologue.service"] == []
    assert limited(service, "malformed") >= 9


def test_a_wrong_sign_in_waits_for_nobody_who_writes(attack: tuple[Served, Worker]) -> None:
    service, worker = attack
    with worker.database.transaction():
        # As long as a batch is written, a guess that needed the same lock would wait, and others behind it.
        reply = service.ask("POST", "/sign-in", b"token=guess", Origin=service.address)
    assert reply.status == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "https://evil.example"},
        {"Origin": "null", "Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
    ids=str,
)
def test_nobody_is_signed_in_by_another_site(attack: tuple[Served, Worker], headers: dict[str, str]) -> None:
    service, _ = attack
    reply = Office(service, None).ask("POST", "/sign-in", form={"token": service.token}, **headers)  # type: ignore[arg-type]
    assert reply.status == 403
    assert "set-cookie" not in reply.headers


@pytest.mark.parametrize("tls", [False, True])
def test_every_answer_has_the_headers_that_browsers_heed(attack: tuple[Served, Worker], tls: bool) -> None:
    service, _ = attack
    asked = [
        ("GET", "/healthz", 200),
        ("GET", "/metrics", 200),
        ("GET", "/openapi.json", 200),
        ("GET", "/v1/key", 200),
        ("GET", "/v1/campaigns", 200),
        ("GET", "/v1/campaigns/none", 404),
        ("GET", "/nothing", 404),
        ("PUT", "/v1/campaigns", 405),
        ("POST", "/v1/check-in", 400),
        ("POST", "/v1/reports", 400),
        ("GET", "/v1/reports", 405),
        ("POST", "/v1/cohorts", 400),
        ("OPTIONS", "/v1/reports", 204),
        ("GET", f"/v1/known/{64 * '0'}", 404),
        ("GET", "/sign-in", 200),
        ("GET", "/static/dashboard.css", 200),
    ]
    for method, path, status in asked:
        reply = service.ask(method, path, X_Forwarded_Proto="https" if tls else "http")
        headers = {name.lower(): value for name, value in reply.headers.items()}
        assert reply.status == status, path
        assert headers["x-content-type-options"] == "nosniff", path
        assert headers.get("strict-transport-security") == ("max-age=31536000" if tls else None), path
        if path not in ("/static/dashboard.css", "/openapi.json") and status != 204:
            assert headers["cache-control"] == "no-store", path


def test_an_analyst_sees_no_draft(attack: tuple[Served, Worker]) -> None:
    service, _ = attack
    name = f"draft-{os.urandom(4).hex()}"
    service.ask("POST", "/v1/campaigns", msgspec.to_builtins(definition(rehearsal=True, name=name)))
    token = service.ask("POST", "/v1/tokens", {"name": f"analyst {time.monotonic_ns()}", "role": "analyst"}).json[
        "token"
    ]
    assert name not in [view["name"] for view in service.ask("GET", "/v1/campaigns", token=token).json]
    for path in ("", "/words", "/review", "/release", "/influence/3", "/review/export?format=csv"):
        draft = service.ask("GET", f"/v1/campaigns/{name}{path}", token=token)
        nothing = service.ask("GET", f"/v1/campaigns/none{path}", token=token)
        assert (draft.status, draft.code) == (nothing.status, nothing.code) == (404, "unknown"), path
        assert draft.body.replace(name.encode(), b"none") == nothing.body
    office = Office(service, None)  # type: ignore[arg-type]
    cookie = office.cookie(token)
    for page in ("/", "/transparency"):
        assert name not in office.ask("GET", page, cookie).body.decode()
    assert office.ask("GET", f"/campaigns/{name}/words", cookie).status == 404
    assert name in [view["name"] for view in service.ask("GET", "/v1/campaigns").json]


def test_nobody_reads_the_rules_of_a_draft_in_the_log(attack: tuple[Served, Worker]) -> None:
    """Nor its known words, which may be those that people have accepted: there is a digest, and no text to it."""
    service, worker = attack
    name = f"draft-{os.urandom(4).hex()}"
    drawn = definition(rehearsal=True, name=name, known=["the", os.urandom(4).hex()])
    service.ask("POST", "/v1/campaigns", msgspec.to_builtins(drawn))

    def told() -> set[bytes]:
        with worker.database.reading() as db:
            created = [entry for entry in log_store.all_entries(db) if entry.deed is Deed.CREATED]
        rules = created[-1].digest
        assert rules
        return {rules, bytes.fromhex(drawn.campaign.known.digest)}

    def found() -> list[int]:
        paths = [f"/log/documents/{digest.hex()}" for digest in told()]
        paths.append(f"/v1/known/{drawn.campaign.known.digest}")
        return [service.ask("GET", path, token="").status for path in paths]

    assert found() == [404, 404, 404]
    assert service.ask("POST", f"/v1/campaigns/{name}/start").status == 200
    assert found() == [200, 200, 200], "it is asked now, and everybody may see what"
    for digest in told():
        assert hashlib.sha256(service.ask("GET", f"/log/documents/{digest.hex()}").body).digest() == digest


DAMAGE = {
    "not a database": None,
    "a key of a wrong length": "INSERT INTO service_keys (purpose, secret, since) VALUES ('operator', x'00', 0.0)",
    "a campaign that can't be read": (
        "INSERT INTO campaigns (id, name, definition, state, slot_secret, created, changed, note)"
        " VALUES (x'00', 'a', '{', 'draft', x'00', 0, 0, '')"
    ),
    "no campaigns": "DROP TABLE campaigns",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_database_ends_with_one_sentence(tmp_path: Path, damage: str) -> None:
    path, statement = tmp_path / "damaged.db", DAMAGE[damage]
    if statement is None:
        path.write_bytes(b"hello " * 1000)
    else:
        database = open_database(str(path))
        migrate(database)
        database.close()
        with sqlite3.connect(path) as db:
            db.execute(statement)
        db.close()
    done = CliRunner().invoke(main, ["serve", "--database", str(path), "--port", "0"])
    assert done.exit_code == 2, done.output
    sentences = [line for line in done.output.splitlines() if line.startswith("neologue: ")]
    assert len(sentences) == 1
    assert str(path) in sentences[0]
    assert "operator token" not in done.output, "nobody is told a token of a service that does not start"
    assert "Traceback" not in done.output
