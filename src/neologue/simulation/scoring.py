"""Coverage and precision of a release, if the truth is known."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neologue.discovery.result import Release
from neologue.protocol.layer import Layer


@dataclass(frozen=True)
class Score:
    """Coverage and precision of a release."""

    coverage: float
    """The share of pairs of a user and a countable word they hold whose word was released."""
    precision: float
    """The share of released words that at least one user holds."""
    words_true: int
    """Countable words that at least one user holds."""
    words_released: int


def true_holders(words: list[str], holders: NDArray[np.int64], first_layer: Layer) -> dict[str, int]:
    """The number of users who hold each word that somebody holds and that counts according to the first layer."""
    held = zip(words, holders.tolist(), strict=True)
    return {word: users for word, users in held if users and first_layer.counts(word)}


def score(release: Release, truth: Mapping[str, int]) -> Score:
    """Compare a release with what the users hold."""
    released = [word.word for word in release.words]
    total = sum(truth.values())
    return Score(
        coverage=sum(truth.get(word, 0) for word in released) / total if total else 0.0,
        precision=sum(word in truth for word in released) / len(released) if released else 1.0,
        words_true=len(truth),
        words_released=len(released),
    )
