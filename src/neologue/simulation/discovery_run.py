"""A whole campaign over a simulated or recorded population."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TypedDict

from neologue import __version__
from neologue.campaign.campaign import Campaign
from neologue.campaign.measuring import Measuring
from neologue.discovery.decision import Trace, no_trace
from neologue.discovery.result import Release
from neologue.discovery.state import DiscoveryState
from neologue.discovery.tally import Tally
from neologue.errors import ParameterError
from neologue.populations.population import Population
from neologue.populations.streams import SecretSeed
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import Layer
from neologue.simulation.cohorts import Cohorts, DrawnCohorts, FilledCohorts
from neologue.simulation.engines.engine import Engine, LocalEngine
from neologue.simulation.engines.memory import check_memory
from neologue.simulation.journal import Journal
from neologue.simulation.layer_tallies import SimulatedUsers
from neologue.simulation.left_out import LeftOut, left_out
from neologue.simulation.progress import Progress
from neologue.simulation.scoring import Score, score, true_holders, words_below_k


@dataclass(frozen=True)
class DiscoveryRun:
    """A release, and how it came about."""

    release: Release
    score: Score
    population: str
    """The exact description of the population, which is as confidential as its words."""
    public_population: str
    users: int
    fidelity: str
    seed: int | None
    """None if the randomness was secret; otherwise the run is a simulation."""
    real_people: bool
    """Whether the users may be real people."""
    truth: Mapping[str, int] = field(repr=False)
    """How many users of the campaign hold each word that could have been found."""
    left_out: LeftOut
    """What of it could not be found."""
    documents: tuple[bytes, ...] = field(repr=False)
    """The documents of its layers, in order, and of its measurement."""

    def __repr__(self) -> str:
        score = self.score
        return (
            f"<Discovery of {score.words_released:,} words: coverage {score.coverage:.1%}, precision "
            f"{score.precision:.1%}>"
        )


class RunOptions(TypedDict, total=False):
    """How a discovery is run; `discover` says what each means."""

    fidelity: str
    seed: int | None
    progress: Progress | None
    journal: Journal | None
    trace: Trace
    engine: Engine | None
    measure: Measuring | None


def discover(
    population: Population,
    campaign: Campaign,
    *,
    fidelity: str = "fast",
    seed: int | None = None,
    progress: Progress | None = None,
    journal: Journal | None = None,
    trace: Trace = no_trace,
    engine: Engine | None = None,
    measure: Measuring | None = None,
) -> DiscoveryRun:
    """Find the new words of a population, and compare them with what its users hold.

    Every user is asked at most once: users who measure take no part in the campaign. The same arguments with a seed
    give the same result, whatever the number of cores, with or without a journal of earlier layers, on one machine or
    on a cluster. Without a seed, simulated users have seed 0, and all others are randomized by the system's entropy:
    only then does the release make a privacy claim.
    """
    drawn = choose_seed(seed, simulated=population.simulated)
    if campaign.users > population.users:
        raise ParameterError(
            f"the campaign is for {campaign.users:,} users, but the population has {population.users:,}; "
            f"nobody is asked twice, so make the campaign for {population.users:,} or fewer"
        )
    if measure:
        measure.check(campaign, population.users)
    population = population.in_form(campaign.form)
    if campaign.parameters.drawn and isinstance(drawn, SecretSeed):
        population = population.secretly_ordered(drawn)
    engine = engine or LocalEngine()
    check_memory(campaign, engine.threads)
    progress = progress or Progress()
    cohorts, campaign_users = _cohorts(campaign, measure, drawn)
    users = SimulatedUsers(population, engine, fidelity, drawn, progress.on_users, cohorts)
    state = DiscoveryState(campaign, measure, progress.on_layer_end)
    documents: list[bytes] = []
    while layer := state.layer:
        documents.append(layer.document)
        tally = journal.recall(layer) if journal else None
        if tally is None:
            tally = _ask(layer, campaign_users, users, progress)
            if journal:
                journal.record(layer, tally)
        elif isinstance(layer, Layer):
            users.skip(layer)
        state.take(state.decide(tally, trace))
    release = state.release
    progress.on_scoring()
    holders, by_layer = users.holders(campaign_users)
    truth = true_holders(population.words, holders, state.first)
    return DiscoveryRun(
        release=release,
        score=score(release, truth, words_below_k(release, population.words, by_layer)),
        population=population.description,
        public_population=population.public_description,
        users=campaign.users,
        fidelity=fidelity,
        seed=None if isinstance(drawn, SecretSeed) else drawn,
        real_people=not population.simulated,
        truth=truth,
        left_out=left_out(population, holders, truth, state.first, campaign.parameters.k_anonymity),
        documents=tuple(documents),
    )


def choose_seed(seed: int | None, *, simulated: bool) -> int:
    """The seed that was asked for; otherwise 0 for simulated users, and a secret one for all others."""
    if seed is not None:
        return seed
    return 0 if simulated else SecretSeed.draw()


def _cohorts(campaign: Campaign, measure: Measuring | None, seed: int) -> tuple[Cohorts, int]:
    """Who is in which layer, and how many users do not measure; they come first."""
    if not campaign.parameters.drawn:
        return FilledCohorts(), campaign.users
    cohorts = DrawnCohorts(campaign, measure, seed)
    return cohorts, cohorts.campaign_users


def _ask(layer: Layer | ClosedLayer, campaign_users: int, users: SimulatedUsers, progress: Progress) -> Tally:
    """Collect the votes of the layer's users; the users who measure come after those of the campaign."""
    if isinstance(layer, ClosedLayer):
        progress.on_measuring(layer)
        return users.measure(layer, campaign_users)
    progress.on_layer_start(layer)
    return users.ask(layer)


def identity(
    population: Population, campaign: Campaign, fidelity: str, seed: int, measure: Measuring | None = None
) -> dict[str, object]:
    """Everything that the result of a discovery depends on; a journal can only be resumed with the same identity.

    It holds the seed even if that is secret: whoever reads a journal can compute the noise of its layers.
    """
    targets = None if campaign.targets is None else sorted(campaign.targets)
    return {
        "version": __version__,
        "parameters": campaign.parameters.as_dict(),
        "alphabet": campaign.alphabet.characters,
        "known": campaign.known.digest,
        "targets": targets and hashlib.sha256("\n".join(targets).encode("utf-8", "surrogatepass")).hexdigest(),
        "users": campaign.users,
        "seed": seed,
        "secret": isinstance(seed, SecretSeed),
        "population": population.digest,
        "fidelity": fidelity,
        "measure": measure and asdict(measure),
    }
