"""Central partition selection: what a trusted enclave that sees every word could publish, an upper bound for all.

Each word that counts is a partition, and is published with a noisy count if that is large enough. With neighbours that
replace one item two counts change by one; with neighbours that replace a user, who speaks of at most B words, 2B do.

For few changed counts c: Desfontaines, Voss, Gipson and Mandayam, Differentially private partition selection, PoPETs
2022. Geometric noise cut to [-k, k], P(x) ∝ e^(-ε'|x|), and what is above k is published, where k is the smallest with
P(k) ≤ δ'. That is (ε', δ')-private for one count, publishes a word with the largest probability that is possible
(their Theorem 2 up to rounding), and c counts compose to ε = c·ε', δ = c·δ'.

For many: Gaussian noise and a threshold, as Google's differential privacy library does from 4 counts on. σ is that of
the analytic Gaussian mechanism (Balle and Wang 2018) for a change of √c and δ/2. A word that nobody else holds would
give its user away; the c/2 words of one user pass the threshold with a chance of δ/2 in all. Whichever of the two needs
fewer holders is taken; that depends on nothing but ε, δ and c.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from dp_accounting import get_epsilon_gaussian, get_sigma_gaussian
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.stats import norm

from neologue.campaign.profiles import NEOLOGUE
from neologue.populations.streams import Stream, generator
from neologue.privacy.bound import ROUNDING
from neologue.studies.baselines.oracles import Integers
from neologue.studies.baselines.user_samples import several_words
from neologue.studies.method import Advance, Found, Task, ignore_progress, rank_words
from neologue.studies.privacy_grant import Privacy, PrivacyGrant


class Noise(Protocol):
    """The noise of a count, and the threshold above which it is published."""

    @property
    def threshold(self) -> float:
        """Noisy counts above this are published."""

    def draw(self, size: int, rng: Generator) -> NDArray[np.float64]:
        """Noise for `size` counts."""

    def epsilon(self, changed: int, delta: float) -> float:
        """The ε if this many counts may change."""


@dataclass(frozen=True)
class TruncatedGeometric:
    """The optimal partition selection for a count that changes by one."""

    each: float
    """ε'"""
    each_delta: float
    """δ'"""

    @classmethod
    def of(cls, epsilon: float, delta: float, changed: int) -> "TruncatedGeometric":
        """The noise for each count if this many may change."""
        return cls(epsilon / changed, delta / changed)

    @property
    def threshold(self) -> int:
        """k: with P(x) = e^(-ε'|x|)/z, z = (1 + e^-ε' - 2e^(-ε'(k+1)))/(1 - e^-ε'), the smallest with P(k) ≤ δ'."""
        growth = math.exp(self.each)
        inner = (growth + 2 * self.each_delta - 1) / ((growth + 1) * self.each_delta)
        return max(0, math.ceil(math.log(inner) / self.each))

    @property
    def law(self) -> NDArray[np.float64]:
        """P(-k), …, P(k)."""
        weights = np.exp(-self.each * np.abs(np.arange(-self.threshold, self.threshold + 1)))
        return np.asarray(weights / weights.sum())

    def draw(self, size: int, rng: Generator) -> NDArray[np.float64]:
        """Whole numbers from -k to k."""
        return rng.choice(np.arange(-self.threshold, self.threshold + 1.0), size, p=self.law)

    def epsilon(self, changed: int, delta: float) -> float:
        """Basic composition."""
        return changed * self.each


@dataclass(frozen=True)
class Gaussian:
    """Normal noise and a threshold."""

    deviation: float
    threshold: float

    @classmethod
    def of(cls, epsilon: float, delta: float, changed: int) -> "Gaussian":
        """The noise for each count if this many may change, half of them of words that nobody else holds."""
        # The proof divides by 1 - δ/2, which costs a sliver of ε; rounding costs another.
        sigma = get_sigma_gaussian(epsilon + math.log1p(-delta / 2), delta / 2) * (1 + ROUNDING)
        deviation = math.sqrt(changed) * sigma
        threshold = 1 + deviation * float(norm.isf(-math.expm1(math.log1p(-delta / 2) / (changed / 2))))
        return cls(deviation, threshold)

    def draw(self, size: int, rng: Generator) -> NDArray[np.float64]:
        """Independent draws."""
        return rng.normal(0, self.deviation, size)

    def epsilon(self, changed: int, delta: float) -> float:
        """The analytic Gaussian mechanism, and the sliver."""
        spent: float = get_epsilon_gaussian(self.deviation / math.sqrt(changed), delta / 2)
        return spent - math.log1p(-delta / 2)


@dataclass(frozen=True)
class PartitionSelection:
    """Central partition selection with noisy counts."""

    name: ClassVar[str] = "partition-selection"
    citation: ClassVar[str] = (
        "Desfontaines, Voss, Gipson and Mandayam, Differentially private partition selection, PoPETs 2022"
    )
    trust: ClassVar[str] = "central"
    words_per_user: int = NEOLOGUE.parameters.words_per_user
    """B, if the unit is a user; for an item no bound is needed, and every word held is counted."""

    def fewest_users(self, task: Task) -> int:
        """Any number works, but fewer than the threshold find nothing."""
        return 1

    def discover(self, task: Task, budget: PrivacyGrant, seed: int, advance: Advance = ignore_progress) -> Found:
        """Count, add noise, and publish the counts above the threshold."""
        by_user = budget.unit == "user"
        changed = 2 * self.words_per_user if by_user else 2
        noise = noise_for(budget.epsilon, budget.delta, changed)
        holders = several_words(task, self.words_per_user if by_user else None, seed, advance)
        held = np.flatnonzero(holders)
        counts = holders[held] + noise.draw(len(held), generator(Stream.BASELINES, seed))
        large: Integers = np.flatnonzero(counts > noise.threshold)
        bits = (task.alphabet.size - 1).bit_length() * (task.depth + 1)
        return Found(
            words=rank_words(dict(zip(task.words[held[large]].tolist(), counts[large].tolist(), strict=True))),
            rounds=1,
            bytes_per_device=-(-bits * self.words_per_user // 8) if by_user else None,
            users_asked=task.users,
            privacy=Privacy(
                local_item=None,
                local_user=None,
                central_item=noise.epsilon(2, budget.delta),
                central_user=noise.epsilon(changed, budget.delta) if by_user else None,
                delta=budget.delta,
                basis="one trusted server sees every word; "
                + (
                    f"users speak of at most {self.words_per_user} words"
                    if by_user
                    else "users speak of all their words, so that nothing is promised for a whole user"
                ),
            ),
        )


def noise_for(epsilon: float, delta: float, changed: int) -> Noise:
    """The kind of noise with the smaller threshold."""
    noises: list[Noise] = [TruncatedGeometric.of(epsilon, delta, changed), Gaussian.of(epsilon, delta, changed)]
    return min(noises, key=lambda noise: noise.threshold)
