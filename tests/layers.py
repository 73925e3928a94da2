"""Small layers and campaigns that several tests are about."""

from typing import Any

import numpy as np

from neologue.campaign.campaign import Campaign
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import strings
from neologue.language.likely_candidates import LikelyCandidates, RootRound
from neologue.language.likely_roots import NEVER
from neologue.language.spelling_costs import SpellingCosts
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.layer import ExtendingLayer, LikelyLayer


def small_layer(frontier: list[str], extension: int = 1, **changes: Any) -> ExtendingLayer:  # noqa: ANN401
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


def small_likely_layer(prefix_limit: int = 11, **changes: Any) -> LikelyLayer:  # noqa: ANN401
    """A layer over a, b, c in the second round of likely strings."""
    alphabet = Alphabet("abc")
    spelling = SpellingCosts(
        alphabet,
        ("", "\0", "a", "\0a"),
        np.array([0, 2, 3, 1]),
        ("\0abc", "ab", "\0b", "c"),
        np.array([4, 3, 5, 8, 2, 4, 3, 2, 5]),
    )
    rounds = (
        RootRound(strings([""]), np.array([0]), np.array([NEVER]), 11, 9, 7),
        RootRound(strings(["", "a", "ab", "b"]), np.array([3, 4, 2, 9]), np.array([9, 11, NEVER, 6]), 14, prefix_limit),
    )
    told: dict[str, Any] = {
        "pass_number": 1,
        "number": 2,
        "layer_size": 1000,
        "alphabet": alphabet,
        "depth": 6,
        "mechanism": "unary",
        "epsilon": 3.0,
        "bound": 4,
        "sampler": "random",
        "known": Vocabulary(["known", "cab"]),
    }
    return LikelyLayer(asked=LikelyCandidates(spelling, rounds), **told | changes)


def small_campaign(**changes: Any) -> Campaign:  # noqa: ANN401
    """A campaign over a, b, c that grows a trie, whose layers have few candidates."""
    settings: dict[str, Any] = {
        "users": 10_000,
        "alphabet": Alphabet("abc"),
        "depth": 6,
        "epsilon": 5.0,
        "layers": None,
    }
    return Campaign.from_profile("neologue", **settings | changes)
