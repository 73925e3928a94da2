"""What is shown of strings that few report: thresholds on the votes, and the chances that follow from them.

With h contributions a candidate has f(h) = Bin(h, p) + Bin(n-h, q) votes. So with the smallest θ for which P(f(k-1) ≥
θ) is at most c, what fewer than k contributions of a layer hold is kept with a chance of at most c, whatever everybody
else holds. Within one pass a string has to pass the first layer in which so few hold it, so a pass costs one chance,
and P passes share one: c/P each. `docs/privacy/anonymity.md` proves it.

Keeping the η candidates with the most votes has a threshold too, but a random one. The same page has the paper's lemma
on it, why that can't be used as printed, and the proof of the one used here.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neologue import binom
from neologue.masking.rules import GroupRules
from neologue.privacy.anonymity.repeated_looks import fewest_summed_votes, share_chance
from neologue.privacy.binomial_pair import plausible_range
from neologue.privacy.bound import ROUNDING
from neologue.privacy.group_limits import hostile_votes
from neologue.randomizers.channel import Channel
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary
from neologue.table import Table

Floats = NDArray[np.float64]

NEGLIGIBLE = 1e-18
HOLDERS_APART = 64
"""Up to so many numbers of holders are told apart in a bound on what is kept of all."""


def kept_chance(channel: Channel, contributions: int, holders: int, votes: NDArray[np.int64]) -> Floats:
    """P(f(h) ≥ v) for each v, rounded up."""
    p, q = float(channel.p), float(channel.q)
    low, high = plausible_range(holders, p, NEGLIGIBLE)
    held = np.arange(low, high + 1)
    weights = binom.pmf(held, holders, p)
    tails = binom.sf(votes[:, None] - 1 - held, contributions - holders, q)
    return np.asarray(np.minimum(1.0, (tails @ weights + NEGLIGIBLE) * (1 + ROUNDING)))


def release_threshold(channel: Channel, reports: int, k: int, chance: float) -> int:
    """The fewest votes θ that fewer than k holders reach with at most this chance; 0 for a k of 0."""
    if k == 0:
        return 0
    contributions = channel.trials(reports)
    return _fewest_votes(channel, contributions, min(k - 1, contributions), chance)


def unique_threshold(
    channel: Channel, reports: int, hostile: int, chance: float, groups: GroupRules | None = None
) -> int:
    """The fewest votes that one holder and so many hostile devices reach with at most this chance; 0 if it is 0.

    A hostile device votes for a candidate as often as a report can: once, or with each of its contributions. In a
    masking group it can bring the group's sum up to its limit, whatever the others vote.
    """
    if chance == 0:
        return 0
    hostile = min(hostile, max(reports - 1, 0))
    honest = channel.trials(reports - hostile)
    return hostile * _votes_of_one(channel, groups) + _fewest_votes(channel, honest, min(1, honest), chance)


def _votes_of_one(channel: Channel, groups: GroupRules | None) -> int:
    """The most votes that one hostile device adds to a candidate."""
    return hostile_votes(channel, groups) if groups and groups.limited else channel.contributions


def _trials(channel: Channel, reports: Sequence[int]) -> tuple[int, ...]:
    return tuple(map(channel.trials, reports))


@dataclass(frozen=True)
class AnonymityPromise:
    """What a release promises of strings that few report, over all its passes, and the votes that this takes."""

    k: int
    """Nothing is promised for 0."""
    alpha: float
    unique_chance: float = 0.0
    """Nothing is promised for 0."""
    hostile_devices: int = 0
    """In any one layer, for `unique_chance`."""
    passes: int = 1
    """How many passes share each chance; 1 for a promise that is one pass's."""
    groups: GroupRules | None = None
    """How votes are masked, if they are."""

    @property
    def chance(self) -> float:
        """The part of 1-α that one pass may use."""
        return (1 - self.alpha) / self.passes

    def votes_for_k(self, channel: Channel, reports: int) -> int:
        """The fewest votes that fewer than k holders in a layer rarely enough reach."""
        return release_threshold(channel, reports, self.k, self.chance)

    def votes_for_unique(self, channel: Channel, reports: int) -> int:
        """The fewest votes that one holder and the hostile devices rarely enough reach."""
        return unique_threshold(channel, reports, self.hostile_devices, self.unique_chance / self.passes, self.groups)

    @property
    def withstood(self) -> int:
        """The hostile devices of a layer that the promise of unique words holds against.

        None if it has none, or if they could bring the sums of masking groups to anything.
        """
        unlimited = self.groups is not None and not self.groups.limited
        return self.hostile_devices if self.unique_chance and not unlimited else 0

    def votes_needed(self, channel: Channel, reports: int) -> int:
        """With fewer votes in the reports of a layer nothing may be shown."""
        return max(self.votes_for_k(channel, reports), self.votes_for_unique(channel, reports))

    def summed_votes_needed(self, channel: Channel, reports: Sequence[int], left: int) -> int:
        """With fewer votes a word may not be shown that layers with so many reports asked about, one after the other.

        `left` layers may still ask about it. Each may have its hostile devices.
        """
        looks, needed = len(reports) + left, 0
        if self.k:
            chances = share_chance(self.chance, looks)[: len(reports)]
            needed = fewest_summed_votes(channel, _trials(channel, reports), self.k - 1, chances)
        if self.unique_chance:
            hostile = [min(self.hostile_devices, max(each - 1, 0)) for each in reports]
            honest = [each - hostiles for each, hostiles in zip(reports, hostile, strict=True)]
            chances = share_chance(self.unique_chance / self.passes, looks)[: len(reports)]
            fewest = fewest_summed_votes(channel, _trials(channel, honest), 1, chances)
            needed = max(needed, sum(hostile) * _votes_of_one(channel, self.groups) + fewest)
        return needed


