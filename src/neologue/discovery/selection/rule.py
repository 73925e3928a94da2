"""What a rule is: how it selects, what a forecast needs to know of it, and which votes it surely accepts."""

from collections.abc import Callable
from dataclasses import dataclass

from neologue.campaign.campaign import Campaign
from neologue.discovery.result import LayerFacts
from neologue.discovery.selection.selected import Selection
from neologue.discovery.tally import Tally
from neologue.protocol.layer import ExtendingLayer
from neologue.randomizers.channel import Channel


@dataclass(frozen=True)
class Cut:
    """How a rule separates candidates from noise."""

    level: float
    """The expected share of noise among those kept; 1 if the rule does not care."""
    most: float
    """The most that are kept; infinite if there is no limit."""


@dataclass(frozen=True)
class ForeseenCuts:
    """A rule as a forecast sees it: where it cuts on average."""

    words: Cut
    """For candidates that end a word."""
    prefixes: Cut
    """For those that go on."""
    together: bool
    """Whether all candidates compete for one cut, that of prefixes, wherever they end."""


@dataclass(frozen=True)
class Rule:
    """A rule that decides which candidates of a layer are kept; k-anonymity comes on top of every rule."""

    select: Callable[[ExtendingLayer, Tally, Campaign], Selection]
    """The candidates kept, by their votes."""
    foresee: Callable[[Campaign], ForeseenCuts]
    """What a forecast needs to know of it."""
    surely_enough: Callable[[Campaign, LayerFacts, Channel, int], int]
    """The votes with which a word is kept in a layer, whatever else its reports say, so many of which are hostile."""
    keeps_most_voted: bool
    """Whether it keeps as many of the most voted as there is room for, whatever the votes are."""
