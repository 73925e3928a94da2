"""Access control: operators and analysts have tokens, of which the service keeps only hashes."""

import hashlib
import secrets
from dataclasses import dataclass

from neologue.errors import AccessError
from neologue.service.storage.database import Connection

NOBODY = "nobody"
"""The actor when none is named."""
OPERATOR, ANALYST = "operator", "analyst"
ROLES = (OPERATOR, ANALYST)
LONGEST_NAME = 100
NAME_RULE = f"1 to {LONGEST_NAME} characters, and no slash"


@dataclass(frozen=True)
class Person:
    """The holder of a token."""

    name: str
    role: str


def is_name(name: str) -> bool:
    """Whether this is a valid name, which can also be part of a URL path."""
    whole = bool(name.strip()) and len(name) <= LONGEST_NAME and name.isprintable()
    return whole and "/" not in name and name not in (".", "..")


def new_token(db: Connection, name: str, role: str, now: float) -> str:
    """Make a token, which is shown only this once."""
    if role not in ROLES:
        raise AccessError(f"a token is for one of {', '.join(ROLES)}, not {role[:200]!r}")
    if not is_name(name):
        raise AccessError(f"the name of a token has {NAME_RULE}, not {name[:200]!r}")
    if db.execute("SELECT 1 FROM tokens WHERE name = ?", (name,)):
        raise AccessError(f"there is already a token called {name!r}: revoke it first, or choose another name")
    # 256 random bits need no salt and no slow hash: nobody can guess them.
    token = secrets.token_urlsafe(32)
    db.execute(
        "INSERT INTO tokens (hash, name, role, created) VALUES (?, ?, ?, ?)", (fingerprint(token), name, role, now)
    )
    return token


def holder(db: Connection, token: str) -> Person | None:
    """The holder of a token, if it is valid."""
    rows = db.execute("SELECT name, role FROM tokens WHERE hash = ?", (fingerprint(token),))
    return Person(*map(str, rows[0])) if rows else None


def people(db: Connection) -> list[Person]:
    """All holders of tokens."""
    return [Person(str(name), str(role)) for name, role in db.execute("SELECT name, role FROM tokens ORDER BY name")]


def revoke(db: Connection, name: str) -> None:
    """Revoke the token of that name."""
    operators = [person.name for person in people(db) if person.role == OPERATOR]
    if operators == [name]:
        raise AccessError(f"{name!r} is the only operator: make another token for an operator first")
    if not db.execute("DELETE FROM tokens WHERE name = ? RETURNING 1", (name,)):
        raise AccessError(f"no token is called {name[:200]!r}")


def audit(db: Connection, actor: str, action: str, subject: str, now: float) -> None:
    """Add an entry to the audit log, in the transaction of the action itself."""
    db.execute("INSERT INTO audit (at, actor, action, subject) VALUES (?, ?, ?, ?)", (now, actor, action, subject))


@dataclass(frozen=True)
class AuditEntry:
    """An entry of the audit log."""

    at: float
    actor: str
    action: str
    subject: str


def audit_entries(db: Connection, most: int) -> list[AuditEntry]:
    """The last entries of the audit log, latest first."""
    rows = db.execute("SELECT at, actor, action, subject FROM audit ORDER BY id DESC LIMIT ?", (most,))
    return [AuditEntry(float(str(at)), str(actor), str(action), str(subject)) for at, actor, action, subject in rows]


def fingerprint(token: str) -> bytes:
    """The hash that is kept of a token, or of another secret that is shown once."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
