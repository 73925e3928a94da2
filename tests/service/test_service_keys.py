"""The keys of a service: wrapped wherever they are stored, from any source, over upgrades; and how they rotate."""

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.errors import InputError, ParameterError, SignatureError, StorageError
from neologue.protocol.credential import issue
from neologue.protocol.succession import KeyHistory, recovery_digest, succeed
from neologue.protocol.succession import revoke as sign_revocation
from neologue.protocol.ticket import ticket
from neologue.service.doctor import examine
from neologue.service.ops import access
from neologue.service.ops.key_rotation import prepare_successor, register_recovery, revoke, rotate
from neologue.service.ops.service_keys import Keys, Purpose, load_keys
from neologue.service.ops.wrapping_key import WrappingKey, read_wrapping_key
from neologue.service.storage import migrations
from neologue.service.storage.backup import copy_database
from neologue.service.storage.database import Database
from neologue.service.storage.database_address import open_database
from neologue.service.storage.migrations import migrate
from neologue.service.storage.sqlite_database import SqliteDatabase
from service.campaigns import Town, definition

KEK = "5a" * 32
RECOVERY = Ed25519PrivateKey.from_private_bytes(bytes(32))
DIGEST = recovery_digest(RECOVERY.public_key().public_bytes_raw())


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEK", KEK)


def secrets_of(keys: Keys) -> list[bytes]:
    return [key.secret for key in keys.all if key.secret]


def stored(database: Database) -> list[bytes]:
    with database.reading() as db:
        return [bytes(secret) for (secret,) in db.execute("SELECT secret FROM service_keys WHERE secret IS NOT NULL")]


def on_disk(database: SqliteDatabase) -> bytes:
    folder = database.file.parent
    return b"".join(file.read_bytes() for file in folder.iterdir() if file.name.startswith("service.db"))


# Wrapping


def test_a_copy_of_the_database_has_no_key(tmp_path: Path) -> None:
    database = SqliteDatabase(str(tmp_path / "service.db"))
    migrate(database)
    keys = load_keys(database)
    beside = tmp_path / "service.db.key"
    assert stat.S_IMODE(beside.stat().st_mode) == 0o600
    copy_database(str(tmp_path / "service.db"), tmp_path / "copy.db")
    content = (tmp_path / "copy.db").read_bytes() + on_disk(database)
    assert len(secrets_of(keys)) == 4
    for secret in secrets_of(keys):
        assert secret not in content
        assert secret.hex().encode() not in content
    kek = bytes.fromhex(beside.read_text())
    assert kek not in (tmp_path / "copy.db").read_bytes()
    assert beside.read_bytes().strip() not in (tmp_path / "copy.db").read_bytes()
    copy = SqliteDatabase(str(tmp_path / "copy.db"))
    with pytest.raises(InputError, match=r"can't read the wrapping key .*copy\.db\.key.*put back the file"):
        load_keys(copy)
    assert not (tmp_path / "copy.db.key").exists(), "another one would be of no use"
    assert secrets_of(load_keys(copy, f"file:{beside}")) == secrets_of(keys)
    for each in (database, copy):
        each.close()


SOURCES: dict[str, Callable[[Path], str]] = {
    "file": lambda folder: f"file:{folder / 'kek'}",
    "env": lambda folder: "env:TEST_KEK",
    "command": lambda folder: f"command:{sys.executable} -c \"print(open('{folder / 'kek'}').read())\"",
}


