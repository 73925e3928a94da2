"""A closed layer: the document that the devices that measure a release get, identical for all of them.

They take no part in the discovery. Each is given the words that were found, samples some of its own new words, and
reports which of these are on the list and how many are not.
"""

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neologue.entropy import ONE
from neologue.errors import ParameterError
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import Strings
from neologue.language.vocabulary import Vocabulary
from neologue.language.word_form import AS_TYPED, WordForm
from neologue.protocol.layer_fields import write_document
from neologue.randomizers.closed import ClosedDomain, closed_domain
from neologue.randomizers.randomizer import Randomizer


@dataclass(frozen=True, eq=False)
class ClosedLayer:
    """One round of votes on whole words, and how a device answers."""

    layer_size: int
    """How many users are asked."""
    alphabet: Alphabet
    words: Strings
    """The list W."""
    depth: int
    mechanism: str
    epsilon: float
    bound: int
    known: Vocabulary
    targets: frozenset[str] | None = None
    rate: float = 1.0
    """The probability that a new word of a device may be in its sample."""
    form: WordForm = AS_TYPED
    """What counts as one word."""

    def __post_init__(self) -> None:
        words = self.words.tolist()
        if not words or words != sorted(set(words)):
            raise ParameterError("a closed layer must have words, each once and in order")
        if not all(self.alphabet.spells(word, self.depth) for word in words):
            raise ParameterError("a closed layer's words must be of its alphabet and within its depth")
        if not self.form.fits(self.alphabet):
            raise ParameterError("a layer replaces characters that are not in its alphabet by some that are")
        check_rate(self.rate)

    @cached_property
    def domain(self) -> ClosedDomain:
        """The candidates of a report, those of the list first."""
        return closed_domain(self.mechanism, len(self.words), self.epsilon, self.bound)

    @property
    def randomizer(self) -> Randomizer[Any]:
        """The randomizer for these candidates."""
        return self.domain.randomizer

    @property
    def chance(self) -> int:
        """The numerator of the rate over 2^64."""
        return int(Fraction(self.rate) * ONE)

    def counts(self, word: str) -> bool:
        """Whether a word, in its form, counts, as in the first layer of the campaign."""
        if not self.alphabet.spells(word, self.depth) or self.form.of(word) != word:
            return False
        return word not in self.known if self.targets is None else word in self.targets

    def index(self, words: Strings) -> NDArray[np.int64]:
        """For each normalised word its index in the list, or -1."""
        ranks = np.minimum(np.searchsorted(self.words, words), len(self.words) - 1)
        return np.where(self.words[ranks] == words, ranks, -1).astype(np.int64)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the document, by which devices can verify that they all got the same."""
        return hashlib.sha256(self.document).digest()

    @property
    def document(self) -> bytes:
        """The canonical JSON; it has the digest of the known words in their place."""
        return write_document(self, "closed")


def check_rate(rate: float) -> float:
    """The rate itself, if it is a share of words."""
    if not 0 < rate <= 1:
        raise ParameterError(
            f"the rate of a measurement must be a share above 0 and at most 1, not {rate}", parameter="measure_rate"
        )
    return rate
