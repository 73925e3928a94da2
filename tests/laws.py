"""Exact laws of small randomizers, written down from their thresholds, and the checks that compare with them."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import chain, combinations, permutations, product
from math import comb, factorial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from neologue.entropy import ONE, Entropy
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary

Outcome = TypeVar("Outcome", bound=Hashable)
Law = dict[Outcome, Fraction]
Held = frozenset[int]
Subset = frozenset[int]


def array(values: Iterable[int]) -> NDArray[np.int64]:
    return np.array(list(values), np.int64)


def subsets_up_to(candidates: int, largest: int) -> list[Held]:
    """Every set of at most `largest` candidates."""
    sizes = (combinations(range(candidates), size) for size in range(largest + 1))
    return [frozenset(chosen) for chosen in chain.from_iterable(sizes)]


def neighbours(held: Held, candidates: int, bound: int) -> list[Held]:
    """The samples that differ from this one in one candidate: swapped, added or dropped."""
    others = frozenset(range(candidates)) - held
    swapped = [held - {old} | {new} for old in held for new in others]
    added = [held | {new} for new in others] if len(held) < bound else []
    return swapped + added + [held - {old} for old in held]


def unary_law(unary: Unary, held: Held) -> Law[Subset]:
    """P(set bits | held): independent bits, of a fair coin where held and of the noise elsewhere."""
    q = Fraction(unary.noise, ONE)
    chances = [Fraction(1, 2) if z in held else q for z in range(unary.candidates)]
    law: Law[Subset] = {}
    for bits in product((False, True), repeat=unary.candidates):
        probability = Fraction(1)
        for bit, chance in zip(bits, chances, strict=True):
            probability *= chance if bit else 1 - chance
        law[frozenset(z for z, bit in enumerate(bits) if bit)] = probability
    return law


def word_law(selection: SubsetSelection, word: int) -> Law[Subset]:
    """P(subset | one word) of Subset Selection."""
    s, d = selection.domain, selection.subset_size
    p = Fraction(selection.truth, ONE)
    hit, miss = p / comb(s - 1, d - 1), (1 - p) / comb(s - 1, d)
    return {frozenset(chosen): hit if word in chosen else miss for chosen in combinations(range(s), d)}


def padded(selection: SubsetSelection, held: Iterable[int]) -> list[int]:
    """The sample as a report speaks of it: filled up with γ."""
    words = list(held)
    return words + [selection.candidates] * (selection.bound - len(words))


def ordered_law(selection: SubsetSelection, words: Sequence[int]) -> Law[tuple[Subset, ...]]:
    """P(subsets | words in this order)."""
    law: Law[tuple[Subset, ...]] = {}
    for drawn in product(*(word_law(selection, word).items() for word in words)):
        probability = Fraction(1)
        for _, chance in drawn:
            probability *= chance
        law[tuple(subset for subset, _ in drawn)] = probability
    return law


def votes_law(selection: SubsetSelection, words: Sequence[int]) -> Law[tuple[int, ...]]:
    """P(votes of all elements, γ included | words of so many subsets)."""
    law: Law[tuple[int, ...]] = {}
    for subsets, probability in ordered_law(selection, words).items():
        votes = tuple(sum(element in subset for subset in subsets) for element in range(selection.domain))
        law[votes] = law.get(votes, Fraction(0)) + probability
    return law


def selection_law(selection: SubsetSelection, held: Held) -> Law[tuple[Subset, ...]]:
    """P(subsets | held): the words stand in uniformly random order."""
    orders = permutations(padded(selection, sorted(held)))
    weight = Fraction(1, factorial(selection.bound))
    return mixture((weight, ordered_law(selection, order)) for order in orders)


def mixture(parts: Iterable[tuple[Fraction, Law[Outcome]]]) -> Law[Outcome]:
    """The law of a draw from a part that is itself drawn."""
    mixed: Law[Outcome] = {}
    for weight, law in parts:
        for outcome, probability in law.items():
            mixed[outcome] = mixed.get(outcome, Fraction(0)) + weight * probability
    return mixed


def largest_ratio(law: Mapping[Outcome, Fraction], other: Mapping[Outcome, Fraction]) -> Fraction:
    """The largest P(outcome) / P'(outcome); every outcome of one must be possible under the other."""
    assert law.keys() == other.keys()
    return max(probability / other[outcome] for outcome, probability in law.items())


def exp_bounds(epsilon: float) -> tuple[Fraction, Fraction]:
    """Rationals below and above e^ε, from its power series and nothing of neologue."""
    x = Fraction(epsilon)
    term = below = Fraction(1)
    for k in range(1, 200):
        term = term * x / k
        below += term
    # For ε ≤ 20 each further term is less than half of the one before.
    return below, below + term


def fit(drawn: Iterable[Outcome], law: Mapping[Outcome, Fraction]) -> float:
    """The p-value of Pearson's test that these are independent draws from the law."""
    counts = Counter(drawn)
    assert counts.keys() <= law.keys(), "an outcome that the law rules out"
    total = counts.total()
    observed = [counts[outcome] for outcome in law]
    expected = np.array([float(probability * total) for probability in law.values()])
    assert expected.min() >= 5, "too few draws for Pearson's test"
    return float(stats.chisquare(observed, expected * total / expected.sum()).pvalue)


def uniform(outcomes: Iterable[Outcome]) -> Law[Outcome]:
    """The uniform law."""
    listed = list(outcomes)
    return dict.fromkeys(listed, Fraction(1, len(listed)))


class Dictated(Entropy):
    """Draws that a test dictates, so that a sampler's outcome can be enumerated over all of them."""

    def __init__(
        self,
        *,
        permutation: Sequence[int] = (),
        subset: Callable[[int, int], Iterable[int]] | None = None,
        chances: Sequence[bool] = (),
        below: Mapping[int, Sequence[int]] | None = None,
        integer: int = 0,
        seed: bytes = b"",
    ) -> None:
        self._permutation = permutation
        self._subset = subset
        self._chances = chances
        self._below = below or {}
        self._integer = integer
        self._seed = seed
        self.thresholds: list[int] = []
        """The numerators of all chances that were asked for."""

    def words(self, count: int) -> NDArray[np.uint64]:
        raise AssertionError("an undictated draw")

    def octets(self, count: int) -> bytes:
        return self._seed.ljust(count, b"\0")

    def integer(self, bits: int) -> int:
        return self._integer

    def permutation(self, count: int) -> NDArray[np.int64]:
        assert len(self._permutation) == count
        return array(self._permutation)

    def subset(self, size: int, count: int) -> NDArray[np.int64]:
        assert self._subset is not None
        return array(self._subset(size, count))

    def chances(self, numerator: int, count: int) -> NDArray[np.bool_]:
        self.thresholds.append(numerator)
        assert len(self._chances) == count
        return np.array(self._chances, np.bool_)

    def below(self, bound: int, count: int) -> NDArray[np.int64]:
        assert len(self._below[bound]) == count
        return array(self._below[bound])
