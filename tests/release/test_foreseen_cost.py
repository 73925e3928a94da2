"""What a plan says that a release costs is a bound, whatever users hold and whatever comes of the votes."""

import random
from dataclasses import replace
from functools import cache
from itertools import product

import pytest

from neologue import Alphabet, Campaign, Measuring, Population, Vocabulary, discover
from neologue.privacy.statement import Exposure, PrivacyFacts
from neologue.release.facts import privacy_facts, release_facts
from neologue.release.foreseen import foreseen_facts
from neologue.release.foreseen_cost import reader_epsilon
from neologue.simulation.discovery_run import DiscoveryRun

USERS = 2701
UNITS = ("item", "user")
SETTINGS = list(product(("drawn", "filled"), (0, 500), (None, 3), (1, 2)))


@cache
def people(share: float) -> Population:
    """Users each of whom holds each of some words with the same chance."""
    lots = random.Random(5)
    words = ["".join(lots.choices("abcdefgh", k=lots.randint(2, 6))) for _ in range(12)]
    held = {f"user {n}": [word for word in words if lots.random() < share] for n in range(USERS)}
    return Population.from_words({user: dict.fromkeys(some or ["bb"], 1) for user, some in held.items()})


@cache
def found(
    share: float, allocation: str, measuring: int, layers: int | None, passes: int
) -> tuple[DiscoveryRun, PrivacyFacts]:
    campaign = Campaign.from_profile(
        users=USERS - measuring,
        alphabet=Alphabet("abcdefgh"),
        known=Vocabulary(["bb", "abbacab", "cabbaca", "bacabba"]),
        candidates=3000,
        depth=6,
        words_per_user=4,
        delta=1e-6,
        epsilon=2.5,
        layers=layers,
        passes=passes,
        allocation=allocation,
    )
    measure = Measuring(measuring) if measuring else None
    discovery = discover(people(share), campaign, seed=passes, measure=measure)
    return discovery, foreseen_facts(campaign, measure, Exposure())


@pytest.mark.parametrize("share", [0.0, 0.8])
@pytest.mark.parametrize(("allocation", "measuring", "layers", "passes"), SETTINGS)
def test_no_release_costs_more_than_was_foreseen(
    share: float, allocation: str, measuring: int, layers: int | None, passes: int
) -> None:
    discovery, foreseen = found(share, allocation, measuring, layers, passes)
    facts = release_facts(discovery.release)
    assert bool(discovery.release.words) == (share > 0)
    for unit in UNITS:
        assert reader_epsilon(facts, unit) <= reader_epsilon(foreseen, unit)


def test_a_layer_with_fewer_reports_than_were_foreseen_would_be_noticed() -> None:
    discovery, foreseen = found(0.8, "filled", 0, 3, 1)
    release = discovery.release
    short = [*release.layers[:2], replace(release.layers[2], reports=int(0.9 * release.layers[2].reports))]
    facts = privacy_facts(release.campaign.parameters, short, None, Exposure())
    for unit in UNITS:
        assert reader_epsilon(facts, unit) > reader_epsilon(foreseen, unit)
