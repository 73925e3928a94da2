"""The words that can be found in a language, and the chance that a user holds each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtr, pdtrc

from neologue.campaign.campaign import Campaign
from neologue.errors import LanguageError
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import Strings, strings
from neologue.language.spelling_costs import SpellingCosts
from neologue.language.spelling_training import learn_spelling
from neologue.language.vocabulary import Vocabulary
from neologue.populations.population import EmbeddedPopulation
from neologue.randomizers.channel import Floats

KINDS_OF_USERS = 24
"""Nodes of the quadrature over how much users type."""
TRIED_DRAWS = np.geomspace(1e-3, 1e6, 200)
"""Where the number of different words is tabulated, …"""
KINDS_OF_WORDS = 400
"""… with words of nearly the same share taken together."""


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Words in alphabetical order, so that words with a common prefix are adjacent."""

    words: Strings
    shares: Floats
    """Each word's share of all draws."""
    draws: Floats
    """How many draws a user of each kind makes on average."""
    kinds: Floats
    """The share of users of each kind."""
    alphabet: Alphabet
    known: Vocabulary
    """The words that are not among them because they are known."""

    @classmethod
    def of(cls, population: EmbeddedPopulation, campaign: Campaign) -> "Lexicon":
        """The words of a population that a campaign can find."""
        depth = campaign.parameters.depth
        population = population.in_form(campaign.form)
        counting = np.array([campaign.alphabet.spells(word, depth) for word in population.words])
        if not counting.any():
            raise LanguageError(
                f"no word that could be found has 1 to {depth} characters of the alphabet {campaign.alphabet.name}; "
                "give another alphabet or language, or fewer known words"
            )
        words = strings([word for word, counts in zip(population.words, counting, strict=True) if counts])
        order = np.argsort(words)
        nodes, weights = np.polynomial.hermite_e.hermegauss(KINDS_OF_USERS)
        return cls(
            words[order],
            population.model.shares[counting][order],
            population.model.draws(nodes),
            weights / weights.sum(),
            campaign.alphabet,
            campaign.known,
        )

    def held_by(self, held: Sequence[float], kinds: Sequence[float]) -> "Lexicon":
        """The same words among other users: such shares of them hold so many different ones on average."""
        logarithms = np.log(self.shares)
        numbers, edges = np.histogram(logarithms, KINDS_OF_WORDS)
        middles = np.exp((edges[1:] + edges[:-1]) / 2)
        different = -np.expm1(-np.outer(TRIED_DRAWS, middles)) @ numbers
        draws = np.interp(held, np.append(0.0, different), np.append(0.0, TRIED_DRAWS))
        return replace(self, draws=draws, kinds=np.array(kinds))

    @cached_property
    def words_of_kinds(self) -> Floats:
        """How many different words users of each kind hold on average."""
        return np.asarray(-np.expm1(-np.outer(self.draws, self.shares)).sum(axis=1))

    @cached_property
    def costs(self) -> SpellingCosts:
        """What it costs to spell as the known words do."""
        return learn_spelling(self.alphabet, self.known.words)

    @cached_property
    def codes(self) -> NDArray[np.int16]:
        """The symbols of each word, with at least one ⊥ at the end."""
        points = self.words.view(np.uint32).reshape(len(self.words), -1)
        return np.pad(self.alphabet.codes(points), ((0, 0), (0, 1))).astype(np.int16)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each word in characters."""
        return np.char.str_len(self.words).astype(np.int64)

    def groups(self, length: int) -> NDArray[np.int64]:
        """The number of each word's prefix of this length; a shorter word is its own prefix."""
        return np.cumsum(self._common < length) - 1

    @cached_property
    def _common(self) -> NDArray[np.int64]:
        """The length of the prefix that each word shares with the one before it; -1 for the first."""
        points = self.words.view(np.uint32).reshape(len(self.words), -1)
        differs = points[1:] != points[:-1]
        return np.concatenate([[-1], differs.argmax(axis=1)])

    def holding_chance(self, shares: Floats) -> Floats:
        """The chance that a user holds a word, or any word of a prefix, with each of these shares."""
        return np.asarray(self.kinds @ -np.expm1(-np.outer(self.draws, shares)))

    def sampling_chance(self, shares: Floats, present: Floats, bound: int) -> Floats:
        """The chance that a user holds each of some prefixes and has it in a random sample of at most `bound`."""
        holds = -np.expm1(-np.outer(self.draws, shares))
        # Beside the prefix in question a user holds a number K of others that is about Poisson, and the chance is
        # E min(1, bound/(K+1)) = P(K < bound) + bound/mean · P(K > bound).
        others = np.maximum(holds @ present, 1e-9)
        room = pdtr(bound - 1, others) + bound / others * pdtrc(bound, others)
        return np.asarray((self.kinds * room) @ holds)
