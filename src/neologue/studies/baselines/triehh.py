"""TrieHH: a trie grown from the bare votes of users sampled at random, private by the sampling alone.

Zhu, Kairouz, McMahan, Sun and Li, Federated heavy hitters discovery with differential privacy, AISTATS 2020. In each of
L rounds a batch of m = γ√n of all n users is drawn; every user drawn whose word extends the trie votes for the next
symbol, and what gets θ votes or more stays. Theorem 1: what is published is (ε, δ)-differentially private with

    ε = L·ln(1 + 1/(n/(mθ) - 1)) = -L·ln(1 - mθ/n)   and   δ = (θ - 2)/((θ - 3)·θ!)

for 4 ≤ θ ≤ √n and m ≤ n/(θ + 1). As in the paper's code θ is the smallest for δ, and m then the largest for ε.

Every user votes for one word in all rounds, picked in proportion to how often it was typed, so the guarantee is for a
whole user. Nothing else is hidden: the server sees the plain votes of the users drawn. No counts are published, so the
words found are sorted alphabetically.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from neologue.errors import ParameterError
from neologue.populations.streams import Stream, generator
from neologue.studies.baselines.user_samples import one_word
from neologue.studies.method import Advance, Found, FoundWord, Task, ignore_progress
from neologue.studies.privacy_grant import Privacy, PrivacyGrant

SMALLEST_THRESHOLD = 9
"""The start of the published code's search for θ; for every δ below 3e-6 it is larger anyway."""


@dataclass(frozen=True)
class Sampling:
    """The number of users in a round, and the votes that keep a prefix."""

    users: int
    rounds: int
    """L"""
    threshold: int
    """θ"""
    batch: int
    """γ√n"""

    @classmethod
    def of(cls, users: int, epsilon: float, delta: float, rounds: int) -> "Sampling":
        """The smallest threshold for δ, and the largest batch for ε."""
        threshold = SMALLEST_THRESHOLD
        # The second condition is the theorem's m ≤ n/(θ + 1).
        while _delta(threshold) > delta or threshold + 1 < math.exp(epsilon / rounds):
            threshold += 1
        batch = math.floor(users * -math.expm1(-epsilon / rounds) / threshold)
        if threshold**2 > users or batch < threshold:
            raise ParameterError(
                f"{users:,} users are too few for TrieHH: {threshold} votes keep a prefix, and {batch} users vote"
            )
        return cls(users, rounds, threshold, batch)

    @property
    def epsilon(self) -> float:
        """The ε of all rounds together."""
        return -self.rounds * math.log1p(-self.batch * self.threshold / self.users)

    @property
    def delta(self) -> float:
        """The theorem's δ."""
        return _delta(self.threshold)


def _delta(threshold: int) -> float:
    return (threshold - 2) / ((threshold - 3) * math.factorial(threshold))


@dataclass(frozen=True)
class TrieHH:
    """TrieHH with a round for each symbol of the longest word and its end."""

    name: ClassVar[str] = "triehh"
    citation: ClassVar[str] = (
        "Zhu, Kairouz, McMahan, Sun and Li, Federated heavy hitters discovery with differential privacy, AISTATS 2020"
    )
    trust: ClassVar[str] = "central"

    def fewest_users(self, task: Task) -> int:
        """Enough that a batch can have θ users at any ε."""
        return SMALLEST_THRESHOLD**2

    def discover(self, task: Task, budget: PrivacyGrant, seed: int, advance: Advance = ignore_progress) -> Found:
        """Draw batches and grow the trie until no prefix is kept."""
        sampling = Sampling.of(task.users, budget.epsilon, budget.delta, task.depth + 1)
        held = one_word(task, (0, task.users), seed, advance, by_use=True)
        wordless = task.users - held.sum()
        lengths = np.strings.str_len(task.words)
        rng = generator(Stream.BASELINES, seed)
        found: list[str] = []
        alive = np.ones(len(held), np.bool_)
        rounds = 0
        for rounds in range(1, sampling.rounds + 1):
            drawn = rng.multivariate_hypergeometric([*held, wordless], sampling.batch, method="marginals")[:-1]
            # A word shorter than the prefix stands for the prefix with its end, as NumPy pads strings.
            _, prefix = np.unique(task.words[alive].astype(f"U{rounds}"), return_inverse=True)
            kept = np.bincount(prefix, weights=drawn[alive]) >= sampling.threshold
            alive[alive] = kept[prefix]
            ended = alive & (lengths < rounds)
            found.extend(task.words[ended].tolist())
            alive &= ~ended
            if not alive.any():
                break
        bits = (task.alphabet.size - 1).bit_length()
        return Found(
            words=tuple(FoundWord(word, None) for word in sorted(found)),
            rounds=rounds,
            bytes_per_device=sum(-(-bits * symbols // 8) for symbols in range(1, rounds + 1)),
            users_asked=min(task.users, rounds * sampling.batch),
            privacy=Privacy(
                local_item=None,
                local_user=None,
                central_item=sampling.epsilon,
                central_user=sampling.epsilon,
                delta=sampling.delta,
                basis="Theorem 1 of Zhu et al. 2020, one word a user; the server sees sampled votes as they are",
            ),
        )
