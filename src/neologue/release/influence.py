"""How much a number of hostile devices can have done to a release, by what stands in the release alone.

A hostile device sends what it likes in place of an honest report, one report in one layer. Its report votes for a
candidate at most once (unary) or at most B times (Subset Selection), so m of them move the votes of any candidate by at
most m·c, c being the contributions of a report. Nothing tells such votes from those of holders: they can be bounded,
not found. Where votes are summed under masks, c is that times the devices of a group: no vote can be checked, and a
hostile device can turn the sum of its group into any that so many honest ones could have. Which layer a device is
asked in falls by lot, so m devices in one layer is more than m devices can hope for.

**Estimates.** The unbiased estimate of a word's holders is (v - n·q)/(p - q) times users per report, so it moves by at
most m·c/(p - q) times that, exactly. The published one is the unbiased one kept inside an interval that near the
threshold lies below it, so hostile votes raise it no further above what honest devices would have said without bias.

**Words that nobody holds.** Everything kept in a layer has at least the fewest votes kept there, and a word is kept in
every layer of its path. For each layer there is a fewest number of hostile
reports with which noise and they reach these votes with a chance of at least one half. With fewer the odds in that
layer are against it. A threshold that noise reaches by itself, as where the best are kept whatever they mean, takes
none. Where a campaign asks about what is likely, a word has no path: it takes the votes of a released word in the
layers that judged it, and noise has the reports of all of these.

**Words that are sure.** Had m reports of its layer voted for a word in place of honest ones, it would have at least v -
m·c votes. It would still be released from that layer, whatever the honest reports had said of other candidates, if

- by the rule `significant`, noise gives so many votes with a chance of at most a fifth of (false words)/candidates: no
  weight is below a fifth, and what passes alone passes in company;
- by the rule `top`, they are more than any candidate left out can have gained: the fewest votes kept, and m·c more;

and if k-anonymity and the promise of unique words do not call for more. The votes of a word's prefixes in the layers
before are not released, so nothing is said of those.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neologue import binom
from neologue.campaign.campaign import MOST_USERS, Campaign
from neologue.discovery.result import LayerFacts, ReleasedWord
from neologue.discovery.selection import RULES
from neologue.protocol.limits import check_whole
from neologue.randomizers.randomizer import Randomizer
from neologue.randomizers.registry import randomizer
from neologue.release.released_group import Span, judged_together


@dataclass(frozen=True)
class LayerInfluence:
    """What hostile devices can do in one layer, or in some that judged words together, if they are all asked there."""

    pass_number: int
    layer: int
    hostile: int
    """How many of its reports they can be."""
    votes: int
    """By how many votes they can move any candidate, at most."""
    moved: int
    """By how many users of the population they can move the unbiased estimate of any word, at most; rounded up."""
    planted: int | None
    """The fewest hostile reports that make what nobody holds as likely as not to be kept; None if nothing was."""
    most_votes: int
    """The votes of one report, at most, whatever it says."""


@dataclass(frozen=True)
class Influence:
    """What so many hostile devices can have done to a release."""

    hostile: int
    users: int
    layers: tuple[LayerInfluence, ...]
    """Those that were decided; where words were judged by several layers, these together."""
    moved: int
    """By how many users they can move the unbiased estimate of a word in the worst layer that released any."""
    planted: int | None
    """The fewest hostile devices with an even chance in each layer to release a word that nobody holds, if they could
    choose their layers; None if no layer released a word."""
    drawn: int | None
    """As many as the population must have for that on average, as layers are drawn by lot."""
    words: int
    reports_each: int
    """How many reports one hostile device can speak for: those of its whole group under masks, and else its own."""
    unsure: int
    """The words that might not have been released from their layer without votes of the hostile devices."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that in words."""
        if self.planted is None or self.drawn is None:
            return ("No word was released, so nobody can have moved one.",)
        most = max(layer.most_votes for layer in self.layers)
        alone = (
            f"The report of one device has at most {most:,} votes, of which at most "
            f"{max(layer.votes // max(layer.hostile, 1) for layer in self.layers):,} for one candidate."
        )
        masked = (
            "Votes were summed under masks and could not be checked one by one: one hostile device can speak for its "
            f"whole group, of up to {self.reports_each:,} devices, and nobody can tell which device it was."
        )
        return (
            f"{self.hostile:,} hostile devices could have moved the estimate of a word by at most {self.moved:,} of "
            f"{self.users:,} users, if all of them were in the layer that released it.",
            alone if self.reports_each == 1 else masked,
            "A word that nobody holds could have been released with noise alone."
            if not self.planted
            else f"To release a word that nobody holds takes at least {self.planted:,} hostile devices in just the "
            f"layers that it needs, or about {self.drawn:,} of {self.users:,}, as layers are drawn by lot; with fewer "
            "the odds are against it.",
            f"Of {self.words:,} words, {self.unsure:,} might not have been released without {self.hostile:,} hostile "
            "devices in their layer.",
        )


