"""Small layers and campaigns that several tests are about."""

from typing import Any

from neologue.campaign.campaign import Campaign
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import strings
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.layer import ExtendingLayer, Layer


def small_layer(frontier: list[str], extension: int = 1, **changes: Any) -> Layer:  # noqa: ANN401
    """A layer over a, b, c with few candidates."""
    told: dict[str, Any] = {
        "pass_number": 1,
        "number": 1,
        "layer_size": 1000,
        "alphabet": Alphabet("abc"),
        "frontier": strings(sorted(frontier)),
        "extension": extension,
        "depth": 6,
        "mechanism": "unary",
        "epsilon": 3.0,
        "bound": 4,
        "sampler": "random",
        "known": Vocabulary(["known", "cab"]),
    }
    return ExtendingLayer(**told | changes)


def small_campaign(**changes: Any) -> Campaign:  # noqa: ANN401
    """A campaign over a, b, c whose layers have few candidates."""
    settings: dict[str, Any] = {"users": 10_000, "alphabet": Alphabet("abc"), "depth": 6, "epsilon": 5.0}
    return Campaign.from_profile("neologue", **settings | changes)
