"""Whether earlier layers foretold what a layer keeps.

Who holds a word holds its beginning, so with random sampling a word has no larger share of users than the prefix from
which it was asked about had in the layer before, as far as both are sampled alike; and one that is asked about again
has the share that it had. A device with more candidates than B leaves some out, and fewer of them once it has fewer
candidates: if none has more than 2·B, at most twice the share. All shares are of users drawn by lot, so that votes are
binomial; Chernoff's inequality bounds the one below and the other above, for all candidates of the layer at once. What
is sampled by how often it is typed has no such bound, and is not looked at.

Shares are of the devices that answered. Where reports are made up these are fewer than the reports, and not equally
many in all layers, so that they have to be told.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neologue.discovery.decision import DecidedLayer, Decision, Question
from neologue.discovery.likely import LikelyQuestion
from neologue.discovery.plausibility import FALSE_ALARM, TESTS
from neologue.discovery.selection.selected import Integers
from neologue.discovery.state import DiscoveryState
from neologue.randomizers.channel import Channel, Floats

SAMPLED_MORE = 2
"""How many times as often as its beginning in the layer before a word may be sampled."""


@dataclass(frozen=True, eq=False)
class _Told:
    """Kept candidates beside what earlier layers said of them."""

    votes: Integers
    """Their votes in this layer."""
    earlier: Channel
    had: Integers
    """The earlier votes of each, or of its beginning."""
    reports: Integers
    """Of how many reports each of these is, …"""
    answered: Integers
    """… and of how many devices."""

    def count_odd(self, channel: Channel, reports: int, answered: int, nats: float) -> int:
        """How many have surely more than `SAMPLED_MORE` times the share of users that they can have had."""
        most = self.had + nats + np.sqrt(nats * nats + 2 * nats * self.had)
        least = self.votes - np.sqrt(2 * nats * self.votes)
        limit = SAMPLED_MORE * _share(self.earlier, most, self.reports, self.answered)
        return int(np.count_nonzero(_share(channel, least, reports, answered) > limit))


def find_unforetold(state: DiscoveryState, decision: Decision, answered: Sequence[int] | None = None) -> list[str]:
    """In plain words, that what is kept now is unlike what earlier layers said of it; nothing if it is not.

    `answered` says how many devices answered each layer so far, this one last, if not all reports are of devices.
    """
    question, before = state.question, state.before
    if question is None or before is None or question.layer.number == 1 or question.layer.sampler != "random":
        return []
    layer = question.layer
    if answered is None:
        earlier = question.reports if isinstance(question, LikelyQuestion) else (before.decision.reports,)
        answered = (*earlier, decision.reports)
    told = [_from_beginnings(question, before, decision, answered[-2])]
    if isinstance(question, LikelyQuestion):
        told.append(_asked_again(question, decision, answered[-layer.number : -1]))
    nats = -math.log(FALSE_ALARM / TESTS / 2 / layer.candidates.size)
    channel = layer.randomizer.channel
    odd = sum(each.count_odd(channel, decision.reports, answered[-1], nats) for each in told)
    if not odd:
        return []
    return [
        f"{odd:,} of {sum(len(each.votes) for each in told):,} words and prefixes kept have more than {SAMPLED_MORE} "
        "times the users that they, or their beginnings, had before: no earlier layer foretold them."
    ]


def _from_beginnings(
    question: Question | LikelyQuestion, before: DecidedLayer, decision: Decision, answered: int
) -> _Told:
    """What is asked about for the first time, beside the prefix that it goes on from."""
    beginning = question.layer.beginning_of(decision.index)
    rows = np.flatnonzero(beginning >= 0)
    votes_of = before.prefix_votes()
    had = [votes_of.get(prefix, 0) for prefix in question.layer.beginnings[beginning[rows]].tolist()]
    return _Told(
        decision.votes[rows],
        before.layer.randomizer.channel,
        np.array(had, np.int64),
        np.full(len(rows), before.decision.reports),
        np.full(len(rows), answered),
    )


def _asked_again(question: LikelyQuestion, decision: Decision, answered: Sequence[int]) -> _Told:
    """Words that are asked about again, beside their own votes so far; so many devices answered earlier layers."""
    starts = question.layer.candidates.starts
    parts = np.searchsorted(starts, decision.index, side="right") - 1
    rows = np.flatnonzero(parts > 0)
    had = question.earlier[decision.index[rows] - starts[1]]
    since = parts[rows].tolist()
    reports = np.array([question.reports_of(part, 0) for part in since], np.int64)
    devices = np.array([sum(answered[part - 1 :]) for part in since], np.int64)
    return _Told(decision.votes[rows] - had, question.layer.randomizer.channel, had, reports, devices)


def _share(channel: Channel, votes: Floats, reports: Integers | int, answered: Integers | int) -> Floats:
    """The share of devices that seem to hold candidates with so many votes in so many reports each."""
    held = (votes - reports * channel.contributions * float(channel.q)) / channel.gain
    return np.asarray(held / np.maximum(answered, 1))
