"""Sessions: a person who has shown a token once, and the browser that stands for them until it expires.

The browser holds 256 random bits in a cookie that no script can read. The database holds their hash, beside the hash of
the token: revoking a token ends its sessions. A form carries a token of its own, made from the cookie, which a page of
another site can't know.
"""

import hashlib
import secrets
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from neologue.service.ops.access import OPERATOR, Person, fingerprint
from neologue.service.ops.settings import Settings
from neologue.service.storage.database import Connection

SECONDS: Final = 12 * 3600
"""How long a session lasts."""
FIELD: Final = "form_token"
"""The field of a form that says that one of our own pages has sent it."""
_COOKIE: Final = "neologue-session"


@dataclass(frozen=True)
class Session:
    """Somebody who is signed in."""

    person: Person
    form_token: str
    """What a form that changes anything must carry."""

    @property
    def operates(self) -> bool:
        """Whether they may do all that there is to do."""
        return self.person.role == OPERATOR


def begin(db: Connection, token: str, now: float) -> str | None:
    """A new session for whoever has this token: what the cookie is to hold; None if it is nobody's token."""
    hashed = fingerprint(token)
    if not db.execute("SELECT 1 FROM tokens WHERE hash = ?", (hashed,)):
        return None
    db.execute("DELETE FROM sessions WHERE expires <= ?", (now,))
    secret = secrets.token_urlsafe(32)
    row = (fingerprint(secret), hashed, now + SECONDS)
    db.execute("INSERT INTO sessions (hash, token, expires) VALUES (?, ?, ?)", row)
    return secret


def find(db: Connection, secret: str, now: float) -> Session | None:
    """The session that a cookie stands for, unless it is over."""
    rows = db.execute(
        "SELECT tokens.name, tokens.role FROM sessions JOIN tokens ON tokens.hash = sessions.token"
        " WHERE sessions.hash = ? AND sessions.expires > ?",
        (fingerprint(secret), now),
    )
    return Session(Person(*map(str, rows[0])), form_token(secret)) if rows else None


def end(db: Connection, secret: str) -> None:
    """From now on the cookie is worth nothing."""
    db.execute("DELETE FROM sessions WHERE hash = ?", (fingerprint(secret),))


def form_token(secret: str) -> str:
    """What the forms of a session carry."""
    return hashlib.blake2b(person=b"neologue form", key=fingerprint(secret), digest_size=32).hexdigest()


def is_ours(session: Session, given: str) -> bool:
    """Whether a form was sent by a page of this very session."""
    return secrets.compare_digest(session.form_token.encode(), given.encode("utf-8", "surrogatepass"))


def is_cross_site(request: Request) -> bool:
    """Whether the browser says that another site made it send this.

    A page that sends no referrer sends the origin `null` with its own forms too, which therefore says nothing.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = request.headers.get("Origin", "null")
    try:
        return origin != "null" and urlsplit(origin).netloc != request.headers.get("Host")
    except ValueError:  # no browser names an origin like that
        return True


def secret_of(request: Request, settings: Settings) -> str:
    """What the cookie of a request holds; nothing if there is none."""
    return request.cookies.get(_cookie(_by_tls(request, settings)), "")


def give(response: Response, request: Request, settings: Settings, secret: str) -> None:
    """Let the browser keep a session."""
    _set(response, _by_tls(request, settings), secret, SECONDS)


def take(response: Response, request: Request, settings: Settings) -> None:
    """Let the browser forget its session."""
    _set(response, _by_tls(request, settings), "", 0)


def _set(response: Response, tls: bool, value: str, seconds: int) -> None:
    response.set_cookie(_cookie(tls), value, max_age=seconds, path="/", secure=tls, httponly=True, samesite="strict")


def _cookie(tls: bool) -> str:
    """The name of the cookie; a browser lets only this very host set one with the prefix, and only by TLS."""
    return f"__Host-{_COOKIE}" if tls else _COOKIE


def _by_tls(request: Request, settings: Settings) -> bool:
    """Whether the browser speaks TLS, to us or to the proxy in front."""
    forwarded = settings.behind_proxy and request.headers.get("X-Forwarded-Proto", "").strip() == "https"
    return forwarded or request.url.scheme == "https"
