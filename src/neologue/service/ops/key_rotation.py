"""Replacing the keys of a service while campaigns run: each step is one transaction, with its line in the audit log.

operator    the old key signs a succession to the new one, which devices follow; then its secret is erased
or, if it was stolen, the recovery key revokes it and names a key that was prepared here
issuer      the new key issues credentials from now on; those of the old one hold until their campaigns are over
ticket      the new key makes tickets from now on; those of the old one are taken until the next time
"""

import hashlib

from neologue.errors import ParameterError, SignatureError
from neologue.protocol.invitation import check_bytes
from neologue.protocol.succession import (
    DIGEST_BYTES,
    MOST_SUCCESSION_BYTES,
    Link,
    Revocation,
    read_links,
    recovery_digest,
    succeed,
)
from neologue.service.log import log_store
from neologue.service.ops import access
from neologue.service.ops.service_keys import Keys, Purpose, ServiceKey, add_key, erase_unneeded, log_key, read_keys
from neologue.service.storage.database import Connection, Database
from neologue.transparency.log_entry import Deed, LogEntry


def rotate(database: Database, keys: Keys, purpose: str, now: float, by: str) -> None:
    """Put a new key in the place of the one in force."""
    if purpose == Purpose.LOG:
        raise ParameterError("the key of the log is never replaced: witnesses and devices know the log by it")
    if purpose not in list(Purpose):
        replaceable = (kind for kind in Purpose if kind is not Purpose.LOG)
        raise ParameterError(f"no key is for {purpose[:200]!r}: rotate one of {', '.join(replaceable)}")
    with database.transaction() as db:
        before = _in_force(_locked(db, keys), Purpose(purpose))
        new = add_key(db, before.purpose, keys.wrapping, since=now)
        if before.purpose is Purpose.OPERATOR:
            _add_link(db, succeed(before.private, new.public))
        _retire(db, before, now)
        access.audit(db, by, f"rotate {purpose} key", new.public.hex() or f"number {new.number}", now)
    _done(database, keys)


def prepare_successor(database: Database, keys: Keys, now: float, by: str) -> bytes:
    """The public key that will be in force once a revocation names it; made now, if there is none yet."""
    with database.transaction() as db:
        prepared = _prepared(_locked(db, keys))
        if prepared is None:
            prepared = add_key(db, Purpose.OPERATOR, keys.wrapping, since=None)
            access.audit(db, by, "prepare operator key", prepared.public.hex(), now)
    _done(database, keys)
    return prepared.public


def register_recovery(database: Database, keys: Keys, digest: bytes, now: float, by: str) -> None:
    """Note the digest of the recovery key, which devices pin; it is noted once, and never changed."""
    check_bytes("the digest of a recovery key", digest, DIGEST_BYTES)
    with database.transaction() as db:
        db.lock_alone()
        registered = [bytes(known) for (known,) in db.execute("SELECT digest FROM recovery_key")]
        if registered and registered != [digest]:
            raise SignatureError(
                f"the recovery key with the digest {registered[0].hex()} is registered, and devices that pin it would "
                "follow no other: use that one"
            )
        if not registered:
            db.execute("INSERT INTO recovery_key (digest) VALUES (?)", (digest,))
            access.audit(db, by, "register recovery key", digest.hex(), now)
    _done(database, keys)


def revoke(database: Database, keys: Keys, statement: bytes, now: float, by: str) -> None:
    """Carry out a revocation that the recovery key has signed: of the key in force, or of one that it has replaced."""
    link = _revocation(statement)
    with database.transaction() as db:
        all_keys = _locked(db, keys)
        registered = [bytes(known) for (known,) in db.execute("SELECT digest FROM recovery_key")]
        if registered != [recovery_digest(link.recovery)]:
            raise SignatureError(
                "the revocation is not signed by the recovery key that is registered here, so no device would follow "
                "it: register that key first, or sign with it"
            )
        links = [bytes(known) for (known,) in db.execute("SELECT link FROM key_links")]
        if bytes(link) in links:
            return  # carried out before, and the answer was lost
        present, prepared = _in_force(all_keys, Purpose.OPERATOR), _prepared(all_keys)
        if link.old not in [
            key.public for key in all_keys if key.purpose is Purpose.OPERATOR and key.since is not None
        ]:
            raise SignatureError(f"the key {link.old.hex()} was never one of this service: name one that was")
        if any(known.old == link.old for known in _links(db) if isinstance(known, Revocation)):
            raise SignatureError(f"the key {link.old.hex()} is revoked already, and has one successor only")
        successor = prepared if link.old == present.public else present
        if successor is None or link.new != successor.public:
            wanted = "none is prepared: prepare one first" if successor is None else successor.public.hex()
            raise SignatureError(
                f"the successor must be a key that this service has, and not {link.new.hex()}: {wanted}"
            )
        _add_link(db, link)
        if successor is prepared:
            db.execute("UPDATE service_keys SET since = ? WHERE number = ?", (now, successor.number))
            _retire(db, present, now)
        access.audit(db, by, "revoke operator key", link.old.hex(), now)
    _done(database, keys)


def _revocation(statement: bytes) -> Revocation:
    match read_links(statement):
        case [Revocation() as link] if link.genuine:
            return link
    raise SignatureError("this is not a revocation, or its signature is wrong: sign it with `neologue key revoke`")


def _locked(db: Connection, keys: Keys) -> list[ServiceKey]:
    """All keys, which nobody else replaces until the transaction ends."""
    db.lock_alone()
    return read_keys(db, keys.wrapping)


def _in_force(all_keys: list[ServiceKey], purpose: Purpose) -> ServiceKey:
    return next(key for key in reversed(all_keys) if key.purpose is purpose and key.in_force)


def _prepared(all_keys: list[ServiceKey]) -> ServiceKey | None:
    return next((key for key in all_keys if key.since is None), None)


def _links(db: Connection) -> list[Link]:
    return read_links(b"".join(bytes(link) for (link,) in db.execute("SELECT link FROM key_links ORDER BY number")))


def _add_link(db: Connection, link: Link) -> None:
    ((size,),) = db.execute("SELECT COALESCE(SUM(LENGTH(link)), 0) FROM key_links")
    if int(size) + link.length > MOST_SUCCESSION_BYTES:
        raise SignatureError(
            "the succession of operator keys has no room for another: start a new service, and let apps pin its key"
        )
    db.execute("INSERT INTO key_links (link) VALUES (?)", (bytes(link),))
    log_store.append(db, LogEntry(Deed.LINKED, hashlib.sha256(bytes(link)).digest()))
    log_key(db, link.new)


def _retire(db: Connection, key: ServiceKey, now: float) -> None:
    db.execute("UPDATE service_keys SET until = ? WHERE number = ?", (now, key.number))
    erase_unneeded(db)


def _done(database: Database, keys: Keys) -> None:
    with database.reading() as db:
        keys.refresh(db)
    # What is left of an erased secret in the log of SQLite or in dead rows is wrapped, but it need not be there.
    database.scrub()
