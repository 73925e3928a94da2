"""How many words that nobody holds so many hostile devices can have planted in a release, at most.

A hostile device has one report, in the layer that it falls into by lot. It has at most V votes (`most_votes` of the
randomizer), of which at most c for one candidate. What it votes for does not depend on the honest reports of its layer,
which no device sees. Prefixes are not counted: hostile devices may extend those that are held.

Theorem (one group). Let words be judged by the votes of n reports, of one layer or of several that asked about them
(`neologue.release.released_group`), with m hostile ones among these, and let those that are released have at least T
votes. A candidate that nobody holds, and that a of the m·V hostile votes are for, 1 ≤ a ≤ m·c, has T votes or more
with a chance of at most f(a) = P(Bin(n·c, q) ≥ T - a): the votes that noise gives are free. So at most
m·V · max f(a)/a words are planted on average. They are planted independently of each other (unary) or in negative
association (Subset Selection), so that Chernoff's bound says by how much chance exceeds the average. What hostile
devices of a later layer know of a candidate that is asked about again is that it was not found before, which makes its
votes of noise fewer. T is the fewest votes of a word of the group and follows from the votes itself, so the risk is
shared by all T that there can be: a part of 1/(T(T+1)) for each.

Theorem (all groups). How many of M hostile devices fall into some layers is bounded by the same inequality: on average
M·asked/users do. With these bounds, the words of all groups are added up in two ways, and the smaller sum holds:

- each group with as many devices as can fall into its layers, with its share of the risk;
- M devices in all, in the layers where each can plant most in all groups that the layer is in, as far as they can fall
  into these, with one margin above the average of the sum. The risk is that of every combination of T in the groups
  that have hostile devices.

The two ways and the lot have a third of the risk each, so that all of it together fails with a chance of at most
`RISK`.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from neologue import binom
from neologue.campaign.parameters import Parameters
from neologue.discovery.result import LayerFacts, ReleasedWord
from neologue.privacy.bound import ROUNDING
from neologue.privacy.group_limits import sum_limits
from neologue.privacy.statement import Exposure
from neologue.randomizers.randomizer import Randomizer
from neologue.randomizers.registry import randomizer
from neologue.release.released_group import LayerSize, ReleasedGroup, released_groups, sizes

RISK: Final = 1e-6
"""The chance that more are planted than is stated, at most."""
SHARES: Final = (0.0001, 0.001, 0.01)
"""The shares of hostile devices for which a bound is stated, beside a single one."""
TOLERATED: Final = 0.05
"""The share of planted words above which a release should not be trusted."""
REACH: Final = 9
"""Standard deviations of noise on either side of the votes that are missing, between which f(a)/a is looked at …"""
POINTS: Final = 2000
"""… in so many points."""


@dataclass(frozen=True)
class DeviceVotes:
    """What one hostile device can add to the votes of a layer."""

    each: int
    """To one candidate, at most."""
    total: int
    """To all of them together, at most."""


def votes_of_one_device(asked: Randomizer[Any], exposure: Exposure) -> DeviceVotes:
    """The bounds that the way of aggregation sets."""
    contributions, groups = asked.channel.contributions, exposure.masked
    if groups is None:
        return DeviceVotes(contributions, asked.most_votes)
    if groups.limited:
        limits = sum_limits(asked, groups.size, groups.groups)
        return DeviceVotes(limits.candidate, limits.total)
    # No vote can be checked: a device can turn the sum of its group into any that so many devices could have.
    each = contributions * groups.size
    return DeviceVotes(each, each * asked.candidates)


@dataclass(frozen=True)
class Planting:
    """What hostile devices can plant in one release, or will as foreseen."""

    parameters: Parameters
    users: int
    layers: tuple[LayerSize, ...]
    groups: tuple[ReleasedGroup, ...]
    exposure: Exposure
    foreseen: bool = False
    """Whether its words are yet to be found, so that they may be any candidates."""

    @cached_property
    def _laws(self) -> tuple[tuple[ReleasedGroup, Randomizer[Any], DeviceVotes], ...]:
        parameters = self.parameters
        assert parameters.epsilon is not None
        laws = []
        for group in self.groups:
            candidates = group.size.candidates
            asked = randomizer(parameters.randomizer, candidates, parameters.epsilon, parameters.words_per_user)
            laws.append((group, asked, votes_of_one_device(asked, self.exposure)))
        return tuple(laws)

    @cached_property
    def released(self) -> int:
        """All words."""
        return sum(group.words for group in self.groups)

    def most_words(self, devices: int) -> int:
        """How many of the words so many hostile devices can have planted, at most, but for `RISK`."""
        nats = -math.log(RISK / 3)
        lots = math.log(max(1, len(self.groups) + len(self.layers)))

        def hostile_in(size: LayerSize) -> int:
            drawn = binom.most_indicators(devices * size.asked / self.users, nats + lots)
            return min(devices, size.reports, drawn)

        by_group = [
            (_planted_by_one(asked, group, hostile_in(group.size), votes), group) for group, asked, votes in self._laws
        ]
        shared = nats + math.log(max(1, len(self.groups)))
        each = sum(
            min(
                group.size.candidates if self.foreseen else group.words,
                binom.most_indicators(hostile_in(group.size) * planted, shared + _threshold_nats(group)),
            )
            for planted, group in by_group
        )
        worth = [
            (sum(planted for planted, group in by_group if group.first <= number <= group.last), hostile_in(size))
            for number, size in enumerate(self.layers)
        ]
        mean, left = 0.0, devices
        for planted, hostile in sorted(worth, reverse=True):
            mean, left = mean + planted * min(hostile, left), left - min(hostile, left)
        return min(each, binom.most_indicators(mean, nats + self._chosen_nats(devices)))

    def _chosen_nats(self, devices: int) -> float:
        """By how much the risk is smaller that falls to the thresholds of the groups that have hostile devices."""
        in_layer = [
            sum(group.first <= number <= group.last for group in self.groups) for number in range(len(self.layers))
        ]
        every = sorted(map(_threshold_nats, self.groups), reverse=True)
        return sum(every[: devices * max(in_layer, default=0)])

    @cached_property
    def untrusted_from(self) -> int | None:
        """The fewest hostile devices that can have planted more than `TOLERATED` of the words; None if none can."""
        fewest = bisect_left(
            range(self.users + 1), True, key=lambda devices: self.most_words(devices) > TOLERATED * self.released
        )
        return fewest if fewest <= self.users else None

    def document(self) -> dict[str, object]:
        """All that as plain values."""
        devices = [1, *(math.ceil(share * self.users) for share in SHARES)]
        fewest = self.untrusted_from
        return {
            "risk": RISK,
            "bounds": [{**self._said(number), "words": self.most_words(number)} for number in devices],
            "tolerated": TOLERATED,
            "untrusted_from": None if fewest is None else self._said(fewest),
        }

    def _said(self, devices: int) -> dict[str, object]:
        return {"devices": devices, "share": round(devices / self.users, 6)}


def planting_in(
    parameters: Parameters,
    users: int,
    layers: Iterable[LayerFacts],
    words: Iterable[ReleasedWord],
    exposure: Exposure,
) -> Planting:
    """What hostile devices can have planted in a release with these layers and words."""
    facts = tuple(layers)
    return Planting(parameters, users, sizes(facts), released_groups(facts, words), exposure)


def planting_lines(stated: Mapping[str, Any], words: int | None = None) -> list[str]:
    """What a release states of planted words, in words; `words` is how many it has."""
    if not stated:  # releases of formats 1 and 2 do not say it
        return []
    one, *shares = stated["bounds"]
    # In small populations several shares are the same number of devices.
    distinct = {bound["devices"]: bound for bound in shares if bound["devices"] > one["devices"]}
    bounds = "".join(
        f", {devices:,} devices ({100 * bound['share']:.2g} %) {bound['words']:,}"
        for devices, bound in distinct.items()
    )
    of = "" if words is None else f" of {words:,}"
    fewest, tolerated = stated["untrusted_from"], f"{100 * stated['tolerated']:g} %"
    return [
        f"Hostile devices: one device can plant at most {one['words']:,}{of} words{bounds}; these limits fail with a "
        f"chance of at most {stated['risk']:g}.",
        f"No number of them can plant more than {tolerated} of the words."
        if fewest is None
        else f"Trust the release only if fewer than {fewest['devices']:,} devices ({100 * fewest['share']:.2g} %) are "
        f"hostile: with {fewest['devices']:,}, more than {tolerated} of the words may be planted.",
    ]


def _planted_by_one(asked: Randomizer[Any], group: ReleasedGroup, hostile: int, votes: DeviceVotes) -> float:
    """V · max f(a)/a with so many hostile reports, rounded up."""
    most = hostile * votes.each
    if not most:
        return 0.0
    trials, noise, needed = asked.channel.trials(group.size.reports), float(asked.channel.q), group.fewest_votes
    missing, spread = needed - trials * noise, REACH * (1 + math.sqrt(trials * noise * (1 - noise)))
    first = min(max(1, math.floor(missing - spread)), most)
    last = min(max(first, math.ceil(missing + spread)), most)
    given = np.unique(np.linspace(first, last, POINTS).astype(np.int64))
    chances = binom.sf(needed - given - 1, trials, noise)
    # Between two points the chance is at most that of the second, and more is spent than at the first.
    spent = np.append(1, given[:-1] + 1)
    return votes.total * float((chances / spent).max()) * (1 + ROUNDING)


def _threshold_nats(group: ReleasedGroup) -> float:
    """By how much the risk is smaller that falls to the threshold of a group."""
    needed = max(1, group.fewest_votes)
    return math.log(needed * (needed + 1))
