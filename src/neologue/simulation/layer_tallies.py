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
from neologue.simulation.cohorts import Cohort, Cohorts, FilledCohorts
from neologue.simulation.engines.engine import Engine
from neologue.simulation.layer_work import Held, Made, Reported, Sampled
from neologue.simulation.votes.closed_samples import ListedSampler
from neologue.simulation.votes.report_kernels import REPORTS
from neologue.simulation.votes.samples import Sampler
from neologue.simulation.votes.vote_laws import VOTE_LAWS

Holders = NDArray[np.int32]
FIDELITIES = ("fast", "exact", "devices")


class SimulatedUsers:
    """Asks the users of a population, each at most once."""

    def __init__(
        self,
        population: Population,
        engine: Engine,
        fidelity: str,
        seed: int,
        advance: Advance = lambda users: None,
        cohorts: Cohorts | None = None,
    ) -> None:
        if fidelity not in FIDELITIES:
            raise ParameterError(f"fidelity must be one of {', '.join(FIDELITIES)}, not {fidelity!r}")
        self._population = population
        self._engine = engine
        self._ask = {"fast": self._fast, "exact": self._exact, "devices": self._devices}[fidelity]
        self._seed = seed
        self._advance = advance
        self._cohorts = cohorts or FilledCohorts()
        self._asked: list[Cohort] = []
        self._held: dict[int, Holders] = {}
        self._counting_for: int | None = None
        self._found = 0

    def ask(self, layer: Layer) -> Tally:
        """The tally of the layer's cohort."""
        cohort = self._next(layer)
        return Tally(self._ask(layer, cohort), cohort.reports)

    def measure(self, layer: ClosedLayer, first: int) -> Tally:
        """The tally of a closed layer, whose cohort are the users from `first` on."""
        cohort = self._cohorts.measuring(layer, first)
        return Tally(self._ask(layer, cohort), cohort.reports)

    def skip(self, layer: Layer) -> None:
        """Pass over the layer's cohort, who were asked before."""
        self._next(layer)

    def holders(self, users: int) -> tuple[NDArray[np.int64], list[Holders]]:
        """How many of the first so many users hold each word, and how many of the users of each layer do.

        Only those who were not asked are counted now.
        """
        total = np.zeros(len(self._population.words), np.int64)
        counted = 0
        for cohort in self._asked:
            if cohort.first not in self._held:
                self._held[cohort.first] = self._count_holders(cohort.first, cohort.end).astype(np.int32)
            total += self._count_holders(counted, cohort.first) + self._held[cohort.first]
            counted = cohort.end
        return total + self._count_holders(counted, users), [self._held[cohort.first] for cohort in self._asked]

    def _count_holders(self, first: int, last: int) -> NDArray[np.int64]:
        return self._engine.count(Held(len(self._population.words)), self._population, first, last)

    def _next(self, layer: Layer) -> Cohort:
        self._asked.append(self._cohorts.of_layer(layer))
        return self._asked[-1]

    def _devices(self, layer: Layer | ClosedLayer, cohort: Cohort) -> NDArray[np.int64]:
        """Every device makes its report with the real device core, bytes and all, and the server reads them."""
        work = Made(layer, self._population.words, self._seed)
        return self._votes(work, layer, cohort) + work.made_up(cohort.made_up, cohort.first)

    def _exact(self, layer: Layer | ClosedLayer, cohort: Cohort) -> NDArray[np.int64]:
        """Every user's words are sampled as on a device, and every report is drawn from its law by compiled code."""
        reports = REPORTS[layer.randomizer.name](layer.randomizer, self._seed)
        candidates, sampler = self._sampler(layer)
        work = Reported(sampler, candidates.astype(np.int32), reports)
        counted = self._votes(work, layer, cohort)[: layer.randomizer.candidates]
        if not cohort.made_up:
            return counted
        nobody = np.empty(0, np.int64)
        made_up = VOTE_LAWS[layer.randomizer.name](
            layer.randomizer, nobody, nobody, cohort.made_up, self._seed, cohort.first
        )
        return counted + made_up

    def _fast(self, layer: Layer | ClosedLayer, cohort: Cohort) -> NDArray[np.int64]:
        """Every user's words are sampled as on a device, and all reports' votes are drawn at once from their law."""
        draw = VOTE_LAWS[layer.randomizer.name]
        candidates, sampler = self._sampler(layer)
        samples = self._votes(Sampled(sampler), layer, cohort)
        return draw(layer.randomizer, candidates, samples, cohort.reports, self._seed, cohort.first)

    def _votes(self, work: Made | Reported | Sampled, layer: Layer | ClosedLayer, cohort: Cohort) -> NDArray[np.int64]:
        """What the cohort's answers count, without the holders of words, who are put aside."""
        counts = self._engine.count(work, self._population, cohort.first, cohort.end, self._advance)
        if isinstance(layer, Layer):  # whoever measures is not among those who are to be found out about
            self._held[cohort.first] = counts[work.votes :].astype(np.int32)
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
