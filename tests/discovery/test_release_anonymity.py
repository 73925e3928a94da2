"""What few report is shown as rarely as promised over a whole release: all layers and passes."""

from collections.abc import Generator
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from layers import small_campaign
from neologue.campaign.campaign import Campaign
from neologue.campaign.parameters import Parameters
from neologue.discovery.algorithm import discover
from neologue.discovery.decision import Decision, Question
from neologue.discovery.result import Release
from neologue.discovery.tally import Tally
from neologue.language.alphabet import Alphabet
from neologue.privacy.anonymity.thresholds import AnonymityPromise
from neologue.protocol.layer import Layer

DOUBT = 1e-6
HOLDERS = 9

SETTINGS: dict[str, dict[str, Any]] = {
    "all that has the votes": {"rule": "top", "frontier": 2_000},
    "all that noise may not explain": {"rule": "significant", "false_words": 0.99999, "false_prefixes": 0.99999},
    "three passes": {"rule": "top", "frontier": 2_000, "passes": 3},
}
"""Ways on which a string may be shown."""
ALPHABET = Alphabet("".join(map(chr, range(0x100, 0x100 + 135))))
"""Of so many characters that a first layer asks about 18,360 strings."""


def campaign_of(setting: str) -> Campaign:
    told = {"alphabet": ALPHABET, "users": 600_000, "depth": 4, "passes": 2, "unique_chance": 0.0, "case": "keep"}
    return small_campaign(**told | SETTINGS[setting])


def shown_share(campaign: Campaign) -> tuple[int, int]:
    """How many strings the first layers ask about, and how many are shown over the release.

    In every layer nine users report every candidate: all that is shown is rare.
    """
    rng = np.random.default_rng(31)
    rounds: Generator[Question, Decision, Release] = discover(campaign)
    question = next(rounds)
    asked = question.layer.candidates.size
    seen: set[tuple[str, bool]] = set()
    while True:
        layer = question.layer
        decision = question.decide(rare_votes(layer, rng))
        beginning = layer.number == 1
        if beginning:
            strings, ended = layer.candidates.prefixes(decision.index)
            seen.update(zip(strings.tolist(), ended.tolist(), strict=True))
        try:
            question = rounds.send(decision)
        except StopIteration:
            return asked, len(seen)
        later = question.layer.frontier.tolist()
        if question.layer.number > 1:
            first = {string for string, _ in seen}
            assert all(any(string[:length] in first for length in range(1, len(string) + 1)) for string in later), (
                "what a later layer tells was shown by the first, or begins with what was"
            )


def rare_votes(layer: Layer, rng: np.random.Generator) -> Tally:
    channel, reports, size = layer.randomizer.channel, layer.layer_size, layer.candidates.size
    votes = rng.binomial(HOLDERS, float(channel.p), size) + rng.binomial(reports - HOLDERS, float(channel.q), size)
    return Tally(votes, reports)


@pytest.mark.parametrize("setting", SETTINGS)
def test_strings_that_nine_report_in_every_layer_are_shown_as_rarely_as_claimed(setting: str) -> None:
    """With 18,360 strings 0.065 instead of 0.05 is contradicted with a power above 99.99 %."""
    asked, shown = shown_share(campaign_of(setting))
    assert asked == 18_360
    assert shown > 0
    assert binomtest(shown, asked, 0.05, alternative="greater").pvalue > DOUBT


@pytest.mark.parametrize("setting", SETTINGS)
def test_thresholds_for_each_pass_alone_are_contradicted(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def per_pass(parameters: Parameters) -> AnonymityPromise:
        return AnonymityPromise(parameters.k_anonymity, parameters.alpha)

    monkeypatch.setattr(Parameters, "anonymity", property(per_pass))
    asked, shown = shown_share(campaign_of(setting))
    assert binomtest(shown, asked, 0.05, alternative="greater").pvalue < DOUBT
