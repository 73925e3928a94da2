"""Sessions: a person shows a token once, and then their browser is signed in until the session expires.

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

from neologue.service.api.addresses import is_https
from neologue.service.ops.access import OPERATOR, Person, fingerprint
from neologue.service.ops.settings import Settings
from neologue.service.storage.database import Connection

SECONDS: Final = 12 * 3600
"""How long a session lasts."""
FIELD: Final = "form_token"
"""The form field that proves that one of our own pages has sent the form."""
_COOKIE: Final = "neologue-session"


@dataclass(frozen=True)
class Session:
    """A signed-in person."""

    person: Person
    form_token: str
    """The token that every form of this session must carry."""

    @property
    def is_operator(self) -> bool:
        """Whether they may run campaigns, and not only read releases."""
        return self.person.role == OPERATOR


def begin(db: Connection, token: str, now: float) -> str | None:
    """Begin a session for the owner of a token and return the secret for its cookie; None if nobody has the token."""
    hashed = fingerprint(token)
    if not db.execute("SELECT 1 FROM tokens WHERE hash = ?", (hashed,)):
        return None
    db.execute("DELETE FROM sessions WHERE expires <= ?", (now,))
    secret = secrets.token_urlsafe(32)
    row = (fingerprint(secret), hashed, now + SECONDS)
    db.execute("INSERT INTO sessions (hash, token, expires) VALUES (?, ?, ?)", row)
    return secret


def find(db: Connection, secret: str, now: float) -> Session | None:
    """The session with this secret, unless it has expired."""
    rows = db.execute(
        "SELECT tokens.name, tokens.role FROM sessions JOIN tokens ON tokens.hash = sessions.token"
        " WHERE sessions.hash = ? AND sessions.expires > ?",
        (fingerprint(secret), now),
    )
    return Session(Person(*map(str, rows[0])), form_token(secret)) if rows else None


def end(db: Connection, secret: str) -> None:
    """End the session with this secret."""
    db.execute("DELETE FROM sessions WHERE hash = ?", (fingerprint(secret),))


def form_token(secret: str) -> str:
    """The token that the forms of a session carry."""
    return hashlib.blake2b(person=b"neologue form", key=fingerprint(secret), digest_size=32).hexdigest()


def is_own_form(session: Session, given: str) -> bool:
    """Whether a form was sent by a page of this very session."""
    return secrets.compare_digest(session.form_token.encode(), given.encode("utf-8", "surrogatepass"))


def is_cross_site(request: Request, settings: Settings) -> bool:
    """Whether a form may come from another site: true unless the browser says that it is from one of our own pages.

    Browsers say so by `Sec-Fetch-Site`, or by `Origin` where they don't send the former, as over plain HTTP. `null` is
    the origin of a page in another site's sandbox, and so never ours: our pages have a referrer policy with which
    browsers name theirs.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site not in ("same-origin", "none")
    try:
        origin = urlsplit(request.headers.get("Origin", ""))
    except ValueError:  # no browser names an origin like that
        return True
    schemes = ("https",) if _is_https(request, settings) else ("http",) if not settings.proxies else ("http", "https")
    return origin.scheme not in schemes or origin.netloc != request.headers.get("Host")


def session_secret(request: Request, settings: Settings) -> str:
    """The secret in the session cookie of a request; empty if there is none."""
    return request.cookies.get(_cookie_name(_is_https(request, settings)), "")


def set_cookie(response: Response, request: Request, settings: Settings, secret: str) -> None:
    """Store a session's secret in the browser."""
    _write_cookie(response, _is_https(request, settings), secret, SECONDS)


def clear_cookie(response: Response, request: Request, settings: Settings) -> None:
    """Remove the session's secret from the browser."""
    _write_cookie(response, _is_https(request, settings), "", 0)


def _write_cookie(response: Response, tls: bool, value: str, seconds: int) -> None:
    response.set_cookie(
        _cookie_name(tls), value, max_age=seconds, path="/", secure=tls, httponly=True, samesite="strict"
    )


def _cookie_name(tls: bool) -> str:
    """The name of the cookie; with the prefix `__Host-`, browsers let only this host set it, and only over TLS."""
    return f"__Host-{_COOKIE}" if tls else _COOKIE


def _is_https(request: Request, settings: Settings) -> bool:
    return is_https(request.scope, settings.proxies)
