"""The weighted Gaussian mechanism: every user spreads one unit of weight, and heavy words are published.

Gopi, Gulhane, Kulkarni, Shen, Shokouhi and Yekhanin, Differentially private set union, ICML 2020 (their Weighted
Gaussian baseline). A user gives each of at most B words the weight 1/√(number of words), so that the weights of one
user have the norm 1. Each sum of weights gets normal noise, and what is above the threshold is published.

**Privacy, for one user replaced by another.** Leave out what nobody else holds. Of the other words, two users' weights
are vectors of norm at most 1 without negative entries, so they are at most √2 apart: the deviation is that of the
analytic Gaussian mechanism (Balle and Wang 2018) for this distance and δ/2. If t words are the user's alone, each has a
weight of at most `novel(t)`, here 1/√t, and the threshold is `max over t of novel(t) + σ·Φ⁻¹((1 - δ/2)^(1/t))`, so that
one of them is published with a chance of at most δ/2. A release in which none is published is at most e^ε/(1 - δ/2)
times as likely as with the other user, which costs a sliver of ε.

**Several rounds.** Each round may depend on the noisy weights of those before. Gaussian mechanisms with distances dᵢ/σᵢ
compose, adaptively too, to one with √(Σ dᵢ²/σᵢ²). So a round with the share s of the squared distance has a deviation
of σ/√s, and gets the share s of δ/2 for words that one user alone holds. What the noise of such words lets the user do
in later rounds changes only the user's own weights, whose norm it leaves at most 1; no other user may go by it.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from dp_accounting import get_epsilon_gaussian, get_sigma_gaussian
from numpy.typing import NDArray
from scipy.stats import norm

from neologue.campaign.profiles import NEOLOGUE
from neologue.populations.streams import Stream, generator
from neologue.privacy.bound import ROUNDING
from neologue.studies.baselines.oracles import Integers
from neologue.studies.baselines.user_samples import samples
from neologue.studies.method import Advance, Found, FoundWord, Task, ignore_progress
from neologue.studies.privacy_grant import Privacy, PrivacyGrant

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NoisyRounds:
    """The noise of some rounds of noisy weights that together keep one promise for a whole user."""

    epsilon: float
    delta: float
    words_per_user: int
    shares: tuple[float, ...] = (1.0,)
    """Of the privacy, for each round; they add up to 1."""
    sensitivity: float = 1.0
    """By how much the weights change, at most and in norm, if one user is added."""

    def deviation(self, number: int) -> float:
        """The deviation of the noise of a round."""
        sigma = get_sigma_gaussian(self.epsilon + math.log1p(-self.delta / 2), self.delta / 2) * (1 + ROUNDING)
        return float(math.sqrt(2) * self.sensitivity * sigma / math.sqrt(self.shares[number]))

    def threshold(self, number: int, novel: Callable[[Integers], Floats]) -> float:
        """Noisy weights above this are published; `novel` bounds the weight of one of t words of one user alone."""
        alone = np.arange(1, self.words_per_user + 1)
        chances = -np.expm1(np.log1p(-self.shares[number] * self.delta / 2) / alone)
        return float(np.max(novel(alone) + self.deviation(number) * norm.isf(chances)))

    def spent(self) -> float:
        """The ε of all rounds together, from their deviations."""
        distances = [math.sqrt(2) * self.sensitivity / self.deviation(number) for number in range(len(self.shares))]
        together = math.sqrt(sum(distance**2 for distance in distances))
        return float(get_epsilon_gaussian(1 / together, self.delta / 2)) - math.log1p(-self.delta / 2)

    def draw(self, number: int, weights: Floats, held: NDArray[np.bool_], seed: int) -> Floats:
        """Noisy weights of a round; a word that nobody holds has none, and is never published."""
        noise = generator(Stream.BASELINES, seed, number).normal(0, self.deviation(number), int(held.sum()))
        noisy = np.full(len(weights), -np.inf)
        noisy[held] = weights[held] + noise
        return noisy


def norm_weight(words: Integers) -> Floats:
    """The weight of each of so many words of one user, if the norm of all is 1."""
    return 1 / np.sqrt(words)


def user_words(
    task: Task, bound: int, seed: int, advance: Advance, eligible: NDArray[np.bool_] | None = None
) -> Iterator[tuple[Integers, NDArray[np.int32]]]:
    """For blocks of users who have a word to report: how many words each reports, and the words one after the other."""
    for starts, words in samples(task, bound, seed, advance, eligible):
        sizes = np.diff(starts)
        yield sizes[sizes > 0], words


def add_weights(total: Floats, sizes: Integers, words: NDArray[np.int32], weights: Floats) -> None:
    """Add each user's weight to each of the words that the user reports."""
    total += np.bincount(words, np.repeat(weights, sizes), minlength=len(total))


def norm_weights(task: Task, eligible: NDArray[np.bool_], bound: int, seed: int, advance: Advance) -> Floats:
    """The weights of all words, if each user's have the norm 1."""
    total = np.zeros(len(task.word_indices))
    for sizes, words in user_words(task, bound, seed, advance, eligible):
        add_weights(total, sizes, words, norm_weight(sizes))
    return total


def published(task: Task, noisy: Floats, threshold: float) -> tuple[FoundWord, ...]:
    """The words above the threshold, the heaviest first; a weight is no number of users."""
    large = np.flatnonzero(noisy > threshold)
    return tuple(FoundWord(word, None) for word in task.words[large[np.argsort(-noisy[large])]].tolist())


def found_by_weights(task: Task, rounds: NoisyRounds, words: tuple[FoundWord, ...]) -> Found:
    """What some rounds found, and what they cost; the promise for a whole user holds for a word as well."""
    bits = (task.alphabet.size - 1).bit_length() * (task.depth + 1)
    return Found(
        words=words,
        rounds=len(rounds.shares),
        bytes_per_device=-(-bits * rounds.words_per_user // 8),
        users_asked=task.users,
        privacy=Privacy(
            local_item=None,
            local_user=None,
            central_item=rounds.spent(),
            central_user=rounds.spent(),
            delta=rounds.delta,
            basis=f"one trusted server sees every word; users speak of at most {rounds.words_per_user} words; the "
            "analytic Gaussian mechanism, whatever the unit for a whole user",
        ),
    )


@dataclass(frozen=True)
class WeightedGaussian:
    """One round of noisy weights."""

    name: ClassVar[str] = "weighted-gaussian"
    citation: ClassVar[str] = (
        "Gopi, Gulhane, Kulkarni, Shen, Shokouhi and Yekhanin, Differentially private set union, ICML 2020"
    )
    trust: ClassVar[str] = "central"
    words_per_user: int = NEOLOGUE.parameters.words_per_user

    def fewest_users(self, task: Task) -> int:
        """Any number works, but few users find nothing."""
        return 1

    def discover(self, task: Task, budget: PrivacyGrant, seed: int, advance: Advance = ignore_progress) -> Found:
        """Weigh all words, add noise, and publish the heavy ones."""
        rounds = NoisyRounds(budget.epsilon, budget.delta, self.words_per_user)
        everything = np.ones(len(task.word_indices), np.bool_)
        weights = norm_weights(task, everything, self.words_per_user, seed, advance)
        noisy = rounds.draw(0, weights, weights > 0, seed)
        return found_by_weights(task, rounds, published(task, noisy, rounds.threshold(0, norm_weight)))
