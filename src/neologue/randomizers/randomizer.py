"""What every randomizer is given, and what it answers for."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from neologue.entropy import Entropy
from neologue.randomizers.channel import Channel
from neologue.randomizers.local_privacy import LocalStatement
from neologue.randomizers.thresholds import check_epsilon, log_above

Report = TypeVar("Report")

RARE_BITS: Final = 40
"""What an honest device does with a chance of at most 2^-40 is taken for hostile."""
LN2_ABOVE: Final = 0.6931471805599454
"""A float above ln 2."""


@dataclass(frozen=True)
class Randomizer(ABC, Generic[Report]):
    """What a device does to its sample in one layer, and what the server can say of the sum."""

    name: ClassVar[str]
    """What operators call it."""
    assumptions: ClassVar[tuple[str, ...]] = ()
    """What central statements about its reports rest on, beside secure randomness."""

    candidates: int
    epsilon: float
    bound: int
    """The most candidates that one report speaks of (B)."""

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        if self.candidates < 1:
            raise ValueError(f"a layer has at least 1 candidate, not {self.candidates}")

    @property
    @abstractmethod
    def channel(self) -> Channel:
        """How votes come through: estimator and variance."""

    @property
    @abstractmethod
    def worst_ratio(self) -> Fraction:
        """The largest likelihood ratio of any report between samples that differ in one word."""

    @cached_property
    def statement(self) -> LocalStatement:
        """What one report gives away, at most."""
        return LocalStatement(self.name, self.epsilon, log_above(self.worst_ratio), self.bound)

    @abstractmethod
    def randomize(self, held: NDArray[np.int64], entropy: Entropy) -> Report:
        """A report on the distinct candidates held, at most B."""

    @abstractmethod
    def votes(self, report: Report) -> NDArray[np.int64]:
        """The candidates that a report votes for, with repetition."""

    @property
    @abstractmethod
    def payload_bytes(self) -> int:
        """The length of a report, but for one in 2^40."""

    @property
    @abstractmethod
    def most_votes(self) -> int:
        """The most votes of a report that is read: an honest one has more with a chance of at most 2^-40."""

    @property
    @abstractmethod
    def likeliest(self) -> float:
        """The natural logarithm of the chance of the likeliest report, whatever is held; rounded up."""

    @property
    def is_unrepeatable(self) -> bool:
        """Whether every report is so improbable that two equal ones are not both honest."""
        return self.likeliest <= -RARE_BITS * LN2_ABOVE

    @abstractmethod
    def encode(self, report: Report) -> bytes:
        """The report's bytes, of the same length for every user."""

    @abstractmethod
    def decode(self, payload: bytes) -> Report:
        """The report in the bytes, or a ReportError."""

    def check_held(self, held: NDArray[np.int64]) -> None:
        """Refuse a sample that the privacy statement does not cover. The message names no candidate."""
        if len(held) > self.bound:
            raise ValueError(f"{len(held)} candidates held, but a report covers at most {self.bound}")
        if len(held) and (held.min() < 0 or held.max() >= self.candidates or len(np.unique(held)) != len(held)):
            raise ValueError("held candidates must be distinct and inside the layer")
