"""The one interface behind which methods are compared."""

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
"""Told how many more users are done."""


def ignore_progress(users: int) -> None:
    """Hears of progress and does not care."""


@dataclass(frozen=True, eq=False)
class Task:
    """What every method is asked: the new words of the first `users` users of a population."""

    population: Population
    users: int
    alphabet: Alphabet
    known: Vocabulary
    depth: int = 15
    """The longest word that counts, in characters."""
    top: int = 1000
    """How many of the most widely held words the search is for, where a method asks for a number (K)."""

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
        """Words with their estimates, without those that no device would contribute: they are noise."""
        found = zip(texts.tolist(), estimates.tolist(), strict=True)
        return {word: estimate for word, estimate in found if self.counts(word)}

    @cached_property
    def word_indices(self) -> NDArray[np.int64]:
        """Where in the population's lexicon the words that count are."""
        lexicon = self.population.words
        return np.array([index for index, word in enumerate(lexicon) if self.counts(word)], np.int64)

    @cached_property
    def words(self) -> Strings:
        """The words that count, in the order of `word_indices`."""
        lexicon = self.population.words
        return strings([lexicon[index] for index in self.word_indices])


@dataclass(frozen=True)
class FoundWord:
    """A word, and of how many users it is taken to be; None from a method that publishes no counts."""

    word: str
    estimate: float | None


@dataclass(frozen=True)
class Found:
    """What a method found and what it took."""

    words: tuple[FoundWord, ...]
    """The most widely held first, as far as the method knows."""
    rounds: int
    """How many times the server waited for answers before it could ask the next question."""
    bytes_per_device: int | None
    """The most that one device uploads in the whole run; None if that grows with the words it holds."""
    users_asked: int
    """The most users who answered."""
    privacy: Privacy


class Method(Protocol):
    """A way to find new words."""

    @property
    def name(self) -> str:
        """What the command line calls it."""

    @property
    def citation(self) -> str:
        """Where it is published."""

    @property
    def trust(self) -> str:
        """`local` if nobody is trusted with words; `central` if a server, or its enclave, sees them as they are."""

    def fewest_users(self, task: Task) -> int:
        """The smallest number of users that it can work with at all."""

    def discover(self, task: Task, budget: PrivacyGrant, seed: int, advance: Advance = ignore_progress) -> Found:
        """Find words within the budget; the same arguments give the same words."""


def rank_words(estimates: dict[str, float]) -> tuple[FoundWord, ...]:
    """Words in the order of their estimates."""
    ordered = sorted(estimates.items(), key=lambda found: (-found[1], found[0]))
    return tuple(FoundWord(word, estimate) for word, estimate in ordered)
