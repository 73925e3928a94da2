"""Named parameters, each with its source."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from neologue.campaign.parameters import Parameters
from neologue.errors import ParameterError


@dataclass(frozen=True)
class Profile:
    """Parameters under a name, and where they come from."""

    name: str
    source: str
    users: int
    """The population that the parameters were made for."""
    alphabet: str
    parameters: Parameters


GBOARD_2024 = Profile(
    name="gboard-2024",
    source=(
        "Sun, Kairouz, Sun, Gascón and Suresh, Private federated discovery of out-of-vocabulary words for Gboard, "
        "2024: section 4 and the production run in en-US (15 million users, 500,000 in each of 2 × 15 layers)"
    ),
    users=15_000_000,
    alphabet="paper",
    parameters=Parameters(
        randomizer="subset-selection",
        epsilon=10.0,
        words_per_user=60,
        days=60,
        depth=15,
        passes=2,
        sampler="greedy",
        rule="top",
        frontier=10_000,
        candidates=1_000_000,
        report_bytes=10_000,
        smallest_layer=100,
        false_prefixes=0.05,
        false_words=0.001,
        k_anonymity=0,
        alpha=0.95,
        unique_chance=0.0,
        hostile_devices=0,
        delta=1e-10,
        colluders=0.0,
        case="keep",
        punctuation="keep",
    ),
)

NEOLOGUE = Profile(
    name="neologue",
    source=(
        "This project: one unary report per device, layers that ask about what is likely and words judged by all "
        "their votes; ε follows from a level of privacy (neologue.campaign.privacy_level)"
    ),
    users=15_000_000,
    alphabet="en",
    parameters=Parameters(
        randomizer="unary",
        epsilon=None,
        words_per_user=60,
        days=60,
        depth=15,
        passes=1,
        sampler="random",
        rule="significant",
        frontier=200_000,
        candidates=1 << 24,
        report_bytes=10_000,
        smallest_layer=100,
        layers=4,
        false_prefixes=0.3,
        false_words=0.002,
        k_anonymity=10,
        alpha=0.95,
        unique_chance=1e-6,
        hostile_devices=1,
        delta=1e-10,
        colluders=0.0,
        allocation="drawn",
        case="fold",
        punctuation="strip",
    ),
)

PROFILES: Mapping[str, Profile] = MappingProxyType({profile.name: profile for profile in (NEOLOGUE, GBOARD_2024)})


def profile(name: str) -> Profile:
    """The profile of that name."""
    if name not in PROFILES:
        raise ParameterError(f"no profile is called {name!r}; there are {', '.join(PROFILES)}", parameter="profile")
    return PROFILES[name]
