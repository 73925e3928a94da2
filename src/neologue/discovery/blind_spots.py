"""From which share of users on no word is lost without a trace, however it is spelled, in a campaign of likely strings.

In the first layer every word that counts belongs to a candidate: itself, or the escape of a prefix. A word that is
asked about is released if its votes of that layer pass; an escape that passes is a root of the next layer, to which
every word behind it belongs, and in the last layer, which asks about words alone, it is still a kept prefix. So what
enough users report is released, or lies behind a prefix that was kept, if one candidate in each layer has enough votes.

Theorem. Let the M users who answer a layer be drawn by lot among N, S of whom report the word. How many of the M report
it is hypergeometric, which is the law of a sum of M independent indicators (Vatutin and Mikhailov, 1982), so the
votes of its candidate are at least a sum of independent indicators, one for each contribution, whose mean is μ = n·q +
M·S/N·(p-q). By Hoeffding (1956, theorem 4) such a sum falls short of θ ≤ μ at most as often as Bin(n, μ/n) does. The
candidate has enough votes with the most that any rule calls for, at the least weight and alone among all candidates, as
`_votes_needed` adds them up. Chances of all layers add up to at most `MISSED`.
"""

import math
from bisect import bisect_left

import numpy as np

from neologue import binom
from neologue.campaign.campaign import Campaign
from neologue.discovery.selection.significant import EVEN_SHARE, NullLaw
from neologue.privacy.bound import ROUNDING
from neologue.randomizers.channel import Channel
from neologue.randomizers.registry import randomizer

MISSED = 1e-3
"""The chance, over all layers, with which a word of the promised share may be missed."""
PARTS = 4
"""A layer's part of it is divided once more: too few users, too few votes, much noise, and many others."""


def sure_share(campaign: Campaign) -> float | None:
    """The smallest share of users such that a word that so many report is released or lies behind a kept prefix.

    With a chance of at least 1 - `MISSED`, whatever the word and all others are, if all users answer. It is None where
    no share is enough, and for a trie, which promises nothing of the kind.
    """
    parameters = campaign.parameters
    if parameters.layers is None:
        return None
    chance = MISSED / parameters.layers / PARTS * (1 - ROUNDING)
    asked = campaign.users // (parameters.passes * parameters.layers)
    reports = parameters.counted_reports(asked)
    if reports < campaign.fewest_reports(campaign.largest_layer):
        return None
    channel = randomizer(
        parameters.randomizer, campaign.largest_layer, campaign.epsilon, parameters.words_per_user
    ).channel
    answering = int(binom.ppf(chance, campaign.users, asked / campaign.users)) if parameters.drawn else asked
    trials = channel.trials(reports)
    needed = _votes_needed(campaign, channel, reports, chance)

    def is_sure(holders: int) -> bool:
        mean = trials * float(channel.q) + answering * holders / campaign.users * channel.gain
        return bool(needed <= mean and binom.cdf(needed - 1, trials, mean / trials) <= chance)

    holders = bisect_left(range(1, campaign.users + 1), True, key=is_sure) + 1
    return None if holders > campaign.users else math.nextafter(holders / campaign.users, 1.0)


def _votes_needed(campaign: Campaign, channel: Channel, reports: int, chance: float) -> int:
    """The votes in one layer with which a word is surely released, and a prefix kept, but for a chance."""
    parameters, candidates = campaign.parameters, campaign.largest_layer
    layers = parameters.layers
    assert layers is not None
    rare = [campaign.anonymity.summed_votes_needed(channel, (reports,), left) for left in range(layers)]
    level = min(parameters.false_prefixes, *(parameters.false_words_in(layer) for layer in range(1, layers + 1)))
    null = NullLaw.of(channel.trials(reports), float(channel.q), 0)
    significant = int(null.fewest(np.array([EVEN_SHARE * level / candidates]))[0])
    return max(
        *rare,
        campaign.anonymity.votes_needed(channel, reports),
        significant,
        _votes_among_most(campaign, channel, reports, chance),
    )


def _votes_among_most(campaign: Campaign, channel: Channel, reports: int, chance: float) -> int:
    """The votes with which a prefix is among the roots that have the most, whatever users hold.

    No candidate has more than so many votes of those who do not hold it, and all of them have at most so many of those
    who do: each report holds at most B. So few can have more than the rest.
    """
    parameters, candidates = campaign.parameters, campaign.largest_layer
    if candidates <= campaign.most_roots:
        return 0
    noise = binom.isf(chance / candidates, channel.trials(reports), float(channel.q))
    held = binom.isf(chance, parameters.words_per_user * reports, float(channel.p))
    return int(noise) + int(held) // (campaign.most_roots + 1) + 1
