"""A device in a secure campaign: what it refuses, what it remembers, and what it tells its owner."""

import base64
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from groups import ISSUER, identity, with_key
from invitations import OPERATOR, STRANGER, policy
from layers import small_layer
from neologue.aggregation.masked_aggregator import terms_for
from neologue.device import Client, Policy, SpendingRecord, receipt
from neologue.device.participation import Participation
from neologue.device.storage.membership import AnsweredInvitation, Membership
from neologue.errors import AnsweredError, PolicyError
from neologue.masking.terms import Promise, Terms
from neologue.protocol.credential import Credential
from neologue.protocol.invitation import Invitation, invite
from sending import AT_ONCE
from small_service import CAMPAIGN, Reply, Service, error, instead, running

PROMISE = Promise(smallest=8, dropout=10, corrupt=5, issuers=(ISSUER.public_key().public_bytes_raw(),))


class SecureService(Service):
    """Invites to answer under masks; its groups are what a test makes them."""

    promise: Promise | None = PROMISE

    def __init__(self) -> None:
        super().__init__()
        self.bodies: list[bytes] = []

    def answer(self, method: str, path: str, body: bytes) -> Reply:
        self.bodies.append(body)
        return super().answer(method, path, body)

    def invited(self, credential: Credential) -> dict[str, Any]:
        told = super().invited(credential)
        told["signature"] = invite(CAMPAIGN, self.layer, self.operator, self.promise).signature.hex()
        return told if self.promise is None else {**told, "masked": bytes(self.promise).hex()}

    def goes_on(self) -> None:
        """Ask about the next layer."""
        self.layer = small_layer(["abb", "cab"], 4)
        self.documents[f"/v1/layers/{self.layer.digest.hex()}"] = self.layer.document

    def terms(self, number: int = 1, smallest: int = 8, dropout: int = PROMISE.dropout, corrupt: int = 5) -> Terms:
        return terms_for(self.layer, bytes([number]) * 16, smallest, dropout, corrupt)


@pytest.fixture
def service() -> Iterator[SecureService]:
    with running(SecureService()) as service:
        assert isinstance(service, SecureService)
        yield service


def client_of(service: SecureService, folder: Path, limits: Policy | None = None) -> Client:
    limits = limits or policy(smallest_layer_size=1, smallest_group=8)
    client = Client(folder, service.address, limits, sending_time=AT_ONCE)
    client.typed("abba")
    client.join(issued(service, folder))
    return client


def issued(service: SecureService, folder: Path) -> str:
    """The credential of the device with this folder."""
    kept = folder.parent / f"{folder.name}.credential"
    if not kept.exists():
        kept.write_text(with_key(service.credential()).joining_text)
    return kept.read_text()


def layer_size(terms: Terms) -> Reply:
    return Reply.of(200, {"state": "cohort", "terms": bytes(terms).hex()})


def masked(service: SecureService, folder: Path, terms: Terms) -> SpendingRecord:
    """The account of a device that has masked its votes for a group and was ended then."""
    account = made(service, folder)
    account.record_masking(CAMPAIGN, terms)
    return account


def made(service: SecureService, folder: Path) -> SpendingRecord:
    """The account of a device that has made its votes and was ended then."""
    client_of(service, folder).close()
    told = service.invited(Credential.parse(issued(service, folder)))
    asked = AnsweredInvitation(
        *(bytes.fromhex(told[name]) for name in ("layer", "operator", "signature", "ticket", "masked"))
    )
    invitation = Invitation(service.layer, CAMPAIGN, asked.operator, asked.signature, PROMISE)
    account = SpendingRecord(folder / "account.db")
    report = account.answer(invitation, {"abba": 1}, policy(smallest_layer_size=1))
    with closing(Membership(folder / "membership.db")) as membership:
        membership.send(asked, receipt.report_receipt(0, invitation, len(report), account.spent, 20.0))
    return account


