"""A whole campaign over a simulated or recorded population."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from neologue import __version__
from neologue.campaign.campaign import Campaign
from neologue.campaign.measuring import Measuring
from neologue.discovery.decision import Trace, no_trace
from neologue.discovery.result import LayerFacts, Release
from neologue.discovery.state import DiscoveryState
from neologue.discovery.tally import Tally
from neologue.errors import ParameterError
from neologue.populations.population import Population
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import Layer
from neologue.simulation.engine import Engine, LocalEngine
from neologue.simulation.journal import Journal
from neologue.simulation.layer_tallies import SimulatedUsers
from neologue.simulation.memory import check_memory
from neologue.simulation.scoring import Score, score, true_holders


class Progress:
    """Somebody who looks on; this one does not care."""

    def on_layer_start(self, layer: Layer) -> None:
        """A cohort is about to be asked."""

    def on_users(self, users: int) -> None:
        """So many more users of the cohort have answered."""

    def on_layer_end(self, facts: LayerFacts, words: int) -> None:
        """The layer is decided; so many words are found by now."""

    def on_measuring(self, layer: ClosedLayer) -> None:
        """The words are found, and users who were not asked before are about to count them."""

    def on_scoring(self) -> None:
        """All layers are done, and the release is compared with the truth."""


@dataclass(frozen=True)
class Discovery:
    """A release, and how it came about."""

    release: Release
    score: Score
    population: str
    users: int
    fidelity: str
    seed: int
    truth: Mapping[str, int] = field(repr=False)
    """How many users of the campaign hold each word that could have been found."""


def discover(
    population: Population,
    campaign: Campaign | None = None,
    *,
    fidelity: str = "fast",
    seed: int = 0,
    progress: Progress | None = None,
    journal: Journal | None = None,
    trace: Trace = no_trace,
    engine: Engine | None = None,
    measure: Measuring | None = None,
) -> Discovery:
    """Find the new words of a population, and measure, if asked to, how much of what users hold they are.

    Every user is asked at most once: who measures is none of the campaign's users. The same arguments give the same
    result, whatever the number of cores, and whether or not a journal had some of the layers already, or a cluster did
    the work.
    """
    asked_of = campaign or Campaign.from_profile(
        users=max(1, population.users - (measure.users if measure else 0)),
        known=population.known,
        alphabet=population.alphabet,
    )
    if asked_of.users > population.users:
        raise ParameterError(
            f"the campaign is for {asked_of.users:,} users, but the population has {population.users:,}; "
            f"nobody is asked twice, so make the campaign for {population.users:,} or fewer"
        )
    if measure:
        measure.check(asked_of, population.users)
    machine = engine or LocalEngine()
    check_memory(asked_of, machine.threads)
    progress = progress or Progress()
    asked_users = SimulatedUsers(population, machine, fidelity, seed, progress.on_users)
    state = DiscoveryState(asked_of, measure, progress.on_layer_end)
    while layer := state.layer:
        tally = journal.recall(layer) if journal else None
        if tally is None:
            tally = _asked(layer, asked_of, asked_users, progress)
            if journal:
                journal.record(layer, tally)
        elif isinstance(layer, Layer):
            asked_users.skip(layer)
        state.take(state.decide(tally, trace))
    release = state.release
    progress.on_scoring()
    truth = true_holders(population.words, asked_users.holders(asked_of.users), state.first)
    return Discovery(
        release=release,
        score=score(release, truth),
        population=population.description,
        users=asked_of.users,
        fidelity=fidelity,
        seed=seed,
        truth=truth,
    )


def _asked(layer: Layer | ClosedLayer, campaign: Campaign, asked_users: SimulatedUsers, progress: Progress) -> Tally:
    """The votes of the users whose turn it is; those who measure stand behind those of the campaign."""
    if isinstance(layer, ClosedLayer):
        progress.on_measuring(layer)
        return asked_users.measure(layer, campaign.users)
    progress.on_layer_start(layer)
    return asked_users.ask(layer)


def identity(
    population: Population, campaign: Campaign, fidelity: str, seed: int, measure: Measuring | None = None
) -> dict[str, object]:
    """All that a discovery is a function of; a journal is good for the same identity alone."""
    targets = None if campaign.targets is None else sorted(campaign.targets)
    return {
        "version": __version__,
        "parameters": campaign.parameters.as_dict(),
        "alphabet": campaign.alphabet.characters,
        "known": campaign.known.digest,
        "targets": targets and hashlib.sha256("\n".join(targets).encode("utf-8", "surrogatepass")).hexdigest(),
        "users": campaign.users,
        "population": population.digest,
        "fidelity": fidelity,
        "seed": seed,
        "measure": measure and asdict(measure),
    }
