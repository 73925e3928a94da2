"""A character model learnt from words, by interpolated Kneser-Ney smoothing (Kneser and Ney, 1995).

A context takes `DISCOUNT` off the count of each symbol after it, and gives what it took, and some of `PRIORS`
occurrences more, to what the next shorter context says. A shorter context is asked only where a longer one has not seen
a symbol. So its counts are what the longer ones took off: how many different symbols come before it and the next one,
and not how often both occur. Only the server learns; devices get the costs.
"""

from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from neologue.language.alphabet import Alphabet
from neologue.language.candidates import strings
from neologue.language.spelling_costs import (
    DEAREST,
    LONGEST_CONTEXT,
    MOST_CONTEXTS,
    MOST_ENTRIES,
    STEPS_PER_NAT,
    SpellingCosts,
)

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

DISCOUNT = 0.8
PRIORS = (1000.0, 300.0, 100.0)
"""How many occurrences contexts of each length from 1 on give away besides: new words are unlike known ones."""
FEWEST = 2.0
"""Longer contexts that were seen less often are left out."""
LEAST_CHANCE = 1e-3
"""The chance that every symbol has at least where nothing is known of what came before, …"""
LEAST_CHANCES = 0.1
"""… unless that were more than this for all symbols together."""
CASE_FORMS = ((str, 1.0), (str.capitalize, 0.3), (str.upper, 0.05))
"""How words are also written, and how often."""
LONGEST_WORD = 64
"""Longer entries of a word list are not words, and one of them would take as much memory as all others."""

REMEMBERED = 2
"""How many word lists are not learnt again: a plan, a forecast and a run ask about the same one."""

Grams = tuple[Integers, Floats]
"""Contexts with a symbol after them, as sorted numbers in the base of the alphabet's size; and how often they occur."""


