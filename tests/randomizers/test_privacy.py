"""The local privacy of a report, proved by listing every report and every pair of neighbours of small layers.

Probabilities are fractions of the very integer thresholds that the samplers use, and e^ε is a rational that
is surely below it, so nothing here is a matter of rounding.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise, permutations, product
from math import comb, factorial

import numpy as np
import pytest
from numpy.typing import NDArray

from laws import (
    Dictated,
    Held,
    Law,
    Outcome,
    Subset,
    array,
    exp_bounds,
    largest_ratio,
    mixture,
    neighbours,
    ordered_law,
    padded,
    selection_law,
    subsets_up_to,
    unary_law,
    word_law,
)
from neologue.device.contribution import held_prefixes
from neologue.device.sampling import sample
from neologue.entropy import ONE, Entropy
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import strings
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.layer import ExtendingLayer, Layer
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.thresholds import exp_below
from neologue.randomizers.unary import Unary

EPSILONS = [0.1, 1.0, 3.0, 10.0]


def worst_over_neighbours(law_of: Callable[[Held], Law[Outcome]], candidates: int, bound: int) -> Fraction:
    """The largest likelihood ratio over all samples, all their neighbours and all reports."""
    laws = {held: law_of(held) for held in subsets_up_to(candidates, bound)}
    return max(
        largest_ratio(law, laws[other]) for held, law in laws.items() for other in neighbours(held, candidates, bound)
    )


# e^ε itself


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 0.5, 1.0, 3.0, 10.0, 20.0])
def test_the_rational_below_the_exponential_is_below_it_and_close(epsilon: float) -> None:
    below, above = exp_bounds(epsilon)
    assert above * (1 - Fraction(1, 10**58)) < exp_below(epsilon) < above
    # The series converges to far more digits than decimal keeps, so this is a comparison with e^ε.
    assert exp_below(epsilon) <= below


# Unary


def code_law(unary: Unary, held: Held) -> Law[Subset]:
    """P(report | held) of the code itself, run on every draw that it could make."""
    n, q = unary.candidates, Fraction(unary.noise, ONE)
    weights = [comb(n, count) * q**count * (1 - q) ** (n - count) for count in range(n + 1)]
    law: Law[Subset] = {}
    for count, weight in enumerate(weights):
        middle = int((sum(weights[:count]) + weight / 2) * (1 << 128))
        for noise, coins in product(combinations(range(n), count), product((False, True), repeat=unary.bound)):
            draws = Dictated(integer=middle, subset=dictated_subset(noise, n), chances=coins)
            report = frozenset(unary.randomize(array(sorted(held)), draws).positions.tolist())
            assert draws.thresholds == [ONE // 2]
            law[report] = law.get(report, Fraction(0)) + weight / comb(n, count) / 2**unary.bound
    return law


def dictated_subset(noise: tuple[int, ...], candidates: int) -> Callable[[int, int], Iterable[int]]:
    def subset(size: int, count: int) -> Iterable[int]:
        assert (size, count) == (candidates, len(noise))
        return noise

    return subset


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_unary_code_has_exactly_the_law_of_independent_bits(epsilon: float) -> None:
    unary = Unary(candidates=4, epsilon=epsilon, bound=2)
    for held in subsets_up_to(4, 2):
        assert code_law(unary, held) == unary_law(unary, held)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("candidates", "bound"), [(2, 1), (4, 2), (5, 3)])
def test_unary_keeps_its_epsilon_for_all_neighbours(candidates: int, bound: int, epsilon: float) -> None:
    unary = Unary(candidates, epsilon, bound)
    worst = worst_over_neighbours(lambda held: unary_law(unary, held), candidates, bound)
    assert worst <= exp_bounds(epsilon)[0]
    assert worst == unary.worst_ratio
    assert unary.statement.enforced_epsilon <= epsilon


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_unary_noise_rounded_the_other_way_would_break_epsilon(epsilon: float) -> None:
    unary = Unary(4, epsilon, 2)
    vars(unary)["noise"] = Unary(4, epsilon, 2).noise - 1
    assert worst_over_neighbours(lambda held: unary_law(unary, held), 4, 2) > exp_bounds(epsilon)[1]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_whole_user_of_unary_has_epsilon_for_each_word(epsilon: float) -> None:
    unary = Unary(4, epsilon, 2)
    laws = [unary_law(unary, held) for held in subsets_up_to(4, 2)]
    worst = max(largest_ratio(law, other) for law in laws for other in laws)
    assert worst == unary.worst_ratio**2 <= exp_bounds(epsilon)[0] ** 2
    assert unary.statement.user_epsilon == 2 * epsilon


# Subset Selection


def offset_law(selection: SubsetSelection, held: Held, seed: bytes) -> Law[tuple[int, ...]]:
    """P(offsets | held, base subsets) of the code itself, run on every draw that it could make."""
    s, d, bound = selection.domain, selection.subset_size, selection.bound
    bases = selection.expand(seed)
    words = padded(selection, sorted(held))
    p = Fraction(selection.truth, ONE)
    law: Law[tuple[int, ...]] = {}
    for order in permutations(range(bound)):
        misses = [
            [c for c in range(s) if words[word] not in (base + c) % s] for word, base in zip(order, bases, strict=True)
        ]
        for places, chances in product(
            product(range(d), repeat=bound),
            product((False, True), repeat=bound),
        ):
            for missed in product(*misses):
                draws = Dictated(permutation=order, seed=seed, chances=chances, below={d: places, s: missed})
                offsets = tuple(selection.randomize(array(sorted(held)), draws).offsets.tolist())
                assert draws.thresholds == [selection.truth]
                weight = Fraction(1, factorial(bound) * d**bound * (s - d) ** bound)
                for hit in chances:
                    weight *= p if hit else 1 - p
                law[offsets] = law.get(offsets, Fraction(0)) + weight
    return law


def seeds_of_all_bases(selection: SubsetSelection) -> dict[Subset, bytes]:
    """For every base subset a seed whose first one it is."""
    found: dict[Subset, bytes] = {}
    for number in range(1000):
        seed = number.to_bytes(16, "little")
        found.setdefault(frozenset(selection.expand(seed)[0].tolist()), seed)
    assert len(found) == comb(selection.domain, selection.subset_size)
    return found


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_for_every_base_subset_the_offset_keeps_epsilon_and_a_translate_has_the_law_of_the_paper(
    epsilon: float,
) -> None:
    selection = SubsetSelection(candidates=4, epsilon=epsilon, bound=1)
    bases = seeds_of_all_bases(selection)
    translated: dict[int, list[Law[Subset]]] = {}
    for base, seed in bases.items():
        laws = [offset_law(selection, held, seed) for held in subsets_up_to(4, 1)]
        worst = max(largest_ratio(law, other) for law, other in permutations(laws, 2))
        assert worst == selection.worst_ratio <= exp_bounds(epsilon)[0]
        for word, law in zip((4, 0, 1, 2, 3), laws, strict=True):
            moved = {frozenset((x + c) % 5 for x in base): chance for (c,), chance in law.items()}
            translated.setdefault(word, []).append(moved)
    for word, parts in translated.items():
        assert mixture((Fraction(1, len(bases)), part) for part in parts) == word_law(selection, word)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_offsets_of_two_words_in_random_order_keep_epsilon(epsilon: float) -> None:
    selection = SubsetSelection(candidates=3, epsilon=epsilon, bound=2)
    for number in range(3):
        seed = number.to_bytes(16, "little")
        worst = worst_over_neighbours(lambda held, seed=seed: offset_law(selection, held, seed), 3, 2)  # type: ignore[misc]
        assert worst <= selection.worst_ratio <= exp_bounds(epsilon)[0]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("candidates", "bound"), [(1, 1), (6, 1), (4, 2), (2, 3)])
def test_subset_selection_keeps_its_epsilon_for_all_neighbours(candidates: int, bound: int, epsilon: float) -> None:
    selection = SubsetSelection(candidates, epsilon, bound)
    worst = worst_over_neighbours(lambda held: selection_law(selection, held), candidates, bound)
    assert worst <= exp_bounds(epsilon)[0]
    assert worst == selection.worst_ratio
    assert selection.statement.enforced_epsilon <= epsilon


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_words_in_sorted_instead_of_random_order_would_break_epsilon(epsilon: float) -> None:
    # {0, 1} and {1, 2} are neighbours, but both of their places differ.
    selection = SubsetSelection(4, epsilon, 2)
    worst = worst_over_neighbours(lambda held: ordered_law(selection, padded(selection, sorted(held))), 4, 2)
    assert worst == selection.worst_ratio**2 > exp_bounds(epsilon)[1]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_truth_rounded_the_other_way_would_break_epsilon(epsilon: float) -> None:
    selection = SubsetSelection(4, epsilon, 2)
    vars(selection)["truth"] = SubsetSelection(4, epsilon, 2).truth + 1
    assert worst_over_neighbours(lambda held: selection_law(selection, held), 4, 2) > exp_bounds(epsilon)[1]


# Layers of every size


@pytest.mark.parametrize("kind", [Unary, SubsetSelection])
@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1 / 3, 1.0, 5.9, 7.0, 8.5, 10.0, 20.0])
def test_the_enforced_epsilon_is_just_below_the_stated_one_at_any_size(
    kind: type[Unary] | type[SubsetSelection], epsilon: float
) -> None:
    for candidates in (1, 2, 3, 100, 9900, 1_000_000, 1 << 27):
        randomizer = kind(candidates, epsilon, 60)
        assert randomizer.worst_ratio <= exp_bounds(epsilon)[0]
        assert epsilon * (1 - 1e-6) < randomizer.statement.enforced_epsilon <= epsilon


def test_the_figures_of_the_paper_are_reproduced() -> None:
    selection = SubsetSelection(candidates=1_000_000, epsilon=10.0, bound=60)
    assert (selection.domain, selection.subset_size) == (1_000_001, 46)
    assert float(selection.channel.p) == pytest.approx(0.50329, abs=5e-6)
    assert float(selection.channel.q) == pytest.approx(4.5497e-5, abs=5e-10)
    # Votes of n = 5·10^5·60 contributions: the noise of an estimate is about 73 contributions.
    noise = np.sqrt(selection.channel.variance(0, 500_000)) / selection.channel.gain
    assert float(noise) == pytest.approx(73, abs=0.5)


# Words: everything between a diary and its report

Diary = tuple[tuple[str, int], ...]
Sampler = Callable[[NDArray[np.int64], NDArray[np.int64], int, str, Entropy], NDArray[np.int64]]

WORDS = ("a", "aa", "aab", "ab", "aba", "ac", "b")
"""All that the layer below tells apart: a word that ends, words that share a prefix, and one it does not ask about."""


def layer_of(mechanism: str, epsilon: float, bound: int, sampler: str) -> Layer:
    """Candidates a⊥, aa, ab and ac."""
    return ExtendingLayer(
        pass_number=1,
        number=1,
        layer_size=100,
        alphabet=Alphabet("abc"),
        frontier=strings(["a"]),
        extension=1,
        depth=3,
        mechanism=mechanism,
        epsilon=epsilon,
        bound=bound,
        sampler=sampler,
        known=Vocabulary.empty(),
    )


def diaries(words: int) -> Iterator[Diary]:
    """Every diary of so many words, each typed once or twice."""
    for chosen in combinations(WORDS, words):
        for times in product((1, 2), repeat=words):
            yield tuple(zip(chosen, times, strict=True))


def neighbouring_diaries() -> Iterator[list[Diary]]:
    """Groups of diaries of at most three words, of which any two differ in one word with all its typings."""
    for size in range(3):
        for rest in diaries(size):
            others = [word for word in WORDS if word not in dict(rest)]
            yield [rest, *((*rest, (word, times)) for word in others for times in (1, 2))]


def held_law(diary: Diary, layer: Layer, draw: Sampler) -> Law[Held]:
    """P(sample | diary), over every order that the sampler could draw."""
    prefixes, times = held_prefixes(dict(diary), layer)
    weight = Fraction(1, factorial(len(prefixes)))
    law: Law[Held] = {}
    for order in permutations(range(len(prefixes))):
        held = frozenset(draw(prefixes, times, layer.bound, layer.sampler, Dictated(permutation=order)).tolist())
        law[held] = law.get(held, Fraction(0)) + weight
    return law


@cache
def report_law(randomizer: Unary | SubsetSelection, held: Held) -> Law[Hashable]:
    """P(report | sample)."""
    if isinstance(randomizer, Unary):
        return dict(unary_law(randomizer, held).items())
    return dict(selection_law(randomizer, held).items())


def worst_over_diaries(layer: Layer, draw: Sampler = sample) -> Fraction:
    """The largest likelihood ratio of any report between any two neighbouring diaries."""
    randomizer = layer.randomizer
    assert isinstance(randomizer, Unary | SubsetSelection)
    laws: dict[frozenset[tuple[Held, Fraction]], Law[Hashable]] = {}
    worst: dict[frozenset[frozenset[tuple[Held, Fraction]]], Fraction] = {}
    for group in neighbouring_diaries():
        samples = {frozenset(held_law(diary, layer, draw).items()) for diary in group}
        for law in samples - laws.keys():
            laws[law] = mixture((chance, report_law(randomizer, held)) for held, chance in law)
        for one, other in combinations(samples, 2):
            if frozenset((one, other)) not in worst:
                both = largest_ratio(laws[one], laws[other]), largest_ratio(laws[other], laws[one])
                worst[frozenset((one, other))] = max(both)
    return max(worst.values())


@pytest.mark.parametrize("sampler", ["greedy", "random"])
@pytest.mark.parametrize("bound", [1, 2])
@pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
@pytest.mark.parametrize("epsilon", [1.0, 5.0])
def test_replacing_one_word_of_a_diary_changes_no_report_by_more_than_epsilon(
    mechanism: str, bound: int, sampler: str, epsilon: float
) -> None:
    layer = layer_of(mechanism, epsilon, bound, sampler)
    worst = worst_over_diaries(layer)
    assert worst <= exp_bounds(epsilon)[0]
    assert worst == layer.randomizer.worst_ratio


def unstable(
    prefixes: NDArray[np.int64], times: NDArray[np.int64], bound: int, sampler: str, entropy: Entropy
) -> NDArray[np.int64]:
    """A sampler in which one more typing turns the whole order round."""
    order = np.argsort(prefixes) if times.sum() % 2 else np.argsort(-prefixes)
    return prefixes[order[:bound]]


def test_a_sampler_that_one_word_can_turn_round_would_break_epsilon() -> None:
    assert worst_over_diaries(layer_of("unary", 1.0, 2, "greedy"), unstable) > exp_bounds(1.0)[1]


def test_the_words_of_the_layer_above_fall_where_the_proof_needs_them() -> None:
    layer = layer_of("unary", 1.0, 2, "greedy")
    assert layer.candidates.index(strings(WORDS)).tolist() == [0, 1, 1, 2, 2, 3, -1]
    assert all(set(one) ^ set(other) for group in neighbouring_diaries() for one, other in pairwise(group))
