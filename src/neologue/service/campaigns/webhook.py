"""Tells an address of the operator's what happens to campaigns: signed, in order, at least once.

Events are entries of the log, which are written in the transaction of the deed; so none is lost by a crash, and
whoever is told can find each in the log. Requests are signed as standardwebhooks.com says: the receiver computes
HMAC-SHA256 of `id.timestamp.body` with the shared secret. They name the campaign and the layer, and nothing of votes.
"""

import base64
import hashlib
import hmac
import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import structlog

from neologue.errors import InputError
from neologue.one_address import send_request
from neologue.service.log import log_store
from neologue.service.log.log_store import OPERATOR_TREE
from neologue.service.storage.database import Connection, Database
from neologue.transparency.log_entry import Deed, LogEntry

EVENTS: Final = {
    Deed.STARTED: "campaign.started",
    Deed.OPENED: "layer.opened",
    Deed.CLOSED: "layer.closed",
    Deed.RELEASED: "campaign.released",
    Deed.ABORTED: "campaign.aborted",
    Deed.REFUSED: "campaign.refused",
}
"""What is told; other entries of the log are not."""
SECONDS: Final = 10.0
FIRST_PAUSE: Final = 5.0
LONGEST_PAUSE: Final = 3600.0
MOST_FAILURES: Final = 24
"""After so many attempts, over about 14 hours, an event is given up for the next one."""
SHORTEST_SECRET: Final = 24
_AT_ONCE: Final = 100

Post = Callable[[str, bytes, Mapping[str, str]], bool]
"""Sends a body with headers to an address; whether it was accepted."""

log = structlog.get_logger("neologue.service")


def check_webhook(url: str, secret: bytes) -> None:
    """Refuse an address that can't be told of anything, or a secret that could be guessed."""
    parts = urlsplit(url)
    is_here = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if not parts.hostname or parts.scheme not in ("https", "http") or (parts.scheme == "http" and not is_here):
        # The path of an address may be a secret.
        given = f"{parts.scheme}://{parts.hostname or ''}"
        raise InputError(f"a webhook needs an https:// address, or http:// on this machine, not {given!r}")
    if parts.username is not None or parts.password is not None:
        raise InputError("the address of a webhook has a user or a password: what it is told is signed, leave them out")
    if len(secret) < SHORTEST_SECRET:
        raise InputError(
            f"the secret of a webhook needs {SHORTEST_SECRET} bytes or more, not {len(secret)}: openssl rand -hex 32"
        )


def sign(secret: bytes, event_id: str, timestamp: int, body: bytes) -> str:
    """The signature of a request."""
    signed = f"{event_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()


def post(url: str, body: bytes, headers: Mapping[str, str]) -> bool:
    """Send a request over HTTP."""
    wanted = urllib.request.Request(url, body, dict(headers), method="POST")
    try:
        with send_request(wanted, SECONDS) as answer:
            return 200 <= answer.status < 300
    except urllib.error.HTTPError as error:  # also who answers with another address
        error.close()
        return False
    except (OSError, http.client.HTTPException):
        return False


@dataclass(frozen=True)
class Webhook:
    """One address that is told."""

    database: Database
    url: str
    secret: bytes
    clock: Callable[[], float] = time.time
    post: Post = post

    def deliver(self) -> bool:
        """Tell the next event if there is one and it is due; whether another may be due at once."""
        with self.database.transaction() as db:
            found = self._claim(db)
        if found is None:
            return False
        position, failures, entry, name = found
        now = self.clock()
        body = json.dumps(_event(entry, name), ensure_ascii=False, separators=(",", ":")).encode()
        event_id, timestamp = f"evt_{position}", int(now)
        accepted = self.post(
            self.url,
            body,
            {
                "Content-Type": "application/json",
                "webhook-id": event_id,
                "webhook-timestamp": str(timestamp),
                "webhook-signature": sign(self.secret, event_id, timestamp, body),
            },
        )
        given_up = not accepted and failures + 1 >= MOST_FAILURES
        if given_up:
            log.warning("a webhook was given up", event_id=event_id, attempts=failures + 1)
        done = accepted or given_up
        due = now if done else now + min(LONGEST_PAUSE, FIRST_PAUSE * 2**failures)
        with self.database.transaction() as db:
            db.execute(
                "UPDATE webhooks SET position = ?, failures = ?, due = ? WHERE url = ? AND position = ?",
                (position + 1 if done else position, 0 if done else failures + 1, due, self.url, position),
            )
        return done

    def _claim(self, db: Connection) -> tuple[int, int, LogEntry, str] | None:
        """The next event if it is due; until a time to come no other worker tries it."""
        now, size = self.clock(), log_store.size_of(db, OPERATOR_TREE)
        rows = db.execute("SELECT position, failures, due FROM webhooks WHERE url = ?", (self.url,))
        if not rows:
            # What happened before it was named is not told.
            db.execute("INSERT INTO webhooks VALUES (?, ?, 0, ?) ON CONFLICT DO NOTHING", (self.url, size, now))
            return None
        position, failures, due = rows[0]
        if due > now:
            return None
        entries = log_store.entries_of(db, OPERATOR_TREE, position, min(size, position + _AT_ONCE))
        for place, content in enumerate(entries, position):
            entry = LogEntry.parse(content)
            names = db.execute("SELECT name FROM campaigns WHERE id = ?", (entry.campaign,)) if entry.campaign else []
            if entry.deed in EVENTS and names:
                lease = now + 3 * SECONDS
                db.execute("UPDATE webhooks SET position = ?, due = ? WHERE url = ?", (place, lease, self.url))
                return place, failures, entry, str(names[0][0])
        if entries:
            db.execute("UPDATE webhooks SET position = ? WHERE url = ?", (position + len(entries), self.url))
        return None


def _event(entry: LogEntry, name: str) -> dict[str, object]:
    """What is told of an entry."""
    said: dict[str, object] = {"type": EVENTS[entry.deed], "campaign": name}
    if entry.layer is not None:
        said["layer"] = entry.layer + 1
    return said
