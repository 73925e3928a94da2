"""The common interface of the methods that are compared."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from neologue.errors import ParameterError
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import Strings, strings
from neologue.language.vocabulary import Vocabulary
from neologue.populations.population import Population
from neologue.protocol.limits import DEEPEST, check_whole
from neologue.randomizers.channel import Floats
from neologue.studies.privacy_grant import Privacy, PrivacyGrant

Advance = Callable[[int], None]
"""Called with the number of users that have just been done."""


def ignore_progress(users: int) -> None:
    """The default progress callback."""


@dataclass(frozen=True, eq=False)
class Task:
    """The task of every method: find the new words of the first `users` users of a population."""

    population: Population
    users: int
    alphabet: Alphabet
    known: Vocabulary
    depth: int = 15
    """The longest word that counts, in characters."""
    top: int = 1000
    """The number of most widely held words to find, for methods that need such a number (K)."""

    def __post_init__(self) -> None:
        check_whole("depth", self.depth, 2, DEEPEST)
        check_whole("top", self.top, 1, 1_000_000)
        if not 1 <= self.users <= self.population.users:
            raise ParameterError(
                f"the population has {self.population.users:,} users and nobody is asked twice: take from 1 to all of "
                f"them, not {self.users}"
            )

    def counts(self, word: str) -> bool:
        """Whether a word may be contributed, and so be found."""
        return self.alphabet.spells(word, self.depth) and word not in self.known

    def countable(self, texts: Strings, estimates: Floats) -> dict[str, float]:
        """Words with their estimates, without words that no device would contribute: those are noise."""
        found = zip(texts.tolist(), estimates.tolist(), strict=True)
        return {word: estimate for word, estimate in found if self.counts(word)}

    @cached_property
    def word_indices(self) -> NDArray[np.int64]:
        """The indices in the population's lexicon of the words that count."""
        lexicon = self.population.words
        return np.array([index for index, word in enumerate(lexicon) if self.counts(word)], np.int64)

    @cached_property
    def words(self) -> Strings:
        """The words that count, in the order of `word_indices`."""
        lexicon = self.population.words
        return strings([lexicon[index] for index in self.word_indices])


@dataclass(frozen=True)
class FoundWord:
    """A word, and the estimated number of its users; None from a method that publishes no counts."""

    word: str
    estimate: float | None


@dataclass(frozen=True)
class Found:
    """What a method found, and its cost."""

    words: tuple[FoundWord, ...]
    """The most widely held first, as far as the method knows."""
    rounds: int
    """How many times the server waited for answers before it could go on."""
    bytes_per_device: int | None
    """The most that one device uploads in the whole run; None if it grows with the words it holds."""
    users_asked: int
    """The most users who answered."""
    privacy: Privacy


class Method(Protocol):
    """A way to find new words."""

    @property
    def name(self) -> str:
        """The name on the command line."""

    @property
    def citation(self) -> str:
        """Where it is published."""

    @property
    def trust(self) -> str:
        """`local` if nobody is trusted with words; `central` if a server, or its enclave, sees them."""

    def fewest_users(self, task: Task) -> int:
        """The smallest number of users that the method can work with."""

    def discover(self, task: Task, budget: PrivacyGrant, seed: int, advance: Advance = ignore_progress) -> Found:
        """Find words within the budget; the same arguments give the same words."""


def rank_words(estimates: dict[str, float]) -> tuple[FoundWord, ...]:
    """Words sorted by their estimates, the largest first."""
    ordered = sorted(estimates.items(), key=lambda found: (-found[1], found[0]))
    return tuple(FoundWord(word, estimate) for word, estimate in ordered)
