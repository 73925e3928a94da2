"""The votes of all reports of a layer at once, in their exact joint law given the samples."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neologue.populations.streams import Stream, generator
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary
from neologue.simulation.votes.tree import subset_votes
from neologue.table import Table

Ints = NDArray[np.int64]

VoteLaw = Callable[[Any, Ints, Ints, int, int, int], Ints]
"""Draws votes: of a randomizer, for some candidates and how many samples have each, so many reports, seed and user."""


def draw_unary_votes(
    randomizer: Unary, candidates: Ints, samples: Ints, reports: int, seed: int, first_user: int
) -> Ints:
    """Unary reports vote for candidates independently, given the samples."""
    channel = randomizer.channel
    p, q, trials = float(channel.p), float(channel.q), channel.trials(reports)
    rng = generator(Stream.VOTES, seed, first_user)
    votes = rng.binomial(trials, q, randomizer.candidates)
    votes[candidates] = rng.binomial(samples, p) + rng.binomial(trials - samples, q)
    return votes


def draw_selection_votes(
    randomizer: SubsetSelection, candidates: Ints, samples: Ints, reports: int, seed: int, first_user: int
) -> Ints:
    """For Subset Selection a tree gives the joint law."""
    words = np.zeros(randomizer.domain, np.int64)
    words[candidates] = samples
    words[-1] = randomizer.channel.trials(reports) - samples.sum()
    return subset_votes(words, randomizer.subset_size, float(randomizer.channel.p), seed, first_user)[:-1]


VOTE_LAWS: Table[VoteLaw] = Table(
    "law of all votes at once, as the fidelity `fast` draws them, for the randomizer",
    "neologue.simulation.votes.vote_laws",
    {Unary.name: draw_unary_votes, SubsetSelection.name: draw_selection_votes},
)
