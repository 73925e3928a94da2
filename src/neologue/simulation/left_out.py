"""What users hold that a campaign can't find: because of its alphabet, its depth, its days or the form of its words."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neologue.language.alphabet import Alphabet
from neologue.populations.population import Population
from neologue.protocol.layer import Layer

WARNED_ABOVE = 0.1
MOST_CHARACTERS = 8


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
    characters: str
    """Characters that the alphabet lacks, the most used first, of words that at least k users hold."""
    rows: int
    """The rows that were read; 0 if users are simulated."""
    old_rows: int
    """Of these, the ones older than the days that count."""

    @property
    def share(self) -> float:
        """The share of pairs that are left out."""
        return (self.alphabet + self.length + self.empty) / self.pairs if self.pairs else 0.0

    @property
    def is_much(self) -> bool:
        """Whether an operator should be warned of the share of pairs."""
        return self.share > WARNED_ABOVE

    @property
    def old_share(self) -> float:
        """The share of rows that are too old."""
        return self.old_rows / self.rows if self.rows else 0.0

    @property
    def is_mostly_old(self) -> bool:
        """Whether an operator should be warned of the share of rows."""
        return self.old_share > WARNED_ABOVE


def left_out(
    population: Population, holders: NDArray[np.int64], truth: Mapping[str, int], first_layer: Layer, k: int
) -> LeftOut:
    """What the first layer of a campaign leaves out of words with so many holders each.

    `truth` has the holders of the words that count. Known words are not left out: nobody looks for them. A character
    of words that fewer than k users hold is not named: it could give somebody away.
    """
    pairs = {"counting": sum(truth.values()), "alphabet": 0, "length": 0, "empty": 0}
    lacking: Counter[str] = Counter()
    for word, users in zip(population.words, holders.tolist(), strict=True):
        if users and first_layer.targets is None and word not in truth and word not in first_layer.known:
            reason = _reason(word, first_layer)
            pairs[reason] += users
            if reason == "alphabet" and users >= k:
                lacking.update({character: users for character in word if _is_lacking(character, first_layer.alphabet)})
    characters = sorted(lacking, key=lambda character: (-lacking[character], character))[:MOST_CHARACTERS]
    return LeftOut(
        sum(pairs.values()),
        pairs["alphabet"],
        pairs["length"],
        pairs["empty"],
        "".join(characters),
        population.rows,
        population.old_rows,
    )


def _is_lacking(character: str, alphabet: Alphabet) -> bool:
    return character.isprintable() and not character.isspace() and not alphabet.expresses(character)


def _reason(word: str, layer: Layer) -> str:
    if not word:
        return "empty"
    return "alphabet" if not layer.alphabet.spells(word, len(word)) else "length"
