"""What a campaign gives back: words with estimates, and the facts of every layer."""

from dataclasses import dataclass, field

from neologue.campaign.campaign import Campaign
from neologue.discovery.measurement import Measurement
from neologue.privacy.statement import Exposure
from neologue.randomizers.local_privacy import LocalStatement
from neologue.randomizers.registry import randomizer


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
    """The layer that released it."""
    pass_number: int
    since: int
    """The first layer of its pass whose votes are counted: before the one that released it, if that asked again."""


@dataclass(frozen=True)
class ReleasedPrefix:
    """A beginning of words that users go on from in ways that no layer asked about before the last, and how many do.

    They have such a word in the sample that their report speaks of.
    """

    prefix: str
    votes: int
    estimate: float
    low: float
    high: float
    layer: int
    """The layer that kept it. What was asked about by then is not counted."""
    pass_number: int


@dataclass(frozen=True)
class LayerFacts:
    """What happened in a layer; everything that its privacy and its words follow from."""

    pass_number: int
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
    fewest_votes: int
    """The fewest votes of what was kept; 0 if nothing was."""
    decided: bool
    """Whether enough reports came; if not, nothing of the layer is released and its pass ends."""
    digest: str | None = None
    """The hex digest of the document that its devices were given; None in releases that had no digests yet."""


@dataclass(frozen=True)
class Release:
    """The outcome of a campaign."""

    campaign: Campaign
    layers: tuple[LayerFacts, ...]
    words: tuple[ReleasedWord, ...]
    """The most widely held first."""
    prefixes: tuple[ReleasedPrefix, ...] = ()
    """Where words lie that were not asked about: what the layers before the last of each pass kept, the heaviest first.

    None where a trie grows.
    """
    measurement: Measurement | None = None
    """What users who took no part in the discovery say of the words, if any were asked to."""
    exposure: Exposure = field(default_factory=Exposure)
    """Who saw what on the way."""
    warnings: tuple[str, ...] = ()
    """How the votes of layers were unlike those of honest devices."""

    def __repr__(self) -> str:
        return f"<Release of {len(self.words):,} words, found in {len(self.layers)} layers>"

    @property
    def statement(self) -> LocalStatement:
        """The local privacy of the layer that enforces it least: each user is in one layer, so it covers everyone."""
        parameters = self.campaign.parameters
        statements = (
            randomizer(parameters.randomizer, candidates, self.campaign.epsilon, parameters.words_per_user).statement
            for candidates in (
                *(facts.candidates for facts in self.layers),
                *([self.measurement.candidates] if self.measurement and self.measurement.candidates else []),
            )
        )
        return max(statements, key=lambda statement: statement.enforced_epsilon)
