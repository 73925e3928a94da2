"""What an attack on the reports of a layer is, whatever the randomizer.

The attacker knows which words each device holds, and looks at reports on B words drawn at random. Replace one of a
device's words w, out of all words drawn, by one x that it does not hold: drawn at random too, the neighbour is as
random a set as the device's own. So if E(w, x) is an event such as "votes for w and not for x", ε-local privacy of
every pair of neighbours gives, averaged over everything drawn,

    mean of P(E(w, x) | holds w, not x)  ≤  e^ε · mean of P(E(w, x) | holds x, not w)

and a report speaks for both sides, with all its pairs of a word held and one not held. The two means of one report are
numbers between fixed limits; that its words and bits may depend on each other does not matter.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from neologue.audit.coincidences import Coincidence
from neologue.protocol.layer import Layer
from neologue.randomizers.randomizer import Randomizer

Held = NDArray[np.int64]
Columns = dict[str, NDArray[np.int64]]
"""What was seen, by name: a number a report, or a number for every two."""

UNLUCKY = 2.0
"""So many standard deviations below the middle, 95 % of bounds lie above, with room for a variance that is a guess."""

DEVIATIONS = 5
"""What lies more standard deviations than this above its mean is left out: next to nothing, if all is right."""


@dataclass(frozen=True)
class Chance:
    """How often an event was seen, and the limit of its probability."""

    seen: int
    of: int
    limit: float


@dataclass(frozen=True)
class AttackResult:
    """What the reports prove about ε."""

    event: str
    holding: Chance
    """For devices that hold the word; at least the limit."""
    not_holding: Chance
    """For their neighbours; at most the limit."""
    epsilon: float
    """The logarithm of the ratio of the limits, or 0."""


class Attack(ABC):
    """Reads reports of one kind and says what they prove."""

    noise_votes: ClassVar[int]
    """So many votes of noise a report needs at least, for an audit to be sharp."""

    @abstractmethod
    def __init__(self, randomizer: Randomizer[Any]) -> None:
        """An attack on the reports of one layer's randomizer."""

    @property
    @abstractmethod
    def words(self) -> int:
        """Of how many words a device's are drawn; beyond the candidates, a word is one that the device lacks."""

    @abstractmethod
    def look(self, layer: Layer, held: Sequence[Held], reports: Sequence[bytes]) -> Columns:
        """What there is to see in some reports, each by a device that holds these candidates, in order."""

    @abstractmethod
    def evidence(self, seen: Columns, risk: float) -> AttackResult:
        """The lower bound of ε, which is above the true one with at most this risk."""

    @abstractmethod
    def coincidences(self, seen: Columns) -> list[Coincidence]:
        """All the ways in which reused randomness would show."""

    @abstractmethod
    def likely_bound(self, reports: int, epsilon: float, risk: float) -> float:
        """What the lower bound exceeds in 95 of 100 audits of devices whose true ε is this one."""
