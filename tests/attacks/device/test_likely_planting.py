"""Devices that plant words in layers of likely strings, whose votes add up: no more words than the release states."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from discovery.test_likely import USERS, WORDS, campaign, population
from neologue import Population, discover
from neologue.discovery.result import Release
from neologue.discovery.tally import Tally
from neologue.language.candidates import strings
from neologue.privacy.statement import Exposure
from neologue.protocol.layer import LikelyLayer
from neologue.release.planting import Planting, planting_in
from neologue.simulation import discovery_run

__all__ = ["population"]  # the honest people

LAYERS = 4
SEED = 3


@dataclass
class Conspiracy:
    """So many devices, which fall into layers by lot, and all vote for the same words as often as a report may."""

    devices: int
    bought: int
    """About how many of their votes each word gets."""
    carried: bool
    """Whether they vote in all layers for words of the first; else in each for the last ones that it asks about."""
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(SEED))

    def __post_init__(self) -> None:
        self._lot = self.rng.multinomial(self.devices, np.full(LAYERS, 1 / LAYERS)).tolist()
        self._chosen: list[str] = []

    def join(self, layer: LikelyLayer, honest: Tally) -> Tally:
        """The votes of a layer in which they have taken the places of others."""
        here = self._lot[layer.number - 1]
        votes = honest.votes - self.rng.binomial(honest.votes, here / honest.reports)
        texts, ended = layer.candidates.prefixes(np.arange(layer.candidates.size))
        spent = here * layer.randomizer.most_votes
        if not self.carried or not self._chosen:
            speakers = self.devices if self.carried else here
            words = [word for word in texts[ended].tolist() if word not in WORDS]
            self._chosen = words[-(speakers * layer.randomizer.most_votes // self.bought) :]
        index = np.flatnonzero(ended & np.isin(texts, strings(self._chosen)))
        if len(index):
            votes[index] += min(here, spent // len(index))
        return Tally(votes, honest.reports)


def attacked(people: Population, plot: Conspiracy, monkeypatch: pytest.MonkeyPatch) -> tuple[Release, Planting, int]:
    """The release of an attacked campaign, what it states, and how many words that nobody holds are in it."""
    honest = discovery_run._ask

    def ask(layer: LikelyLayer, *rest: object) -> Tally:
        return plot.join(layer, honest(layer, *rest))  # type: ignore[arg-type]

    monkeypatch.setattr(discovery_run, "_ask", ask)
    release = discover(people, campaign(), seed=SEED).release
    stated = planting_in(campaign().parameters, USERS, release.layers, release.words, Exposure())
    return release, stated, sum(word.word not in WORDS for word in release.words)


@pytest.mark.parametrize(
    ("devices", "bought", "carried"),
    [(16, 8, True), (40, 25, True), (100, 25, True), (100, 25, False)],
)
def test_devices_in_all_layers_of_likely_strings_plant_no_more_words_than_the_release_states(
    population: Population, devices: int, bought: int, carried: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, stated, planted = attacked(population, Conspiracy(devices, bought, carried), monkeypatch)
    assert planted <= stated.most_words(devices)
    # It is a strong attack where it comes through at all, and then the release said that it must not be trusted.
    assert planted >= 0.8 * stated.most_words(devices) or devices < 40
    if planted > 0.05 * len(release.words):
        assert stated.untrusted_from is not None
        assert stated.untrusted_from <= devices


def test_votes_of_earlier_layers_that_were_not_counted_would_make_the_bound_fail(
    population: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Power: as if all words had been judged by their last layer alone, where noise and devices are fewer."""
    release, _, planted = attacked(population, Conspiracy(100, 25, carried=False), monkeypatch)
    alone = [each for each in release.words if each.since == each.layer]
    stated = planting_in(campaign().parameters, USERS, release.layers, alone, Exposure())
    assert planted > stated.most_words(100)
