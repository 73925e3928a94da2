"""Somebody who is not the operator, or whose layer is refused, makes a device fetch and parse what costs it most."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from invitations import STRANGER, default_policy
from layers import small_layer
from neologue.device import Client, Policy, Response, Tick
from neologue.language.alphabet import Alphabet
from neologue.masking.rules import GroupRules
from neologue.protocol.invitation import invite
from neologue.protocol.layer import Layer
from small_service import CAMPAIGN, Service

LAYER = small_layer(["ab"], 3, alphabet=Alphabet("abcdefghijklmnopqrstuvwxyz"), epsilon=5.0)


class Wire:
    """A service in this process; what it says of an invitation may be altered on the way."""

    def __init__(self, layer: Layer, alter: Callable[[dict[str, object]], None]) -> None:
        self.service = Service(layer)
        self._alter = alter

    def request(
        self, method: str, path: str, body: bytes = b"", kind: str = "application/json", most: int = 1 << 16
    ) -> Response:
        """The answer of the service."""
        reply = self.service.answer(method, path, body)
        if path == "/v1/check-in":
            told = json.loads(reply.body)
            self._alter(told)
            return Response(200, json.dumps(told).encode())
        return Response(reply.status, reply.body)


def as_it_is(told: dict[str, object]) -> None:
    """Nothing is altered."""


def forged(told: dict[str, object]) -> None:
    """The signature is somebody else's."""
    told["signature"] = invite(CAMPAIGN, LAYER, STRANGER).signature.hex()


def with_masks(told: dict[str, object]) -> None:
    """Masks are promised that the operator has not signed."""
    told["masked"] = bytes(GroupRules().promise((bytes(32),))).hex()


def another_layer(told: dict[str, object]) -> None:
    """The layer is another one than the operator has signed."""
    told["layer"] = small_layer(["ab"], number=7).digest.hex()


def tick(wire: Wire, folder: Path, limits: Policy) -> Tick:
    with Client(folder, wire, limits) as client:
        client.join(wire.service.credential().text)
        client.typed("abcab")
        return client.tick()


@pytest.mark.parametrize("alter", [forged, with_masks, another_layer])
def test_a_forged_invitation_causes_no_fetch_and_no_parsing(
    alter: Callable[[dict[str, object]], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for parser in ("read_layer", "read_known"):
        monkeypatch.setattr(f"neologue.device.library.{parser}", lambda content: pytest.fail("it was parsed"))
    wire = Wire(LAYER, alter)
    done = tick(wire, tmp_path, default_policy())
    assert (done.state, "signature is not the operator's" in done.message) == ("refused", True)
    assert wire.service.requests == [("POST", "/v1/check-in")]


@pytest.mark.parametrize(
    ("limits", "named"),
    [
        ({"largest_epsilon": 4.0}, "largest_epsilon"),
        ({"fewest_noise_votes": 1e6}, "fewest_noise_votes"),
        ({"lifetime_epsilon": 4.0}, "lifetime_epsilon"),
        ({"smallest_group": 20}, "smallest_group"),
    ],
)
def test_known_words_of_a_layer_that_is_refused_are_not_fetched(
    limits: dict[str, float], named: str, tmp_path: Path
) -> None:
    wire = Wire(LAYER, as_it_is)
    done = tick(wire, tmp_path, default_policy(**limits))
    assert (done.state, named in done.message) == ("refused", True)
    assert wire.service.asked("/v1/layers") == 1
    assert wire.service.asked("/v1/known") == 0


def test_a_layer_that_is_answered_has_its_known_words_fetched_once(tmp_path: Path) -> None:
    wire = Wire(LAYER, as_it_is)
    assert tick(wire, tmp_path, default_policy()).state == "final"
    assert (wire.service.asked("/v1/layers"), wire.service.asked("/v1/known")) == (1, 1)