@pytest.mark.parametrize("kind", SOURCES)
def test_the_wrapping_key_comes_from_anywhere(database: Database, tmp_path: Path, kind: str) -> None:
    (tmp_path / "kek").write_text(KEK + "\n")
    keys = load_keys(database, SOURCES[kind](tmp_path))
    assert not set(stored(database)) & set(secrets_of(keys))
    for other in SOURCES.values():
        assert secrets_of(load_keys(database, other(tmp_path))) == secrets_of(keys)
    (tmp_path / "kek").write_text("00" * 32)
    with pytest.raises(InputError, match="wrapped under the wrapping key with the name"):
        load_keys(database, f"file:{tmp_path / 'kek'}")
    with pytest.raises(InputError, match="are wrapped, and the source of their wrapping key is none"):
        load_keys(database, "none")


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("file:/nowhere/kek", "can't read the wrapping key /nowhere/kek"),
        ("env:NOT_SET", "the environment has no NOT_SET"),
        ("command:false", "ended with 1: run 'false' yourself"),
        ("command:/nowhere/kek", "can't be run .*: check '/nowhere/kek'"),
        ("command:'", "can't be run"),
        ("command:echo secret", "must be 64 hexadecimal digits, not a text of 6 characters"),
        ("vault:kek", "file:PATH, env:NAME, command:COMMAND or none, and this text of 9 characters"),
        ("5a" * 32, "name where the key is, and not the key"),
        ("file:", "is none of these"),
    ],
)
def test_a_source_that_gives_no_key_is_refused_and_nothing_changes(database: Database, source: str, why: str) -> None:
    with pytest.raises(InputError, match=why) as refused:
        load_keys(database, source)
    assert "secret" not in str(refused.value).replace("echo secret", "")
    assert KEK not in str(refused.value)
    assert stored(database) == []


def test_raw_keys_of_an_earlier_version_are_wrapped_and_nothing_is_left_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = SqliteDatabase(str(tmp_path / "service.db"))
    before = {name: os.urandom(32) for name in ("operator", "issuer", "ticket")}
    old_version(database, monkeypatch, before)
    assert all(secret in on_disk(database) for secret in before.values())
    migrate(database)
    keys = load_keys(database)
    assert of_before(keys) == before
    assert keys.public == Ed25519PrivateKey.from_private_bytes(before["operator"]).public_key().public_bytes_raw()
    database.close()
    assert not any(secret in on_disk(database) for secret in before.values())


