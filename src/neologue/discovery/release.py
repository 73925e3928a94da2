"""What a campaign gives back: words with estimates, and the facts of every layer."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from neologue.discovery.measurement import Measurement
from neologue.privacy.collection import Cohort
from neologue.privacy.statement import Exposure, Facts, LayerShown
from neologue.protocol.campaign import Campaign
from neologue.protocol.parameters import Parameters
from neologue.randomizers.registry import randomizer
from neologue.randomizers.statement import LocalStatement


@dataclass(frozen=True)
class ReleasedWord:
    """A word that no dictionary had, and how many users of the population would report it.

    They hold the word and have it in the sample that their report speaks of; a user with more new words than a report
    covers counts in part.
    """

    word: str
    votes: int
    estimate: float
    low: float
    high: float
    layer: int
    passage: int


@dataclass(frozen=True)
class LayerFacts:
    """What happened in a layer; everything that its privacy and its words follow from."""

    passage: int
    layer: int
    length: int
    """The characters of the prefixes that the layer began with."""
    extension: int
    candidates: int
    asked: int
    reports: int
    kept: int
    """The prefixes that go on."""
    words: int
    """The words that end here."""
    doubtful: int
    """The words that the next layer is asked about again."""
    fewest_votes: int
    """The fewest votes of what was kept; 0 if nothing was."""
    decided: bool
    """Whether enough reports came; if not, nothing of the layer is released and its pass ends."""


@dataclass(frozen=True)
class Release:
    """The outcome of a campaign."""

    campaign: Campaign
    layers: tuple[LayerFacts, ...]
    words: tuple[ReleasedWord, ...]
    """The most widely held first."""
    measurement: Measurement | None = None
    """What users who took no part in the discovery say of the words, if any were asked to."""
    exposure: Exposure = field(default_factory=Exposure)
    """Who saw what on the way."""

    @property
    def facts(self) -> Facts:
        """What the privacy of the release follows from."""
        return privacy_facts(self.campaign.parameters, self.layers, self.measurement, self.exposure)

    @property
    def statement(self) -> LocalStatement:
        """The local privacy of the layer that enforces it least: each user is in one layer, so it covers everyone."""
        parameters = self.campaign.parameters
        statements = (
            randomizer(parameters.randomizer, candidates, self.campaign.epsilon, parameters.words_per_user).statement
            for candidates in (
                *(facts.candidates for facts in self.layers),
                *([self.measurement.candidates] if self.measurement and self.measurement.asked else []),
            )
        )
        return max(statements, key=lambda statement: statement.enforced_epsilon)


def privacy_facts(
    parameters: Parameters,
    layers: Iterable[LayerFacts],
    measurement: Measurement | None = None,
    exposure: Exposure | None = None,
) -> Facts:
    """The facts of a run as its privacy statement takes them; of an undecided layer nothing is published."""
    layers = tuple(layers)
    shown = tuple(
        LayerShown(
            Cohort(layer.reports, layer.candidates), layer.kept + layer.words + layer.doubtful, layer.fewest_votes
        )
        for layer in layers
        if layer.decided
    )
    withheld = tuple(Cohort(layer.reports, layer.candidates) for layer in layers if layer.reports and not layer.decided)
    measured: tuple[Cohort, ...] = ()
    if measurement and measurement.reports:
        counted = (Cohort(measurement.reports, measurement.candidates),)
        measured, withheld = (counted, withheld) if measurement.decided else ((), withheld + counted)
    return replace(facts_of(parameters, shown, withheld, measured), exposure=exposure or Exposure())


def facts_of(
    parameters: Parameters,
    shown: tuple[LayerShown, ...],
    withheld: tuple[Cohort, ...] = (),
    measured: tuple[Cohort, ...] = (),
) -> Facts:
    """The facts of a run with these layers, whether they happened or are foreseen."""
    assert parameters.epsilon is not None
    return Facts(
        mechanism=parameters.randomizer,
        epsilon=parameters.epsilon,
        words_per_user=parameters.words_per_user,
        delta=parameters.delta,
        colluders=parameters.colluders,
        layers=shown,
        frontier=parameters.frontier if parameters.rule == "top" else None,
        k=parameters.k_anonymity,
        alpha=parameters.alpha,
        withheld=withheld,
        measured=measured,
    )
