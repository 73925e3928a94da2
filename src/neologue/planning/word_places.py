"""Where the words of a lexicon fall among likely strings: each is asked about itself, or belongs to an escape.

`LikelyStrings.index` says which string a word belongs to by its number. A forecast needs no numbers, but the cost of
that string and which words share it, for hundreds of thousands of words at a time.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neologue.compiled import compiled
from neologue.language.candidates import Strings
from neologue.language.likely_roots import NEVER, Roots
from neologue.language.likely_strings import LikelyStrings

Integers = NDArray[np.int64]
Codes = NDArray[np.int16]
Flags = NDArray[np.bool_]

NOWHERE = -1
LAST_CHARACTER = "\U0010ffff"


@dataclass(frozen=True, eq=False)
class WordPlaces:
    """The string that each of some words belongs to."""

    lengths: Integers
    """The characters that it shares with the word; `NOWHERE` if the word belongs to none."""
    costs: Integers
    ended: Flags
    """Whether it is the word itself; otherwise it is the escape of a prefix."""


def place_words(words: Strings, codes: Codes, strings: LikelyStrings) -> WordPlaces:
    """Place sorted words, given as texts and as rows of codes that end in ⊥."""
    roots, spelling = strings.roots, strings.roots.spelling
    own = np.minimum(np.maximum(roots.costs, 0), strings.prefix_limit)
    lengths, costs = np.full(len(words), NOWHERE, np.int64), np.zeros(len(words), np.int64)
    ended = np.zeros(len(words), np.bool_)
    _walk(
        codes,
        _roots_of(words, roots),
        roots.lengths,
        roots.states,
        own,
        roots.next_costs,
        roots.asked,
        spelling.cost,
        spelling.after,
        strings.limit,
        strings.prefix_limit,
        lengths,
        costs,
        ended,
    )
    return WordPlaces(lengths, costs, ended)


def _roots_of(words: Strings, roots: Roots) -> Integers:
    """The longest root that each of some sorted words begins with, or `NOWHERE`."""
    found = np.full(len(words), NOWHERE, np.int64)
    first = np.searchsorted(words, roots.prefixes)
    last = np.searchsorted(words, np.char.add(roots.prefixes, LAST_CHARACTER))
    # Longer roots lie within the words of shorter ones, and come later in the order of texts.
    for root, (begin, end) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        found[begin:end] = root
    return found


@compiled
def _walk(
    codes: Codes,
    root_of: Integers,
    root_lengths: Integers,
    states: Integers,
    own: Integers,
    next_costs: NDArray[np.int16],
    asked: NDArray[np.int16],
    cost: NDArray[np.int16],
    after: NDArray[np.int32],
    limit: int,
    prefix_limit: int,
    lengths: Integers,
    costs: Integers,
    ended: Flags,
) -> None:
    """Follow each word from its root, as far as it is or was asked about."""
    for word in range(len(codes)):
        root = root_of[word]
        if root < 0:
            continue
        place, state = root_lengths[root], states[root]
        code = codes[word, place]
        spent = next_costs[root, code]
        if spent == NEVER:
            continue
        if prefix_limit > 0:
            lengths[word], costs[word] = place, own[root]
        floor = spent + asked[root, code]
        while code > 0 and spent <= max(limit, floor):
            state = after[state, code]
            place += 1
            code = codes[word, place]
            if spent <= prefix_limit:
                lengths[word], costs[word] = place, spent
            spent += cost[state, code]
        if code == 0 and spent <= floor:
            lengths[word] = NOWHERE
        elif code == 0 and spent <= limit:
            lengths[word], costs[word], ended[word] = place, spent, True
