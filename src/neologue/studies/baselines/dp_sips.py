"""DP-SIPS: rounds of the weighted Gaussian mechanism, each for the words that the earlier ones did not publish.

Swanberg, Desfontaines and Haney, DP-SIPS: a simpler, more scalable mechanism for differentially private partition
selection, PoPETs 2023. A small part of the privacy finds the widely held words; users then spend their weight on the
others. The i-th of three rounds gets 1/r times the privacy of the round before it, with r = 0.3.

What differs here, in favour of DP-SIPS: shares are of the squared distance of one Gaussian mechanism, which composes
without loss (`weighted_gaussian` has the proof; a round's noise depends on nothing but its number).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from neologue.campaign.profiles import NEOLOGUE
from neologue.studies.baselines.weighted_gaussian import (
    NoisyRounds,
    found_by_weights,
    norm_weight,
    norm_weights,
    published,
)
from neologue.studies.method import Advance, Found, FoundWord, Task, ignore_progress
from neologue.studies.privacy_grant import PrivacyGrant

ROUNDS = 3
RATIO = 0.3


@dataclass(frozen=True)
class DpSips:
    """DP-SIPS with three rounds."""

    name: ClassVar[str] = "dp-sips"
    citation: ClassVar[str] = (
        "Swanberg, Desfontaines and Haney, DP-SIPS: a simpler, more scalable mechanism for differentially private "
        "partition selection, PoPETs 2023"
    )
    trust: ClassVar[str] = "central"
    words_per_user: int = NEOLOGUE.parameters.words_per_user

    def fewest_users(self, task: Task) -> int:
        """Any number works, but few users find nothing."""
        return 1

    def discover(self, task: Task, budget: PrivacyGrant, seed: int, advance: Advance = ignore_progress) -> Found:
        """Publish heavy words round by round; users choose anew among the words that are left."""
        parts = [RATIO ** (ROUNDS - 1 - number) for number in range(ROUNDS)]
        shares = tuple(part / sum(parts) for part in parts)
        rounds = NoisyRounds(budget.epsilon, budget.delta, self.words_per_user, shares)
        left = np.ones(len(task.word_indices), np.bool_)
        words: list[FoundWord] = []
        for number in range(ROUNDS):
            heard = ignore_progress if number else advance
            weights = norm_weights(task, left, self.words_per_user, seed, heard)
            noisy = rounds.draw(number, weights, weights > 0, seed)
            threshold = rounds.threshold(number, norm_weight)
            words += published(task, noisy, threshold)
            left &= noisy <= threshold
        return found_by_weights(task, rounds, tuple(words))
