"""What a forecast says of a campaign and of each of its layers."""

from dataclasses import dataclass

from neologue.campaign.campaign import Campaign
from neologue.protocol.report import HEADER_BYTES
from neologue.randomizers.registry import randomizer

FOUND = 0.95
"""The chance with which the rarest word that a forecast names is found."""


@dataclass(frozen=True)
class LayerForecast:
    """A layer as foreseen."""

    pass_number: int
    layer: int
    length: int
    extension: int
    candidates: int
    layer_size: int
    kept: int
    words: int
    word_votes: int
    """The votes that surely suffice for a word to be released, whatever its spelling."""
    prefix_votes: int
    """The votes that surely suffice for a prefix to go on."""
    fewest_votes: int
    """The votes that suffice for a word of the likeliest spelling."""


@dataclass(frozen=True)
class ForeseenGroup:
    """Words that are released together, by the votes of the same layers."""

    first: int
    """The first of these layers, by its position in the forecast …"""
    last: int
    """… and the last."""
    words: int
    fewest_votes: int
    """The votes that suffice for a word of the likeliest spelling."""


@dataclass(frozen=True)
class Forecast:
    """A campaign as foreseen."""

    layers: tuple[LayerForecast, ...]
    coverage: float
    words: float
    """How many words are released, false ones included."""
    false_words: float
    rarest_share: float | None
    """A word that this share of users reports is found with a chance of 95 %, whatever its spelling and company; None
    if not even one that everybody reports is."""
    groups: tuple[ForeseenGroup, ...]
    report_bytes: int
    """The longest report that a device sends."""


def report_bytes(campaign: Campaign, candidates: int) -> int:
    """The longest report on so many candidates."""
    parameters = campaign.parameters
    mechanism = randomizer(parameters.randomizer, candidates, campaign.epsilon, parameters.words_per_user)
    return HEADER_BYTES + mechanism.payload_bytes
