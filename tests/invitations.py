"""Invitations that several tests are about: operators with fixed keys, and the policies that know them."""

from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from layers import small_layer
from neologue.device.policy import Policy
from neologue.protocol.invitation import Invitation, invite

OPERATOR = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
STRANGER = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))


def campaign_id(number: int) -> bytes:
    """The identity of a campaign, the same in every run."""
    return number.to_bytes(16, "big")


def invitation(campaign: int = 1, /, **changes: Any) -> Invitation:  # noqa: ANN401
    """The operator's invitation to a small layer, with some of what it says changed."""
    return invite(campaign_id(campaign), small_layer(**{"frontier": ["ab", "ca"]} | changes), OPERATOR)


def policy(**changes: Any) -> Policy:  # noqa: ANN401
    """The default policy of a device that answers the operator."""
    return Policy(operators=frozenset({OPERATOR.public_key().public_bytes_raw()}), **changes)
