"""`fast`, `exact` and `devices` agree in law: the tallies of a layer have the same distribution.

Each fidelity draws the tally of the same layer from the same users, many times with different seeds. For
every candidate the mean and the variance of its votes are compared with their exact values, which depend on
the samples alone; the users hold fewer words than a report covers, so that the samples are fixed. So is the
variance of the sum of all votes, which tells how candidates depend on each other. Power: with 300 tallies a
mean is known to 0.06 sd, so votes that are off by a third of an sd, such as those of a q that is 10 % too
large here, are found; and a variance to 8 %, so that one of a sum that is 1.5 times too large is found.
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from layers import small_layer, small_likely_layer
from neologue.discovery.tally import Tally
from neologue.language.candidates import strings
from neologue.language.likely_candidates import LikelyCandidates
from neologue.language.vocabulary import Vocabulary
from neologue.populations.population import Population
from neologue.protocol.layer import Layer
from neologue.simulation.engines.engine import LocalEngine
from neologue.simulation.layer_tallies import FIDELITIES, SimulatedUsers

REPEATS = 300
USERS = 60
LARGEST_Z = 5.0


CHANCES = {"ab": 0.5, "aba": 0.3, "abb": 0.2, "abc": 0.1, "bca": 0.05, "bcb": 0.9, "bcbb": 0.5, "a": 0.4}


def typed() -> dict[str, dict[str, int]]:
    """What each user holds."""
    rng = np.random.default_rng(1)
    return {str(user): {word: 1 for word, chance in CHANCES.items() if rng.random() < chance} for user in range(USERS)}


@pytest.fixture(scope="module")
def population() -> Population:
    return Population.from_words(typed())


def layer_of(mechanism: str, epsilon: float = 2.0) -> Layer:
    told = {"layer_size": USERS, "mechanism": mechanism, "epsilon": epsilon, "bound": 8, "known": Vocabulary.empty()}
    return small_layer(["ab", "bc", "ca"], 1, **told)


def likely_layer(epsilon: float = 2.0) -> Layer:
    """Two words of a user may lead to one escape, others to words that are asked about again."""
    return small_likely_layer(layer_size=USERS, epsilon=epsilon, bound=8, known=Vocabulary.empty(), depth=4)


def holders_of_candidates(layer: Layer) -> NDArray[np.int64]:
    """How many users hold each candidate, by one word or by several."""
    holders = np.zeros(layer.candidates.size, np.int64)
    for words in typed().values():
        own = layer.candidates.index(strings([word for word in words if layer.counts(word)]))
        holders[np.unique(own[own >= 0])] += 1
    return holders


def total_variance(layer: Layer, holders: NDArray[np.int64]) -> float:
    """The variance of the sum of all candidates' votes."""
    channel = layer.randomizer.channel
    if layer.mechanism == "unary":  # independent votes
        return float(channel.variance(holders, USERS).sum())
    # Subsets have a fixed size, so that candidates get whatever γ does not.
    return float(channel.variance(channel.trials(USERS) - holders.sum(), USERS))


def worst_z(layer: Layer, draw: Callable[[int], Tally]) -> float:
    """How many sd the observed means and variances of the votes are from the exact ones, at the worst."""
    exact = holders_of_candidates(layer)
    votes = np.array([draw(seed).votes for seed in range(REPEATS)])
    channel = layer.randomizer.channel
    mean, variance = channel.mean(exact, USERS), channel.variance(exact, USERS)
    of_means = np.abs(votes.mean(axis=0) - mean) / np.sqrt(variance / REPEATS)
    of_total = abs(votes.sum(axis=1).var() / total_variance(layer, exact) - 1) / np.sqrt(2 / REPEATS)
    of_variances = np.abs(votes.var(axis=0) / variance - 1) / np.sqrt(2 / REPEATS)
    return float(max(of_means.max(), of_variances.max(), of_total))


LAYERS = {"unary": layer_of("unary"), "subset-selection": layer_of("subset-selection"), "likely": likely_layer()}


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_the_votes_have_their_exact_means_and_variances(population: Population, fidelity: str, kind: str) -> None:
    layer = LAYERS[kind]

    def draw(seed: int) -> Tally:
        return SimulatedUsers(population, LocalEngine(), fidelity, seed).ask(layer)

    assert worst_z(layer, draw) < LARGEST_Z


@pytest.mark.parametrize("kind", ["unary", "likely"])
@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_a_device_that_adds_too_much_noise_is_found_out(population: Population, fidelity: str, kind: str) -> None:
    layer, noisier = LAYERS[kind], layer_of("unary", epsilon=1.8) if kind == "unary" else likely_layer(epsilon=1.8)

    def draw(seed: int) -> Tally:
        return SimulatedUsers(population, LocalEngine(), fidelity, seed).ask(noisier)

    assert worst_z(layer, draw) > LARGEST_Z


def test_likely_layers_have_words_asked_again_escapes_and_several_words_of_a_user_in_one(
    population: Population,
) -> None:
    candidates = LAYERS["likely"].candidates
    own = candidates.index(strings(list(CHANCES)))
    assert isinstance(candidates, LikelyCandidates)
    assert (own[own >= 0] >= candidates.fresh.size).any()
    assert not candidates.prefixes(own[own >= 0])[1].all()
    assert len(np.unique(own[own >= 0])) < np.count_nonzero(own >= 0)


def test_votes_that_do_not_depend_on_each_other_are_found_out(population: Population) -> None:
    layer = layer_of("subset-selection")
    channel = layer.randomizer.channel
    by_candidate = holders_of_candidates(layer)

    def draw(seed: int) -> Tally:
        rng = np.random.default_rng(seed)
        others = channel.trials(USERS) - by_candidate
        return Tally(rng.binomial(by_candidate, float(channel.p)) + rng.binomial(others, float(channel.q)), USERS)

    assert worst_z(layer, draw) > LARGEST_Z
