"""The page of a discovery that asks about likely strings: what was asked, kept and dropped, as the run had it."""

import numpy as np
import pytest

from neologue import Alphabet, Campaign, Population, Vocabulary, discover
from neologue.reporting.discovery.discovery_report import discovery_report
from neologue.reporting.discovery.likely_view import likely_view
from neologue.reporting.simulated_release import discovery_document
from neologue.simulation.discovery_run import DiscoveryRun
from neologue.simulation.likely_trace import LikelyTrace, Place

USERS = 6000
HOSTILE = "<b>&amp;"
Run = tuple[DiscoveryRun, LikelyTrace]


@pytest.fixture(scope="module")
def run() -> Run:
    """Users who hold words spelled like known ones, an odd one that looks like markup, and rare ones."""
    lots = np.random.default_rng(3)
    words = ["".join(lots.choice(list("abcdefgh"), lots.integers(2, 6))) for _ in range(1500)]
    known, common, rare = words[:500], sorted(set(words[500:900])), sorted(set(words[900:]))
    held = {
        f"user {n}": dict.fromkeys((HOSTILE, *lots.choice(common, 4), rare[n % len(rare)]), 1) for n in range(USERS)
    }
    population = Population.from_words(held)
    campaign = Campaign.from_profile(
        users=USERS,
        known=Vocabulary(known),
        alphabet=Alphabet("abcdefgh<>&;mp/"),
        case="keep",
        punctuation="keep",
        depth=8,
        epsilon=8.0,
        words_per_user=10,
        candidates=4000,
        layers=3,
    )
    traced = LikelyTrace(population.words)
    return discover(population, campaign, seed=1, trace=traced.trace), traced


@pytest.fixture(scope="module")
def page(run: Run) -> str:
    discovery, traced = run
    return discovery_report(discovery, discovery_document(discovery), traced, "neologue discover --layers 3")


def test_it_shows_what_was_asked_in_the_place_of_a_trie(page: str) -> None:
    for heading in ("What was asked", "What became of all that users hold?", "Layer 3: kept and dropped"):
        assert heading in page
    assert "trie-data" not in page
    assert "<script" not in page
    assert "script-src &#39;none&#39;" in page


def test_hostile_words_are_text(run: Run, page: str) -> None:
    assert run[0].truth[HOSTILE] == USERS
    assert HOSTILE not in page
    assert "&lt;b&gt;&amp;amp;" in page


def test_its_layers_have_the_figures_of_the_run(run: Run) -> None:
    discovery, traced = run
    layers = likely_view(discovery, traced).values["asked"]
    assert isinstance(layers, list)
    assert len(layers) == len(discovery.release.layers) == 3
    for layer, facts in zip(layers, discovery.release.layers, strict=True):
        assert layer.fresh + layer.again == facts.candidates
        assert sum(count for _, count in layer.found) == facts.words
        assert all(int(first) <= facts.layer for first, _ in layer.found)
        assert all(line.votes < line.needed for line in layer.near)
    assert layers[0].kept > 0
    assert layers[1].again > 0
    assert any(int(first) < facts.layer for first, _ in layers[1].found)


def test_every_word_has_a_place_after_every_layer_and_what_is_found_stays_found(run: Run) -> None:
    discovery, traced = run
    released = {word.word for word in discovery.release.words}
    before = np.zeros(len(traced.words), np.bool_)
    for layer in traced.layers:
        found = layer.places == Place.FOUND
        assert not (before & ~found).any()
        before = found
        dropped = np.isin(layer.places, (Place.ASKED, Place.BEHIND))
        assert (layer.votes[dropped] < layer.needed[dropped]).all(), "what has the votes that would do is kept"
        assert (layer.lengths[layer.places == Place.ASKED] > 0).all()
    assert set(traced.words[before].tolist()) == released & set(traced.words.tolist())
    assert (traced.layers[-1].places != Place.AHEAD).all(), "no layer follows the last one"


def test_what_was_kept_is_told_with_the_words_that_belong_to_it(run: Run) -> None:
    discovery, traced = run
    layers = likely_view(discovery, traced).values["asked"]
    assert isinstance(layers, list)
    first = layers[0]
    for line in first.heaviest:
        assert line.margin >= 0
        assert all(word.startswith(line.prefix) for word in line.examples)
        assert len(line.examples) <= line.words
    assert any(HOSTILE in line.examples for line in first.heaviest), "it is spelled like nothing that is known"


def test_the_words_missed_are_told_of_with_their_end(run: Run) -> None:
    discovery, traced = run
    released = {word.word for word in discovery.release.words}
    for fate in likely_view(discovery, traced).fates:
        assert fate.word not in released
        assert fate.word.startswith(fate.prefix)
        assert not fate.asked or (fate.votes is not None and fate.needed is not None and fate.votes < fate.needed)


def test_the_same_run_gives_the_same_bytes(run: Run, page: str) -> None:
    discovery, traced = run
    assert discovery_report(discovery, discovery_document(discovery), traced, "neologue discover --layers 3") == page
