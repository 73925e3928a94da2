"""How many words of a user a report should speak of, where a whole user may cost so much and no more.

A user who holds K words has each of them in a report with the chance min(1, B/K). The central ε of a whole user goes
with √B times the separation of a candidate's votes from noise, so that at equal ε the votes that a word needs go with
√B as well. What is found rises with E min(K, B)/√B: with a B above what users hold, room is paid for that nobody fills,
and with one below it, words are left at home.
"""

from typing import Final

import numpy as np
from scipy.special import pdtr, pdtrc

from neologue.populations.lexicon import Lexicon

MOST_WORDS: Final = 200
GOOD_ENOUGH: Final = 0.98
"""A usual B that reaches so much of what the best one does is kept."""


def suitable_words(lexicon: Lexicon, usual: int) -> int:
    """The best B for the users of a lexicon; the usual one if it is about as good."""
    bounds = np.arange(1, max(MOST_WORDS, usual) + 1, dtype=np.float64)
    means = lexicon.words_of_kinds
    # A user of a kind holds a number of words that is about Poisson: E min(K, B) = m·P(K < B) + B·P(K > B).
    sampled = means[:, None] * pdtr(bounds - 1, means[:, None]) + bounds * pdtrc(bounds, means[:, None])
    found = (lexicon.kinds @ sampled) / np.sqrt(bounds)
    return usual if found[usual - 1] >= GOOD_ENOUGH * found.max() else int(bounds[found.argmax()])
