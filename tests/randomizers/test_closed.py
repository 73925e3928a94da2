"""Closed lists: a thermometer and an `other` keep the ε of a word, and the sums say what they should.

Everything is enumerated: all samples of small lists, all their neighbours, all reports, in exact fractions.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from laws import Held, Law, Subset, array, exp_bounds, largest_ratio, mixture, ordered_law, unary_law
from neologue.randomizers.closed import ClosedDomain, OtherSymbol, Thermometer, closed_domain
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary

LISTED, BOUND = 3, 3
EPSILONS = [0.1, 1.0, 3.0, 10.0]
Sample = tuple[Held, int]
"""The listed words of a sample, and how many others it has."""


def samples() -> list[Sample]:
    """All samples of at most B words."""
    return [
        (frozenset(listed), others)
        for size in range(LISTED + 1)
        for listed in combinations(range(LISTED), size)
        for others in range(BOUND - size + 1)
    ]


def neighbouring_samples(sample: Sample) -> Iterator[Sample]:
    """The samples that differ in one word: replaced by any other, added or dropped."""
    listed, others = sample
    fewer = [(listed - {word}, others) for word in listed] + [(listed, others - 1)] * (others > 0)
    for rest, left in [*fewer, sample]:
        yield rest, left
        if len(rest) + left < BOUND:
            yield rest, left + 1
            yield from ((rest | {word}, left) for word in range(LISTED) if word not in rest)


def worst_ratio(law_of: Callable[[Sample], Law[Subset]]) -> Fraction:
    laws = {sample: law_of(sample) for sample in samples()}
    return max(largest_ratio(laws[one], laws[other]) for one in laws for other in neighbouring_samples(one))


def thermometer_law(domain: ClosedDomain, sample: Sample) -> Law[Subset]:
    listed, others = sample
    assert isinstance(domain.randomizer, Unary)
    return unary_law(domain.randomizer, frozenset(domain.held(array(sorted(listed)), others).tolist()))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_thermometer_keeps_epsilon_for_every_word_replaced_added_or_dropped(epsilon: float) -> None:
    domain = Thermometer(LISTED, epsilon, BOUND)
    worst = worst_ratio(lambda sample: thermometer_law(domain, sample))
    assert worst <= exp_bounds(epsilon)[0]
    assert worst == domain.randomizer.worst_ratio


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_binary_number_of_others_would_break_epsilon(epsilon: float) -> None:
    unary = Unary(LISTED + 2, epsilon, BOUND + 2)

    def binary(sample: Sample) -> Law[Subset]:
        listed, others = sample
        return unary_law(unary, listed | {LISTED + bit for bit in range(2) if others >> bit & 1})

    # Where a listed word gives way to an other, and one other to two, three bits change.
    assert worst_ratio(binary) > exp_bounds(epsilon)[1]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_one_bit_for_the_others_and_each_listed_word_would_break_epsilon_if_it_also_counted_all(epsilon: float) -> None:
    unary = Unary(LISTED + 2 * BOUND, epsilon, 3 * BOUND)

    def both_counted(sample: Sample) -> Law[Subset]:
        listed, others = sample
        inside = {LISTED + BOUND + place for place in range(len(listed))}
        return unary_law(unary, listed | {LISTED + place for place in range(others)} | inside)

    assert worst_ratio(both_counted) > exp_bounds(epsilon)[1]


def selection_law(selection: SubsetSelection, words: list[int]) -> Law[tuple[Subset, ...]]:
    """P(subsets | words), which stand in random order; of two, either is as likely to be the first."""
    filled = words + [selection.candidates] * (selection.bound - len(words))
    return mixture((Fraction(1, 2), ordered_law(selection, order)) for order in (filled, filled[::-1]))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_an_other_that_is_sampled_twice_keeps_epsilon(epsilon: float) -> None:
    domain = OtherSymbol(2, epsilon, 2)
    assert isinstance(domain.randomizer, SubsetSelection)
    held = [domain.held(array(listed), others).tolist() for listed, others in [((), 2), ((0,), 1), ((0, 1), 0)]]
    assert held == [[2, 2], [0, 2], [0, 1]]
    laws = [selection_law(domain.randomizer, words) for words in held]
    for one, other in [(0, 1), (1, 0), (1, 2), (2, 1)]:
        worst = largest_ratio(laws[one], laws[other])
        assert worst <= domain.randomizer.worst_ratio <= exp_bounds(epsilon)[0]
    assert largest_ratio(laws[0], laws[2]) > exp_bounds(epsilon)[1]


@pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
def test_only_what_the_promise_covers_can_be_held(mechanism: str) -> None:
    domain = closed_domain(mechanism, 4, 2.0, 3)
    for listed, others in [((), 0), ((), 3), ((0, 3), 1), ((1, 2, 3), 0)]:
        domain.randomizer.check_held(domain.held(array(listed), others))
    for listed, others in [((), 4), ((0, 1), 2), ((0, 0), 1), ((0, 1, 2, 3), 0)]:
        with pytest.raises(ValueError, match="held"):
            domain.randomizer.check_held(domain.held(array(listed), others))


# What sums say


def two_reports(domain: ClosedDomain, one: Sample, other: Sample) -> Law[tuple[int, ...]]:
    """The exact law of the votes of two reports."""
    places = domain.randomizer.candidates

    def votes_of(sample: Sample) -> Law[tuple[int, ...]]:
        held = domain.held(array(sorted(sample[0])), sample[1]).tolist()
        law: Law[tuple[int, ...]] = {}
        if isinstance(domain.randomizer, Unary):
            subsets = {(subset,): chance for subset, chance in unary_law(domain.randomizer, frozenset(held)).items()}
        else:
            assert isinstance(domain.randomizer, SubsetSelection)
            filled = held + [places] * (domain.bound - len(held))
            subsets = dict(ordered_law(domain.randomizer, filled))  # type: ignore[arg-type]
        for report, chance in subsets.items():
            votes = tuple(sum(place in subset for subset in report) for place in range(places))
            law[votes] = law.get(votes, Fraction(0)) + chance
        return law

    sums: Law[tuple[int, ...]] = {}
    for votes, chance in votes_of(one).items():
        for more, other_chance in votes_of(other).items():
            total = tuple(map(sum, zip(votes, more, strict=True)))
            sums[total] = sums.get(total, Fraction(0)) + chance * other_chance
    return sums


@pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_totals_are_unbiased_and_their_covariance_is_the_one_stated(mechanism: str, epsilon: float) -> None:
    domain = closed_domain(mechanism, 3, epsilon, 2)
    one, other = (frozenset({0, 2}), 0), (frozenset({1}), 1)
    law = two_reports(domain, one, other)
    drawn = np.array([(t.listed, t.others) for t in (domain.totals(array(votes), 2) for votes in law)])
    chances = np.array([float(chance) for chance in law.values()])
    assert chances @ drawn == pytest.approx([3, 1])
    spread = drawn - chances @ drawn
    exact = (spread * chances[:, None]).T @ spread
    # Votes of which the estimates are right say what is added to them.
    gain, mean = domain.randomizer.channel.gain, domain.randomizer.channel.mean(0, 2)
    right = np.full(domain.randomizer.candidates, mean)
    right[[0, 1, 2, 3]] += gain
    stated = domain.totals(right, 2)
    assert (stated.listed, stated.others) == pytest.approx((3, 1))
    assert [stated.listed_variance, stated.others_variance] == pytest.approx(np.diag(exact))
    assert stated.covariance == pytest.approx(exact[0, 1], abs=1e-9)


def test_a_thermometer_tells_how_the_others_are_spread() -> None:
    domain = Thermometer(2, 8.0, 4)
    channel = domain.randomizer.channel
    # Of 10 reports, 5 have no others, 3 have one, 2 have four: Σt² = 3 + 2·16.
    at_least = np.array([5, 2, 2, 2])
    votes = np.concatenate([np.full(2, channel.mean(0, 10)), channel.mean(at_least, 10)])
    assert domain.totals(votes, 10).others_squares == pytest.approx(35)


def test_an_other_gives_a_bound_on_how_the_others_are_spread() -> None:
    domain = OtherSymbol(2, 8.0, 4)
    votes = np.array([0, 0, domain.randomizer.channel.mean(11, 10)])
    assert domain.totals(votes, 10).others_squares == pytest.approx(44)