@pytest.mark.parametrize("other", [{"smallest": 7}, {"corrupt": 4}, {"corrupt": 6}, {"dropout": 9}, {"dropout": 30}])
def test_another_group_than_promised_is_refused(service: SecureService, tmp_path: Path, other: dict[str, int]) -> None:
    with client_of(service, tmp_path / "device") as client:
        service.ahead("/v1/cohorts", instead(layer_size(service.terms(**other))))
        tick = client.tick()
    assert tick.state == "refused"
    assert "promised" in tick.message
    assert service.asked("/v1/cohorts/") == 0


def test_a_smaller_promise_than_the_owner_demands_is_refused(service: SecureService, tmp_path: Path) -> None:
    limits = policy(smallest_layer_size=1, smallest_group=9)
    with client_of(service, tmp_path / "device", limits) as client:
        tick = client.tick()
    assert tick.state == "refused"
    assert "smallest_group" in tick.message
    assert service.asked("/v1/cohorts") == service.asked("/v1/reports") == 0


def test_an_owner_who_demands_masks_gets_no_report_sent_without(service: SecureService, tmp_path: Path) -> None:
    service.promise = None
    with client_of(service, tmp_path / "device") as client:
        tick = client.tick()
        assert client.spent == 0
    assert tick.state == "refused"
    assert service.asked("/v1/reports") == 0


def test_votes_longer_than_the_owner_allows_are_refused(service: SecureService, tmp_path: Path) -> None:
    with client_of(service, tmp_path / "device", policy(smallest_layer_size=1, largest_masked=100)) as client:
        tick = client.tick()
    assert tick.state == "refused"
    assert "largest_masked" in tick.message


def test_the_promise_is_signed(service: SecureService) -> None:
    asked = invite(CAMPAIGN, service.layer, OPERATOR, PROMISE)
    assert asked.genuine
    for other in (
        None,
        replace(PROMISE, smallest=7),
        replace(PROMISE, dropout=20),
        replace(PROMISE, corrupt=4),
        replace(PROMISE, issuers=(bytes(32),)),
    ):
        assert not Invitation(service.layer, CAMPAIGN, asked.operator, asked.signature, other).genuine
    plain = invite(CAMPAIGN, service.layer, OPERATOR)
    assert not Invitation(service.layer, CAMPAIGN, plain.operator, plain.signature, PROMISE).genuine


def test_a_device_that_was_to_mask_its_votes_never_sends_them_without(service: SecureService, tmp_path: Path) -> None:
    """Not even if the operator signs an invitation to the same layer without masks when it asks for another ticket."""
    made(service, tmp_path / "device")
    with client_of(service, tmp_path / "device", policy(smallest_layer_size=1)) as client:
        service.ahead("/v1/cohorts", instead(error(401, "forged")))
        assert client.tick().state == "refused"
        service.promise = None
        service.ahead("/v1/cohorts", instead(error(503, "busy")))
        assert client.tick().state == "later"
    assert service.asked("/v1/check-in") == 1
    assert service.asked("/v1/reports") == 0


def test_nor_does_one_that_was_ended_before_it_noted_what_it_was_asked(service: SecureService, tmp_path: Path) -> None:
    made(service, tmp_path / "device")
    with closing(sqlite3.connect(tmp_path / "device" / "membership.db")) as db, db:
        db.execute("UPDATE campaign SET layer = NULL, operator = NULL, signature = NULL, ticket = NULL, masked = NULL")
    service.promise = None
    with client_of(service, tmp_path / "device", policy(smallest_layer_size=1)) as client:
        assert "under masks" in client.tick().message
    assert service.asked("/v1/reports") == 0


@pytest.mark.parametrize(
    "turned_away", [error(503, "busy"), error(410, "closed"), Reply.of(200, {"state": "final"}), error(401, "forged")]
)
def test_a_device_that_finds_no_group_has_made_no_votes(
    service: SecureService, tmp_path: Path, turned_away: Reply
) -> None:
    with client_of(service, tmp_path / "device") as client:
        service.ahead("/v1/cohorts", instead(turned_away))
        client.tick()
        assert (client.spent, client.receipts()) == (0, [])
    assert SpendingRecord(tmp_path / "device" / "account.db").answers() == []


