"""What a campaign gives back: words with estimates, and the facts of every layer."""

from dataclasses import dataclass

from neologue.protocol.campaign import Campaign
from neologue.randomizers.registry import randomizer
from neologue.randomizers.statement import LocalStatement


@dataclass(frozen=True)
class ReleasedWord:
    """A word that no dictionary had, and how many users of the population would report it.

    They hold the word and have it in the sample that their report speaks of; a user with more new words than a report
    covers counts in part.
    """

    word: str
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
    decided: bool
    """Whether enough reports came; if not, nothing of the layer is released and its pass ends."""


@dataclass(frozen=True)
class Release:
    """The outcome of a campaign."""

    campaign: Campaign
    layers: tuple[LayerFacts, ...]
    words: tuple[ReleasedWord, ...]
    """The most widely held first."""

    @property
    def statement(self) -> LocalStatement:
        """The local privacy of the layer that enforces it least: each user is in one layer, so it covers everyone."""
        parameters = self.campaign.parameters
        statements = (
            randomizer(
                parameters.randomizer, facts.candidates, self.campaign.epsilon, parameters.words_per_user
            ).statement
            for facts in self.layers
        )
        return max(statements, key=lambda statement: statement.enforced_epsilon)