def test_raw_keys_stay_raw_without_a_wrapping_key_and_are_wrapped_with_one(
    postgres: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    database = open_database(postgres())
    before = {name: os.urandom(32) for name in ("operator", "issuer", "ticket")}
    old_version(database, monkeypatch, before)
    migrate(database)
    assert of_before(load_keys(database)) == before
    assert set(stored(database)) > set(before.values())
    raw = "keys are raw in the database"
    assert any(raw in finding.what for finding in examine(database, None) if finding.verdict == "doubtful")
    assert of_before(load_keys(database, "env:TEST_KEK")) == before
    assert not set(stored(database)) & set(before.values())
    assert not any(raw in finding.what for finding in examine(database, None))
    database.close()


def of_before(keys: Keys) -> dict[str, bytes | None]:
    """The keys that the version before had: it had none for a log."""
    return {key.purpose.value: key.secret for key in keys.all if key.purpose is not Purpose.LOG}


def old_version(database: Database, monkeypatch: pytest.MonkeyPatch, secrets: dict[str, bytes]) -> None:
    """A database as the version before had it."""
    steps = migrations._steps()
    monkeypatch.setattr(migrations, "_steps", lambda: {number: text for number, text in steps.items() if number < 10})
    migrate(database)
    monkeypatch.undo()
    monkeypatch.setenv("TEST_KEK", KEK)
    with database.transaction() as db:
        for name, value in secrets.items():
            db.execute("INSERT INTO secrets (name, value) VALUES (?, ?)", (name, value))


def test_a_wrapped_key_is_bound_to_what_it_is_for() -> None:
    wrapping = read_wrapping_key("env:TEST_KEK")
    assert wrapping == WrappingKey(bytes.fromhex(KEK))
    assert wrapping is not None
    wrapped = wrapping.wrap(b"secret", "operator", b"public")
    assert wrapping.unwrap(wrapped, "operator", b"public") == b"secret"
    assert wrapped != wrapping.wrap(b"secret", "operator", b"public"), "nonces are never used twice"
    for purpose, public, bytes_ in (
        ("issuer", b"public", wrapped),
        ("operator", b"other", wrapped),
        ("operator", b"public", wrapped[:-1] + bytes([wrapped[-1] ^ 1])),
        ("operator", b"public", b""),
    ):
        with pytest.raises(StorageError, match="is damaged"):
            wrapping.unwrap(bytes_, purpose, public)
    assert KEK not in repr(wrapping)


def test_others_who_can_read_the_key_file_are_unsafe(tmp_path: Path) -> None:
    database = SqliteDatabase(str(tmp_path / "service.db"))
    migrate(database)
    load_keys(database)
    assert not any("others can read" in finding.what for finding in examine(database, None))
    (tmp_path / "service.db.key").chmod(0o644)
    (finding,) = (each for each in examine(database, None) if "others can read" in each.what)
    assert finding.verdict == "unsafe"
    assert "chmod 600" in finding.what
    database.close()


# Rotation


@pytest.fixture
def keys(database: Database) -> Keys:
    return load_keys(database, "env:TEST_KEK")


def audited(database: Database) -> list[str]:
    with database.reading() as db:
        return [f"{entry.actor}: {entry.action}" for entry in access.audit_entries(db, 100)]


def test_a_new_operator_key_is_signed_by_the_old_one_which_is_erased(database: Database, keys: Keys) -> None:
    old = keys.public
    worker = load_keys(database, "env:TEST_KEK")
    rotate(database, keys, "operator", 5.0, "ann")
    rotate(database, keys, "operator", 6.0, "ann")
    history = KeyHistory().learn(keys.succession, {old: None})
    assert history.path(old, None) == tuple(key.public for key in keys.of(Purpose.OPERATOR))
    assert history.trusted(old, None) == keys.public != old
    assert [key.secret is None for key in keys.of(Purpose.OPERATOR)] == [True, True, False]
    assert audited(database) == ["ann: rotate operator key"] * 2
    assert worker.public == old
    with database.reading() as db:
        worker.refresh(db)
    assert (worker.public, worker.succession) == (keys.public, keys.succession), "other workers notice"


def test_an_unknown_key_is_not_rotated(database: Database, keys: Keys) -> None:
    with pytest.raises(ParameterError, match="no key is for 'recovery': rotate one of operator, issuer, ticket"):
        rotate(database, keys, "recovery", 5.0, "ann")


def test_tickets_of_the_last_two_keys_are_taken(database: Database, keys: Keys) -> None:
    parts = (bytes(16), bytes(32), bytes(16))
    tickets = [ticket(keys.ticket, *parts)]
    for now in (1.0, 2.0):
        rotate(database, keys, "ticket", now, "ann")
        tickets.append(ticket(keys.ticket, *parts))
    assert [keys.is_ticket(shown, *parts) for shown in tickets] == [False, True, True]
    assert [key.secret is None for key in keys.of(Purpose.TICKET)] == [True, False, False]


def test_credentials_of_an_old_issuer_hold_until_their_campaigns_are_over(database: Database) -> None:
    town = Town(database)
    first = town.coordinator.create(definition(name="first"), 1.0)
    credential = issue(first.id, town.keys.issuer)
    old = town.keys.issuers(0.0)[0]
    rotate(database, town.keys, "issuer", 5.0, "ann")
    second = town.coordinator.create(definition(name="second"), 6.0)
    town.layer_cache.refresh()
    for entry, holds in ((first, True), (second, False)):
        cached = town.layer_cache.campaign(entry.id)
        assert cached
        assert (old in cached.issuers) is holds, "a credential for a later campaign is not theirs to issue"
    town.layer_cache.layer_for(credential)
    assert town.keys.of(Purpose.ISSUER)[0].secret, "a campaign under masks may still need it"
    town.coordinator.abort("first", 7.0)
    rotate(database, town.keys, "issuer", 8.0, "ann")
    assert [key.secret is None for key in town.keys.of(Purpose.ISSUER)] == [True, False, False]


# Revocation


def test_a_revoked_key_is_succeeded_by_the_prepared_one(database: Database, keys: Keys) -> None:
    stolen = keys.public
    register_recovery(database, keys, DIGEST, 1.0, "ann")
    successor = prepare_successor(database, keys, 2.0, "ann")
    assert prepare_successor(database, keys, 2.0, "ann") == successor
    assert keys.public == stolen, "until it is revoked"
    statement = bytes(sign_revocation(RECOVERY, stolen, successor))
    for _ in range(2):  # the second time the answer was lost
        revoke(database, keys, statement, 3.0, "ann")
    assert keys.public == successor
    thief = succeed(RECOVERY, stolen)  # any key but the operator's
    history = KeyHistory().learn(keys.succession + bytes(thief), {stolen: DIGEST})
    assert history.trusted(stolen, DIGEST) == successor
    assert audited(database) == ["ann: revoke operator key", "ann: prepare operator key", "ann: register recovery key"]


def test_a_key_that_was_replaced_is_revoked_in_favour_of_the_one_in_force(database: Database, keys: Keys) -> None:
    stolen = keys.public
    register_recovery(database, keys, DIGEST, 1.0, "ann")
    rotate(database, keys, "operator", 2.0, "ann")
    revoke(database, keys, bytes(sign_revocation(RECOVERY, stolen, keys.public)), 3.0, "ann")
    led_away = KeyHistory({stolen: b"thief" * 7}, {})
    assert led_away.learn(keys.succession, {stolen: DIGEST}).trusted(stolen, DIGEST) == keys.public


def test_what_no_device_would_follow_is_refused_and_changes_nothing(database: Database, keys: Keys) -> None:
    stranger = Ed25519PrivateKey.generate()
    present, other = keys.public, stranger.public_key().public_bytes_raw()
    before_registering = bytes(sign_revocation(RECOVERY, present, other))
    with pytest.raises(SignatureError, match="not signed by the recovery key that is registered"):
        revoke(database, keys, before_registering, 1.0, "ann")
    register_recovery(database, keys, DIGEST, 1.0, "ann")
    with pytest.raises(SignatureError, match="none is prepared: prepare one first"):
        revoke(database, keys, before_registering, 1.0, "ann")
    successor = prepare_successor(database, keys, 2.0, "ann")
    for statement, why in (
        (bytes(sign_revocation(stranger, present, successor)), "not signed by the recovery key"),
        (bytes(sign_revocation(RECOVERY, present, other)), "must be a key that this service has"),
        (bytes(sign_revocation(RECOVERY, other, successor)), "was never one of this service"),
        (bytes(succeed(RECOVERY, successor)), "not a revocation"),
        (bytes(sign_revocation(RECOVERY, present, successor))[:-64] + bytes(64), "its signature is wrong"),
        (b"", "not a revocation"),
        (b"x", "is cut"),
    ):
        with pytest.raises(SignatureError, match=why):
            revoke(database, keys, statement, 3.0, "ann")
    with pytest.raises(SignatureError, match="is registered, and devices that pin it would follow no other"):
        register_recovery(database, keys, bytes(32), 3.0, "ann")
    register_recovery(database, keys, DIGEST, 3.0, "ann")
    assert (keys.public, keys.succession) == (present, b"")


def test_a_succession_has_an_end_that_is_said(database: Database, keys: Keys) -> None:
    with database.transaction() as db:
        db.execute("INSERT INTO key_links (link) VALUES (?)", (bytes(16_300),))
    with pytest.raises(SignatureError, match="has no room for another"):
        rotate(database, keys, "operator", 5.0, "ann")
    assert len(keys.of(Purpose.OPERATOR)) == 1
