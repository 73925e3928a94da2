"""What a release is worth to users who took no part in it."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neologue.campaign.campaign import Campaign
from neologue.populations.population import Population

SEED_APART = 1 << 40
"""Test users are drawn with a seed this far from that of the users who are asked."""


@dataclass(frozen=True)
class HeldOut:
    """How much of what test users hold and may contribute was released to them."""

    users: int
    of_pairs: float
    """Of all pairs of a test user and a word they hold, the share whose word was released."""
    of_typings: float
    """Of all times that they typed such a word, the share that was of a released one."""
    of_words: float
    """Of all different words that any of them holds, the share that was released."""


def held_out(released: Collection[str], campaign: Campaign, population: Population) -> HeldOut:
    """Compare a release with what the users of a test population hold of words that count in the campaign."""
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
