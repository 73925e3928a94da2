"""Scrutiny: honest layers are left in peace whatever they hold, and hostile ones are flagged from a stated share on.

In the layers here a candidate that nobody holds has 134 ± 11.5 votes of 20,000 reports. Power: m reports without noise,
or copies of one, take m·q votes from almost every candidate. If nobody holds anything, the s candidates tell when m is
8·√(n/(q·s)), which is 80 at s = 29,524. Each candidate held tells less: with 7 % of them held, 150 are always seen
(`LACKING`), with two thirds 500. Votes in excess are seen only beyond those of devices that all hold B words, so the
share depends on what they hold: at the most that a report can carry, 1 in 50 is enough even if nobody holds anything
(`CROWDED`).
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from closed import small_closed_layer
from holdings import HOLDINGS, Holding, Integers, everybody_the_same, long_tail, nothing
from layers import small_layer
from neologue import Campaign, Population, Vocabulary
from neologue.campaign.measuring import Measuring
from neologue.discovery import plausibility
from neologue.discovery.foretold import find_unforetold
from neologue.discovery.plausibility import find_implausible
from neologue.discovery.state import DiscoveryState
from neologue.discovery.tally import Tally
from neologue.entropy import SeededEntropy
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import Layer
from neologue.protocol.report import make_report, read_report
from neologue.simulation.cohorts import Cohorts, DrawnCohorts, FilledCohorts
from neologue.simulation.engines.engine import LocalEngine
from neologue.simulation.layer_tallies import SimulatedUsers

REPORTS = 20_000
LACKING = 150
CROWDED = 400
SEEDS = range(20)


@pytest.fixture(scope="module")
def layer() -> Layer:
    return small_layer(["aa"], 9, epsilon=5.0, bound=20, known=Vocabulary.empty())


def unary_votes(layer: Layer | ClosedLayer, holders: Integers, reports: int, rng: np.random.Generator) -> Integers:
    """The votes of honest devices, of which so many hold each candidate."""
    channel = layer.randomizer.channel
    votes = rng.binomial(holders, float(channel.p)) + rng.binomial(reports - holders, float(channel.q))
    return votes.astype(np.int64)


def flagged(layer: Layer | ClosedLayer, votes: Integers, reports: int = REPORTS) -> bool:
    return bool(find_implausible(layer, Tally(votes, reports)))


@pytest.mark.parametrize("holding", HOLDINGS)
def test_honest_votes_are_never_flagged_whatever_is_held(layer: Layer, holding: Holding) -> None:
    rng = np.random.default_rng(1)
    for reports in (1, 7, 300, REPORTS):
        holders = holding(layer.candidates.size, reports, layer.bound)
        for _ in SEEDS:
            assert find_implausible(layer, Tally(unary_votes(layer, holders, reports, rng), reports)) == []


def test_a_layer_without_reports_is_not_odd(layer: Layer) -> None:
    assert find_implausible(layer, Tally(np.zeros(layer.candidates.size, np.int64), 0)) == []


@pytest.mark.parametrize("randomizer", ["unary", "subset-selection"])
@pytest.mark.parametrize("fidelity", ["fast", "exact"])
@pytest.mark.parametrize("layers", [None, 4])
def test_simulated_campaigns_are_never_flagged(randomizer: str, fidelity: str, layers: int | None) -> None:
    """As the service looks at them: at the votes of each layer alone, also where words are judged by several."""
    wanted = Campaign.from_profile(
        users=20_000,
        known=Vocabulary.builtin("en"),
        depth=5,
        epsilon=6.0,
        candidates=100_000,
        randomizer=randomizer,
        words_per_user=10,
        layers=layers,
    )
    measure, first = Measuring(2000, 1.0), wanted.users
    cohorts: Cohorts = FilledCohorts()
    if wanted.parameters.drawn:
        cohorts = slots = DrawnCohorts(wanted, measure, 2)
        first = slots.campaign_users
    users = SimulatedUsers(Population.embedded("en", 22_000, seed=1), LocalEngine(), fidelity, 2, cohorts=cohorts)
    state, summed, seen = DiscoveryState(wanted, measure), False, 0
    while layer := state.layer:
        tally = users.measure(layer, first) if isinstance(layer, ClosedLayer) else users.ask(layer)
        assert find_implausible(layer, tally) == []
        decision = state.decide(tally)
        assert find_unforetold(state, decision) == []
        summed |= decision.made and bool((decision.votes > tally.votes[decision.index]).any())
        state.take(decision)
        seen += 1
    assert seen >= 3
    assert state.release.measurement
    assert state.release.words
    assert summed == (layers is not None), "words of the one are judged by several layers"


def share_flagged(layer: Layer | ClosedLayer, holding: Holding, repeats: int) -> float:
    rng = np.random.default_rng(3)
    holders = holding(layer.randomizer.candidates, 2000, layer.bound)
    return float(np.mean([flagged(layer, unary_votes(layer, holders, 2000, rng), 2000) for _ in range(repeats)]))


@pytest.mark.parametrize("holding", HOLDINGS)
def test_alarms_are_no_more_frequent_than_stated(holding: Holding, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a level that can be watched: the share among 300 is known to 0.03."""
    monkeypatch.setattr(plausibility, "FALSE_ALARM", 0.4)
    assert share_flagged(small_layer(["aa"], 6, epsilon=3.0), holding, 300) <= 0.4


