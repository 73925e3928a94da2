"""Whoever has stolen a copy of the database, or the operator's key itself, and what that is worth against devices."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from invitations import OPERATOR, policy
from neologue.device.client import Client
from neologue.errors import InputError, PolicyError
from neologue.protocol.succession import recovery_digest, revoke, succeed
from neologue.service.ops.service_keys import load_keys
from neologue.service.storage.backup import copy_database
from neologue.service.storage.migrations import migrate
from neologue.service.storage.sqlite_database import SqliteDatabase
from sending import AT_ONCE
from small_service import Service, running

SECOND, THIEF, RECOVERY = (Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in range(3))
DIGEST = recovery_digest(RECOVERY.public_key().public_bytes_raw())


def raw(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes_raw()


PINNING = policy(recovery={raw(OPERATOR): DIGEST})


@pytest.fixture
def service() -> Iterator[Service]:
    """What a device talks to, whoever runs it."""
    with running(Service()) as service:
        yield service


def client_of(folder: Path, service: Service, **changes: Any) -> Client:  # noqa: ANN401
    pinning = policy(**{"recovery": {raw(OPERATOR): DIGEST}, **changes})
    return Client(folder, service.address, pinning, sending_time=AT_ONCE)


def joined(folder: Path, service: Service) -> Client:
    client = client_of(folder, service)
    client.join(service.credential().text)
    client.typed("abcab")
    return client


def test_a_stolen_backup_invites_nobody(tmp_path: Path) -> None:
    """Everything but the file of the wrapping key, which no backup has."""
    database = SqliteDatabase(str(tmp_path / "service.db"))
    migrate(database)
    secrets = [key.secret for key in load_keys(database).all]
    copy_database(str(tmp_path / "service.db"), tmp_path / "stolen.db")
    database.close()
    content = (tmp_path / "stolen.db").read_bytes()
    assert secrets
    assert not any(secret and secret in content for secret in secrets)
    stolen = SqliteDatabase(str(tmp_path / "stolen.db"))
    for source in (None, "none"):
        with pytest.raises(InputError):
            load_keys(stolen, source)
    stolen.close()


def test_a_thief_who_comes_second_leads_nobody_away(tmp_path: Path, service: Service) -> None:
    service.links, service.state = [succeed(OPERATOR, raw(SECOND))], "wait"
    with joined(tmp_path, service) as client:
        client.tick()
        service.links, service.operator, service.state = [succeed(OPERATOR, raw(THIEF))], THIEF, "invited"
        assert client.tick().state == "refused"
    assert not service.bodies


def test_a_thief_who_comes_first_is_shaken_off_by_a_revocation(tmp_path: Path, service: Service) -> None:
    service.links, service.state = [succeed(OPERATOR, raw(THIEF))], "wait"
    with joined(tmp_path, service) as client:
        client.tick()
        service.links, service.operator, service.state = [succeed(OPERATOR, raw(SECOND))], SECOND, "invited"
        assert client.tick().state == "refused", "it can't tell who was first, and stays with whom it met first"
        service.links.append(revoke(RECOVERY, raw(OPERATOR), raw(SECOND)))
        assert client.tick().state == "final"
        for stolen in (OPERATOR, THIEF):
            with pytest.raises(PolicyError):
                client._operator_keys.apply(PINNING).check_origin(raw(stolen), bytes(64), b"")


def test_a_revoked_key_is_never_trusted_again_whatever_it_signs(tmp_path: Path, service: Service) -> None:
    service.links, service.state = [revoke(RECOVERY, raw(OPERATOR), raw(SECOND))], "wait"
    with joined(tmp_path, service) as client:
        client.tick()
    service.state, service.operator = "invited", OPERATOR
    service.links = [succeed(OPERATOR, raw(THIEF)), revoke(THIEF, raw(SECOND), raw(THIEF))]
    with client_of(tmp_path, service) as client:
        tick = client.tick()
        assert (tick.state, "was revoked" in tick.message) == ("refused", True)
        service.operator = THIEF
        assert client.tick().state == "refused"
    assert not service.bodies


def test_a_revocation_counts_for_whoever_pinned_the_recovery_key_alone(tmp_path: Path, service: Service) -> None:
    service.links, service.operator = [revoke(RECOVERY, raw(OPERATOR), raw(SECOND))], SECOND
    with client_of(tmp_path, service, recovery={}) as client:
        client.join(service.credential().text)
        assert client.tick().state == "refused"
        service.operator = OPERATOR
        assert client.tick().state == "final", "without a pin, nobody can say who may revoke"
