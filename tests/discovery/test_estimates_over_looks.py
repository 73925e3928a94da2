"""Intervals of words that several layers judged together: looking again and again does not make them too narrow."""

import numpy as np
import pytest

from neologue.discovery.estimates import VoteLaw, estimate_holders
from neologue.privacy.anonymity.thresholds import AnonymityPromise
from neologue.randomizers.unary import Unary

USERS, LAYERS = 100_000, 4
ASKED = USERS // LAYERS
CHANNEL = Unary(1 << 24, 8.0, 60).channel
PROMISE = AnonymityPromise(k=10, alpha=0.95, unique_chance=1e-6, hostile_devices=1)
THRESHOLDS = np.array(
    [PROMISE.summed_votes_needed(CHANNEL, (ASKED,) * look, LAYERS - look) for look in range(1, LAYERS + 1)]
)
REPEATS = 40_000


def released(holders: int, thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The votes with which words that so many hold are released, and at which look: the first at which they pass."""
    rng = np.random.default_rng(holders)
    held = rng.multinomial(holders, np.full(LAYERS, 1 / LAYERS), REPEATS)
    votes = rng.binomial(held, float(CHANNEL.p)) + rng.binomial(ASKED - held, float(CHANNEL.q))
    summed = np.cumsum(votes, axis=1)
    passed = summed >= thresholds
    words = np.flatnonzero(passed.any(axis=1))
    look = passed[words].argmax(axis=1)
    return summed[words, look], look


def coverage(holders: int, *, selected: bool) -> tuple[float, int]:
    """How often intervals hold the truth of so many released words, whether they allow for selection or not."""
    votes, look = released(holders, THRESHOLDS)
    held = 0
    for number in np.unique(look).tolist():
        rows = look == number
        layers = number + 1
        law = VoteLaw(CHANNEL, layers * ASKED, USERS, layers * ASKED)
        least = np.full(rows.sum(), THRESHOLDS[number] if selected else 0)
        found = estimate_holders(law, votes[rows], least)
        held += int(((found.low <= holders) & (holders <= found.high)).sum())
    return held / len(votes), len(votes)


@pytest.mark.parametrize("holders", [50, 100, 140, 180, 240, 400, 1000])
def test_intervals_hold_the_truth_as_often_as_they_say_whatever_look_a_word_passes_at(holders: int) -> None:
    share, words = coverage(holders, selected=True)
    # Of at least 1,000 words the share has an sd of at most 0.7 %, of 40,000 of 0.11 %.
    assert words >= 1000
    assert share > 0.95 - 4 * np.sqrt(0.95 * 0.05 / words)


def test_intervals_that_do_not_allow_for_selection_are_caught() -> None:
    share, words = coverage(50, selected=False)
    assert words >= 1000
    assert share < 0.85