@pytest.mark.parametrize("holding", [nothing, everybody_the_same])
def test_a_margin_that_is_too_small_is_noticed_in_this_way(holding: Holding, monkeypatch: pytest.MonkeyPatch) -> None:
    right = plausibility._margin
    monkeypatch.setattr(plausibility, "FALSE_ALARM", 0.4)
    monkeypatch.setattr(plausibility, "_margin", lambda variance, level: 0.2 * right(variance, level))
    assert share_flagged(small_layer(["aa"], 6, epsilon=3.0), holding, 300) > 0.5


def test_a_null_law_that_is_slightly_off_raises_alarms(layer: Layer) -> None:
    """Noise of 1 % less than q, in every report."""
    votes = np.random.default_rng(1).binomial(REPORTS, 0.99 * float(layer.randomizer.channel.q), layer.candidates.size)
    assert flagged(layer, votes)


def test_empty_reports_are_flagged_and_so_are_votes_for_a_few_candidates_without_noise(layer: Layer) -> None:
    rng = np.random.default_rng(4)
    holders = long_tail(layer.candidates.size, REPORTS // 10, layer.bound)
    for _ in SEEDS:
        votes = unary_votes(layer, holders, REPORTS - LACKING, rng)
        assert flagged(layer, votes)
        votes[:50] += LACKING
        assert flagged(layer, votes)
        assert not flagged(layer, unary_votes(layer, holders, REPORTS - LACKING // 10, rng))


def test_it_takes_more_of_them_where_two_thirds_of_the_candidates_are_held(layer: Layer) -> None:
    rng = np.random.default_rng(13)
    holders = long_tail(layer.candidates.size, REPORTS - 500, layer.bound)
    assert 0.6 < np.mean(holders > 0) < 0.7
    for _ in SEEDS:
        assert flagged(layer, unary_votes(layer, holders, REPORTS - 500, rng))
        assert not flagged(layer, unary_votes(layer, holders, REPORTS - LACKING, rng))


def test_they_are_flagged_even_where_half_of_the_candidates_are_held_by_many(layer: Layer) -> None:
    """The total is far from odd and so is the number of candidates with few votes; how these are spread is not."""
    rng = np.random.default_rng(5)
    roomy = replace(layer, bound=300)
    holders = np.where(np.arange(layer.candidates.size) % 2, 300, 0)
    assert holders.sum() < 300 * REPORTS
    for _ in SEEDS:
        votes = unary_votes(roomy, holders, REPORTS - 2 * LACKING, rng)
        assert votes.sum() > REPORTS * layer.candidates.size * float(layer.randomizer.channel.q)
        assert flagged(roomy, votes)
        assert not flagged(roomy, unary_votes(roomy, holders, REPORTS, rng))


def test_copies_of_one_report_are_flagged(layer: Layer) -> None:
    rng = np.random.default_rng(6)
    for seed in SEEDS:
        one = read_report(layer, make_report(layer, np.arange(layer.bound), SeededEntropy(seed)))
        votes = unary_votes(layer, nothing(layer.candidates.size, 0, 0), REPORTS - LACKING, rng)
        votes[one] += LACKING
        assert flagged(layer, votes)


def most_ones(layer: Layer) -> int:
    """As many as reports had when those of 8 times the usual length were read; these are refused one by one now."""
    return 10 * layer.randomizer.most_votes


def crowded(layer: Layer, rng: np.random.Generator, holders: Integers, hostile: int) -> Integers:
    """Some reports have as many ones as fit, anywhere."""
    votes = unary_votes(layer, holders, REPORTS - hostile, rng)
    return votes + rng.binomial(hostile, most_ones(layer) / layer.candidates.size, layer.candidates.size)


def test_reports_with_too_many_ones_are_flagged(layer: Layer) -> None:
    rng = np.random.default_rng(7)
    size = layer.candidates.size
    for _ in SEEDS:
        assert flagged(layer, crowded(layer, rng, nothing(size, 0, 0), CROWDED))
        # The more is held honestly, the less room there is for others.
        assert flagged(layer, crowded(layer, rng, everybody_the_same(size, REPORTS - 40, layer.bound), 40))


def test_half_of_the_reports_voting_for_what_nearly_all_hold_are_flagged(layer: Layer) -> None:
    rng = np.random.default_rng(8)
    holders = np.where(np.arange(layer.candidates.size) == 0, REPORTS - 1500, 0)
    votes = unary_votes(layer, holders, REPORTS - 1500, rng) + rng.binomial(
        1500, float(layer.randomizer.channel.q), layer.candidates.size
    )
    votes[0] += 1500
    assert flagged(layer, votes)


def test_honest_looking_votes_for_one_word_are_not_told_from_its_holders(layer: Layer) -> None:
    """1,000 of 20,000 devices look like 2,000 holders, which can well be: their influence is what is bounded."""
    rng = np.random.default_rng(9)
    votes = unary_votes(layer, nothing(layer.candidates.size, 0, 0), REPORTS, rng)
    votes[5] += 1000
    assert not flagged(layer, votes)


@pytest.fixture(scope="module")
def subsets() -> Layer:
    return small_layer(["aa"], 6, mechanism="subset-selection", epsilon=3.0, known=Vocabulary.empty())


class TestSubsetSelection:
    def votes(self, layer: Layer, seeds: Iterator[int], held: Integers, reports: int) -> Integers:
        cast = (read_report(layer, make_report(layer, held, SeededEntropy(next(seeds)))) for _ in range(reports))
        return Tally.of(layer.candidates.size, cast).votes

    def test_devices_are_not_flagged_and_copies_are(self, subsets: Layer) -> None:
        """Of 1,000 reports, 300 copies are found in every one of 5 layers."""
        seeds = iter(range(100_000))
        for held in ([], [3], [3, 5, 7, 9], [0, 1092]):
            holding = np.array(held, np.int64)
            assert find_implausible(subsets, Tally(self.votes(subsets, seeds, holding, 1000), 1000)) == []
        for _ in range(5):
            honest, copied = (self.votes(subsets, seeds, np.array([2]), count) for count in (700, 1))
            assert flagged(subsets, honest + 300 * copied, 1000)

    def test_the_total_is_that_of_all_subsets_but_for_the_null_element(self, subsets: Layer) -> None:
        votes = self.votes(subsets, iter(range(1000)), np.array([2]), 500)
        one_short = votes.copy()
        one_short[votes.argmax()] -= int(votes.max()) // 2
        one_short[:400] -= 5
        assert not flagged(subsets, votes, 500)
        assert flagged(subsets, one_short, 500)
        assert flagged(subsets, votes + 1, 500), "more votes than the subsets have elements"

    def test_votes_for_one_candidate_from_every_word_are_flagged(self, subsets: Layer) -> None:
        votes = self.votes(subsets, iter(range(1000)), np.array([2]), 500)
        votes[9] += subsets.bound * 250
        assert flagged(subsets, votes, 500)


class TestClosedLayer:
    words = ("aa", "ab", "abba", "bab", "cc")

    def holders(self, layer: ClosedLayer, reports: int, thermometer: list[float]) -> Integers:
        shares = np.array([0.3, 0.1, 0.05, 0.01, 0.0, *thermometer])
        return (shares * reports).astype(np.int64)

    def test_a_thermometer_may_fall_but_not_rise(self) -> None:
        """At 20,000 reports a rise of 1 in 25 is always seen."""
        layer = small_closed_layer(list(self.words))
        rng = np.random.default_rng(11)
        for _ in range(100):
            for honest in ([0.9, 0.7, 0.1, 0.0], [0.5] * 4, [0.0] * 4, [0.88] * 4):
                assert not flagged(layer, unary_votes(layer, self.holders(layer, REPORTS, honest), REPORTS, rng))
            hostile = unary_votes(layer, self.holders(layer, REPORTS, [0.5, 0.3, 0.2, 0.2]), REPORTS, rng)
            hostile[-1] += REPORTS // 25
            assert flagged(layer, hostile)

    def test_all_words_of_a_sample_may_be_outside_the_list(self) -> None:
        layer = small_closed_layer(list(self.words), mechanism="subset-selection")
        outside = layer.domain.held(np.empty(0, np.int64), layer.bound)
        cast = (read_report(layer, make_report(layer, outside, SeededEntropy(seed))) for seed in range(400))
        tally = Tally.of(layer.randomizer.candidates, cast)
        assert find_implausible(layer, tally) == []
        tally.votes[-1] = 400 * layer.bound
        assert find_implausible(layer, tally)


def test_no_sentence_names_a_candidate_or_its_votes(layer: Layer) -> None:
    votes = unary_votes(layer, nothing(layer.candidates.size, 0, 0), REPORTS - 7000, np.random.default_rng(12))
    votes[17] = 19_817
    said = find_implausible(layer, Tally(votes, REPORTS))
    assert len(said) == 3
    text = " ".join(said)
    assert "19,817" not in text
    assert "19817" not in text
    assert layer.candidates.prefixes(np.array([17]))[0].item() not in text.split()
