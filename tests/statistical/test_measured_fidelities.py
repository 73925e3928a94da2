"""`fast`, `exact` and `devices` agree in law on a closed layer: its votes have the same distribution.

Each fidelity draws the tally of the same list many times, with different seeds. Users hold more words than a report
covers, so that samples are random too; a word of u comes into a sample of B with chance B/u, and how many of those
outside the list do is hypergeometric. So the mean votes of every place are known exactly. Power: with 200 tallies a
mean is known to 0.07 sd; a sampler that puts listed words first moves those of the thermometer by several sd, and γ in
the place of `other` that of `other`.
"""

from collections.abc import Callable
from math import comb

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from closed import small_closed_layer
from neologue.device.contribution import counting_words
from neologue.discovery.tally import Tally
from neologue.entropy import SeededEntropy
from neologue.language.vocabulary import Vocabulary
from neologue.populations.population import Population
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.report import make_report, read_report
from neologue.simulation.engines.engine import LocalEngine
from neologue.simulation.layer_tallies import FIDELITIES, SimulatedUsers

REPEATS, USERS, BOUND = 200, 60, 3
LARGEST_Z = 5.0
LISTED = ["aa", "ab", "cc"]
HELD = [("aa", "ab", "ba", "bb", "bc"), ("cc", "a"), ("aa", "b", "c", "ca"), ("bb",), ("xx",)]
"""What users hold, in turn; the last of it does not count."""


@pytest.fixture(scope="module")
def population() -> Population:
    return Population.from_words({str(user): dict.fromkeys(HELD[user % len(HELD)], 1) for user in range(USERS)})


def layer_of(mechanism: str, rate: float = 1.0) -> ClosedLayer:
    return small_closed_layer(
        LISTED, layer_size=USERS, mechanism=mechanism, epsilon=2.0, bound=BOUND, known=Vocabulary.empty(), rate=rate
    )


def held_on_average(layer: ClosedLayer) -> NDArray[np.float64]:
    """How many samples hold each place, on average."""
    held = np.zeros(layer.randomizer.candidates)
    for words in HELD:
        counting = list(counting_words(dict.fromkeys(words, 1), layer))
        listed = [word for word in counting if word in LISTED]
        for drawn in range(len(counting) + 1):
            chance = binom.pmf(drawn, len(counting), layer.rate) * USERS / len(HELD)
            size = min(drawn, BOUND)
            for word in listed:
                held[LISTED.index(word)] += chance * size / max(len(counting), 1)
            unlisted = len(counting) - len(listed)
            ways = [comb(unlisted, t) * comb(len(listed), size - t) for t in range(size + 1)]
            others = np.repeat(np.arange(size + 1), ways)
            if layer.mechanism == "unary":
                held[len(LISTED) :] += [chance * np.mean(others > place) for place in range(BOUND)]
            else:
                held[len(LISTED)] += chance * others.mean()
    return held


def worst_z(layer: ClosedLayer, draw: Callable[[int], Tally]) -> float:
    """How many sd the observed means are from the exact ones, at the worst."""
    votes = np.array([draw(seed).votes for seed in range(REPEATS)])
    mean = layer.randomizer.channel.mean(held_on_average(layer), USERS)
    deviation = np.sqrt(layer.randomizer.channel.variance(0, USERS) / REPEATS)
    return float((np.abs(votes.mean(axis=0) - mean) / deviation).max())


@pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
@pytest.mark.parametrize("fidelity", FIDELITIES)
@pytest.mark.parametrize("rate", [1.0, 0.4])
def test_the_votes_have_their_exact_means(population: Population, fidelity: str, mechanism: str, rate: float) -> None:
    layer = layer_of(mechanism, rate)
    assert (
        worst_z(layer, lambda seed: SimulatedUsers(population, LocalEngine(), fidelity, seed).measure(layer, 0))
        < LARGEST_Z
    )


@pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
def test_the_variances_of_the_three_agree(population: Population, mechanism: str) -> None:
    layer = layer_of(mechanism)
    spread = [
        np.array(
            [SimulatedUsers(population, LocalEngine(), each, seed).measure(layer, 0).votes for seed in range(REPEATS)]
        )
        for each in FIDELITIES
    ]
    for votes in spread[1:]:
        # Two variances from 200 draws each differ by 14 % (sd); one that is twice too large is found.
        assert np.abs(np.log(votes.var(axis=0) / spread[0].var(axis=0))).max() < 5 * 0.14
        assert abs(np.log(votes.sum(axis=1).var() / spread[0].sum(axis=1).var())) < 5 * 0.14


def wrong_device(words: tuple[str, ...], layer: ClosedLayer, seed: int, *, listed_first: bool) -> NDArray[np.int64]:
    """The votes of a device that prefers listed words to others, or that says γ where it should say `other`."""
    source = SeededEntropy(seed)
    counting = sorted(counting_words(dict.fromkeys(words, 1), layer))
    if listed_first:
        counting.sort(key=lambda word: word not in LISTED)
    order = range(len(counting)) if listed_first else source.permutation(len(counting)).tolist()
    sampled = [counting[place] for place in order][:BOUND]
    places = np.array([LISTED.index(word) for word in sampled if word in LISTED], np.int64)
    others = len(sampled) - len(places) if listed_first else 0
    return read_report(layer, make_report(layer, layer.domain.held(places, others), source))


@pytest.mark.parametrize(("mechanism", "listed_first"), [("unary", True), ("subset-selection", False)])
def test_wrong_devices_are_found_out(mechanism: str, listed_first: bool) -> None:
    layer = layer_of(mechanism)

    def draw(seed: int) -> Tally:
        cast = (
            wrong_device(HELD[user % len(HELD)], layer, seed * USERS + user, listed_first=listed_first)
            for user in range(USERS)
        )
        return Tally.of(layer.randomizer.candidates, cast)

    assert worst_z(layer, draw) > LARGEST_Z
