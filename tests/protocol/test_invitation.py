"""Invitations: only what the operator signed, all of it, is genuine."""

from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from invitations import OPERATOR, STRANGER, campaign_id, invitation
from layers import small_layer
from neologue.errors import ParameterError
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import strings
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.invitation import invite, signed_message


def test_what_the_operator_signed_is_genuine() -> None:
    given = invite(campaign_id(1), small_layer(["ab"]), OPERATOR)
    assert given.genuine
    assert given.operator == OPERATOR.public_key().public_bytes_raw()


def test_the_signed_message_is_laid_out_as_documented() -> None:
    layer = small_layer(["ab"])
    message = signed_message(campaign_id(7), layer.digest)
    assert message[:23] == b"neologue invitation v1\0"
    assert message[23:39] == bytes(15) + b"\x07"
    assert message[39:] == layer.digest
    assert len(message) == 71


def test_the_same_invitation_has_the_same_bytes_everywhere() -> None:
    assert invite(campaign_id(1), small_layer(["ab"]), OPERATOR).signature.hex() == (
        "f87a1e50067b218357c24fe40b26496b969fe0ee5f9697915db6d597f8320fe86e29e56c689ea37c4e17e8dfeb2abea3c2bea0ac1c4b7fa718be026e92d38b06"
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"pass_number": 2},
        {"number": 2},
        {"layer_size": 1_000_000},
        {"alphabet": Alphabet("abcd")},
        {"frontier": strings(["ac", "ca"])},
        {"extension": 2},
        {"depth": 5},
        {"mechanism": "subset-selection"},
        {"epsilon": 3.0000000000000004},
        {"bound": 5},
        {"sampler": "greedy"},
        {"known": Vocabulary(["known"])},
        {"found": Vocabulary(["abb"])},
        {"targets": frozenset({"abc"})},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_an_altered_layer_is_not_genuine(changes: dict[str, Any]) -> None:
    given = invitation()
    assert not replace(given, layer=replace(given.layer, **changes)).genuine


def test_an_altered_campaign_is_not_genuine() -> None:
    assert not replace(invitation(1), campaign_id=campaign_id(2)).genuine


def test_a_signature_altered_in_any_byte_is_not_genuine() -> None:
    given = invitation()
    for place in range(64):
        altered = bytearray(given.signature)
        altered[place] ^= 1
        assert not replace(given, signature=bytes(altered)).genuine


def test_another_operators_name_under_a_signature_is_not_genuine() -> None:
    assert not replace(invitation(), operator=STRANGER.public_key().public_bytes_raw()).genuine


@pytest.mark.parametrize("key", [b"\xff" * 32, bytes([2]) + bytes(31)], ids=["not canonical", "not on the curve"])
def test_a_key_that_is_none_is_an_answer_and_not_an_error(key: bytes) -> None:
    assert not replace(invitation(), operator=key).genuine


def test_a_signature_of_something_else_is_not_genuine() -> None:
    given = invitation()
    other_purpose = OPERATOR.sign(given.campaign_id + given.layer.digest)
    assert not replace(given, signature=other_purpose).genuine


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"campaign_id": bytes(15)}, "identity of a campaign must be 16 bytes, not 15 bytes"),
        ({"operator": b""}, "public key must be 32 bytes, not 0 bytes"),
        ({"signature": bytes(65)}, "signature must be 64 bytes, not 65 bytes"),
        ({"signature": "0" * 64}, "signature must be 64 bytes, not str"),
    ],
)
def test_parts_of_a_wrong_length_are_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        replace(invitation(), **changes)


def test_an_operator_cant_sign_for_a_campaign_without_a_proper_identity() -> None:
    with pytest.raises(ParameterError, match="must be 16 bytes, not 4 bytes"):
        invite(b"2024", small_layer(["ab"]), Ed25519PrivateKey.generate())
