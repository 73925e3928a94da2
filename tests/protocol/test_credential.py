"""Credentials are the issuer's or they are not; tickets, slots and submissions are what the protocol says."""

import base64
import hashlib
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from invitations import OPERATOR, STRANGER, campaign_id
from neologue.errors import CredentialError, ParameterError, ReportError
from neologue.masking.voucher import Issuers
from neologue.protocol.credential import Credential, issue, issue_with_key
from neologue.protocol.slot import SLOTS, slot
from neologue.protocol.submission import Submission
from neologue.protocol.ticket import is_ticket, ticket

ISSUER = OPERATOR.public_key().public_bytes_raw()


def test_a_credential_is_the_issuers_and_nobody_elses() -> None:
    credential = issue(campaign_id(1), OPERATOR)
    assert credential.issued_by(ISSUER)
    assert not credential.issued_by(STRANGER.public_key().public_bytes_raw())
    assert not credential.issued_by(b"\xff" * 32)
    assert not credential.issued_by(b"short")


def test_every_serial_is_another() -> None:
    assert len({issue(campaign_id(1), OPERATOR).serial for _ in range(100)}) == 100


def test_a_credential_survives_its_text() -> None:
    credential = issue(campaign_id(1), OPERATOR)
    assert len(credential.text) == 128
    assert Credential.parse(credential.text) == credential


class TestSigningKeys:
    def test_an_issuer_vouches_for_the_key_in_this_campaign(self) -> None:
        credential = issue_with_key(campaign_id(1), OPERATOR)
        public = Ed25519PrivateKey.from_private_bytes(credential.signing_key).public_key().public_bytes_raw()
        assert credential.issued_by(ISSUER)
        assert Issuers(campaign_id(1), (ISSUER,)).vouch_for(public, 0, credential.voucher)
        assert not Issuers(campaign_id(2), (ISSUER,)).vouch_for(public, 0, credential.voucher)
        assert issue_with_key(campaign_id(1), OPERATOR).signing_key != credential.signing_key

    def test_it_is_in_the_text_to_join_with_and_not_in_the_one_that_is_sent(self) -> None:
        credential = issue_with_key(campaign_id(1), OPERATOR)
        assert len(credential.joining_text) == 257
        assert Credential.parse(credential.joining_text) == credential
        assert len(credential.text) == 128
        assert Credential.parse(credential.text).signing_key == b""
        assert credential.joining_text.startswith(credential.text)

    def test_a_credential_without_one_is_as_it_was(self) -> None:
        credential = issue(campaign_id(1), OPERATOR)
        assert credential.joining_text == credential.text

    def test_half_of_it_is_refused(self) -> None:
        credential = issue_with_key(campaign_id(1), OPERATOR)
        for wrong in (credential.joining_text[:-1], credential.text + ".", credential.joining_text + "."):
            with pytest.raises(CredentialError, match="copy it as a whole"):
                Credential.parse(wrong)
        with pytest.raises(ParameterError, match="voucher must be 64 bytes"):
            replace(credential, voucher=b"")


@given(st.integers(0, 95), st.integers(1, 255))
def test_any_change_makes_it_a_forgery(place: int, change: int) -> None:
    octets = bytearray(base64.urlsafe_b64decode(issue(campaign_id(1), OPERATOR, bytes(16)).text))
    octets[place] ^= change
    assert not Credential.parse(base64.urlsafe_b64encode(octets).decode()).issued_by(ISSUER)


@given(st.text() | st.text("abc-_", min_size=128, max_size=128))
def test_any_text_is_a_credential_or_one_error(text: str) -> None:
    try:
        credential = Credential.parse(text)
    except CredentialError:
        return
    assert credential.text == text


@pytest.mark.parametrize("text", ["", "a" * 127, "a" * 129, "a" * 127 + "=", "a" * 128 + "\n", "é" * 128, "+" * 128])
def test_what_is_no_credential_is_refused(text: str) -> None:
    with pytest.raises(CredentialError, match="copy it as a whole"):
        Credential.parse(text)


def test_parts_of_the_wrong_length_are_refused() -> None:
    with pytest.raises(ParameterError, match="16 bytes, not 3 bytes"):
        issue(b"abc", OPERATOR)
    with pytest.raises(ParameterError, match="16 bytes, not 3 bytes"):
        issue(campaign_id(1), OPERATOR, b"abc")


def test_it_doesnt_show_itself() -> None:
    credential = issue(campaign_id(1), OPERATOR)
    assert credential.serial.hex() not in repr(credential)
    assert credential.text not in repr(credential)


def test_a_ticket_is_for_one_layer_and_one_device() -> None:
    secret, digest, serial = bytes(32), hashlib.sha256(b"").digest(), bytes(16)
    given = ticket(secret, campaign_id(1), digest, serial)
    assert len(given) == 16
    assert is_ticket(given, secret, campaign_id(1), digest, serial)
    others = [
        (b"\1" * 32, campaign_id(1), digest, serial),
        (secret, campaign_id(2), digest, serial),
        (secret, campaign_id(1), hashlib.sha256(b"a").digest(), serial),
        (secret, campaign_id(1), digest, b"\1" * 16),
    ]
    assert not any(is_ticket(given, *other) for other in others)
    assert not is_ticket(b"", secret, campaign_id(1), digest, serial)


def test_slots_are_spread_over_all_there_are() -> None:
    slots = [slot(bytes(32), number.to_bytes(16, "big")) for number in range(1000)]
    assert all(0 <= place < SLOTS for place in slots)
    assert len(set(slots)) == 1000
    # 1000 fair coins: beyond six standard deviations for neither half.
    assert 400 < sum(place < SLOTS // 2 for place in slots) < 600
    assert slots != [slot(b"\1" * 32, number.to_bytes(16, "big")) for number in range(1000)]


def test_a_submission_survives_its_bytes() -> None:
    sent = Submission(campaign_id(1), bytes(range(16)), b"t" * 16, b"report")
    assert bytes(sent) == campaign_id(1) + bytes(range(16)) + b"t" * 16 + b"report"
    assert Submission.parse(bytes(sent)) == sent


@given(st.binary(max_size=100))
def test_any_bytes_are_a_submission_or_one_error(body: bytes) -> None:
    if len(body) > 48:
        assert bytes(Submission.parse(body)) == body
    else:
        with pytest.raises(ReportError, match="too few"):
            Submission.parse(body)