@pytest.mark.parametrize("out", [error(409, "out"), error(410, "closed")])
def test_a_device_whose_group_is_never_formed_is_asked_about_the_next_layer(
    service: SecureService, tmp_path: Path, out: Reply
) -> None:
    terms = service.terms()
    path = f"/v1/cohorts/{terms.group_id.hex()}"
    with client_of(service, tmp_path / "device") as client:
        service.ahead("/v1/cohorts", instead(layer_size(terms)))
        service.ahead(path, instead(Reply.of(202, {"state": "received", "retry_after": 3})), instead(out))
        assert client.tick().state == "received"
        waited = client.in_group
        client.tick()
        assert (waited, client.in_group) == (True, False)
        assert service.asked("/v1/check-in") == 1, "while it had a place it was asked nothing else"
        service.goes_on()
        service.ahead("/v1/cohorts", instead(layer_size(service.terms(2))))
        service.ahead(f"/v1/cohorts/{'02' * 16}", instead(Reply.of(202, {"state": "received", "retry_after": 3})))
        assert client.tick().state == "received"
        assert client.spent == 0


def test_votes_for_an_earlier_layer_are_not_made_anew_for_the_next(service: SecureService, tmp_path: Path) -> None:
    account = made(service, tmp_path / "device")
    with closing(sqlite3.connect(tmp_path / "device" / "membership.db")) as db, db:
        # As if it had ended between the two files.
        db.execute("UPDATE campaign SET layer = NULL")
    service.goes_on()
    with client_of(service, tmp_path / "device") as client:
        assert client.tick().state == "closed"
    assert [answer.confirmed for answer in account.answers()] == [True]
    assert service.asked("/v1/cohorts") == 0


def test_a_device_without_a_signing_key_joins_no_group(service: SecureService, tmp_path: Path) -> None:
    with Client(tmp_path / "device", service.address, policy(smallest_layer_size=1)) as client:
        client.join(service.credential().text)
        tick = client.tick()
    assert tick.state == "refused"
    assert "signing key" in tick.message
    assert service.asked("/v1/cohorts") == 0


def test_a_device_for_which_no_issuer_of_the_invitation_vouches_joins_no_group(
    service: SecureService, tmp_path: Path
) -> None:
    service.promise = replace(PROMISE, issuers=(STRANGER.public_key().public_bytes_raw(),))
    with client_of(service, tmp_path / "device") as client:
        service.ahead("/v1/cohorts", instead(layer_size(service.terms())))
        tick = client.tick()
    assert tick.state == "refused"
    assert "no issuer of the campaign vouches" in tick.message
    assert service.asked("/v1/cohorts/") == 0


def test_only_issuers_that_the_owner_trusts_may_vouch(service: SecureService, tmp_path: Path) -> None:
    limits = policy(smallest_layer_size=1, issuers=frozenset({bytes(32)}))
    with client_of(service, tmp_path / "device", limits) as client:
        tick = client.tick()
    assert tick.state == "refused"
    assert "can add the key to issuers" in tick.message
    assert service.asked("/v1/cohorts") == 0


def test_the_signing_key_is_never_sent(service: SecureService, tmp_path: Path) -> None:
    terms = service.terms()
    with client_of(service, tmp_path / "device") as client:
        service.ahead("/v1/cohorts", instead(layer_size(terms)))
        service.ahead(
            f"/v1/cohorts/{terms.group_id.hex()}", instead(Reply.of(202, {"state": "received", "retry_after": 3}))
        )
        assert client.tick().state == "received"
    key = Credential.parse(issued(service, tmp_path / "device")).signing_key
    assert len(service.bodies) >= 3
    for body in service.bodies:
        assert key not in body
        assert base64.urlsafe_b64encode(key)[:40] not in body


