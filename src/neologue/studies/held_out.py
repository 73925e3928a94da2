"""The value of a release for users who took no part in it."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neologue.campaign.campaign import Campaign
from neologue.populations.population import Population

SEED_APART = 1 << 40
"""The difference between the seed of test users and that of the users who are asked."""


@dataclass(frozen=True)
class HeldOut:
    """The share of what test users hold and may contribute that was released."""

    users: int
    of_pairs: float
    """The share of pairs of a test user and a word they hold whose word was released."""
    of_typings: float
    """The share of all times they typed such a word that were of a released word."""
    of_words: float
    """The share of all distinct words that any of them holds that were released."""


def held_out(released: Collection[str], campaign: Campaign, population: Population) -> HeldOut:
    """Compare a release with the words of a test population that the campaign could find."""
    population = population.in_form(campaign.form)
    words = population.words
    unknown = [not known for known in campaign.known.known(words)]
    depth = campaign.parameters.depth
    counts = np.array(
        [new and campaign.alphabet.spells(word, depth) for word, new in zip(words, unknown, strict=True)], np.bool_
    )
    found = np.isin(np.array(words), np.array(list(released))) & counts
    holders, typings = np.zeros(len(words), np.int64), np.zeros(len(words), np.int64)
    for start, stop in population.spans(0, population.users):
        held = population.draw(start, stop)
        holders += np.bincount(held.words, minlength=len(words))
        typings += np.bincount(held.words, weights=held.counts, minlength=len(words)).astype(np.int64)
    return HeldOut(
        population.users,
        _share(holders, found, counts),
        _share(typings, found, counts),
        _share(holders > 0, found, counts),
    )


def _share(of: NDArray[Any], found: NDArray[np.bool_], counts: NDArray[np.bool_]) -> float:
    whole = int(of[counts].sum())
    return int(of[found].sum()) / whole if whole else 0.0
