"""The paper's rule: the η_max candidates with the most votes, whatever they mean."""

import numpy as np

from neologue.campaign.campaign import Campaign
from neologue.discovery.result import LayerFacts
from neologue.discovery.selection.rule import Cut, ForeseenCuts, Rule
from neologue.discovery.selection.selected import Selection, select_largest
from neologue.discovery.tally import Tally
from neologue.protocol.layer import ExtendingLayer
from neologue.randomizers.channel import Channel


def select(layer: ExtendingLayer, tally: Tally, campaign: Campaign) -> Selection:
    """The candidates with the most votes."""
    return select_largest(np.arange(len(tally.votes)), tally.votes, campaign.widest_frontier, layer)


def foresee(campaign: Campaign) -> ForeseenCuts:
    """One cut for all candidates, where there is no more room."""
    everything = Cut(level=1.0, most=campaign.widest_frontier)
    return ForeseenCuts(words=everything, prefixes=everything, together=True)


def surely_enough(campaign: Campaign, facts: LayerFacts, channel: Channel, hostile: int) -> int:
    """More votes than any candidate left out can have gained."""
    return facts.fewest_votes + min(hostile, facts.reports) * channel.contributions + 1


TOP = Rule(select, foresee, surely_enough, keeps_most_voted=True)