@pytest.mark.parametrize(
    ("reply", "state"),
    [
        (Reply.of(200, {"state": "final"}), "final"),
        (error(410, "closed"), "closed"),
        (error(409, "out"), "closed"),
    ],
)
def test_a_device_that_was_ended_behind_its_votes_asks_what_became_of_them(
    service: SecureService, tmp_path: Path, reply: Reply, state: str
) -> None:
    terms, folder = service.terms(), tmp_path / "device"
    account = masked(service, folder, terms)
    path = f"/v1/cohorts/{terms.group_id.hex()}"
    with client_of(service, folder) as client:
        service.ahead(path, instead(Reply.of(202, {"state": "received", "retry_after": 3})), instead(reply))
        assert (client.tick().state, client.tick().state) == ("received", state)
        assert client.tick().state == "over"
        assert "given up" in client.receipts()[-1] or state == "final"
    assert [answer.confirmed for answer in account.answers()] == [True]


def test_a_device_that_was_told_its_group_yielded_nothing_masks_for_no_other(
    service: SecureService, tmp_path: Path
) -> None:
    """Whoever says so could have the sum, and get the votes of one device as the difference of two."""
    folder = tmp_path / "device"
    masked(service, folder, service.terms())
    path = f"/v1/cohorts/{service.terms().group_id.hex()}"
    with client_of(service, folder) as client:
        service.ahead(path, instead(Reply.of(200, {"state": "nothing", "statement": "00" * 64})))
        assert client.tick().state == "later"
        service.ahead(path, instead(error(409, "out")))
        assert client.tick().state == "closed"
    assert service.asked("/v1/cohorts") == 2


def test_an_account_holds_votes_for_one_group(service: SecureService, tmp_path: Path) -> None:
    account = masked(service, tmp_path / "device", service.terms())
    for number in (1, 2):
        with pytest.raises(AnsweredError, match="no other gets them"):
            account.record_masking(CAMPAIGN, service.terms(number))
    assert account.masking_group(CAMPAIGN) == service.terms().group_id


def test_votes_that_an_earlier_version_could_mask_again_are_not(service: SecureService, tmp_path: Path) -> None:
    folder = tmp_path / "device"
    account = masked(service, folder, service.terms())
    with closing(sqlite3.connect(folder / "account.db")) as db, db:
        db.execute("UPDATE maskings SET terms = NULL")
    assert account.masking_group(CAMPAIGN) == bytes(16)
    with pytest.raises(AnsweredError, match="no other gets them"):
        account.record_masking(CAMPAIGN, service.terms(2))


def test_files_from_before_there_were_masks_go_on(service: SecureService, tmp_path: Path) -> None:
    folder = tmp_path / "device"
    masked(service, folder, service.terms())
    columns = "credential, layer, operator, signature, ticket, ended"
    for name, change in (
        (
            "account.db",
            "DROP TABLE maskings; CREATE TABLE before AS SELECT campaign, layer, epsilon, day FROM answers;"
            "DROP TABLE answers; ALTER TABLE before RENAME TO answers",
        ),
        (
            "membership.db",
            f"CREATE TABLE before AS SELECT {columns} FROM campaign; DROP TABLE campaign;"
            "ALTER TABLE before RENAME TO campaign",
        ),
    ):
        with closing(sqlite3.connect(folder / name)) as db:
            db.executescript(f"{change}; PRAGMA user_version = 1")
    with client_of(service, folder, policy(smallest_layer_size=1)) as client:
        assert client.spent > 0
        assert len(client.receipts()) == 1
    assert SpendingRecord(folder / "account.db").masking_group(CAMPAIGN) is None


def test_what_is_promised_of_a_group_is_in_the_receipt(service: SecureService, tmp_path: Path) -> None:
    masked(service, tmp_path / "device", service.terms())
    with client_of(service, tmp_path / "device") as client:
        (sentence,) = client.receipts()
    assert "only under masks: an operator that keeps to the protocol reads sums of at least 8 devices" in sentence


def test_a_participation_needs_a_promise(service: SecureService, tmp_path: Path) -> None:
    plain = invite(CAMPAIGN, service.layer, OPERATOR)
    with pytest.raises(PolicyError, match="promises nothing"):
        Participation(
            plain,
            identity(0),
            bytes,
            SpendingRecord(tmp_path / "account.db"),
            lambda terms, size: None,
            AT_ONCE.hide,
        )
