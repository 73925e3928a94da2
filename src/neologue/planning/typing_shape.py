"""How many new words people hold, told by their own data under an ε of its own.

Each user is in one class by how many words they hold that a campaign could find, and makes one unary report on the
classes. Only the sums of these reports are used, so that all of it costs what one campaign on as many candidates as
there are classes costs, with one word a user: a ledger can charge it like any other. The votes are drawn by their exact
law, without making each report: those of a class are the sum of its users' fair coins and of the others' noise.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from neologue.campaign.campaign import Campaign
from neologue.entropy import ONE, Entropy
from neologue.errors import ParameterError
from neologue.populations.population import Population
from neologue.privacy.collection import Batch, Collection
from neologue.randomizers.binomial import draw_binomial
from neologue.randomizers.unary import Unary

CLASSES: Final = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
"""The fewest words that the users of each class hold; a class ends where the next one begins."""
USUAL_EPSILON: Final = 1.0
FEWEST_USERS: Final = 100
"""As in a layer: from fewer reports nothing is told."""
LONGEST: Final = 768
"""What users of the last class are taken to hold at most."""
SIGNAL: Final = 3.0
"""How many standard deviations of noise a class has to stand out by, so that noise alone makes no user hold much."""


@dataclass(frozen=True)
class TypingShape:
    """The estimated share of users in each class, and what estimating it has cost them."""

    shares: tuple[float, ...]
    collection: Collection

    @property
    def held(self) -> tuple[float, ...]:
        """How many words the users of each class are taken to hold."""
        return tuple(first if last - first == 1 else (first + last - 1) / 2 for first, last in _ranges())

    @property
    def mean(self) -> float:
        """How many words a user holds on average."""
        return float(np.dot(self.shares, self.held))

    @property
    def classes(self) -> list[tuple[int, int | None, float]]:
        """The fewest and the most words of each class, and its share; the last class has no most."""
        most: list[int | None] = [first - 1 for first in CLASSES[1:]]
        return list(zip(CLASSES, [*most, None], self.shares, strict=True))


def shape_cost(users: int, epsilon: float) -> Collection:
    """What a shape costs so many users."""
    if users < FEWEST_USERS:
        raise ParameterError(f"the shape of {users:,} users can't be estimated: it takes {FEWEST_USERS:,} or more")
    return Collection("unary", epsilon, 1, (Batch(users, len(CLASSES)),))


def estimate_shape(population: Population, campaign: Campaign, epsilon: float, entropy: Entropy) -> TypingShape:
    """The shape of the users of a population, with a local ε."""
    cost = shape_cost(population.users, epsilon)
    asked = Unary(len(CLASSES), epsilon, 1)
    classes = np.searchsorted(CLASSES, words_held(population, campaign), side="right") - 1
    holders = np.bincount(classes, minlength=len(CLASSES)).tolist()
    votes = np.array(
        [
            draw_binomial(own, ONE // 2, entropy) + draw_binomial(population.users - own, asked.noise, entropy)
            for own in holders
        ]
    )
    chance, users = float(asked.channel.q), population.users
    signal = votes - users * chance
    noise = np.sqrt(users * chance * (1 - chance))
    kept = np.where(signal >= SIGNAL * noise, signal, 0.0)
    if not kept.any():
        raise ParameterError(
            f"an epsilon of {epsilon:g} is too small to tell how many words {users:,} users hold: give a larger one, "
            "or plan without the data"
        )
    return TypingShape(tuple((kept / kept.sum()).tolist()), cost)


def words_held(population: Population, campaign: Campaign) -> NDArray[np.int64]:
    """How many words each user holds that the campaign could find."""
    population = population.in_form(campaign.form)
    known, depth = campaign.known.known(population.words), campaign.parameters.depth
    counts = np.array(
        [not old and campaign.alphabet.spells(word, depth) for word, old in zip(population.words, known, strict=True)],
        np.bool_,
    )
    parts = [np.empty(0, np.int64)]
    for start, stop in population.spans(0, population.users):
        held = population.draw(start, stop, counted=False)
        before = np.concatenate([[0], np.cumsum(counts[held.words])])
        parts.append(before[held.starts[1:]] - before[held.starts[:-1]])
    return np.concatenate(parts)


def _ranges() -> list[tuple[int, int]]:
    """Where the classes begin, and end."""
    return list(pairwise((*CLASSES, LONGEST)))
