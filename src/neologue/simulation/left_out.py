"""What users hold that a campaign can't find, because of its alphabet, its depth or the form of its words."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neologue.protocol.layer import Layer

WARNED_ABOVE = 0.1


@dataclass(frozen=True)
class LeftOut:
    """Pairs of a user and an unknown word they hold; as confidential as the words."""

    pairs: int
    """All of them, with those that are left out."""
    alphabet: int
    """The word has a character that the alphabet lacks."""
    length: int
    """The word is longer than the depth."""
    empty: int
    """Nothing is left of what was typed: it is all punctuation and symbols."""

    @property
    def share(self) -> float:
        """The share of pairs that are left out."""
        return (self.alphabet + self.length + self.empty) / self.pairs if self.pairs else 0.0

    @property
    def is_much(self) -> bool:
        """Whether an operator should be warned."""
        return self.share > WARNED_ABOVE


def left_out(words: list[str], holders: NDArray[np.int64], first_layer: Layer) -> LeftOut:
    """What of words with so many holders each the first layer of a campaign leaves out; known words never count."""
    pairs = {"counting": 0, "alphabet": 0, "length": 0, "empty": 0}
    for word, users in zip(words, holders.tolist(), strict=True):
        if first_layer.counts(word):
            pairs["counting"] += users
        elif users and first_layer.targets is None and word not in first_layer.known:
            pairs[_reason(word, first_layer)] += users
    return LeftOut(sum(pairs.values()), pairs["alphabet"], pairs["length"], pairs["empty"])


def _reason(word: str, layer: Layer) -> str:
    if not word:
        return "empty"
    return "alphabet" if not layer.alphabet.spells(word, len(word)) else "length"
