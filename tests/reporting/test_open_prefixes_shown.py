"""Where people read what was not asked about: the terminal and the report's page."""

from dataclasses import replace

import numpy as np
import pytest

from neologue import Alphabet, Campaign, Population, Vocabulary, discover
from neologue.cli.discovery.tables import show_discovery
from neologue.discovery.blind_spots import sure_share
from neologue.reporting.discovery.discovery_report import discovery_report
from neologue.reporting.sentences import PREFIX_NOTE
from neologue.reporting.short_facts import sure_text
from neologue.reporting.simulated_release import discovery_document
from neologue.simulation.discovery_run import DiscoveryRun
from neologue.simulation.likely_trace import LikelyTrace

USERS = 6000
TITLE = "Prefixes whose words were not all asked about"


@pytest.fixture(scope="module")
def run() -> tuple[DiscoveryRun, LikelyTrace]:
    """Two layers, which do not reach the end of a word that is spelled like no other."""
    odd = np.random.default_rng(7).random(USERS) < 0.25
    population = Population.from_words({str(n): {"yeet": 1} | ({"xqzjkv": 1} if odd[n] else {}) for n in range(USERS)})
    campaign = Campaign.from_profile(
        users=USERS,
        known=Vocabulary(["hello", "feet", "yes", "ease"]),
        alphabet=Alphabet.named("en"),
        depth=8,
        epsilon=6.0,
        layers=2,
        candidates=50_000,
    )
    traced = LikelyTrace(population.words)
    return discover(population, campaign, seed=5, trace=traced.trace), traced


def test_the_terminal_lists_them_and_says_from_which_share_on_nothing_is_missed(
    run: tuple[DiscoveryRun, LikelyTrace], capsys: pytest.CaptureFixture[str]
) -> None:
    found = run[0]
    assert "xqzjkv" not in {word.word for word in found.release.words}
    show_discovery(found, discovery_document(found))
    printed = capsys.readouterr().out
    assert TITLE in printed
    assert f"{found.release.prefixes[0].prefix}…" in printed
    assert "surely found" in printed


def test_the_page_has_them(run: tuple[DiscoveryRun, LikelyTrace]) -> None:
    found, traced = run
    page = discovery_report(found, discovery_document(found), traced, "neologue discover")
    assert TITLE in page
    assert PREFIX_NOTE in page
    assert f"{found.release.prefixes[0].prefix}…" in page


def test_the_share_is_rounded_up_and_says_nothing_where_nothing_is_promised(
    run: tuple[DiscoveryRun, LikelyTrace],
) -> None:
    release = run[0].release
    line = sure_text(release)
    assert line is not None
    share = sure_share(release.campaign)
    assert share is not None
    stated = float(line.partition(" that at least ")[2].partition(" %")[0]) / 100
    assert share <= stated < share + 1e-4
    undecided = replace(release, layers=(*release.layers[:-1], replace(release.layers[-1], decided=False)))
    assert sure_text(undecided) is None
    trie = replace(release.campaign, parameters=replace(release.campaign.parameters, layers=None, allocation="filled"))
    assert sure_text(replace(release, campaign=trie)) is None
