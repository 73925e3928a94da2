"""What happens to campaigns is told to an address: signed, in order, and again until it is accepted."""

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from neologue.errors import InputError
from neologue.service.campaigns import campaign_store
from neologue.service.campaigns.webhook import MOST_FAILURES, Webhook, check_webhook, post
from neologue.service.log import log_store
from neologue.service.storage.database import Database
from neologue.service.storage.database_address import open_database
from neologue.service.storage.migrations import migrate
from neologue.service.storage.states import CampaignState
from neologue.transparency.log_entry import Deed, LogEntry

from .campaigns import definition

SECRET = b"s" * 32
URL = "https://hooks.example.org/neologue"
IDENTITY = b"c" * 16


@dataclass
class Receiver:
    """Somebody who is told, and refuses as often as they are asked to."""

    refusals: int = 0
    told: list[tuple[Mapping[str, str], bytes]] = field(default_factory=list)

    def __call__(self, url: str, body: bytes, headers: Mapping[str, str]) -> bool:
        assert url == URL
        if self.refusals:
            self.refusals -= 1
            return False
        self.told.append((headers, body))
        return True

    @property
    def events(self) -> list[dict[str, object]]:
        return [json.loads(body) for _, body in self.told]


@pytest.fixture
def database(tmp_path: Path) -> Database:
    found = open_database(str(tmp_path / "service.db"))
    migrate(found)
    return found


def happen(database: Database, *deeds: Deed) -> None:
    """Let the log have entries of the campaign."""
    with database.transaction() as db:
        if not db.execute("SELECT 1 FROM campaigns"):
            row = campaign_store.CampaignRow(
                IDENTITY, "spring", definition(), CampaignState.RUNNING, b"s" * 32, 0.0, 0.0, ""
            )
            campaign_store.add(db, row)
        for deed in deeds:
            layer = 1 if deed in (Deed.OPENED, Deed.CLOSED) else None
            digest = b"d" * 32 if deed in (Deed.OPENED, Deed.RELEASED) else None
            log_store.append(db, LogEntry(deed, digest, IDENTITY, layer))
        log_store.place_entries(db)


def webhook(database: Database, receiver: Receiver, now: list[float]) -> Webhook:
    made = Webhook(database, URL, SECRET, lambda: now[0], receiver)
    assert not made.deliver(), "from now on"
    return made


def drain(hook: Webhook) -> None:
    while hook.deliver():
        pass


def test_events_are_told_in_order_and_once(database: Database) -> None:
    receiver, now = Receiver(), [100.0]
    happen(database, Deed.STARTED)
    hook = webhook(database, receiver, now)
    happen(database, Deed.OPENED, Deed.CLOSED, Deed.RELEASED)
    for _ in range(2):
        drain(hook)
    assert receiver.events == [
        {"type": "layer.opened", "campaign": "spring", "layer": 2},
        {"type": "layer.closed", "campaign": "spring", "layer": 2},
        {"type": "campaign.released", "campaign": "spring"},
    ], "what happened before is not told"
    assert len({headers["webhook-id"] for headers, _ in receiver.told}) == 3


def test_a_request_is_signed_with_the_secret(database: Database) -> None:
    receiver = Receiver()
    hook = webhook(database, receiver, [100.0])
    happen(database, Deed.RELEASED)
    drain(hook)
    ((headers, body),) = receiver.told
    assert headers["webhook-timestamp"] == "100"
    signed = f"{headers['webhook-id']}.100.".encode() + body
    version, _, signature = headers["webhook-signature"].partition(",")
    assert version == "v1"
    assert base64.b64decode(signature) == hmac.new(SECRET, signed, hashlib.sha256).digest()


def test_what_is_not_accepted_is_tried_again_after_pauses_that_grow(database: Database) -> None:
    receiver, now = Receiver(refusals=3), [0.0]
    hook = webhook(database, receiver, now)
    happen(database, Deed.RELEASED)
    tried = []
    for now[0] in range(60):
        before = receiver.refusals
        drain(hook)
        if receiver.refusals < before or receiver.told:
            tried.append(now[0])
        if receiver.told:
            break
    assert tried == [0, 5, 15, 35]
    assert len(receiver.told) == 1


def test_another_process_goes_on_where_one_stopped(database: Database) -> None:
    receiver, now = Receiver(refusals=1), [0.0]
    hook = webhook(database, receiver, now)
    happen(database, Deed.OPENED, Deed.RELEASED)
    drain(hook)
    now[0] = 10.0
    drain(Webhook(database, URL, SECRET, lambda: now[0], receiver))
    assert [event["type"] for event in receiver.events] == ["layer.opened", "campaign.released"]


def test_an_event_that_nobody_ever_accepts_is_given_up_for_the_next(database: Database) -> None:
    receiver, now = Receiver(refusals=MOST_FAILURES), [0.0]
    hook = webhook(database, receiver, now)
    happen(database, Deed.OPENED, Deed.RELEASED)
    for _ in range(MOST_FAILURES + 1):
        drain(hook)
        now[0] += 4000.0
    assert [event["type"] for event in receiver.events] == ["campaign.released"]


@pytest.mark.parametrize(
    ("url", "secret", "told"),
    [
        ("ftp://x.example", SECRET, "https:// address"),
        ("http://hooks.example.org", SECRET, "https:// address"),
        ("https://", SECRET, "https:// address"),
        (URL, b"short", "24 bytes or more, not 5"),
    ],
)
def test_an_address_or_a_secret_that_is_no_good_is_refused(url: str, secret: bytes, told: str) -> None:
    with pytest.raises(InputError, match=told):
        check_webhook(url, secret)


def test_nobody_at_the_address_is_not_accepted() -> None:
    assert post("http://127.0.0.1:9", b"{}", {}) is False


class Answering(BaseHTTPRequestHandler):
    """Answers with the status that the path names."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(int(self.path[1:]))
        self.send_header("Location", "/200")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@pytest.mark.parametrize(("status", "accepted"), [(200, True), (204, True), (302, False), (400, False), (503, False)])
def test_only_a_success_is_accepted_and_no_redirection_is_followed(status: int, accepted: bool) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            assert post(f"http://127.0.0.1:{server.server_port}/{status}", b"{}", {}) is accepted
        finally:
            server.shutdown()
            thread.join()
