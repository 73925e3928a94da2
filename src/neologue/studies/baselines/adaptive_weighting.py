"""Adaptive weighting: words with more weight than they need hand the excess on, to other words of the same users.

Chen, Cohen-Addad, Epasto and Zadimoghaddam, Scalable private partition selection via adaptive weighting, ICML 2025:
MAD (MaxAdaptiveDegree), and MAD2R, which has two rounds. A user with d words gives each first the weight 1/d. A word
that has w > τ so returns the share 1 - τ/w of it, τ being β deviations above the threshold; a user to whom e returns
gives e/D to each of their words, D being the most words of a user. At the end each word also gets the other 1/√d - 1/d.

**Privacy, for one user replaced by another.** Add a user with d ≤ D words to the others. The first weights of these
words grow by 1/d, of which a ≤ 1/d is cut off (per word; A ≤ 1 in all), and exactly A more returns to users: e
grows, by A in all, and shrinks for nobody. Whoever gets it gives it to at most D words. So no weight
shrinks, and with p = 1/√d the squared norm of the change is at most, if all goes to one user who has the d words and
D - d others,

    d words: Σ (p - a + A/D)²  +  (D - d)·(A/D)²  ≤  1 + A·(1/d - 2/√d + 2√d/D) - A²/D,

by Σ a² ≤ A/d. By convexity no other way to share A gives more. `sensitivity` is the root of its maximum over d and A,
1.002 for D = 60. The changes of two users have no negative entries, so they are √2 times that apart at most, and
`weighted_gaussian` does the rest. A word that one user alone holds has at most 1/d at first, less than
τ, so nothing is cut off, and at the end `1/√d + (1 - t/d)/D` if the user has t such words.

What differs here: D is B, so that every user takes part in what is adaptive. The second round of MAD2R leaves out what
the first one published and what is surely too light for the second (a word's noise is known to those alone who chose
it); the paper also lets users favour words that need
little more, which we leave out: with it we could not bound the change of the weights near 1.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from neologue.campaign.profiles import NEOLOGUE
from neologue.studies.baselines.oracles import Integers
from neologue.studies.baselines.weighted_gaussian import (
    Floats,
    NoisyRounds,
    add_weights,
    found_by_weights,
    norm_weight,
    published,
    user_words,
)
from neologue.studies.method import Advance, Found, FoundWord, Task, ignore_progress
from neologue.studies.privacy_grant import PrivacyGrant

MARGIN = 2.0
"""β: how many deviations of noise above the threshold a word keeps."""
FIRST_SHARE = 0.1
"""Of the privacy, for the first of two rounds."""
HOPELESS = 3.0
"""A word is left out of the second round if it would have been too light with so many deviations more weight."""


def sensitivity(most_words: int) -> float:
    """By how much adding one user changes all weights, at most and in norm."""
    words = np.arange(1, most_words + 1)
    slope = 1 / words - 2 / np.sqrt(words) + 2 * np.sqrt(words) / most_words
    moved = np.clip(slope * most_words / 2, 0, 1)
    return math.sqrt(1 + float(np.max(slope * moved - moved**2 / most_words)))


def novel_weight(most_words: int, alone: Integers) -> Floats:
    """The most weight of one of t words that a user alone holds."""
    words = np.arange(1, most_words + 1)
    weights = 1 / np.sqrt(words) + (1 - alone[:, None] / words) / most_words
    return np.asarray(np.where(words >= alone[:, None], weights, 0).max(axis=1))


Reports = tuple[Integers, NDArray[np.int32]]
"""Of some users: how many words each reports, and the words one after the other."""


def adaptive_weights(reports: Callable[[], Iterable[Reports]], words: int, most_words: int, keeps: float) -> Floats:
    """The weights of so many words, of which those with a first weight above `keeps` hand the excess on."""
    first, rest, returned = np.zeros((3, words))
    for sizes, reported in reports():
        add_weights(first, sizes, reported, 1 / sizes)
        add_weights(rest, sizes, reported, norm_weight(sizes) - 1 / sizes)
    excess = np.maximum(0, 1 - keeps / np.maximum(first, keeps))
    for sizes, reported in reports():
        add_weights(returned, sizes, reported, _by_user(excess[reported], sizes) / sizes / most_words)
    return np.asarray(np.minimum(first, keeps) + rest + returned)


def _by_user(figures: NDArray[Any], sizes: Integers) -> Floats:
    """The sum over each user's words."""
    ends = np.cumsum(sizes)
    sums = np.concatenate([[0.0], np.cumsum(figures, dtype=np.float64)])
    return np.asarray(sums[ends] - sums[ends - sizes])


def _left_words(
    task: Task, left: NDArray[np.bool_], bound: int, seed: int, advance: Advance
) -> Callable[[], Iterator[Reports]]:
    """What users have left of the words that they chose in the first round.

    If they chose anew, somebody could choose a word that one user alone chose before, and go by its noise.
    """
    heard = iter([advance])

    def reports() -> Iterator[Reports]:
        for sizes, words in user_words(task, bound, seed, next(heard, ignore_progress)):
            stays = left[words]
            still = _by_user(stays, sizes).astype(np.int64)
            yield still[still > 0], words[stays]

    return reports


@dataclass(frozen=True)
class AdaptiveWeighting:
    """MAD: one round."""

    name: ClassVar[str] = "mad"
    citation: ClassVar[str] = (
        "Chen, Cohen-Addad, Epasto and Zadimoghaddam, Scalable private partition selection via adaptive weighting, "
        "ICML 2025"
    )
    trust: ClassVar[str] = "central"
    words_per_user: int = NEOLOGUE.parameters.words_per_user
    shares: tuple[float, ...] = (1.0,)

    def fewest_users(self, task: Task) -> int:
        """Any number works, but few users find nothing."""
        return 1

    def discover(self, task: Task, budget: PrivacyGrant, seed: int, advance: Advance = ignore_progress) -> Found:
        """Weigh, add noise and publish, in one round or more."""
        bound = self.words_per_user
        rounds = NoisyRounds(budget.epsilon, budget.delta, bound, self.shares, sensitivity(bound))
        thresholds = [rounds.threshold(number, self._novel) for number in range(len(self.shares))]
        left = np.ones(len(task.word_indices), np.bool_)
        found: tuple[FoundWord, ...] = ()
        for number, threshold in enumerate(thresholds):
            heard = ignore_progress if number else advance
            keeps = threshold + MARGIN * rounds.deviation(number)
            reports = _left_words(task, left, bound, seed, heard)
            weights = adaptive_weights(reports, len(left), bound, keeps)
            noisy = rounds.draw(number, weights, weights > 0, seed)
            found = (*found, *published(task, noisy, threshold))
            hopeless = noisy + HOPELESS * rounds.deviation(number) < thresholds[-1]
            left &= (noisy <= threshold) & ~hopeless
        return found_by_weights(task, rounds, found)

    def _novel(self, alone: Integers) -> Floats:
        return novel_weight(self.words_per_user, alone)


@dataclass(frozen=True)
class TwoRoundAdaptiveWeighting(AdaptiveWeighting):
    """MAD2R: two rounds, the second for words that the first one left open."""

    name: ClassVar[str] = "mad2r"
    shares: tuple[float, ...] = (FIRST_SHARE, 1 - FIRST_SHARE)
