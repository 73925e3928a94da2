"""Reports drawn by compiled code have the laws that the randomizers write down."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from laws import array, fit, unary_law, votes_law, word_law
from layers import small_layer
from neologue.entropy import ONE
from neologue.language.vocabulary import Vocabulary
from neologue.populations import population as populations
from neologue.populations.counting import Counters
from neologue.populations.population import Population
from neologue.populations.random64 import seed_generators
from neologue.populations.streams import Stream, generator
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary
from neologue.simulation.engines.engine import LocalEngine
from neologue.simulation.layer_tallies import SimulatedUsers
from neologue.simulation.votes import report_kernels
from neologue.simulation.votes.report_kernels import (
    BATCH,
    SubsetReports,
    UnaryReports,
    add_by_marks,
    add_by_pairs,
    add_unary,
)

SIGNIFICANCE = 1e-6
"""A right law fails once in a million seeds."""
BATCHES = 200
"""Of 128 reports: Pearson's statistic, of 14 degrees, exceeds 56 so seldom, and is 180 if the truth is 7 % off."""

Draw = Callable[..., None]
WAYS = pytest.mark.parametrize("draw", [add_by_pairs, add_by_marks], ids=["pairs", "marks"])


def subset_votes(draw: Draw, words: list[int], domain: int, size: int, truth: int, seed: int = 0) -> NDArray[np.uint32]:
    """The votes of reports on these words."""
    counts = np.zeros(domain, np.uint32)
    draw(seed_generators(Stream.EXACT, 1, seed), np.array(words, np.int32), domain, size, np.uint64(truth), counts)
    return counts


def votes_of_each(draw: Draw, words: list[int], domain: int, size: int, truth: int, seed: int = 0) -> NDArray[np.int64]:
    """The votes of each report, a row each: the first 1, 2, … reports are the same ones, however many follow."""
    state, ids = seed_generators(Stream.EXACT, 1, seed), np.array(words, np.int32)
    summed = np.zeros((len(words) + 1, domain), np.uint32)
    for number in range(1, len(words) + 1):
        draw(state.copy(), ids[:number], domain, size, np.uint64(truth), summed[number])
    votes = summed.astype(np.int64)
    return votes[1:] - votes[:-1]


def chosen(votes: NDArray[np.int64]) -> Iterator[frozenset[int]]:
    """The elements that each row votes for, once each."""
    assert votes.min() >= 0
    assert votes.max() <= 1
    return (frozenset(place for place, vote in enumerate(row) if vote) for row in votes.tolist())


def subsets(draw: Draw, selection: SubsetSelection, word: int, truth: int, batches: int) -> Iterator[frozenset[int]]:
    """The subsets of reports on one word, from every column of many batches."""
    for batch in range(batches):
        yield from chosen(votes_of_each(draw, [word] * BATCH, selection.domain, selection.subset_size, truth, batch))


