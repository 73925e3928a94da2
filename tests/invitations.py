"""Invitations that several tests are about: operators with fixed keys, and the policies that know them."""

from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from layers import small_layer
from neologue.device.policy import Policy
from neologue.protocol.invitation import Invitation, invite

OPERATOR = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
SMALL_LAYERS: dict[str, Any] = {
    "largest_vote_ratio": 1e9,
    "largest_closed_vote_ratio": 1e9,
    "largest_silence_ratio": 1e9,
    "fewest_noise_votes": 0.0,
    "allow_targets": True,
    "allow_unlogged_lists": True,
}
"""No limit on what a report says of one word: layers of a few candidates have no noise that would hide it."""
STRANGER = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))


def campaign_id(number: int) -> bytes:
    """The identity of a campaign, the same in every run."""
    return number.to_bytes(16, "big")


def invitation(campaign: int = 1, /, **changes: Any) -> Invitation:  # noqa: ANN401
    """The operator's invitation to a small layer, with some of what it says changed."""
    return invite(campaign_id(campaign), small_layer(**{"frontier": ["ab", "ca"]} | changes), OPERATOR)


def policy(**changes: Any) -> Policy:  # noqa: ANN401
    """The policy of a device that answers the operator, also on layers of a few candidates, as tests have them."""
    return default_policy(**SMALL_LAYERS | changes)


def default_policy(**changes: Any) -> Policy:  # noqa: ANN401
    """The policy of a device that answers the operator, and keeps its other limits at their defaults."""
    return Policy(operators=frozenset({OPERATOR.public_key().public_bytes_raw()}), **changes)
