"""A layer: what every device of one cohort is told, word for word the same."""

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from neologue.errors import ParameterError
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import Candidates, Strings
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.parameters import SAMPLERS
from neologue.randomizers.randomizer import Randomizer
from neologue.randomizers.registry import randomizer

PROTOCOL_VERSION = 1


@dataclass(frozen=True, eq=False)
class Layer:
    """One round of votes: which prefixes, and how a device answers."""

    passage: int
    """The pass that the layer belongs to, from 1."""
    number: int
    """Its place in the pass, from 1."""
    cohort: int
    """How many users are asked."""
    alphabet: Alphabet
    frontier: Strings
    extension: int
    depth: int
    mechanism: str
    epsilon: float
    bound: int
    sampler: str
    known: Vocabulary
    found: Vocabulary = field(default_factory=Vocabulary.empty)
    """Words released in earlier passes."""
    targets: frozenset[str] | None = None

    def __post_init__(self) -> None:
        prefixes = self.frontier.tolist()
        if not prefixes or prefixes != sorted(set(prefixes)):
            raise ParameterError("a layer's frontier must have prefixes, each once and in order")
        if len(set(map(len, prefixes))) != 1 or not all(map(self.alphabet.expresses, prefixes)):
            raise ParameterError("a layer's prefixes must be of one length and of its alphabet")
        if self.extension < 1 or self.sampler not in SAMPLERS:
            raise ParameterError(f"a layer extends by at least 1 symbol and samples by one of {', '.join(SAMPLERS)}")

    @cached_property
    def candidates(self) -> Candidates:
        """Z_i, in canonical order."""
        return Candidates(self.alphabet, self.frontier, self.extension)

    @cached_property
    def randomizer(self) -> Randomizer[Any]:
        """The randomizer for just these candidates."""
        return randomizer(self.mechanism, self.candidates.size, self.epsilon, self.bound)

    def counts(self, word: str) -> bool:
        """Whether a normalised word may be contributed at all.

        Words with foreign characters or beyond the depth do not count: cutting them would invent words and
        give away the beginnings of long secrets.
        """
        if not self.alphabet.spells(word, self.depth) or word in self.found:
            return False
        return word not in self.known if self.targets is None else word in self.targets

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of everything a device is told, so that all devices of a layer can see they are told the same."""
        told = {
            "version": PROTOCOL_VERSION,
            "pass": self.passage,
            "layer": self.number,
            "cohort": self.cohort,
            "alphabet": self.alphabet.characters,
            "frontier": self.frontier.tolist(),
            "extension": self.extension,
            "depth": self.depth,
            "randomizer": self.mechanism,
            "epsilon": repr(float(self.epsilon)),
            "bound": self.bound,
            "sampler": self.sampler,
            "known": self.known.digest,
            "found": sorted(self.found.words),
            "targets": None if self.targets is None else sorted(self.targets),
        }
        canonical = json.dumps(told, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).digest()
