"""The secret keys of a service: in its database, wrapped, shared by all of its workers, and replaced while they run.

operator    one is in force; the secret of one that was replaced is erased at once
issuer      those that were in force since a campaign was created vouch for its devices, until it is over
ticket      tickets of the last two are taken; a device whose ticket is older gets another by its credential
log         signs the checkpoints of the log, and is never replaced: witnesses and devices know the log by it
"""

import hashlib
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.errors import InputError, StorageError
from neologue.protocol.ticket import SECRET_BYTES, is_ticket
from neologue.service.log import log_store
from neologue.service.ops.wrapping_key import RAW, WrappingKey, make_missing_key, read_wrapping_key, source_for
from neologue.service.storage.database import Connection, Database, Row
from neologue.service.storage.states import OVER
from neologue.transparency.log_entry import Deed, LogEntry


class Purpose(StrEnum):
    """What a key is for."""

    OPERATOR = "operator"
    """Signs invitations and releases; devices pin its public key."""
    ISSUER = "issuer"
    """Signs the credentials that the service issues itself."""
    TICKET = "ticket"
    """Authenticates tickets, which only the service can make and read."""
    LOG = "log"
    """Signs the checkpoints of the log."""


TICKETS: Final = 2
"""How many ticket keys are taken."""


@dataclass(frozen=True, repr=False)
class ServiceKey:
    """One key."""

    number: int
    purpose: Purpose
    public: bytes
    """The raw public key; empty if there is none."""
    secret: bytes | None
    """None if it is erased."""
    wrapped: bool
    since: float | None
    until: float | None

    @property
    def in_force(self) -> bool:
        """Whether it is the one that is used now."""
        return self.since is not None and self.until is None

    @property
    def private(self) -> Ed25519PrivateKey:
        """The private key of a pair."""
        if self.secret is None:
            raise StorageError(f"the {self.purpose} key {self.public.hex()} is erased: use the one in force")
        return Ed25519PrivateKey.from_private_bytes(self.secret)


class Keys:
    """The keys as they were read last; `refresh` reads them again if anyone has replaced one."""

    def __init__(self, database: Database, wrapping: WrappingKey | None) -> None:
        self._database, self.wrapping = database, wrapping
        self._lock = threading.Lock()
        self._version: tuple[object, ...] = ()
        self._tickets: Sequence[bytes] = ()
        """The newest first."""
        self.all: Sequence[ServiceKey] = ()
        """The oldest first."""
        self.succession = b""
        """How the operator's keys have replaced each other, as devices are told."""
        self.recovery: bytes | None = None
        """The digest of the recovery key, if one is registered."""
        with database.reading() as db:
            self.refresh(db)

    def refresh(self, db: Connection) -> None:
        """Read the keys again if they have changed."""
        ((*keys,),) = db.execute("SELECT MAX(number), COUNT(since), COUNT(until), COUNT(secret) FROM service_keys")
        ((links,),) = db.execute("SELECT COUNT(*) FROM key_links")
        recovery = db.execute("SELECT digest FROM recovery_key")
        version = (*keys, links, *recovery)
        with self._lock:
            if version != self._version:
                self.succession = b"".join(bytes(link) for (link,) in _rows(db, "SELECT link FROM key_links"))
                self.recovery = bytes(recovery[0][0]) if recovery else None
                self.all = read_keys(db, self.wrapping)
                tickets = [key.secret for key in self.of(Purpose.TICKET) if key.secret]
                self._tickets = tickets[: -1 - TICKETS : -1]
                self._version = version

    @property
    def operator(self) -> Ed25519PrivateKey:
        """The operator's key in force."""
        return self.present(Purpose.OPERATOR).private

    @property
    def public(self) -> bytes:
        """Its raw public key, by which devices know the operator."""
        return self.present(Purpose.OPERATOR).public

    @property
    def log(self) -> Ed25519PrivateKey:
        """The key of the log."""
        return self.present(Purpose.LOG).private

    @property
    def ticket(self) -> bytes:
        """The secret of new tickets."""
        return self._tickets[0]

    def is_ticket(self, shown: bytes, campaign_id: bytes, digest: bytes, serial: bytes) -> bool:
        """Whether this is the ticket of that device, under one of the secrets that are taken."""
        return any(is_ticket(shown, secret, campaign_id, digest, serial) for secret in self._tickets)

    def present(self, purpose: Purpose) -> ServiceKey:
        """The key in force."""
        return next(key for key in reversed(self.all) if key.purpose == purpose and key.in_force)

    def of(self, purpose: Purpose) -> list[ServiceKey]:
        """All keys of a purpose that are or were in force, the oldest first."""
        return [key for key in self.all if key.purpose is purpose and key.since is not None]

    def issuers(self, created: float) -> tuple[bytes, ...]:
        """The public keys that vouch for devices of a campaign that was created then, the oldest first."""
        return tuple(key.public for key in self._issuers(created))

    @property
    def issuer(self) -> Ed25519PrivateKey:
        """The issuer's key in force."""
        return self.present(Purpose.ISSUER).private

    def first_issuer(self, created: float) -> Ed25519PrivateKey:
        """The issuer's key that was in force when a campaign was created.

        Under masks it issues all credentials: the issuers are part of what devices were promised.
        """
        return self._issuers(created)[0].private

    def _issuers(self, created: float) -> list[ServiceKey]:
        return [key for key in self.of(Purpose.ISSUER) if key.until is None or key.until >= created]