@WAYS
@pytest.mark.parametrize(
    ("candidates", "epsilon", "size", "word"),
    [(1, 2.0, 1, 0), (4, 3.0, 1, 2), (2, 0.5, 2, 2), (5, 1.0, 2, 3), (6, 0.5, 3, 6)],
    ids=["two elements", "d = 1", "d = s-1", "d = 2", "d = 3, γ"],
)
def test_every_subset_has_its_probability(draw: Draw, candidates: int, epsilon: float, size: int, word: int) -> None:
    selection = SubsetSelection(candidates, epsilon, 1)
    assert selection.subset_size == size
    drawn = subsets(draw, selection, word, selection.truth, BATCHES // 2)
    assert fit(drawn, word_law(selection, word)) > SIGNIFICANCE


@WAYS
def test_a_truth_that_is_7_percent_off_is_found_out(draw: Draw) -> None:
    selection = SubsetSelection(5, 1.0, 1)
    law = word_law(selection, 3)
    assert fit(subsets(draw, selection, 3, selection.truth, BATCHES), law) > SIGNIFICANCE
    assert fit(subsets(draw, selection, 3, selection.truth * 93 // 100, BATCHES), law) < SIGNIFICANCE


def test_repeats_that_move_on_to_the_next_element_are_found_out() -> None:
    selection = SubsetSelection(5, 1.0, 1)
    rng = np.random.default_rng(1)
    others = rng.integers(0, 5, (BATCHES * BATCH, 2))
    others[:, 1] = (others[:, 1] + (others[:, 0] == others[:, 1])) % 5
    true = rng.random(len(others)) < selection.truth / ONE
    drawn = np.where(np.column_stack([np.zeros_like(true), true]), 5, others)
    assert fit(map(frozenset, drawn.tolist()), word_law(selection, 5)) < SIGNIFICANCE


@WAYS
def test_the_votes_of_several_reports_have_their_joint_law(draw: Draw) -> None:
    selection = SubsetSelection(3, 0.5, 1)
    words = [0, 3, 0]
    drawn = (tuple(subset_votes(draw, words, 4, 2, selection.truth, number).tolist()) for number in range(BATCHES * 64))
    assert fit(drawn, votes_law(selection, words)) > SIGNIFICANCE


@WAYS
def test_reports_of_one_batch_are_independent(draw: Draw) -> None:
    selection = SubsetSelection(3, 0.5, 1)
    drawn = list(subsets(draw, selection, 1, selection.truth, BATCHES))
    pairs = zip(drawn[::2], drawn[1::2], strict=True)
    law = word_law(selection, 1)
    both = {(one, other): law[one] * law[other] for one in law for other in law}
    assert fit(pairs, both) > SIGNIFICANCE


@pytest.mark.parametrize(("domain", "size"), [(70_001, 1), (70_001, 100), (70_001, 400), (300, 140)])
def test_no_report_votes_twice_for_an_element(domain: int, size: int) -> None:
    draw = add_by_pairs if report_kernels.repeats_are_rare(size, domain) else add_by_marks
    drawn = votes_of_each(draw, list(range(BATCH + 3)), domain, size, ONE // 2)
    assert drawn.max() == 1
    assert set(drawn.sum(axis=1).tolist()) == {size}
    true = int(drawn[np.arange(len(drawn)), np.arange(len(drawn))].sum())
    assert abs(true - len(drawn) / 2) < 5 * np.sqrt(len(drawn) / 4)


def test_large_subsets_are_marked_and_small_ones_compared_pair_by_pair() -> None:
    assert report_kernels.repeats_are_rare(1, 1_000)
    assert report_kernels.repeats_are_rare(46, 1_000_001)
    assert not report_kernels.repeats_are_rare(110, 1_000_001)
    assert not report_kernels.repeats_are_rare(46, 1_001)


@pytest.mark.parametrize(("domain", "size"), [(2_001, 15), (5_001, 40), (3_001, 300)])
def test_votes_are_spread_evenly_over_elements_that_nobody_holds(domain: int, size: int) -> None:
    """Power: 2 million votes; that every other element gets 6 % more is found."""
    draw = add_by_pairs if report_kernels.repeats_are_rare(size, domain) else add_by_marks
    number = 2_000_000 // size
    votes = subset_votes(draw, [domain - 1] * number, domain, size, ONE // 2).astype(float)
    others = votes[:-1]

    def deviation(others: NDArray[np.float64]) -> float:
        # Pearson's statistic with the variance of draws without replacement, as normal.
        share = others.mean() / number
        freedom = len(others) - 1
        statistic = ((others - others.mean()) ** 2).sum() / (number * share * (1 - share))
        return float((statistic - freedom) / np.sqrt(2 * freedom))

    assert abs(deviation(others)) < 5
    uneven = others * np.where(np.arange(len(others)) % 2, 1.03, 0.97)
    assert deviation(uneven) > 5


def unary_votes(held: list[int], candidates: int, noise: float, users: int) -> NDArray[np.int64]:
    """The votes of so many users who hold the same, a row each."""
    state, source = seed_generators(Stream.EXACT, 2, 0), generator(Stream.EXACT, 2, 0, 1)
    counts = np.zeros((users, candidates), np.uint32)
    starts, ids = np.array([0, len(held)]), np.array(held, np.int32)
    for row in counts:
        add_unary(state, source, starts, ids, candidates, noise, row)
    return counts.astype(np.int64)


@pytest.mark.parametrize("held", [[], [2], [3, 0], [0, 1, 2, 3]], ids=str)
def test_unary_bits_have_their_law(held: list[int]) -> None:
    """Power: noise that is 10 % off is found."""
    unary = Unary(4, 1.5, 4)
    noise = float(unary.channel.q)
    law = unary_law(unary, frozenset(held))
    assert fit(chosen(unary_votes(held, 4, noise, 20_000)), law) > SIGNIFICANCE
    if len(held) < 2:
        assert fit(chosen(unary_votes(held, 4, noise * 1.1, 20_000)), law) < SIGNIFICANCE


def test_many_held_candidates_each_have_a_coin_of_their_own() -> None:
    votes = unary_votes(list(range(0, 300, 2)), 300, 0.25, 2000)
    chances = np.where(np.arange(300) % 2, 0.25, 0.5)
    spread = np.sqrt(chances * (1 - chances) / len(votes))
    assert (np.abs(votes.mean(axis=0) - chances) < 5 * spread).all()
    together = np.asarray(np.corrcoef(votes, rowvar=False))[np.triu_indices(300, 1)]
    assert np.abs(together).max() < 6 / np.sqrt(len(votes))


@pytest.fixture
def population(monkeypatch: pytest.MonkeyPatch) -> Population:
    """Users in seven pieces, who hold up to three words."""
    monkeypatch.setattr(populations, "CHUNK", 50)
    words = ["aba", "abb", "bca"]
    return Population.from_words({str(user): dict.fromkeys(words[user % 3 :], 1) for user in range(330)})


@pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
def test_the_number_of_threads_does_not_matter(population: Population, mechanism: str) -> None:
    layer = small_layer(
        ["ab", "bc"], layer_size=300, mechanism=mechanism, epsilon=2.0, bound=3, known=Vocabulary.empty()
    )
    tallies = []
    for cores in (1, 2, 5):
        told: list[int] = []
        tallies.append(
            SimulatedUsers(population, LocalEngine(cores), "exact", 3, told.append).ask(layer).votes.tolist()
        )
        assert sum(told) == 300
    assert tallies[0] == tallies[1] == tallies[2]
    assert SimulatedUsers(population, LocalEngine(), "exact", 4).ask(layer).votes.tolist() != tallies[0]


def test_steps_of_any_size_draw_the_same_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    selection = SubsetSelection(20_000, 7.0, 6)
    starts, held = np.arange(101) * 4, np.arange(400, dtype=np.int32)
    drawn = []
    for at_once, expected in ((1, 5), (5_000, 3), (1 << 26, 1)):
        monkeypatch.setattr(report_kernels, "VOTES_AT_ONCE", at_once)
        counters = Counters(selection.domain)
        steps = len(list(SubsetReports(selection, 1).add(0, starts, held, counters)))
        drawn.append(counters.totals())
        assert steps == expected
    assert drawn[0].tolist() == drawn[1].tolist() == drawn[2].tolist()
    assert drawn[0].sum() == 600 * selection.subset_size


def test_users_are_padded_to_exactly_b_words() -> None:
    selection = SubsetSelection(50, 12.0, 5)
    counters = Counters(selection.domain)
    users = 2000
    list(SubsetReports(selection, 1).add(0, np.minimum(np.arange(users + 1), 1), array([7]).astype(np.int32), counters))
    votes = counters.totals()
    assert selection.subset_size == 1
    assert votes.sum() == 5 * users
    assert votes[50] > 0.99 * 5 * users, "with ε = 12 almost all of them vote for γ"


def test_unary_users_are_drawn_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_kernels, "VOTES_AT_ONCE", 1_000)
    unary = Unary(100, 1.0, 3)
    counters = Counters(100)
    starts, held = np.arange(501) * 2, np.tile(np.array([3, 99], np.int32), 500)
    steps = len(list(UnaryReports(unary, 1).add(0, starts, held, counters)))
    assert steps > 5
    votes, q = counters.totals(), float(unary.channel.q)
    expected = np.where(np.isin(np.arange(100), [3, 99]), 0.5, q)
    assert (np.abs(votes - 500 * expected) < 5 * np.sqrt(500 * expected * (1 - expected))).all()


class TestCounters:
    def test_they_never_overflow(self) -> None:
        counters = Counters(2, full=100)
        for _ in range(30):
            counters.room_for(40)[1] += np.uint32(40)
        assert counters.totals().tolist() == [0, 1200]
        assert counters.room_for(1).max() <= 100

    def test_they_hold_all_that_32_bits_hold(self) -> None:
        counters = Counters(1)
        counters.room_for(2**32 - 1)[0] += np.uint32(2**32 - 1)
        counters.room_for(1)[0] += np.uint32(1)
        assert counters.totals().tolist() == [2**32]
        assert counters.totals().dtype == np.int64

    def test_more_votes_than_fit_are_refused(self) -> None:
        with pytest.raises(ValueError, match="more than a counter can hold"):
            Counters(1).room_for(2**32)
