"""Coverage and precision of a release, if the truth is known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neologue.discovery.result import Release, ReleasedWord
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
    words_below_k: int
    """Released words that fewer than k users of the layer that released them hold; k is the campaign's."""


def true_holders(words: list[str], holders: NDArray[np.int64], first_layer: Layer) -> dict[str, int]:
    """The number of users who hold each word that somebody holds and that counts according to the first layer."""
    held = zip(words, holders.tolist(), strict=True)
    return {word: users for word, users in held if users and first_layer.counts(word)}


def words_below_k(release: Release, words: Sequence[str], holders: Sequence[NDArray[np.int32]]) -> int:
    """How many released words fewer than k users of their layer hold, given the holders of each word in each layer."""
    released = {word.word for word in release.words}
    number_of = {word: number for number, word in enumerate(words) if word in released}
    held = {(layer.pass_number, layer.layer): counts for layer, counts in zip(release.layers, holders, strict=True)}
    k = release.campaign.parameters.k_anonymity

    def holders_of(word: ReleasedWord) -> int:
        number = number_of.get(word.word)
        return 0 if number is None else int(held[word.pass_number, word.layer][number])

    return sum(holders_of(word) < k for word in release.words)


def score(release: Release, truth: Mapping[str, int], below_k: int) -> Score:
    """Compare a release with what the users hold."""
    released = [word.word for word in release.words]
    total = sum(truth.values())
    return Score(
        coverage=sum(truth.get(word, 0) for word in released) / total if total else 0.0,
        precision=sum(word in truth for word in released) / len(released) if released else 1.0,
        words_true=len(truth),
        words_released=len(released),
        words_below_k=below_k,
    )