def influence(
    campaign: Campaign, layers: Sequence[LayerFacts], words: Iterable[ReleasedWord], hostile: int, reports_each: int = 1
) -> Influence:
    """What so many hostile devices can have done, at most, in the layers of a campaign and to its words.

    Where votes are summed under masks, each can speak for a whole `reports_each` of so many devices.
    """
    check_whole("hostile devices", hostile, 0, MOST_USERS)
    released = tuple(words)
    decided = {
        (facts.pass_number, facts.layer, facts.layer): facts for facts in layers if facts.decided and facts.reports
    }
    if campaign.parameters.layers is not None:
        decided = judged_together(layers, released)
    found = {key: _in_layer(campaign, facts, hostile, reports_each) for key, facts in decided.items()}
    ending = {key: facts for key, facts in decided.items() if facts.words}
    needed = [
        [(found[step].planted or 0, decided[step].asked) for step in _path(campaign, decided, last)] for last in ending
    ]
    reports = {(facts.pass_number, facts.layer): facts.reports for facts in layers}
    sure = {
        key: max(
            _votes_needed(campaign, facts, key, reports),
            _surely_enough(campaign, facts, hostile * reports_each),
        )
        for key, facts in ending.items()
    }
    votes = [(word.votes, (word.pass_number, word.layer, word.since)) for word in released]
    return Influence(
        hostile=hostile,
        users=campaign.users,
        layers=tuple(found.values()),
        moved=max((found[key].moved for key in ending), default=0),
        planted=min((sum(planted for planted, _ in path) for path in needed), default=None),
        drawn=min(
            (max(-(-planted * campaign.users // asked) for planted, asked in path) for path in needed), default=None
        ),
        words=len(released),
        reports_each=reports_each,
        unsure=sum(cast - found[key].votes < sure[key] for cast, key in votes) if hostile else 0,
    )


def _path(campaign: Campaign, decided: Mapping[Span, LayerFacts], last: Span) -> list[Span]:
    """All that a word passes until it is released; what is likely is asked about without its beginnings."""
    if campaign.parameters.layers is not None:
        return [last]
    return [step for step in decided if step[0] == last[0] and step[1] <= last[1]]


def _in_layer(campaign: Campaign, facts: LayerFacts, hostile: int, reports_each: int) -> LayerInfluence:
    asked = _randomizer(campaign, facts)
    channel = asked.channel
    among = min(hostile, facts.reports)
    votes = min(hostile * reports_each, facts.reports) * channel.contributions
    return LayerInfluence(
        pass_number=facts.pass_number,
        layer=facts.layer,
        hostile=among,
        votes=votes,
        moved=math.ceil(votes * campaign.users / ((channel.p - channel.q) * facts.reports)),
        planted=-(-_planted(asked, facts) // reports_each) if facts.fewest_votes else None,
        most_votes=asked.most_votes,
    )


def _randomizer(campaign: Campaign, facts: LayerFacts) -> Randomizer[Any]:
    parameters = campaign.parameters
    return randomizer(parameters.randomizer, facts.candidates, campaign.epsilon, parameters.words_per_user)


def _planted(asked: Randomizer[Any], facts: LayerFacts) -> int:
    """The fewest hostile reports that bring a candidate without holders to the votes kept, as likely as not."""
    each, noise = asked.channel.contributions, float(asked.channel.q)

    def likely(hostile: int) -> bool:
        missing = facts.fewest_votes - hostile * each
        return bool(binom.sf(missing - 1, (facts.reports - hostile) * each, noise) >= 0.5)

    return bisect_left(range(facts.reports), True, key=likely)


def _surely_enough(campaign: Campaign, facts: LayerFacts, hostile: int) -> int:
    """The votes with which the rule passes a word from some layers, whatever else their reports say."""
    channel = _randomizer(campaign, facts).channel
    return RULES[campaign.parameters.rule].surely_enough(campaign, facts, channel, hostile)


def _votes_needed(campaign: Campaign, facts: LayerFacts, span: Span, reports: Mapping[tuple[int, int], int]) -> int:
    """The votes that the promises about rare words call for in some layers together."""
    channel, layers = _randomizer(campaign, facts).channel, campaign.parameters.layers
    if layers is None:
        return campaign.anonymity.votes_needed(channel, facts.reports)
    pass_number, last, first = span
    asked_by = [reports[pass_number, layer] for layer in range(first, last + 1)]
    return campaign.anonymity.summed_votes_needed(channel, asked_by, layers - last)
