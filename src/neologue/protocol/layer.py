"""A layer: the document that every device of one round gets, identical for all of them."""

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from neologue.errors import ParameterError
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import Candidates, Strings
from neologue.language.likely_candidates import LikelyCandidates
from neologue.language.vocabulary import Vocabulary
from neologue.language.word_form import AS_TYPED, WordForm
from neologue.protocol.layer_fields import LayerKind, write_document
from neologue.protocol.limits import SAMPLERS
from neologue.randomizers.randomizer import Randomizer
from neologue.randomizers.registry import randomizer


class CandidateSet(Protocol):
    """The strings that a layer votes on, in the order that device and server derive from its document."""

    @property
    def size(self) -> int:
        """|Z_i|."""

    def index(self, words: Strings) -> NDArray[np.int64]:
        """The candidate that each normalised word belongs to, or -1."""

    def prefixes(self, index: NDArray[np.int64]) -> tuple[Strings, NDArray[np.bool_]]:
        """The strings of some candidates, and whether each is a whole word."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Layer(ABC):
    """One round of votes: what is asked about, and how a device answers."""

    kind: ClassVar[LayerKind]

    pass_number: int
    """The pass that the layer belongs to, from 1."""
    number: int
    """Its number in the pass, from 1."""
    layer_size: int
    """How many users are asked."""
    alphabet: Alphabet
    depth: int
    mechanism: str
    epsilon: float
    bound: int
    sampler: str
    known: Vocabulary
    found: Vocabulary = field(default_factory=Vocabulary.empty)
    """Words that are released already."""
    targets: frozenset[str] | None = None
    form: WordForm = AS_TYPED
    """What counts as one word."""

    def __post_init__(self) -> None:
        if self.sampler not in SAMPLERS:
            raise ParameterError(f"a layer samples by one of {', '.join(SAMPLERS)}")
        if not self.form.fits(self.alphabet):
            raise ParameterError("a layer replaces characters that are not in its alphabet by some that are")

    @property
    @abstractmethod
    def candidates(self) -> CandidateSet:
        """Z_i, in canonical order."""

    @property
    @abstractmethod
    def beginnings(self) -> Strings:
        """The prefixes that were kept in the layer before, from which it goes on."""

    @abstractmethod
    def beginning_of(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """From which of these each of some candidates goes on; -1 for words that are asked about again."""

    @cached_property
    def randomizer(self) -> Randomizer[Any]:
        """The randomizer for just these candidates."""
        return randomizer(self.mechanism, self.candidates.size, self.epsilon, self.bound)

    def counts(self, word: str) -> bool:
        """Whether a word, in its form, may be contributed at all.

        Words with foreign characters or beyond the depth do not count: cutting them would invent words and
        give away the beginnings of long secrets.
        """
        # What the alphabet has, its form replaces by nothing: see `WordForm.fits`.
        if not self.alphabet.spells(word, self.depth) or not self.form.leaves_ends(word) or word in self.found:
            return False
        return word not in self.known if self.targets is None else word in self.targets

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the document, by which devices can verify that they all got the same."""
        return hashlib.sha256(self.document).digest()

    @property
    def document(self) -> bytes:
        """The canonical JSON; it has the digest of the known words in their place."""
        return write_document(self, self.kind)


@dataclass(frozen=True, eq=False, kw_only=True)
class ExtendingLayer(Layer):
    """A layer that extends every prefix of a frontier by some symbols."""

    kind = "open"

    frontier: Strings
    extension: int

    def __post_init__(self) -> None:
        super().__post_init__()
        prefixes = self.frontier.tolist()
        if not prefixes or prefixes != sorted(set(prefixes)):
            raise ParameterError("a layer's frontier must have prefixes, each once and in order")
        if len(set(map(len, prefixes))) != 1 or not all(map(self.alphabet.expresses, prefixes)) or not prefixes[0]:
            raise ParameterError("a layer's prefixes must be of its alphabet and of one length, at least one character")
        if self.extension < 1:
            raise ParameterError("a layer extends by at least 1 symbol")

    @cached_property
    def candidates(self) -> Candidates:
        """Z_i, in canonical order."""
        return Candidates(self.alphabet, self.frontier, self.extension)

    @property
    def beginnings(self) -> Strings:
        """The frontier."""
        return self.frontier

    def beginning_of(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """The prefix of the frontier that each of some candidates extends."""
        return index // self.candidates.ways


@dataclass(frozen=True, eq=False, kw_only=True)
class LikelyLayer(Layer):
    """A layer that asks about all strings that are likely enough, and about words that earlier ones asked about."""

    kind = "likely"

    asked: LikelyCandidates

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.asked.alphabet != self.alphabet:
            raise ParameterError("a layer's spelling must be of its alphabet")
        if any(len(root) > self.depth for each in self.asked.rounds for root in each.prefixes.tolist()):
            raise ParameterError("a layer's roots must be within its depth: no longer word counts")

    @property
    def candidates(self) -> LikelyCandidates:
        """Z_i, in canonical order."""
        return self.asked

    @property
    def beginnings(self) -> Strings:
        """The roots of the newest round."""
        return self.asked.rounds[-1].prefixes

    def beginning_of(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """The root of each of some candidates; -1 for words of earlier rounds."""
        fresh = np.flatnonzero(index < self.asked.fresh.size)
        roots = np.full(len(index), -1, np.int64)
        roots[fresh] = self.asked.fresh.roots.of(self.asked.prefixes(index[fresh])[0])
        return roots
