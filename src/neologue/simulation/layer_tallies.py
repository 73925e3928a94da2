"""From a layer to its tally: the cohorts of a campaign, asked one after the other."""

import numpy as np
from numpy.typing import NDArray

from neologue.discovery.tally import Tally
from neologue.errors import ParameterError
from neologue.language.candidates import Strings, strings
from neologue.populations.counting import Advance
from neologue.populations.population import Population
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import Layer
from neologue.simulation.closed_samples import ListedSampler
from neologue.simulation.engine import Engine
from neologue.simulation.layer_work import Held, Made, Reported, Sampled
from neologue.simulation.report_kernels import REPORTS
from neologue.simulation.samples import Sampler
from neologue.simulation.vote_laws import VOTE_LAWS

Holders = NDArray[np.int32]
FIDELITIES = ("fast", "exact", "devices")


class SimulatedUsers:
    """Asks the users of a population, each at most once: every cohort is the next users in their order."""

    def __init__(
        self,
        population: Population,
        engine: Engine,
        fidelity: str,
        seed: int,
        advance: Advance = lambda users: None,
    ) -> None:
        if fidelity not in FIDELITIES:
            raise ParameterError(f"fidelity must be one of {', '.join(FIDELITIES)}, not {fidelity!r}")
        self._population = population
        self._engine = engine
        self._ask = {"fast": self._fast, "exact": self._exact, "devices": self._devices}[fidelity]
        self._seed = seed
        self._advance = advance
        self._first = 0
        self._layers: list[tuple[int, int]] = []
        self._held: dict[int, Holders] = {}
        self._counting_for: int | None = None
        self._found = 0

    def ask(self, layer: Layer) -> Tally:
        """The tally of the layer's cohort."""
        return Tally(self._ask(layer, self._next(layer)), layer.layer_size)

    def measure(self, layer: ClosedLayer, first: int) -> Tally:
        """The tally of a closed layer, whose cohort are the users from `first` on."""
        if self._first > first:
            raise ValueError(f"user {first:,} was asked before, and nobody is asked twice")
        return Tally(self._ask(layer, first), layer.layer_size)

    def skip(self, layer: Layer) -> None:
        """Pass over the layer's cohort, who were asked before."""
        self._next(layer)

    def holders(self, users: int) -> tuple[NDArray[np.int64], list[Holders]]:
        """How many of the first so many users hold each word, and how many of the users of each layer do.

        Only those who were not asked are counted now.
        """
        for first, last in self._layers:
            if first not in self._held:
                self._held[first] = self._count_holders(first, last).astype(np.int32)
        by_layer = [self._held[first] for first, _ in self._layers]
        total = self._count_holders(self._first, users)
        for held in by_layer:
            total += held
        return total, by_layer

    def _count_holders(self, first: int, last: int) -> NDArray[np.int64]:
        return self._engine.count(Held(len(self._population.words)), self._population, first, last)

    def _next(self, layer: Layer) -> int:
        """The first user of the next layer."""
        first, self._first = self._first, self._first + layer.layer_size
        self._layers.append((first, self._first))
        return first

    def _devices(self, layer: Layer | ClosedLayer, first: int) -> NDArray[np.int64]:
        """Every device makes its report with the real device core, bytes and all, and the server reads them."""
        return self._votes(Made(layer, self._population.words, self._seed), layer, first)

    def _exact(self, layer: Layer | ClosedLayer, first: int) -> NDArray[np.int64]:
        """Every user's words are sampled as on a device, and every report is drawn from its law by compiled code."""
        reports = REPORTS[layer.randomizer.name](layer.randomizer, self._seed)
        candidates, sampler = self._sampler(layer)
        return self._votes(Reported(sampler, candidates.astype(np.int32), reports), layer, first)[
            : layer.randomizer.candidates
        ]

    def _fast(self, layer: Layer | ClosedLayer, first: int) -> NDArray[np.int64]:
        """Every user's words are sampled as on a device, and all reports' votes are drawn at once from their law."""
        draw = VOTE_LAWS[layer.randomizer.name]
        candidates, sampler = self._sampler(layer)
        samples = self._votes(Sampled(sampler), layer, first)
        return draw(layer.randomizer, candidates, samples, layer.layer_size, self._seed, first)

    def _votes(self, work: Made | Reported | Sampled, layer: Layer | ClosedLayer, first: int) -> NDArray[np.int64]:
        """What the cohort's answers count, without the holders of words, who are put aside."""
        counts = self._engine.count(work, self._population, first, first + layer.layer_size, self._advance)
        if isinstance(layer, Layer):  # whoever measures is not among those who are to be found out about
            self._held[first] = counts[work.votes :].astype(np.int32)
        return counts[: work.votes]

    def _sampler(self, layer: Layer | ClosedLayer) -> tuple[NDArray[np.int64], Sampler | ListedSampler]:
        """The candidates that some word belongs to, and how users sample them."""
        if isinstance(layer, ClosedLayer):
            return np.arange(layer.randomizer.candidates), self._listed_sampler(layer)
        counting, words = self._words_that_count(layer)
        index = layer.candidates.index(words)
        belongs = index >= 0
        candidates, groups = np.unique(index[belongs], return_inverse=True)
        group_of_word = np.full(len(self._population.words), -1, np.int32)
        group_of_word[counting[belongs]] = groups
        return candidates, Sampler(len(candidates), group_of_word, layer.bound, layer.sampler == "greedy", self._seed)

    def _listed_sampler(self, layer: ClosedLayer) -> ListedSampler:
        """How users sample words that are on the list or not."""
        lexicon = self._population.words
        counting = np.array([number for number, word in enumerate(lexicon) if layer.counts(word)], np.int64)
        group_of_word = np.full(len(lexicon), -1, np.int32)
        group_of_word[counting] = np.arange(len(counting))
        return ListedSampler(
            Sampler(len(counting), group_of_word, layer.bound, False, self._seed),
            layer.index(strings([lexicon[number] for number in counting])).astype(np.int32),
            len(layer.words),
            layer.domain.outside,
            layer.rate,
        )

    def _words_that_count(self, layer: Layer) -> tuple[NDArray[np.int64], Strings]:
        """Where in the lexicon the words that count are, and the words; in a pass only found words fall away."""
        lexicon = self._population.words
        if self._counting_for != layer.pass_number:
            self._counting = np.array([number for number, word in enumerate(lexicon) if layer.counts(word)], np.int64)
            self._words = strings([lexicon[number] for number in self._counting])
            self._counting_for, self._found = layer.pass_number, len(layer.found)
        if len(layer.found) > self._found:
            left = np.array([lexicon[number] not in layer.found for number in self._counting], np.bool_)
            self._counting, self._words = self._counting[left], self._words[left]
            self._found = len(layer.found)
        return self._counting, self._words