def load_keys(database: Database, source: str | None = None) -> Keys:
    """The keys in the database; missing ones are created, and raw ones wrapped if there is a wrapping key."""
    source = source_for(database, source)
    with database.reading() as db:
        wrapped = bool(db.execute("SELECT 1 FROM service_keys WHERE wrapping IS NOT NULL LIMIT 1"))
    if not wrapped:
        make_missing_key(database, source)
    wrapping = read_wrapping_key(source)
    if wrapped and wrapping is None:
        raise InputError(
            f"the keys in {database.name} are wrapped, and the source of their wrapping key is {RAW}: name the one "
            "that they were wrapped under with --wrapping-key"
        )
    with database.transaction() as db:
        db.lock_alone()
        for purpose in Purpose:
            if not db.execute("SELECT 1 FROM service_keys WHERE purpose = ?", (purpose,)):
                made = add_key(db, purpose, wrapping, since=time.time())
                if purpose is Purpose.OPERATOR:
                    log_key(db, made.public)
        erase_unneeded(db)
        was_raw = _complete(db, wrapping)
    if was_raw:
        # Nothing of a raw key stays in the log of SQLite, or in dead rows.
        database.scrub()
    return Keys(database, wrapping)


def public_log_key(db: Connection) -> bytes:
    """The public key of the log, which needs no wrapping key to be read."""
    rows = db.execute("SELECT public FROM service_keys WHERE purpose = ?", (Purpose.LOG,))
    if not rows:
        raise InputError("this service has no log yet: start it once")
    return bytes(rows[0][0])


def log_key(db: Connection, public: bytes) -> None:
    """Tell the log of an operator's key that comes into force."""
    log_store.append(db, LogEntry(Deed.KEY, hashlib.sha256(public).digest()))


def add_key(db: Connection, purpose: Purpose, wrapping: WrappingKey | None, since: float | None) -> ServiceKey:
    """Make a new key; one without a time is not in force yet."""
    secret = os.urandom(SECRET_BYTES)
    public = _public(purpose, secret)
    stored = secret if wrapping is None else wrapping.wrap(secret, purpose, public)
    name = None if wrapping is None else wrapping.name
    ((number,),) = db.execute(
        "INSERT INTO service_keys (purpose, public, secret, wrapping, since) VALUES (?, ?, ?, ?, ?) RETURNING number",
        (purpose, public, stored, name, since),
    )
    return ServiceKey(int(number), purpose, public, secret, wrapping is not None, since, None)


def read_keys(db: Connection, wrapping: WrappingKey | None) -> list[ServiceKey]:
    """All keys, the oldest first."""
    keys = []
    for number, purpose, public, secret, name, since, until in _rows(
        db, "SELECT number, purpose, public, secret, wrapping, since, until FROM service_keys"
    ):
        opened = None if secret is None else bytes(secret)
        if opened is not None and name is not None:
            if wrapping is None or bytes(name) != wrapping.name:
                raise InputError(
                    f"the {purpose} key is wrapped under the wrapping key with the name {bytes(name).hex()}, and "
                    "another one was given: name the right one with --wrapping-key"
                )
            opened = wrapping.unwrap(opened, purpose, bytes(public))
        key = ServiceKey(int(number), Purpose(purpose), bytes(public or b""), opened, name is not None, since, until)
        keys.append(key)
    return keys


def erase_unneeded(db: Connection) -> None:
    """Erase the secrets of keys that were replaced and are of no more use."""
    erase = "UPDATE service_keys SET secret = NULL, wrapping = NULL WHERE until IS NOT NULL AND purpose = ?"
    db.execute(erase, (Purpose.OPERATOR,))
    taken = "SELECT number FROM service_keys WHERE purpose = ? ORDER BY number DESC LIMIT ?"
    db.execute(f"{erase} AND number NOT IN ({taken})", (Purpose.TICKET, Purpose.TICKET, TICKETS))
    marks = ", ".join("?" * len(OVER))
    running = f"SELECT 1 FROM campaigns WHERE created <= service_keys.until AND state NOT IN ({marks})"
    db.execute(f"{erase} AND NOT EXISTS ({running})", (Purpose.ISSUER, *OVER))


def _complete(db: Connection, wrapping: WrappingKey | None) -> bool:
    """Note the public keys of an earlier version's keys, and wrap raw ones under the wrapping key; whether any were."""
    was_raw = False
    for number, purpose, public, secret in _rows(
        db, "SELECT number, purpose, public, secret FROM service_keys WHERE wrapping IS NULL AND secret IS NOT NULL"
    ):
        own = _public(Purpose(purpose), bytes(secret)) if public is None else bytes(public)
        stored = bytes(secret) if wrapping is None else wrapping.wrap(bytes(secret), purpose, own)
        name = None if wrapping is None else wrapping.name
        was_raw |= wrapping is not None
        if public is None or wrapping is not None:
            db.execute(
                "UPDATE service_keys SET public = ?, secret = ?, wrapping = ? WHERE number = ?",
                (own, stored, name, number),
            )
    return was_raw


def _public(purpose: Purpose, secret: bytes) -> bytes:
    if purpose is Purpose.TICKET:
        return b""
    return Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def _rows(db: Connection, select: str) -> list[Row]:
    return db.execute(f"{select} ORDER BY number")