@lru_cache(REMEMBERED)
def learn_spelling(alphabet: Alphabet, words: frozenset[str]) -> SpellingCosts:
    """What it costs to spell as some words do, in all their case forms that the alphabet expresses."""
    weight_of: dict[str, float] = {}
    for word in words:
        for form, weight in CASE_FORMS:
            written = form(word)
            if 0 < len(written) <= LONGEST_WORD and alphabet.expresses(written):
                weight_of[written] = weight_of.get(written, 0.0) + weight
    seen = [_count_grams(alphabet, weight_of, length) for length in range(LONGEST_CONTEXT + 1)]
    kept = _choose_contexts(seen, alphabet.size)
    grams = [
        *(_count_given_up(*pair, alphabet.size ** (length + 1)) for length, pair in enumerate(pairwise(seen))),
        seen[-1],
    ]
    chances = _lowest(grams[0], alphabet.size)[None, :]
    backoffs, symbols, costs = [np.zeros(1)], [np.arange(alphabet.size)], [chances[0]]
    lists = [alphabet.size]
    for length in range(1, LONGEST_CONTEXT + 1):
        size = alphabet.size
        numbers, counts = grams[length]
        states = np.searchsorted(kept[length], numbers // size)
        used = np.flatnonzero(np.append(kept[length], -1)[states] == numbers // size)
        states, codes, counts = states[used], numbers[used] % size, counts[used]
        below = np.searchsorted(kept[length - 1], kept[length] % size ** (length - 1))
        total = np.bincount(states, counts, len(kept[length])) + PRIORS[length - 1]
        left = np.maximum(counts - DISCOUNT, 0.0)
        share = 1 - np.bincount(states, left, len(kept[length])) / total
        chances = share[:, None] * chances[below]
        chances[states, codes] += left / total[states]
        backoffs.append(share)
        symbols.append(codes)
        costs.append(chances[states, codes])
        lists.extend(np.bincount(states, minlength=len(kept[length])).tolist())
    points = np.append(0, alphabet.points)
    spelled = "".join(map(chr, points[np.concatenate(symbols)]))
    ends = np.cumsum(lists).tolist()
    return SpellingCosts(
        alphabet,
        tuple(_spell(points, number, length) for length, some in enumerate(kept) for number in some.tolist()),
        _cost(np.concatenate([np.ones(1), *backoffs[1:]]), least=0),
        tuple(spelled[begin:end] for begin, end in zip([0, *ends], ends, strict=False)),
        _cost(np.concatenate(costs), least=1),
    )


def _count_grams(alphabet: Alphabet, weight_of: dict[str, float], length: int) -> Grams:
    """How often each symbol follows each context of so many symbols."""
    words = strings(list(weight_of))
    weights = np.array(list(weight_of.values()))
    points = words.view(np.uint32).reshape(len(words), words.dtype.itemsize // 4)
    ends = np.char.str_len(words)
    # A column of zeros before the word is its beginning, and one behind it its end.
    codes = np.pad(alphabet.codes(points), ((0, 0), (1, 1)))
    numbers, counts = [np.empty(0, np.int64)], [np.empty(0)]
    for position in range(max(1, length), codes.shape[1]):
        rows = np.flatnonzero(ends >= position - 1)
        number = np.zeros(len(rows), np.int64)
        for column in range(position - length, position + 1):
            number = number * alphabet.size + codes[rows, column]
        numbers.append(number)
        counts.append(weights[rows])
    distinct, inverse = np.unique(np.concatenate(numbers), return_inverse=True)
    return distinct, np.bincount(inverse, np.concatenate(counts), len(distinct)).astype(np.float64)


def _count_given_up(grams: Grams, longer: Grams, first: int) -> Grams:
    """The occurrences that contexts of one symbol more, the numbers of whose first are in units of `first`, give up.

    No longer context ends in one that is the beginning of a word, which keeps all its occurrences.
    """
    numbers, counts = grams
    rows = np.searchsorted(numbers, longer[0] % first)
    given_up = np.bincount(rows, np.minimum(longer[1], DISCOUNT), len(numbers))
    return numbers, np.where(given_up > 0, given_up, counts)


def _choose_contexts(grams: list[Grams], size: int) -> list[Integers]:
    """The contexts of each length that are worth telling apart: seen often enough, and with all their parts.

    The rarest are left out until the tables of a device have room for the rest.
    """
    fewest = FEWEST
    while True:
        kept = [np.zeros(1, np.int64)]
        for length in range(1, LONGEST_CONTEXT + 1):
            numbers, counts = grams[length]
            contexts, inverse = np.unique(numbers // size, return_inverse=True)
            often = np.bincount(inverse, counts, len(contexts)) >= (fewest if length > 1 else 0)
            if length > 1:
                often &= np.isin(contexts % size ** (length - 1), kept[-1]) & np.isin(contexts // size, kept[-1])
            kept.append(np.union1d(contexts[often], 0) if length == 1 else contexts[often])
        if sum(map(len, kept)) <= min(MOST_CONTEXTS, MOST_ENTRIES // size):
            return kept
        fewest *= 1.5


def _lowest(grams: Grams, size: int) -> Floats:
    """The chance of each symbol, whatever came before."""
    chances = np.zeros(size)
    chances[grams[0]] = grams[1]
    least = min(LEAST_CHANCE, LEAST_CHANCES / size)
    total = chances.sum()
    return np.asarray((chances / total if total else np.full(size, 1 / size)) * (1 - least * size) + least)


def _spell(points: NDArray[np.uint32], number: int, length: int) -> str:
    """A context from its number."""
    text = ""
    for _ in range(length):
        number, code = divmod(number, len(points))
        text = chr(points[code]) + text
    return text


def _cost(chances: Floats, *, least: int) -> Integers:
    """What chances cost, within the limits."""
    return np.asarray(np.clip(np.rint(-STEPS_PER_NAT * np.log(chances)), least, DEAREST), np.int64)
