"""From a layer to its tally, with simulated devices: every report made in full, or the sum drawn from its law."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from neologue.device.contribution import contribute
from neologue.discovery.tally import Tally
from neologue.entropy import SeededEntropy
from neologue.language.candidates import strings
from neologue.protocol.layer import Layer
from neologue.protocol.report import read_report
from neologue.simulation import kernels
from neologue.simulation.counting import count_ids
from neologue.simulation.population import Population

Advance = Callable[[int], None]
"""Told how many more users are done."""

Engine = Callable[[Layer, Population, int, int, Advance], Tally]
"""The tally of a layer whose cohort begins with the user at a place, then the seed."""

# Each use of the seed draws from a stream of its own.
_SAMPLING, _VOTES, _REPORTS = 2, 3, 4


def devices(layer: Layer, population: Population, first: int, seed: int, advance: Advance) -> Tally:
    """Every device makes its report with the real device core, bytes and all, and the server reads them."""

    def reports() -> Iterator[NDArray[np.int64]]:
        for start, stop in population.spans(first, first + layer.cohort):
            held = population.draw(start, stop)
            for row in range(held.users):
                own = slice(held.starts[row], held.starts[row + 1])
                typed = {
                    population.words[word]: int(times)
                    for word, times in zip(held.words[own], held.counts[own], strict=True)
                }
                entropy = SeededEntropy(seed, _REPORTS, layer.passage, layer.number, start + row)
                yield read_report(layer, contribute(typed, layer, entropy))
            advance(held.users)

    return Tally.of(layer.candidates.size, reports())


def fast(layer: Layer, population: Population, first: int, seed: int, advance: Advance) -> Tally:
    """Every user's words are sampled as on a device; the votes of each candidate are then drawn from their law.

    Exact for unary, whose candidates are independent given the samples; exact in the marginals for Subset
    Selection.
    """
    held, holders = sampled_holders(layer, population, first, seed, advance)
    channel = layer.randomizer.channel
    p, q, trials = float(channel.p), float(channel.q), channel.trials(layer.cohort)
    rng = np.random.default_rng((seed, _VOTES, layer.passage, layer.number))
    votes = rng.binomial(trials, q, layer.candidates.size)
    votes[held] = rng.binomial(holders, p) + rng.binomial(trials - holders, q)
    return Tally(votes, layer.cohort)


def sampled_holders(
    layer: Layer, population: Population, first: int, seed: int, advance: Advance
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The candidates that some word of the population belongs to, and how many samples of the cohort hold each."""
    index = candidate_of_word(layer, population)
    held, groups = np.unique(index, return_inverse=True)
    if held[0] < 0:
        held, groups = held[1:], groups - 1
    group_of_word = groups.astype(np.int32)
    greedy = layer.sampler == "greedy"

    def samples(start: int, stop: int) -> NDArray[np.int32]:
        drawn = population.draw(start, stop, counted=greedy)
        source = np.random.default_rng((seed, _SAMPLING, layer.passage, layer.number, start))
        return kernels.sample_users(
            source, drawn.starts, drawn.words, drawn.counts, group_of_word, len(held), layer.bound, greedy
        )[1]

    return held, count_ids(samples, population, first, first + layer.cohort, len(held), advance)


def candidate_of_word(layer: Layer, population: Population) -> NDArray[np.int64]:
    """For each word of the population the candidate of the layer that it belongs to, or -1."""
    index = np.full(len(population.words), -1, np.int64)
    counting = [place for place, word in enumerate(population.words) if layer.counts(word)]
    if counting:
        index[counting] = layer.candidates.index(strings([population.words[place] for place in counting]))
    return index


FIDELITIES: Mapping[str, Engine] = MappingProxyType({"fast": fast, "devices": devices})
