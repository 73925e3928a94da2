"""Words that nothing foretold are told, and honest ones are not, as a trie grows and where words are likely.

Power: in layers of a few thousand reports a word is found to be unforetold if a tenth of them vote for it and its
beginning, or the word itself in the layers before, had hardly any votes. A trie has more and smaller layers: there it
takes a fifth.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from neologue import Campaign, Population, Vocabulary
from neologue.discovery import foretold
from neologue.discovery.foretold import find_unforetold
from neologue.discovery.likely import LikelyQuestion
from neologue.discovery.selection.selected import Integers
from neologue.discovery.state import DiscoveryState
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import ExtendingLayer, Layer, LikelyLayer
from neologue.simulation.cohorts import Cohort
from neologue.simulation.engines.engine import LocalEngine
from neologue.simulation.layer_tallies import SimulatedUsers

Spoil = Callable[[DiscoveryState, Integers], None]
LAYERS = (None, 3)
"""A trie, or layers that ask about what is likely."""


@pytest.fixture(scope="module")
def people() -> Population:
    return Population.embedded("en", 10_000, seed=1)


def unforetold(people: Population, layers: int | None, spoil: Spoil, seed: int, sampler: str = "random") -> list[str]:
    """What is said of all layers of a campaign, in the votes of each of which some hostile devices may have a part."""
    campaign = Campaign.from_profile(
        users=10_000,
        known=Vocabulary.builtin("en"),
        depth=5,
        epsilon=8.0,
        candidates=100_000,
        sampler=sampler,
        layers=layers,
    )
    state = DiscoveryState(campaign)
    users = SimulatedUsers(people, LocalEngine(), "fast", seed)
    said, asked = [], 0
    while (question := state.question) is not None:
        tally = users.ask(question.layer)
        if state.before:
            spoil(state, tally.votes)
        decision = state.decide(tally)
        said += find_unforetold(state, decision)
        state.take(decision)
        asked += 1
    assert asked > 1
    return said


def leave(state: DiscoveryState, votes: Integers) -> None:
    """Nobody is hostile."""


def extend_beginnings(state: DiscoveryState, votes: Integers) -> None:
    """A tenth of the reports, or a fifth of a trie's, vote for one way to go on of every tenth prefix, however rare."""
    assert state.question
    layer = state.question.layer
    assert isinstance(layer, ExtendingLayer | LikelyLayer)
    first = np.unique(layer.beginning_of(np.arange(layer.candidates.size)), return_index=True)[1]
    votes[first[1::10]] += layer.layer_size // (10 if isinstance(layer, LikelyLayer) else 5)


def ask_again(state: DiscoveryState, votes: Integers) -> None:
    """A tenth of the reports vote for some words that had hardly any votes in the layers before."""
    question = state.question
    assert isinstance(question, LikelyQuestion)
    rare = np.argsort(question.earlier, kind="stable")[:20]
    votes[question.layer.candidates.starts[1] + rare] += question.layer.layer_size // 10


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("layers", LAYERS)
def test_what_honest_devices_hold_was_foretold(people: Population, layers: int | None, seed: int) -> None:
    assert unforetold(people, layers, leave, seed) == []


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("layers", "spoil"), [(None, extend_beginnings), (3, extend_beginnings), (3, ask_again)])
def test_words_far_above_what_they_had_are_told(
    people: Population, layers: int | None, spoil: Spoil, seed: int
) -> None:
    said = unforetold(people, layers, spoil, seed)
    assert said
    assert all("no earlier layer foretold them" in sentence for sentence in said)


@pytest.mark.parametrize("layers", LAYERS)
def test_what_is_sampled_by_how_often_it_is_typed_is_not_judged(people: Population, layers: int | None) -> None:
    assert unforetold(people, layers, extend_beginnings, 1, sampler="greedy") == []


@pytest.mark.parametrize("layers", LAYERS)
def test_a_limit_that_is_too_low_raises_alarms(
    people: Population, layers: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foretold, "SAMPLED_MORE", 0.02)
    assert unforetold(people, layers, leave, 1)


@dataclass
class Attendance:
    """Of each layer so many devices answer, and reports of devices that hold nothing make up the rest."""

    answered: list[int]

    def of_layer(self, layer: Layer) -> Cohort:
        """The next users."""
        first = sum(self.answered[: layer.number - 1])
        return Cohort(first, self.answered[layer.number - 1], layer.layer_size)

    def measuring(self, layer: ClosedLayer, first: int) -> Cohort:
        raise NotImplementedError


class TestPlannedLayers:
    """Where slots are drawn, whoever does not come is replaced by a report that holds nothing."""

    users = 60_000

    def unforetold(self, answered: list[int], *, told: bool, planted: int = 0) -> list[str]:
        """What is said of all layers, if it is told how many devices answered, or not."""
        campaign = Campaign.from_profile(
            users=self.users, known=Vocabulary.builtin("en"), depth=5, epsilon=8.0, candidates=100_000, layers=3
        )
        people = Population.embedded("en", self.users, seed=1)
        users = SimulatedUsers(people, LocalEngine(), "fast", 1, cohorts=Attendance(answered))
        state, said = DiscoveryState(campaign), []
        while (question := state.question) is not None:
            tally = users.ask(question.layer)
            if isinstance(question, LikelyQuestion) and len(question.earlier) and planted:
                rare = np.argsort(question.earlier, kind="stable")[:20]
                tally.votes[question.layer.candidates.starts[1] + rare] += planted
            decision = state.decide(tally)
            said += find_unforetold(state, decision, answered[: question.layer.number] if told else None)
            state.take(decision)
        return said

    @pytest.mark.parametrize("answered", [[4000, 20_000, 20_000], [20_000, 4000, 20_000], [0, 20_000, 20_000]])
    def test_an_honest_layer_to_which_more_come_than_before_is_not_told(self, answered: list[int]) -> None:
        assert self.unforetold(answered, told=True) == []
        if answered[0]:
            assert self.unforetold(answered, told=False), "a share of reports would be a false alarm"

    def test_what_is_planted_is_told_however_many_come(self) -> None:
        assert self.unforetold([10_000, 12_000, 8000], told=True, planted=2000)
