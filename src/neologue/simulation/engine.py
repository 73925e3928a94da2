"""From a layer to its tally, with simulated devices: every report made in full, or drawn, or only their sum."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neologue.device.contribution import contribute
from neologue.discovery.tally import Tally
from neologue.entropy import SeededEntropy
from neologue.errors import ParameterError
from neologue.language.candidates import Strings, strings
from neologue.protocol.layer import Layer
from neologue.protocol.report import read_report
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary
from neologue.simulation import kernels
from neologue.simulation.counting import Counters, count, count_ids
from neologue.simulation.population import Population
from neologue.simulation.reports import SubsetReports, UnaryReports
from neologue.simulation.streams import Stream, generator
from neologue.simulation.tree import subset_votes

Advance = Callable[[int], None]
"""Told how many more users are done."""

FIDELITIES = ("fast", "exact", "devices")

Samples = Callable[[int, int], tuple[NDArray[np.int64], NDArray[np.int32]]]
"""What the users of a piece sample: where each one's part starts, and places among the candidates held."""


class Sampler(NamedTuple):
    """The candidates that some word belongs to, and how users sample them."""

    held: NDArray[np.int64]
    samples: Samples


class Engine:
    """Collects the tallies of a campaign's layers from a population, each cohort after the one before."""

    def __init__(self, population: Population, fidelity: str, seed: int, advance: Advance) -> None:
        if fidelity not in FIDELITIES:
            raise ParameterError(f"fidelity must be one of {', '.join(FIDELITIES)}, not {fidelity!r}")
        self._population = population
        self._draw = {"fast": self.fast, "exact": self.exact, "devices": self.devices}[fidelity]
        self._seed = seed
        self._advance = advance
        self._first = 0
        self._counting_for: int | None = None

    def collect(self, layer: Layer) -> Tally:
        """The tally of the layer's cohort: the next users of the population, who are not asked again."""
        first = self._first
        self._first += layer.cohort
        return self._draw(layer, first)

    def skip(self, layer: Layer) -> None:
        """Pass over the layer's cohort, who were asked before."""
        self._first += layer.cohort

    def devices(self, layer: Layer, first: int) -> Tally:
        """Every device makes its report with the real device core, bytes and all, and the server reads them."""
        return Tally.of(layer.candidates.size, self._reports(layer, first))

    def _reports(self, layer: Layer, first: int) -> Iterator[NDArray[np.int64]]:
        words = self._population.words
        for start, stop in self._population.spans(first, first + layer.cohort):
            held = self._population.draw(start, stop)
            for row in range(held.users):
                own = slice(held.starts[row], held.starts[row + 1])
                typed = zip(held.words[own].tolist(), held.counts[own].tolist(), strict=True)
                entropy = SeededEntropy(Stream.REPORTS, self._seed, start + row)
                report = contribute({words[word]: times for word, times in typed}, layer, entropy)
                yield read_report(layer, report)
            self._advance(held.users)

    def exact(self, layer: Layer, first: int) -> Tally:
        """Every user's words are sampled as on a device, and every report is drawn from its law by compiled code."""
        sampler = self._sampler(layer)
        candidates = sampler.held.astype(np.int32)
        reports = _reports_of(layer, self._seed)

        def add(start: int, stop: int, counters: Counters) -> Iterator[None]:
            starts, samples = sampler.samples(start, stop)
            yield from reports.add(start, starts, candidates[samples], counters)

        votes = count(add, self._population, first, first + layer.cohort, reports.size, self._advance)
        return Tally(votes[: layer.candidates.size], layer.cohort)

    def fast(self, layer: Layer, first: int) -> Tally:
        """Every user's words are sampled as on a device, and the votes of all reports are drawn at once from their law.

        Unary reports vote for candidates independently, given the samples; for Subset Selection a tree gives the joint
        law.
        """
        held, holders = self.sampled_holders(layer, first)
        randomizer = layer.randomizer
        p, q, trials = float(randomizer.channel.p), float(randomizer.channel.q), randomizer.channel.trials(layer.cohort)
        if isinstance(randomizer, SubsetSelection):
            words = np.zeros(randomizer.domain, np.int64)
            words[held] = holders
            words[-1] = trials - holders.sum()
            votes = subset_votes(words, randomizer.subset_size, p, self._seed, first)
            return Tally(votes[:-1], layer.cohort)
        rng = generator(Stream.VOTES, self._seed, first)
        votes = rng.binomial(trials, q, layer.candidates.size)
        votes[held] = rng.binomial(holders, p) + rng.binomial(trials - holders, q)
        return Tally(votes, layer.cohort)

    def sampled_holders(self, layer: Layer, first: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The candidates that some word belongs to, and how many samples of the cohort hold each."""
        sampler = self._sampler(layer)

        def ids_of(start: int, stop: int) -> NDArray[np.int32]:
            return sampler.samples(start, stop)[1]

        last = first + layer.cohort
        return sampler.held, count_ids(ids_of, self._population, first, last, len(sampler.held), self._advance)

    def _sampler(self, layer: Layer) -> Sampler:
        places, words = self._words_that_count(layer)
        index = layer.candidates.index(words)
        belongs = index >= 0
        held, groups = np.unique(index[belongs], return_inverse=True)
        group_of_word = np.full(len(self._population.words), -1, np.int32)
        group_of_word[places[belongs]] = groups
        greedy = layer.sampler == "greedy"

        def samples(start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
            users = self._population.draw(start, stop, counted=greedy)
            source = generator(Stream.SAMPLES, self._seed, start)
            return kernels.sample_users(
                source, users.starts, users.words, users.counts, group_of_word, len(held), layer.bound, greedy
            )

        return Sampler(held, samples)

    def _words_that_count(self, layer: Layer) -> tuple[NDArray[np.int64], Strings]:
        """Where in the lexicon the words that count are, and the words; the same for all layers of a pass."""
        if self._counting_for != layer.passage:
            lexicon = self._population.words
            self._places = np.array([place for place, word in enumerate(lexicon) if layer.counts(word)], np.int64)
            self._words = strings([lexicon[place] for place in self._places])
            self._counting_for = layer.passage
        return self._places, self._words


def _reports_of(layer: Layer, seed: int) -> SubsetReports | UnaryReports:
    randomizer = layer.randomizer
    if isinstance(randomizer, SubsetSelection):
        return SubsetReports(randomizer, seed)
    if isinstance(randomizer, Unary):
        return UnaryReports(randomizer, seed)
    raise ParameterError(f"no way is known to draw reports of the randomizer {randomizer.name!r}; use devices")
