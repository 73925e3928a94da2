"""A device follows its operator's keys: over HTTP, over restarts, and never back, whoever has stolen one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from invitations import OPERATOR, policy
from neologue.device.client import Client
from neologue.device.operator_keys import OperatorKeys
from neologue.errors import MembershipError, ParameterError
from neologue.protocol.succession import recovery_digest, succeed
from sending import AT_ONCE
from small_service import Reply, Service, error, instead, running

SECOND, THIRD, THIEF, RECOVERY = (Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in range(4))
DIGEST = recovery_digest(RECOVERY.public_key().public_bytes_raw())


def raw(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes_raw()


@pytest.fixture
def service() -> Iterator[Service]:
    with running(Service()) as service:
        yield service


PINNING = policy(recovery={raw(OPERATOR): DIGEST})


def client_of(folder: Path, service: Service, **changes: Any) -> Client:  # noqa: ANN401
    return Client(
        folder, service.address, policy(**{"recovery": {raw(OPERATOR): DIGEST}, **changes}), sending_time=AT_ONCE
    )


def joined(folder: Path, service: Service) -> Client:
    client = client_of(folder, service)
    client.join(service.credential().text)
    client.typed("abcab")
    return client


def test_a_new_key_is_followed_and_the_old_one_is_refused_for_good(tmp_path: Path, service: Service) -> None:
    service.links, service.operator = [succeed(OPERATOR, raw(SECOND))], SECOND
    with joined(tmp_path / "one", service) as client:
        assert client.tick().state == "final"
    service.links, service.operator = [], OPERATOR
    with client_of(tmp_path / "two", service) as client:
        client.join(service.credential().text)
        service.state = "wait"
        service.links = [succeed(OPERATOR, raw(SECOND))]
        assert client.tick().state == "wait", "a device that waits learns it too"
        service.links, service.state = [], "invited"
        tick = client.tick()
        assert (tick.state, "was replaced by" in tick.message) == ("refused", True)
        assert raw(SECOND).hex() in tick.message
        client.forget_me()
    with client_of(tmp_path / "two", service) as client:
        client.join(service.credential().text)
        assert "was replaced by" in client.tick().message, "not even when its owner wants to be forgotten"


def test_a_key_that_nobody_named_is_refused(tmp_path: Path, service: Service) -> None:
    service.operator = SECOND
    with joined(tmp_path, service) as client:
        tick = client.tick()
    assert (tick.state, "is not one of the 1 that this device answers" in tick.message) == ("refused", True)
    assert not (tmp_path / "operators.db").exists()
    assert service.asked("/v1/layers") == 0


def test_a_succession_with_a_wrong_signature_is_refused_before_all_else(tmp_path: Path, service: Service) -> None:
    good = succeed(OPERATOR, raw(SECOND))
    service.links = [type(good)(good.old, good.new, bytes(64))]
    with joined(tmp_path, service) as client:
        tick = client.tick()
        assert (tick.state, "signature that is wrong" in tick.message) == ("refused", True)
        service.links = []
        assert client.tick().state == "final"


@pytest.mark.parametrize("content", ["zz", "01", "01" * 40_000])
def test_a_succession_that_is_none_is_refused_or_comes_later(tmp_path: Path, service: Service, content: str) -> None:
    with joined(tmp_path, service) as client:
        service.ahead(
            "/v1/check-in", instead(Reply.of(200, {"state": "wait", "retry_after": 1, "succession": content}))
        )
        assert client.tick().state in ("refused", "later")
        assert client.tick().state == "final"


def test_a_report_that_was_made_before_is_sent_after_the_rotation(tmp_path: Path, service: Service) -> None:
    """The same bytes: its ticket is refused, it checks in again, and the invitation is by the new key."""
    with joined(tmp_path, service) as client:
        service.ahead("/v1/reports", instead(error(401, "forged")))
        assert client.tick().state == "refused"
        service.links, service.operator = [succeed(OPERATOR, raw(SECOND))], SECOND
        assert client.tick().state == "final"
    assert len({body[48:] for body in service.bodies}) == 1


def test_a_report_waits_while_a_document_from_elsewhere_replaces_the_key(tmp_path: Path, service: Service) -> None:
    """It has a ticket, and asks again nevertheless, as the key that invited it is trusted no more."""
    with joined(tmp_path, service) as client:
        service.batch = 2
        assert client.tick().state == "received"
        link = succeed(OPERATOR, raw(SECOND))
        client.follow(bytes(link))
        assert "was replaced by" in client.tick().message, "the service still signs with the old one"
        service.links, service.operator, service.batch = [link], SECOND, 1
        assert client.tick().state == "final"
    assert len({body[48:] for body in service.bodies}) == 1


# Files and policies


def test_a_damaged_record_is_refused_and_not_begun_anew(tmp_path: Path) -> None:
    (tmp_path / "operators.db").write_bytes(b"SQLite format 3\0" + bytes(5000))
    with pytest.raises(MembershipError, match="let the app pin the operator's present key first"):
        OperatorKeys(tmp_path / "operators.db").apply(PINNING)


def test_two_processes_agree_on_the_first_successor(tmp_path: Path) -> None:
    one, other = OperatorKeys(tmp_path / "operators.db"), OperatorKeys(tmp_path / "operators.db")
    one.learn(bytes(succeed(OPERATOR, raw(SECOND))), PINNING)
    other.learn(bytes(succeed(OPERATOR, raw(THIEF))), PINNING)
    assert one.apply(PINNING).operators == other.apply(PINNING).operators == {raw(SECOND)}


@pytest.mark.parametrize(
    ("recovery", "why"),
    [({raw(OPERATOR): b"short"}, "32 bytes"), ({raw(SECOND): DIGEST}, "not one of the operators")],
)
def test_a_policy_with_a_useless_recovery_key_is_refused(recovery: dict[bytes, bytes], why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        policy(recovery=recovery)