@lru_cache(maxsize=4096)
def expected_kept(channel: Channel, reports: int, candidates: int, held: int, k: int, votes: int) -> float:
    """At most how many candidates that fewer than k reports hold have so many votes, on average.

    Reports hold `held` candidates in all, so that, if N_h candidates have h holders, Σ N_h is at most the number of
    candidates and Σ h·N_h at most `held`. Under both, Σ N_h·P(f(h) ≥ votes) is largest on the least concave function
    above those chances. For a large k holders are taken together: as likely as the most, and as few as the least.
    """
    contributions = channel.trials(reports)
    ends = np.unique(np.linspace(0, min(k, contributions + 1), HOLDERS_APART + 1).astype(np.int64))
    fewest, most = ends[:-1], ends[1:] - 1
    reached = np.array([kept_chance(channel, contributions, int(holders), np.array([votes]))[0] for holders in most])
    mean = min(held / candidates, float(fewest[-1]))
    below, above = fewest <= mean, fewest >= mean
    width = np.maximum(fewest[above][None, :] - fewest[below][:, None], 1)
    part = (mean - fewest[below][:, None]) / width
    mixed = (1 - part) * reached[below][:, None] + part * reached[above][None, :]
    return float(mixed.max() * candidates * (1 + ROUNDING))


def top_k(selection: SubsetSelection, reports: int, kept: int, chance: float) -> int:
    """The largest k whose fewer holders are rarely enough among the `kept` candidates with the most votes; 0 if none.

    For any x, a candidate with fewer than x votes is kept only if fewer than `kept` others have x or more. Those are at
    least as many as if nobody held anything, and the votes are negatively associated, so that Chernoff's bound holds.
    """
    channel = selection.channel
    contributions = channel.trials(reports)
    low, high = plausible_range(contributions, float(channel.q), NEGLIGIBLE)
    votes = np.arange(max(low, 1), high + 1)
    nobody: Floats = np.asarray(binom.sf(votes - 1, contributions, float(channel.q)))
    expected: Floats = (selection.candidates - 1) * (1 - ROUNDING) * nobody
    crowded = expected > kept
    if not crowded.any():
        return 0
    votes, expected = votes[crowded], expected[crowded]
    quiet = np.exp(-((expected - kept + 1) ** 2) / (2 * expected))

    def too_many(holders: int) -> bool:
        return bool((kept_chance(channel, contributions, holders, votes) + quiet).min() > chance)

    return _first(too_many, contributions)


def printed_k(selection: SubsetSelection, reports: int, kept: int, chance: float) -> int | None:
    """The largest k by the paper's lemma as printed, whose threshold comes from subsets of size d-2; None if none."""
    if selection.subset_size < 3:
        return None
    contributions = selection.channel.trials(reports)
    noise = float(Fraction(selection.subset_size - 2, selection.candidates))
    low, high = plausible_range(contributions, noise, NEGLIGIBLE)
    votes = np.arange(max(low, 1), high + 1)
    nobody: Floats = np.asarray(binom.sf(votes - 1, contributions, noise))
    reached: Floats = np.asarray(binom.sf(kept - 1, selection.candidates, nobody))
    threshold = reached - np.append(reached[1:], 0.0)

    def too_many(holders: int) -> bool:
        return float(threshold @ kept_chance(selection.channel, contributions, holders, votes)) > chance

    found = _first(too_many, contributions) - 1
    return found if found > 0 else None


@dataclass(frozen=True)
class MostVotedLaw:
    """What keeping the candidates with the most votes proves about the holders of each.

    Both functions are given the randomizer, the reports of a layer, the most candidates kept, and a chance.
    """

    k: Callable[[Any, int, int, float], int]
    """The largest k whose fewer holders are kept with at most that chance; 0 if none."""
    printed_k: Callable[[Any, int, int, float], int | None]
    """The same by the paper's lemma as printed."""


MOST_VOTED_LAWS: Table[MostVotedLaw | None] = Table(
    "k-anonymity of the most voted candidates, or the statement that none is proved, for the randomizer",
    "neologue.privacy.anonymity.thresholds",
    {Unary.name: None, SubsetSelection.name: MostVotedLaw(top_k, printed_k)},
)
"""None where no law is proved: then only a threshold on the votes gives k-anonymity."""


def _first(too_many: Callable[[int], bool], contributions: int) -> int:
    """The fewest holders that are too many, sought from below, where it costs little."""
    high = 1
    while high < contributions and not too_many(high):
        high *= 2
    return bisect_left(range(min(high, contributions) + 1), True, key=too_many)


@lru_cache(maxsize=4096)
def _fewest_votes(channel: Channel, contributions: int, holders: int, chance: float) -> int:
    """The fewest votes that so many holders reach with at most this chance; asked for each layer again and again."""

    def rare(votes: int) -> bool:
        return bool(kept_chance(channel, contributions, holders, np.array([votes]))[0] <= chance)

    low = int(contributions * float(channel.q) + holders * channel.gain)
    high = low + 2
    while not rare(high):
        high += high - low
    return low + bisect_left(range(low, high), True, key=rare)
