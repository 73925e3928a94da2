"""The trace of a simulated discovery: what it records of each layer, and how much."""

import ast
from pathlib import Path

import numpy as np
import pytest

import neologue
from layers import small_campaign, small_layer
from neologue import Alphabet, Campaign, Population, Vocabulary, discover
from neologue.discovery.algorithm import discover as algorithm
from neologue.discovery.selection import select
from neologue.discovery.tally import Tally
from neologue.errors import ParameterError
from neologue.simulation import trie_trace as trie_trace_module
from neologue.simulation.likely_trace import LikelyTrace, Place
from neologue.simulation.trie_trace import TrieTrace


def test_what_was_kept_and_the_nearest_misses_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trie_trace_module, "MOST_HELD", 2)
    monkeypatch.setattr(trie_trace_module, "MOST_NOISE", 1)
    layer = small_layer(["aa", "ab", "ac"], layer_size=2000, epsilon=5.0)
    votes = np.arange(12) % 5 + 10
    votes[[1, 6]] = 200
    tally = Tally(votes, 2000)
    held = np.array(["aab", "aba", "aca", "acb", "ac"])
    trie_trace = TrieTrace(["aaa", *held.tolist(), "cab", "zzz"])
    selection = select(layer, tally, small_campaign())
    trie_trace.trace(layer, tally, selection)
    (seen,) = trie_trace.layers
    assert seen.kept.texts.tolist() == ["aaa", "abb"]
    assert seen.kept.votes.tolist() == [200, 200]
    assert (seen.kept.votes >= seen.kept.needed).all()
    assert (seen.dropped.votes < seen.dropped.needed).all()
    places = layer.candidates.index(held)
    lacking = selection.missing(places) - votes[places]
    loudest = np.delete(votes, [*seen.kept.index, *places]).max()
    near = dict(zip(seen.dropped.texts.tolist(), seen.dropped.votes.tolist(), strict=True))
    assert len(near) == 3
    assert sorted(lacking[[text in near for text in held]]) == sorted(lacking)[:2]
    assert [count for text, count in near.items() if text not in held] == [loudest]


def test_noise_and_its_deviation_are_those_of_a_candidate_that_nobody_holds() -> None:
    layer = small_layer(["aa"], layer_size=5000, epsilon=3.0)
    trie_trace = TrieTrace(["aaa"])
    tally = Tally(np.full(4, 300), 5000)
    trie_trace.trace(layer, tally, select(layer, tally, small_campaign()))
    (seen,) = trie_trace.layers
    q = float(layer.randomizer.channel.q)
    assert seen.noise == pytest.approx(5000 * q)
    assert seen.deviation == pytest.approx(np.sqrt(5000 * q * (1 - q)))
    assert seen.gain == layer.randomizer.channel.gain


def test_every_decided_layer_is_traced_and_no_other() -> None:
    trie_trace = TrieTrace(["ab"])
    question = next(algorithm(small_campaign(smallest_layer=100)))
    votes = np.zeros(question.layer.candidates.size, np.int64)
    assert not question.decide(Tally(votes, 99), trie_trace.trace).made
    assert trie_trace.layers == []
    assert question.decide(Tally(votes, 100), trie_trace.trace).made
    assert [layer.number for layer in trie_trace.layers] == [1]


def two_words(layers: int | None) -> tuple[Population, Campaign]:
    """Users who all hold the same two words, and a campaign among them."""
    population = Population.from_words({f"user {n}": {"yeet": 3, "rizz": 1} for n in range(2000)})
    campaign = Campaign.from_profile(
        users=2000, known=Vocabulary(["hello"]), alphabet=Alphabet.named("en"), depth=6, epsilon=8.0, layers=layers
    )
    return population, campaign


def test_a_trace_changes_nothing_and_agrees_with_the_release() -> None:
    population, campaign = two_words(layers=None)
    trie_trace = TrieTrace(population.words)
    seen, unseen = (
        discover(population, campaign, seed=0, trace=trie_trace.trace),
        discover(population, campaign, seed=0),
    )
    assert seen.release.words == unseen.release.words
    assert [(layer.pass_number, layer.number) for layer in trie_trace.layers] == [
        (facts.pass_number, facts.layer) for facts in seen.release.layers
    ]
    for layer, facts in zip(trie_trace.layers, seen.release.layers, strict=True):
        assert int((~layer.kept.ended).sum()) == facts.kept
        assert layer.kept.votes.min() == facts.fewest_votes
        assert layer.reports == facts.reports
    ends = {
        (text, int(votes))
        for layer in trie_trace.layers
        for text, ended, votes in zip(layer.kept.texts, layer.kept.ended, layer.kept.votes, strict=True)
        if ended
    }
    assert ends == {(word.word, word.votes) for word in seen.release.words}
    assert seen.truth == {"yeet": 2000, "rizz": 2000}


def test_a_trace_of_likely_strings_changes_nothing_and_agrees_with_the_release() -> None:
    population, campaign = two_words(layers=4)
    traced = LikelyTrace(population.words)
    seen = discover(population, campaign, seed=0, trace=traced.trace)
    assert seen.release == discover(population, campaign, seed=0).release
    for layer, facts in zip(traced.layers, seen.release.layers, strict=True):
        assert (layer.pass_number, layer.number, layer.reports) == (facts.pass_number, facts.layer, facts.reports)
        assert layer.fresh + layer.again == facts.candidates
        assert len(layer.kept) == facts.kept
    votes = {word.word: word.votes for word in seen.release.words}
    assert votes.keys() >= {"yeet", "rizz"}
    ends = {
        (word, int(layer.votes[row]))
        for layer in traced.layers
        for row, word in enumerate(traced.words.tolist())
        if layer.places[row] == Place.FOUND and layer.votes[row] >= 0
    }
    assert ends == {(word, votes[word]) for word in ("yeet", "rizz")}
    assert seen.truth == {"yeet": 2000, "rizz": 2000}


def test_what_grows_no_trie_is_not_traced_as_one() -> None:
    population, campaign = two_words(layers=4)
    with pytest.raises(ParameterError, match="only a discovery that grows a trie can be traced"):
        discover(population, campaign, seed=0, trace=TrieTrace(population.words).trace)


def test_only_simulations_trace_decisions() -> None:
    source = Path(neologue.__file__).parent
    rooms = {path.relative_to(source).parts[0] for path in source.rglob("*.py") if _traces(path)}
    assert rooms == {"discovery", "simulation", "cli"}


def _traces(path: Path) -> bool:
    """Whether a module passes a trace to a decision or to a discovery."""
    calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    passed = [value for call in calls for value in (*call.args, *(keyword.value for keyword in call.keywords))]
    named = any(keyword.arg == "trace" for call in calls for keyword in call.keywords)
    return named or any(isinstance(value, ast.Name) and value.id == "trace" for value in passed)
