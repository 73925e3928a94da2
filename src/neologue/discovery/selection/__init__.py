"""Which candidates of a layer are kept: one table of rules, and the votes that all of them need for anonymity."""

import numpy as np

from neologue.campaign.campaign import Campaign
from neologue.discovery.selection.rule import Rule
from neologue.discovery.selection.selected import Selection
from neologue.discovery.selection.significant import SIGNIFICANT
from neologue.discovery.selection.top import TOP
from neologue.discovery.tally import Tally
from neologue.protocol.layer import ExtendingLayer
from neologue.table import Table

RULES: Table[Rule] = Table("rule is called", "neologue.discovery.selection", {"top": TOP, "significant": SIGNIFICANT})
"""By the names that `neologue.campaign.rule_names` permits."""


def select(layer: ExtendingLayer, tally: Tally, campaign: Campaign) -> Selection:
    """Apply the campaign's rule to a layer.

    Nothing is kept with fewer votes than k-anonymity and the promise of unique words call for, whatever the rule.
    """
    selected = RULES[campaign.parameters.rule].select(layer, tally, campaign)
    least = campaign.anonymity.votes_needed(layer.randomizer.channel, tally.reports)
    enough = tally.votes[selected.index] >= least
    return Selection(
        selected.index[enough],
        np.maximum(selected.thresholds[enough], least),
        lambda others: np.maximum(selected.missing(others), least),
    )
